"""Every example has a title and cells for the gallery, runs, prints something and leaves no files behind."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

import children
from programs import run_program

# Packages that examples need and that may be missing.
NEEDS = {"plot_no_mean_exists": "aeon", "time_series": "aeon", "sequences": "rapidfuzz", "words": "rapidfuzz"}
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_examples_were_found():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_begins_with_a_title(path):
    blank, title, line, *_ = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False).split("\n")
    assert not blank
    assert title
    assert line == "=" * len(title)


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem != "dask_cluster"], ids=lambda path: path.stem)
def test_an_example_has_cells(path):
    # Without them, the gallery shows what an example prints before its code. It does not run that of Dask.
    assert "\n# %%\n" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    package = NEEDS.get(path.stem)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"the example needs {package}, which is not installed")
    assert children.run(run_program, path, tmp_path).strip()
    assert not list(tmp_path.iterdir()), "an example leaves files behind"
