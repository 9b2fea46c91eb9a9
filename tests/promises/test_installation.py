"""The pages say only what works today: how to install the package before, and after, it is on the package index.

On the day of the release, set IS_RELEASED and REPOSITORY and run this file as a script: it changes all pages, and
makes the links of the README absolute, because a package index shows the README without the files beside it. The
workflow `wheels` runs it with the address of the repository and a tag, so that the README of a wheel links to its tag.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

IS_RELEASED = False  # whether `pip install onebatchpam` works
REPOSITORY = ""  # the public address of the repository, without a slash at the end; empty while it is not known

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Each text that depends on it, as it is in a clone and as it is from the day of the release on.
TEXTS = [
    ("With Python ≥ 3.11 and a C++ compiler, in a clone of this repository:", "With Python ≥ 3.11:"),
    ('.venv/bin/pip install ".[cli]"', '.venv/bin/pip install "onebatchpam[cli]"'),
    ('pip install ".[dask]"  # in a clone of the repository', 'pip install "onebatchpam[dask]"'),
    ("in a clone: `pip install '.[parquet]'`", "`pip install 'onebatchpam[parquet]'`"),
    ("in a clone: `pip install '.[cli]'`", "`pip install 'onebatchpam[cli]'`"),
    ("in a clone: `pip install '.[text]'`", "`pip install 'onebatchpam[text]'`"),
]


def make_links_absolute(text, repository, version="main"):
    """Return a page whose links to files lead to the repository; pictures need the file itself, not a page about it."""

    def lead(link):
        return f"{link[1]}[{link[2]}]({repository}/{'raw' if link[1] else 'blob'}/{version}/{link[3]})"

    text = re.sub(rf"\({re.escape(repository)}/(raw|blob)/main/", rf"({repository}/\1/{version}/", text)
    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)", lead, text)


def test_links_of_the_readme_lead_to_the_repository_once_it_is_known():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not REPOSITORY or make_links_absolute(text, REPOSITORY) == text
    example = "![a picture](docs/a.png) [a\npage](docs/a.md#b) [far](https://b.org) [here](#c)"
    assert make_links_absolute(example, "https://r") == (
        "![a picture](https://r/raw/main/docs/a.png) [a\npage](https://r/blob/main/docs/a.md#b) "
        "[far](https://b.org) [here](#c)"
    )
    assert make_links_absolute("[a](https://r/blob/main/b.md) [c](d.md)", "https://r", "v1") == (
        "[a](https://r/blob/v1/b.md) [c](https://r/blob/v1/d.md)"
    )


def test_what_is_released_has_a_repository():
    assert REPOSITORY or not IS_RELEASED


@pytest.mark.parametrize("texts", TEXTS, ids=lambda texts: texts[1])
def test_pages_say_how_to_install_the_package_today(texts):
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert texts[IS_RELEASED] in pages
    assert texts[not IS_RELEASED] not in pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_the_index_too_early(page):
    text = page.read_text(encoding="utf-8")
    assert IS_RELEASED or not any(f"pip install {quote}onebatchpam" in text for quote in ("", "'", '"'))


def test_the_recipe_and_the_citation_agree_with_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe, citation = ((ROOT / name).read_text(encoding="utf-8") for name in ("recipe/recipe.yaml", "CITATION.cff"))
    assert f"  version: {project['version']}\n" in recipe
    assert f"\nversion: {project['version']}\n" in citation
    for dependency in project["dependencies"]:
        assert f"    - {dependency.replace('>=', ' >=')}\n" in recipe


if __name__ == "__main__":
    address = sys.argv[1:] or [REPOSITORY]  # and the tag, if there is one
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for texts in TEXTS:
            text = text.replace(texts[not IS_RELEASED], texts[IS_RELEASED])
        if address[0] and page.name == "README.md":
            text = make_links_absolute(text, *address)
        page.write_text(text, encoding="utf-8")
