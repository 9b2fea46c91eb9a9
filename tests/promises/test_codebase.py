"""The code base keeps its promises: the stub and the versions agree, public names are documented, examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import onebatchpam
from onebatchpam import _core

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
STUB = ROOT / "src" / "onebatchpam" / "_core.pyi"
SUBMODULES = sorted(module.name for module in pkgutil.walk_packages(onebatchpam.__path__, "onebatchpam."))
MODULES = ["onebatchpam", *SUBMODULES]  # estimators count as defined in `onebatchpam`


def without_docstrings(source):
    """Return Python code in a normal form that has no comments and no documentation."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Expr(ast.Constant(...))]
    return ast.unparse(tree)


def generated_stub():
    """Return the stub that describes the native module as it is built."""
    stubgen = pytest.importorskip("nanobind.stubgen")
    generator = stubgen.StubGen(_core)
    generator.put(_core)
    head = "# Written by `python tests/promises/test_codebase.py`.\n# ruff: noqa: C408\n"
    return f"{head}{generator.get()}\n__version__: str\n"  # the generator leaves out names with underscores


def test_the_stub_agrees_with_the_native_module():
    assert without_docstrings(STUB.read_text()) == without_docstrings(generated_stub())


def test_version():
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert onebatchpam.__version__ == declared[1] == _core.__version__


@pytest.mark.parametrize("path", sorted((ROOT / "src" / "core").rglob("*.cpp")), ids=lambda path: path.name)
def test_every_native_file_starts_with_the_rules_of_rounding(path):
    assert re.search("^#include .+", path.read_text(), re.MULTILINE)[0] == '#include "rounding.hpp"'


@pytest.mark.parametrize("name", onebatchpam.__all__)
def test_public_names_exist_and_are_documented(name):
    public = getattr(onebatchpam, name)
    if name != "__version__":
        assert inspect.getdoc(public)


@pytest.mark.parametrize("name", [name for name in onebatchpam.__all__ if callable(getattr(onebatchpam, name))])
def test_every_parameter_is_documented(name):
    public = getattr(onebatchpam, name)
    documentation = inspect.getdoc(public)
    for parameter in inspect.signature(public).parameters:
        assert re.search(rf"^{parameter} : ", documentation, re.MULTILINE), f"{name} does not document {parameter}"


@pytest.mark.parametrize("name", ["fit", "predict", "transform", "score", "fit_predict", "get_feature_names_out"])
def test_methods_are_documented(name):
    assert inspect.getdoc(getattr(onebatchpam.OneBatchPAM, name))


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_and_modules_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    "name",
    sorted(
        set(onebatchpam.__all__)
        - {"ClusterMedoids", "ClusterTable", "CostEstimate", "DistinctRows", "FitSummary", "KSelection", "LowerBound"}
        - {"ClusterStatistics", "Representatives", "RowAssessment", "SwapResult", "__version__"}
    ),
)
def test_public_functions_have_examples(name):
    found = doctest.DocTestFinder(recurse=False).find(getattr(onebatchpam, name))
    assert found[0].examples


def test_only_the_tests_of_the_benchmark_import_it():
    """The benchmark runs on Linux only, the tests of the package everywhere."""
    others = [path for path in TESTS.rglob("*.py") if path.parent.name != "bench"]
    assert [path.name for path in others if re.search(r"^\s*(from|import) bench\b", path.read_text(), re.M)] == []


if __name__ == "__main__":
    STUB.write_text(generated_stub())
