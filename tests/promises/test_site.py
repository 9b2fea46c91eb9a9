"""The pages of the site: links lead somewhere, pictures are there, and a narrow screen shows the whole width."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import browsers

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts)
NARROW = 400
pytestmark = pytest.mark.skipif(not (SITE / "searchindex.js").exists(), reason="the site is not built: nox -s docs")


class Page(HTMLParser):
    """The places of a page to which links may lead, and the addresses that it names."""

    def __init__(self, path):
        super().__init__()
        self.places, self.addresses = {"", "top"}, []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.places |= {named[name] for name in ("id", "name") if named.get(name)}
        self.addresses += [named[name] for name in ("href", "src") if named.get(name)]


def test_no_link_is_dead():
    pages = {path: Page(path) for path in PAGES}
    dead = []
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = unquote(parts.fragment) in pages[target].places if target in pages else target.is_file()
            if not found:
                dead.append((str(path.relative_to(SITE)), address))
    assert not dead


def test_pages_fit_a_narrow_screen_and_show_their_pictures(tmp_path):
    wide, missing = {}, {}
    with browsers.open_browser(tmp_path) as browser:
        browsers.set_width(browser, NARROW)
        for path in PAGES:
            browser.get(path.as_uri())
            name = str(path.relative_to(SITE))
            wide[name], missing[name] = browsers.page_width(browser), browsers.missing_images(browser)
    assert {name: width for name, width in wide.items() if width > NARROW} == {}
    assert {name: images for name, images in missing.items() if images} == {}
