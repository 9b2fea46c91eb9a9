"""The studies of optimality: problems, records, outcomes and pictures."""

from __future__ import annotations

import numpy as np
import pytest

from bench.__main__ import main
from bench.measure.records import Store
from bench.studies import against, certificate, optimality
from bench.studies.optimality import Case, make_table, measure_case, sum_up

POINTS = np.array([0, 1, 2, 50, 51, 52, 100, 101, 102])
MATRIX = np.abs(POINTS[:, None] - POINTS).astype(np.float32)
KNOWN = Case("TSPLIB", "line", 3, "precomputed", 6.0, lambda: MATRIX)
UNKNOWN = Case("the paper's sets", "rows", 3, "manhattan", None, lambda: POINTS[:, None].astype(np.float32))


def test_floors_of_distances(tmp_path):
    (tmp_path / "a.tsp").write_text("NAME: a\nNODE_COORD_SECTION\n1 0 0\n2 3.0e+00 4\n3 1 1\nEOF\n")
    assert optimality.load_floors(tmp_path / "a.tsp").tolist() == [[0, 5, 1], [5, 0, 3], [1, 3, 0]]


def test_outcomes_are_relative_to_the_best_known_or_to_the_bound(tmp_path):
    store, known = Store(tmp_path, "optimality"), {}
    for case in (KNOWN, UNKNOWN):
        measure_case(case, 2, 1, store, known)
    outcomes = sum_up([KNOWN, UNKNOWN], known)
    best = [each for each in outcomes if each.method == "OneBatchPAM, best"]
    assert [each.excess for each in best] == pytest.approx([0, 0], abs=1e-5)
    assert best[0].is_optimal
    reference = [each for each in outcomes if each.method == "FasterPAM"]
    assert [(each.seconds, each.against_reference) for each in reference] == [(1, 0)] * 2
    table = make_table(outcomes)
    assert "| TSPLIB | OneBatchPAM, best | 1 | 0.000% | 0.000% | 1 |" in table
    # What is in the records is not measured again.
    n_lines = len(store.plain.read_text().splitlines())
    for case in (KNOWN, UNKNOWN):
        measure_case(case, 2, 1, store, store.read())
    assert len(store.plain.read_text().splitlines()) == n_lines


def test_the_excess_of_a_poor_method(tmp_path):
    known = {
        run: {"objective": objective, "seconds": seconds}
        for run, objective, seconds in (
            (KNOWN.run("FasterPAM", 0), 9.0, 2.0),
            (KNOWN.run("OneBatchPAM, fast", 0), 6.0, 1.0),
            (KNOWN.run("OneBatchPAM, fast", 1), 12.0, 1.0),
        )
    }
    fast = sum_up([KNOWN], known)[1]
    assert (fast.excess, fast.worst, fast.is_optimal) == (0.5, 1.0, True)
    assert (fast.against_reference, fast.seconds) == (0, 0.5)


def test_the_command(tmp_path, capsys):
    assert main(["--data", str(tmp_path), "optimality"]) == 2
    assert "pmedopt.txt is missing" in capsys.readouterr().err
    (tmp_path / "orlib").mkdir()
    (tmp_path / "orlib" / "pmedopt.txt").write_text("graph optimum\nline 4\n")
    (tmp_path / "orlib" / "line.txt").write_text("6 5 2\n1 2 1\n2 3 1\n3 4 48\n4 5 1\n5 6 1\n")
    (tmp_path / "tsplib").mkdir()
    (tmp_path / "tsplib" / "best_known.csv").write_text("instance,p,best_known,data_file\n")
    options = ["--only", "OR-Library", "--results", str(tmp_path), "--picture", str(tmp_path / "o.png")]
    assert main(["--data", str(tmp_path), "optimality", *options, "--seeds", "1"]) == 0
    assert "| OR-Library | OneBatchPAM, best | 1 | 0.000% | 0.000% | 1 |" in capsys.readouterr().out
    assert (tmp_path / "o.png").stat().st_size > 1000


def test_the_picture_of_a_certificate(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(certificate, "N_RUNS", 1)
    monkeypatch.setattr(certificate, "LIMITS", np.array([1.0, 8.0]))
    path = tmp_path / "certificate.png"
    assert main(["certificate", "--rows", "300", "--picture", str(path)]) == 0
    assert "lower bound" in capsys.readouterr().out
    assert path.stat().st_size > 1000


def test_the_default_against_fasterpam():
    """Objectives are relative to the mean of FasterPAM, and the interval of two seeds is wide."""
    seeds = {"FasterPAM": (9.0, 11.0), "OneBatchPAM, fast": (10.0, 12.0), "OneBatchPAM, default": (9.0, 9.0)}
    known = {
        KNOWN.run(method, seed): {"objective": objective, "cpu_seconds": 1.0 + (method != "FasterPAM")}
        for method, objectives in seeds.items()
        for seed, objective in enumerate(objectives)
    }
    table = against.make_table([KNOWN, UNKNOWN], known)
    fast, default = "+10.00% ± 127.06% | +20.00% | 2.00", "-10.00% ± 0.00% | -10.00% | 2.00"
    assert f"| line | 3 | 2 | +10.00% | {fast} | {default} |" in table
    assert "OneBatchPAM, default: -10.000% on average; at or below FasterPAM's mean in 1" in table
