"""Chromium without a window, for the tests of pages; they are skipped where it is not installed."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
wait = pytest.importorskip("selenium.webdriver.support.wait")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    pytest.skip("chromium and chromedriver are not installed", allow_module_level=True)

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]


@contextmanager
def open_browser(profile):
    """Open a browser, which keeps its files in the folder `profile`."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def set_width(browser, width):
    """Let the window have a width."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )


def wait_for(browser, selector):
    """Wait until a script has put an element on the page, by its CSS selector."""
    wait.WebDriverWait(browser, 60).until(lambda _: browser.find_elements("css selector", selector))


def get_link(browser, selector):
    """Return where the first link that a CSS selector finds leads, as the page says it; None if there is none."""
    return browser.execute_script("return document.querySelector(arguments[0])?.getAttribute('href')", selector)


def page_width(browser):
    """Return the width of the page, which scrolls sideways if it is wider than the window."""
    return browser.execute_script("return document.documentElement.scrollWidth")


def missing_images(browser):
    """Return the sources of the images that the page does not show."""
    return browser.execute_script(
        "return [...document.images].filter(image => image.complete && !image.naturalWidth).map(image => image.src)"
    )
