"""The measurements measure what they say."""

from __future__ import annotations

import numpy as np
import pytest
from bench.__main__ import main
from bench.data import load
from bench.process import run_alone
from bench.speed import objective, table

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
            "peak_bytes": 2e6,
            "needed_bytes": 1e6,
        }

    lines = table({"onebatch": [run(s, 100.0) for s in (1, 10, 900)], "ours": [run(2, 99.0)]}).splitlines()
    assert lines[2].startswith("| onebatch | 10.000 | 1.0 | 100 (+0.00%) | 2 MB | 2.00 |")
    assert lines[3] == "| ours | 2.000 | 5.0 | 99 (-1.00%) | 2 MB | 2.00 | distances 1.000 |"


def test_a_run_has_a_process_of_its_own():
    import os

    assert run_alone(os.getpid) != os.getpid()


def test_a_missing_peer_is_named(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["speed"]) == 2
    assert "onebatch is not installed: pip install '.[bench]'" in capsys.readouterr().err


def test_missing_data_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz is missing: name its folder"):
        load("mnist", tmp_path)
