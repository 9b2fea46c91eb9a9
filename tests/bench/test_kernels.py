"""`python -m bench kernels`, on few rows and columns."""

from __future__ import annotations

import pytest

from bench.__main__ import main
from bench.studies import kernels
from onebatchpam import _core

LIMITS = {"clock": 3.0, "product": 50.0, "manhattan float64": 20.0, "squares float32": 40.0}


@pytest.fixture
def tiny(monkeypatch):
    """Let the cases be small, and the limits known; return the command."""
    monkeypatch.setattr(kernels, "WORK", 100_000)
    monkeypatch.setattr(kernels, "measure_limits", lambda: LIMITS)
    return ["kernels", "--columns", "20", "--rounds", "1", "--repeats", "1", "--threads", "2", "-p", "16"]


@pytest.mark.parametrize("view", kernels.PASSES)
def test_a_build_is_measured_beside_the_product_and_itself(tiny, view, capsys):
    against = ["--metric", "manhattan", "--type", "float64", "--view", view, "--against", _core.__file__]
    assert main([*tiny, *against]) == 0
    header, _, line = capsys.readouterr().out.strip().splitlines()[-3:]
    cells = dict(zip(*([cell.strip() for cell in row.split("|")[1:-1]] for row in (header, line)), strict=True))
    assert (cells["metric"], cells["type"], cells["p"], cells["limit"]) == ("manhattan", "float64", "16", "20.0")
    assert float(cells["ours / limit"]) == pytest.approx(float(cells["ours"]) / 20, abs=0.01)
    assert float(cells["ours / other"]) > 0


def test_halves_are_widened(tiny, capsys):
    assert main([*tiny, "--metric", "cosine", "--type", "float16"]) == 0
    cells = [cell.strip() for cell in capsys.readouterr().out.strip().splitlines()[-1].split("|")]
    assert cells[1:4] == ["cosine", "float16", "16"]
    assert float(cells[4]) > 0
    assert cells[6] == "40.0"


def test_a_file_that_is_no_build_is_an_error(tiny, tmp_path, capfd):
    assert main([*tiny, "--against", str(tmp_path / "missing.so")]) == 2
    assert "missing.so" in capfd.readouterr().err


def test_the_limit_is_that_of_the_instructions_in_use():
    limits = [kernels.Case("cosine", "float32", p, 20).find_limit(LIMITS) for p in (16, 64)]
    assert limits == [LIMITS["squares float32"], LIMITS["product"]]
