"""Studies of sizes, embeddings, costly dissimilarities, series and threads run, and print what they promise."""

from __future__ import annotations

import importlib.util
import shutil
from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import reference
from bench.__main__ import main
from bench.data.synthetic import make_mixture, make_unit_vector_pieces
from bench.studies import costly, embeddings, sizes, small, threads
from onebatchpam import FasterPAM


def test_the_best_of_all_medoids():
    points = np.array([0.0, 1, 2, 10, 11, 50])
    matrix = np.abs(points[:, np.newaxis] - points)
    assert sizes.find_best(matrix, 2, 1) == 2 + 19 - 1  # medoids 1 or 2 and 50, or 2 and 11
    assert sizes.find_best(matrix, 2, 3) == 2 + 40
    assert sizes.find_best(matrix, 2, 4) == np.inf


def test_small_cases(capsys):
    assert main(["sizes", "--part", "small", "--cases", "20"]) == 0
    assert "cases with medoids whose clusters are large enough: 0 missed" in capsys.readouterr().out


def test_a_table_of_sizes(capsys, monkeypatch):
    monkeypatch.setattr(sizes, "SETS", ("blobs",))
    monkeypatch.setattr(sizes, "KS", (3,))
    assert main(["sizes", "--part", "data", "--seeds", "1"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| blobs")]
    assert len(lines) == len(sizes.SHARES)


def test_unit_vectors_do_not_depend_on_their_number():
    few, many = (np.concatenate([piece for _, piece in make_unit_vector_pieces(n, 8)]) for n in (15, 12_000))
    assert len(many) == 12_000
    np.testing.assert_array_equal(few, many[:15])
    np.testing.assert_allclose(np.linalg.norm(many, axis=1), 1, rtol=1e-5)


def test_embeddings(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path))
    monkeypatch.setattr(embeddings, "KS", (3,))
    monkeypatch.setattr(embeddings, "N_FEATURES", 8)
    command = ["embeddings", "--rows", "300", "--results", str(tmp_path / "results")]
    assert main(command) == 0
    assert capsys.readouterr().out.count("\n| 300 x 8 | 3 | float") == 4
    assert main(command) == 0  # all runs have a record
    assert "seed=0" not in capsys.readouterr().out


def test_costly_dissimilarities(capsys, monkeypatch):
    monkeypatch.setattr(costly, "SIZES", (1200,))
    monkeypatch.setattr(costly, "KS", (2,))
    assert main(["costly", "--seeds", "1"]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("| 1,200 | 2 | 779 | 1.00 | ")
    assert line.endswith(" | m | all rows |")


def test_series_need_aeon(capsys):
    try:
        import aeon  # noqa: F401
    except ImportError:
        assert main(["series"]) == 2
        assert "bench series needs aeon: pip install aeon" in capsys.readouterr().err
    else:
        pytest.skip("aeon is installed, and the study takes long")


def test_mixed_tables(capsys):
    assert main(["mixed", "--rows", "500", "--k", "3", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert "500 rows of 20 columns, k = 3" in printed
    assert all(f"\n| {library} | " in printed for library in ("pandas", "polars", "pyarrow"))


def test_small_fits(capsys, monkeypatch):
    monkeypatch.setattr(small, "SIZES", (60,))
    assert main(["small", "--seeds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:2] for line in lines[-2:]] == [["| 60", "5"], ["| 60", "10"]]
    assert ("loop in C" in lines[-4]) == (shutil.which("cc") is not None)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler")
def test_the_loop_in_c_is_fasterpam():
    loop, X = small.PlainLoop("cc"), make_mixture(np.random.RandomState(0), 200, 5).astype(np.float32)
    matrix = loop.measure_distances(X)
    np.testing.assert_allclose(matrix, cdist(X, X), rtol=1e-5, atol=1e-6)
    for k, seed in product((2, 7, 30), range(4)):
        medoids, labels, objective = loop.search(matrix, k, seed)
        rows = matrix[medoids]
        np.testing.assert_array_equal(labels, rows.argmin(axis=0))
        assert objective == pytest.approx(rows.min(axis=0).sum(dtype=float), rel=1e-6)
        assert reference.swap_gains(matrix, medoids, np.ones(200)).max() <= 1.1e-6 * objective
        model = FasterPAM(k, init=small.draw_medoids(200, k, seed), metric="precomputed").fit(matrix)
        assert objective == pytest.approx(model.inertia_, rel=0.05)


def test_threads(capsys, monkeypatch):
    cases = {case.name: case for case in threads.list_cases(0.003)}
    chosen = [cases["OneBatchPAM, manhattan"], cases["OneBatchPAM, levenshtein"]]
    chosen += [case for name, case in cases.items() if "function" in name]
    monkeypatch.setattr(threads, "list_cases", lambda scale: chosen)
    assert main(["threads", "--scale", "0.003", "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"| {threads.ALL_STAGES} |") == printed.count(f"| {threads.PREDICT} |") == len(chosen)
    assert len(chosen) == 5 + (importlib.util.find_spec("numba") is not None)
    assert "| OneBatchPAM, levenshtein, 200, k = 5 | distances |" in printed
    assert "| a process for each processor, fits share them |" in printed
