"""The site: links lead somewhere, pictures are there, a narrow screen shows the whole width, and the search finds."""

from __future__ import annotations

import inspect
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

import browsers
import onebatchpam

SITE = Path(__file__).parents[2] / "build" / "site"
PAGES = sorted(page for page in SITE.rglob("*.html") if "_static" not in page.parts)
NARROW = 400
FOUND = {  # what people look for, and the page that should come first
    "FAQ": "faq.html",
    "license": "about.html",
    "licence": "about.html",
    "scanpy": "howto/anndata.html",
    "gower": "data.html",
    "dask": "dask.html",
    "memory": "large_data.html",
    "GridSearchCV": "faq.html",
    "certify": "api/generated/onebatchpam.OneBatchPAM.html#onebatchpam.OneBatchPAM.certify",
}
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


def test_the_reference_describes_every_property():
    classes = [value for name in onebatchpam.__all__ if inspect.isclass(value := getattr(onebatchpam, name))]
    names = [f"onebatchpam.{c.__name__}.{name}" for c in classes for name in vars(c) if is_property(c, name)]
    assert "onebatchpam.LowerBound.gap" in names
    reference = SITE / "api" / "generated"
    pages = {path.stem: Page(path) for path in reference.glob("onebatchpam.*.html")}
    assert [name for name in names if name not in pages[name.rpartition(".")[0]].places] == []


def is_property(owner, name):
    """Tell whether a class has a public property of this name."""
    return not name.startswith("_") and isinstance(vars(owner)[name], property)


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


def test_the_search_finds_the_right_page_first(tmp_path):
    first = {}
    with browsers.open_browser(tmp_path) as browser:
        for words in FOUND:
            browser.get(f"{(SITE / 'search.html').as_uri()}?q={quote(words)}")
            browsers.wait_for(browser, "#search-results .search-summary:not(:empty)")
            first[words] = browsers.get_link(browser, "#search-results li a")
    assert first == FOUND
