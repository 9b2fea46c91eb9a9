"""FasterPAM on graphs whose optima are known."""

from __future__ import annotations

import numpy as np
import pytest

from bench.__main__ import main
from bench.data.sets import default_folder
from bench.methods.contestant import Problem
from bench.studies import orlib


def test_lengths_of_paths(tmp_path):
    (tmp_path / "graph.txt").write_text(" 4 5 2 \n 1 2 9 \n 2 3 4 \n 3 1 3 \n 2 1 6 \n 3 4 10 \n")
    matrix, p = orlib.load_graph(tmp_path / "graph.txt")
    assert p == 2
    assert matrix.tolist() == [[0, 6, 3, 13], [6, 0, 4, 14], [3, 4, 0, 10], [13, 14, 10, 0]]


@pytest.mark.parametrize("contestant", orlib.CONTESTANTS, ids=lambda contestant: contestant.name)
def test_the_excess_is_relative_to_the_optimum(contestant):
    pytest.importorskip("kmedoids")
    points = np.array([0, 1, 2, 50, 51, 52])
    matrix = np.abs(points[:, None] - points).astype(np.int32)
    assert orlib.measure_excesses(matrix, 2, 4, contestant, 3).tolist() == [0, 0, 0]
    assert orlib.measure_excesses(matrix, 2, 2, contestant, 1).tolist() == [1]


@pytest.mark.parametrize("name", ["pmed1", "pmed6", "pmed11"])
def test_known_optima_are_found_with_any_type_of_numbers(name):
    folder = default_folder() / "orlib"
    if not folder.exists():
        pytest.skip(f"there is no {folder}")
    matrix, p = orlib.load_graph(folder / f"{name}.txt")
    optimum = orlib.load_optima(folder)[name]
    assert orlib.measure_excesses(matrix, p, optimum, orlib.OURS, 10).min() == 0
    medoids = [
        orlib.OURS.solve(Problem(matrix.astype(dtype), p, "precomputed", 0, 1)).medoids.tolist()
        for dtype in (np.int32, np.int64, np.float32, np.float64)
    ]
    assert medoids == [medoids[0]] * 4


def test_the_command(tmp_path, capsys):
    pytest.importorskip("kmedoids")
    assert main(["--data", str(tmp_path), "orlib"]) == 2
    assert "pmedopt.txt is missing" in capsys.readouterr().err
    (tmp_path / "orlib").mkdir()
    (tmp_path / "orlib" / "pmedopt.txt").write_text("graph optimum\nline 4\n")
    (tmp_path / "orlib" / "line.txt").write_text("6 5 2\n1 2 1\n2 3 1\n3 4 48\n4 5 1\n5 6 1\n")
    assert main(["--data", str(tmp_path), "orlib", "--starts", "3"]) == 0
    printed = capsys.readouterr().out
    assert "onebatchpam, best of 3" in printed
    assert "| line | 6 | 2 | 4 | 0.000% | 0.000% | 0.000% | 0.000% |" in printed


def test_means_and_minima_are_averaged_over_graphs():
    excesses = [{"onebatchpam": np.array([0, 0.02]), "kmedoids": np.array([0.01, 0.01])}] * 2
    assert orlib.format_line("mean", excesses) == "| mean | 1.000% | 0.000% | 1.000% | 1.000% |"
