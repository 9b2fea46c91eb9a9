"""The page in a real browser: Chromium opens it, sorts its tables, switches its theme and prints it."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pytest

import browsers
from onebatchpam import OneBatchPAM, select_k

ENTER = "\ue007"  # the key, as WebDriver names it
EVIL = "<script>document.title = 'broken'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browsers.open_browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def make_pages(folder):
    """Write a page for each kind of data, and return their paths by kind."""
    rng = np.random.RandomState(0)
    group = rng.choice(4, 400)
    frame = pd.DataFrame(
        {
            "income": rng.normal(np.array([10.0, 30, 20, 50])[group], 3),
            EVIL: rng.choice(["a", EVIL], 400),
            "plan": np.array(["basic", "family", "premium", "student"])[group],
        }
    )
    data = {
        "table": (
            OneBatchPAM(4, metric="gower", random_state=0),
            frame,
            {"row_names": [f"{EVIL}{i}" for i in range(400)]},
        ),
        "images": (OneBatchPAM(5, random_state=0), rng.rand(200, 64), {"show_as": (8, 8)}),
        "words": (OneBatchPAM(3, metric="levenshtein"), [EVIL, "tea", "team", "coffee", "coffees"] * 9, {}),
        "series": (
            OneBatchPAM(3, random_state=0),
            np.sin(np.arange(40) * (1 + rng.rand(90, 1))),
            {"show_as": "series"},
        ),
        "many": (OneBatchPAM(70, random_state=0), rng.rand(2000, 2), {}),
    }
    pages = {}
    for kind, (model, X, options) in data.items():
        pages[kind] = folder / f"{kind}.html"
        chosen = select_k(X, range(2, 6), OneBatchPAM(metric=model.metric, random_state=0))
        model.fit(X).report(X, pages[kind], selection=chosen, title=EVIL, **options)
    return pages


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return make_pages(tmp_path_factory.mktemp("pages"))


def open_page(browser, path, width=1400, theme="light"):
    """Open a page; fail if it writes to the console or asks for anything but itself."""
    browsers.set_width(browser, width)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]


KINDS = ["table", "images", "words", "series", "many"]


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("kind", KINDS)
def test_opens_without_errors_requests_or_overflow(kind, width, browser, pages):
    open_page(browser, pages[kind], width)
    assert browser.title == EVIL  # text, not code
    assert browsers.page_width(browser) <= width
    assert not browsers.missing_images(browser)


def test_sorts_its_table(browser, pages):
    open_page(browser, pages["table"])

    def column(number):
        return browser.execute_script(
            "return [...document.querySelectorAll('#medoid-table tbody tr')]"
            ".map(row => row.children[arguments[0]].innerText)",
            number,
        )

    headings = browser.find_elements("css selector", "#medoid-table thead th")
    rows = [heading.text for heading in headings].index("Rows")
    headings[rows].find_element("tag name", "button").click()
    sizes = [int(text.replace(",", "")) for text in column(rows)]
    assert sizes == sorted(sizes)
    assert headings[rows].get_attribute("aria-sort") == "ascending"
    headings[rows].find_element("tag name", "button").send_keys(ENTER)
    assert [int(text.replace(",", "")) for text in column(rows)] == sorted(sizes, reverse=True)
    assert headings[rows].get_attribute("aria-sort") == "descending"
    headings[0].find_element("tag name", "button").click()
    assert [int(text) for text in column(0)] == [0, 1, 2, 3]
    assert headings[rows].get_attribute("aria-sort") is None


def brightness(browser):
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    return np.mean([float(part) for part in colour.strip("rgba()").split(",")[:3]])


def test_switches_its_theme_and_remembers_it(browser, pages):
    open_page(browser, pages["table"], theme="light")
    browser.execute_script("localStorage.clear()")
    open_page(browser, pages["table"], theme="dark")
    assert brightness(browser) < 60  # that of the system
    button = browser.find_element("css selector", "button.theme")
    button.click()
    assert button.text == "Theme: light"
    assert brightness(browser) > 200
    button.click()
    assert brightness(browser) < 60
    open_page(browser, pages["table"], theme="light")
    assert brightness(browser) < 60  # dark, as was chosen
    browser.execute_script("localStorage.clear()")


CONTRAST = """
const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const linear = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const colour = rgb(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const low = [];
for (const e of document.querySelectorAll("main *, nav *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest("svg") || !e.offsetParent || e.matches(".apart")) continue;
  const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push([e.tagName, e.className, ratio.toFixed(2)]);
}
return low;
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_enough_contrast(theme, browser, pages):
    open_page(browser, pages["table"], theme=theme)
    assert browser.execute_script(CONTRAST) == []


def test_a_screen_reader_finds_names_for_everything(browser, pages):
    for kind in KINDS:
        open_page(browser, pages[kind])
        unnamed = browser.execute_script(
            "return [...document.querySelectorAll('svg')].filter(e => !e.getAttribute('aria-label')).length"
            " + [...document.querySelectorAll('img')].filter(e => !e.alt).length"
            " + [...document.querySelectorAll('table')].filter(e => !e.caption).length"
            " + [...document.querySelectorAll('button, a')].filter(e => !e.innerText && e.offsetParent).length"
        )
        assert unnamed == 0
        levels = [int(each.tag_name[1]) for each in browser.find_elements("css selector", "h1, h2, h3")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert max(np.diff(levels)) <= 1
        assert browser.find_element("tag name", "html").get_attribute("lang") == "en"


def test_opens_the_cluster_that_a_link_names(browser, pages):
    open_page(browser, pages["many"])
    last = browser.find_elements("css selector", "details.cluster")[-1]
    assert last.get_attribute("open") is None
    browser.find_element("css selector", f"a[href='#{last.get_attribute('id')}']").send_keys(ENTER)
    assert last.get_attribute("open") is not None


def test_prints(browser, pages):
    """A printed page has all clusters, also those that are closed on the screen, and no buttons."""
    open_page(browser, pages["images"], theme="dark")
    clusters = browser.find_elements("css selector", "details.cluster")
    assert not all(each.get_attribute("open") for each in clusters)
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert all(each.get_attribute("open") for each in clusters)
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert not all(each.get_attribute("open") for each in clusters)
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert brightness(browser) == 255
    assert not browser.find_element("css selector", "button.theme").is_displayed()
