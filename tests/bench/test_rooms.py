"""The rooms of the benchmark: each imports only those below, and every import is at the head of its file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
FLOORS = {"data": 0, "methods": 1, "measure": 2, "report": 3, "fuzz": 3, "studies": 4}
OPTIONAL = {
    *(
        "apricot",
        "aeon",
        "atheris",
        "banditpam",
        "dask",
        "distributed",
        "faiss",
        "h5py",
        "kmedoids",
        "matplotlib",
        "onebatch",
        "onebatchpam.dask",
    ),
    *("numba", "pandas", "polars", "pooch", "pyarrow", "rapidfuzz", "selenium", "sklearn_extra", "zarr"),
}
FILES = sorted(path for room in FLOORS for path in (BENCH / room).glob("*.py"))


def find_imports(tree):
    """Return the names of all modules that are imported in a tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_the_benchmark_begins_without_the_packages_of_the_tests():
    missing = [
        "pytest",
        "hypothesis",
        "polars",
        "pyarrow",
        "rapidfuzz",
        "h5py",
        "zarr",
        "dask",
        "distributed",
        "selenium",
    ]
    without = f"import sys; sys.modules |= dict.fromkeys({missing}); import bench.__main__"
    subprocess.run([sys.executable, "-c", without], cwd=BENCH.parent, check=True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(BENCH)))
def test_imports_go_down(path):
    tree, room = ast.parse(path.read_text()), path.parent.name
    others = {name.split(".")[1] for name in find_imports(tree) if name.startswith("bench.")} - {room}
    assert all(FLOORS[other] < FLOORS[room] for other in others)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = {name for function in functions for name in find_imports(function)}
    assert all(name in OPTIONAL or name.split(".")[0] in OPTIONAL for name in late)


@pytest.mark.parametrize("room", FLOORS)
def test_a_door_has_a_note_and_nothing_else(room):
    tree = ast.parse((BENCH / room / "__init__.py").read_text())
    assert len(tree.body) == 1
    assert 5 <= len(ast.get_docstring(tree).splitlines()) <= 20


def test_the_note_of_the_studies_names_each_command():
    studies = [path for path in (BENCH / "studies").glob("*.py") if "def add_command" in path.read_text()]
    note = (BENCH / "studies" / "__init__.py").read_text()
    assert [path.name for path in studies if f"`{path.name}`" not in note] == []
