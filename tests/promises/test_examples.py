"""Every example has a title for the gallery, runs, prints something and leaves no files behind."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    package = NEEDS.get(path.stem)
    if package is not None and find_spec(package) is None:
        pytest.skip(f"the example needs {package}, which is not installed")
    run = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", path],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "template"},  # matplotlib's backend that draws nothing
        capture_output=True,
        text=True,
        timeout=600,  # only an example that hangs takes so long, even on a busy machine
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    assert not list(tmp_path.iterdir()), "an example leaves files behind"
