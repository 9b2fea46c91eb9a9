"""`python -m bench memory`, on very few rows; and the memory that calls take."""

from __future__ import annotations

import re

import pytest

from bench.__main__ import main
from bench.measure.process import run_alone
from bench.studies import memory


def test_every_call(monkeypatch, capsys):
    monkeypatch.setattr(memory, "run_alone", lambda task, *arguments: task(print, *arguments))
    monkeypatch.setattr(memory, "FEW_ROWS", 50)
    modes = {name: memory.Mode(mode.make, mode.call, mode.count) for name, mode in memory.MODES.items()}
    monkeypatch.setattr(memory, "MODES", modes)
    assert main(["memory", "--rows", "400", "--features", "3", "--clusters", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == list(modes)
    for line in lines[2:]:
        name, n, p, k, documented, measured, ratio = (cell.strip() for cell in line.split("|")[1:-1])
        assert (n, p, k) == ("400", "3", "4")
        assert documented == f"{modes[name].count(memory.Size(400, 3, 4)) / memory.MB:,.0f} MB"
        assert re.fullmatch(r"[\d,]+ MB", measured)
        assert re.fullmatch(r"\d+\.\d\d", ratio)


def test_refinement_keeps_candidates_within_the_limit_or_a_tile_of_them():
    size = memory.Size(n=10**6, p=2, k=100)
    n_points = 2**26 // 1100
    assert memory.count_refinement(size) == n_points * 6000
    assert memory.count_refinement(size, 0) == n_points * (1600 + 1024)
    assert memory.count_refinement(size, 2000 * n_points) == pytest.approx(n_points * 3600)


@pytest.mark.parametrize("name", memory.MODES)
def test_a_call_takes_no_more_than_the_docs_promise(name, tmp_path):
    """The factor is generous, because a system may count memory differently; `python -m bench memory` is exact."""
    size = memory.Size(max(3000, int(30_000 * memory.MODES[name].rows)), 16, 10)
    assert run_alone(memory.measure, name, size, tmp_path)["peak_bytes"] < 1.5 * memory.MODES[name].count(size)
