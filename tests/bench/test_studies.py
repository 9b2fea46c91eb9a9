"""The measurements measure what they say."""

from __future__ import annotations

import numpy as np
import pytest
from bench.__main__ import main
from bench.data.sets import default_folder, load
from bench.measure.objective import objective
from bench.studies import methods, orlib
from bench.studies.speed import table

import reference


@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
def test_objective(metric):
    X = np.random.RandomState(0).rand(5200, 3).astype(np.float32)
    medoids = np.array([4, 5100, 77])
    expected = reference.distance_block(X, X[medoids], metric).min(axis=1).sum()
    assert objective(X, medoids, metric) == pytest.approx(expected)


def test_table_compares_medians_with_the_authors_package():
    def run(seconds, objective):
        return {
            "seconds": seconds,
            "objective": objective,
            "stages": {"distances": seconds / 2},
        }

    peaks = {name: {"peak_bytes": 2e6, "needed_bytes": 1e6} for name in ("onebatch", "ours")}
    lines = table({"onebatch": [run(s, 100.0) for s in (1, 10, 900)], "ours": [run(2, 99.0)]}, peaks).splitlines()
    assert lines[2].startswith("| onebatch | 10.000 | 1.0 | 100 (+0.00%) | 2 MB | 2.00 |")
    assert lines[3] == "| ours | 2.000 | 5.0 | 99 (-1.00%) | 2 MB | 2.00 | distances 1.000 |"


def test_a_missing_peer_is_named(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["speed"]) == 2
    assert "onebatch is not installed: pip install '.[bench]'" in capsys.readouterr().err


def test_missing_data_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz is missing: name its folder"):
        load("mnist", tmp_path)


def test_a_table_of_methods_compares_with_the_first_and_with_the_best():
    def run(seconds, objective, **stages):
        return {
            "seconds": seconds,
            "objective": objective,
            "stages": stages,
            "n_distances": 1000,
        }

    first = [run(s, 102.0, **{"distances": s - 2, "swap search": 2.0}) for s in (5, 8, 900)]
    runs = {"kmedoids": first, "ours": [run(2, 100.0, **{"swap search": 0.5})], "random": [run(1, 150.0)]}
    lines = methods.table(runs, dict.fromkeys(runs, 2_000_000)).splitlines()
    assert lines[2].startswith("| kmedoids | 8.000 | 1.0 | 1.0 | 102 (+2.00%) | 1e+03 | 2 MB | distances 6.000,")
    assert lines[3].startswith("| ours | 2.000 | 4.0 | 4.0 | 100 (+0.00%) |")
    assert lines[4].startswith("| random | 1.000 | 8.0 |  | 150 (+50.00%) |")


@pytest.mark.parametrize("section", methods.SECTIONS)
def test_every_method_of_a_section_runs(section, tmp_path, monkeypatch):
    monkeypatch.setattr(methods, "MEMORY_TO_TOUCH", 0)
    pytest.importorskip("kmedoids")
    pytest.importorskip("banditpam")
    problem = methods.Problem("blobs", "manhattan", 3)
    for method in methods.SECTIONS[section][1]:
        record = methods.measure(print, section, method.name, problem, 0, tmp_path)
        assert record["n_distances"] > 0
        assert record["objective"] > 0
        # In this process, which may give memory back meanwhile, the difference can even be negative.
        assert isinstance(methods.measure_peak(print, section, method.name, problem, tmp_path)["peak_bytes"], int)


class TestGraphs:
    def test_lengths(self, tmp_path):
        (tmp_path / "graph.txt").write_text(" 4 5 2 \n 1 2 9 \n 2 3 4 \n 3 1 3 \n 2 1 6 \n 3 4 10 \n")
        matrix, p = orlib.load_graph(tmp_path / "graph.txt")
        assert p == 2
        assert matrix.tolist() == [[0, 6, 3, 13], [6, 0, 4, 14], [3, 4, 0, 10], [13, 14, 10, 0]]

    @pytest.mark.parametrize("search", orlib.CONTESTANTS.values(), ids=orlib.CONTESTANTS)
    def test_excess(self, search):
        pytest.importorskip("kmedoids")
        points = np.array([0, 1, 2, 50, 51, 52])
        matrix = np.abs(points[:, None] - points).astype(np.int32)
        assert orlib.excesses(matrix, 2, 4, search, 3).tolist() == [0, 0, 0]
        assert orlib.excesses(matrix, 2, 2, search, 1).tolist() == [1]

    @pytest.mark.parametrize("name", ["pmed1", "pmed6", "pmed11"])
    def test_known_optima(self, name):
        folder = default_folder() / "orlib"
        if not folder.exists():
            pytest.skip(f"there is no {folder}")
        matrix, p = orlib.load_graph(folder / f"{name}.txt")
        optimum = orlib.load_optima(folder)[name]
        assert orlib.excesses(matrix, p, optimum, orlib.search_ours, 10).min() == 0
        start = np.arange(p)
        for dtype in (np.int64, np.float32, np.float64):
            np.testing.assert_array_equal(
                orlib.search_ours(matrix.astype(dtype), start), orlib.search_ours(matrix, start)
            )

    def test_table(self):
        found = [{"onebatchpam": np.array([0, 0.02]), "kmedoids": np.array([0.01, 0.01])}] * 2
        assert orlib.table_row("mean", found) == "| mean | 1.000% | 0.000% | 1.000% | 1.000% |"

    def test_missing_data_are_named(self, tmp_path, capsys):
        pytest.importorskip("kmedoids")
        assert main(["--data", str(tmp_path), "orlib"]) == 2
        assert "pmedopt.txt is missing" in capsys.readouterr().err
