"""The table of what travels in a Dask fit."""

from __future__ import annotations

import pickle

import dask.array as da
import numpy as np

from bench.__main__ import main
from bench.studies.dask import weigh_traffic
from onebatchpam.dask import OneBatchPAM, population


def test_the_command_prints_a_table(capsys):
    assert main(["dask", "--rows", "3000", "--features", "2", "--clusters", "3", "--partitions", "2"]) == 0
    assert "| pass | passes |" in capsys.readouterr().out


def test_traffic_is_small_beside_the_data(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 1)
    X = da.from_array(np.random.RandomState(0).rand(50_000, 8), chunks=(10_000, 8))
    with weigh_traffic() as traffic:
        model = OneBatchPAM(3, batch_size=50, random_state=0, effort="fast").fit(X)
    medoids = len(pickle.dumps(model.cluster_centers_))
    assert traffic["far"].n_passes == 1
    assert 1 <= traffic["members"].n_passes <= 10
    assert medoids <= traffic["far"].bytes_told <= 10 * medoids
    assert sum(each.bytes_returned for each in traffic.values()) < 0.1 * X.nbytes


def test_the_comparison_with_fits_in_memory(capsys):
    size = ["--rows", "2000", "--features", "3", "--clusters", "4", "--partitions", "3"]
    assert main(["dask", *size, "--compare", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # So few rows are gathered: the fits are the same.
    assert [line.split("|")[-2].strip() for line in lines[-3:]] == ["+0.00%"] * 3
