"""The gap against k / m, from records."""

import math

import pytest

from bench.__main__ import main
from bench.measure.records import Store
from bench.studies.gap import compute_points, make_tables

N = 5000


def record(method: str, k: int, seed: int, objective: float) -> dict:
    return {
        "dataset": "blobs",
        "n": None,
        "k": k,
        "metric": "manhattan",
        "method": method,
        "seed": seed,
        "status": "ok",
        "n_rows": N,
        "objective": objective,
    }


def records(constant: float) -> list[dict]:
    made = []
    for k in (20, 60):
        paper_size = int(100 * math.log(k * N))
        for seed in (0, 1):
            made.append(record("FasterPAM", k, seed, 100.0 + seed))
            gap = constant * k / int(0.5 * 100 * math.log(k * N))
            made.append(record("nniw, 0.5 m", k, seed, (100.0 + seed) * (1 + gap)))
            gap = constant * k / paper_size
            made.append(record("OneBatchPAM-nniw", k, seed, (100.0 + seed) * (1 + gap)))
            made.append(record("refined, 10 k", k, seed, (100.0 + seed) * 1.001))
    return made


def test_the_constant_is_found():
    points = compute_points(records(0.4))
    assert [point.constant for point in points if point.kind == "nniw"] == pytest.approx([0.4] * 4)
    assert {(point.k, point.m) for point in points if point.kind == "refined"} == {(20, 200), (60, 600)}
    assert "| the paper's: nniw, not refined | blobs | 0.40 (0.40–0.40) |" in make_tables(points)
    assert "| 20 | 10.0 | 0.10% | 1 |" in make_tables(points)


def test_runs_without_a_reference_are_left_out():
    alone = [each for each in records(0.4) if each["method"] != "FasterPAM" or each["seed"] != 1]
    constants = [point.constant for point in compute_points(alone) if point.kind == "nniw"]
    assert constants == pytest.approx([0.4] * 4)
    assert compute_points([each for each in alone if each["method"] != "FasterPAM"]) == []


def test_the_command(tmp_path, capsys):
    assert main(["gap", "--results", str(tmp_path)]) == 2
    assert "python -m bench run batch" in capsys.readouterr().err
    for each in records(0.4):
        Store(tmp_path, "batch").append(each)
    assert main(["gap", "--results", str(tmp_path), "--picture", str(tmp_path / "gap.png")]) == 0
    assert (tmp_path / "gap.png").stat().st_size > 10_000
