"""Errors in partitions of a Dask array name rows by their indices in the whole array."""

from __future__ import annotations

import re
from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from onebatchpam.dask import OneBatchPAM, population, tasks
from onebatchpam.dask.partition import Partition


@pytest.mark.parametrize(
    ("task", "variant", "expected"),
    [
        ("measure_far", "nniw", "medoid {slot}, X[{row}]"),
        ("best_members", "nniw", "medoid {slot}, X[{row}]"),
        ("mean_losses", "nniw", "X[{row}], X[{column}]"),
        ("assess", "nniw", "medoid {slot}, X[{row}]"),
    ],
)
def test_a_metric_that_raises_is_told_with_the_numbers_of_the_rows(task, variant, expected, monkeypatch):
    pairs, fails = [], []

    def metric(a, b):
        if fails:
            pairs.append((int(a[-1]), int(b[-1])))
            raise ZeroDivisionError("none")
        return np.abs(a[:-1] - b[:-1]).sum()

    def failing(function, *arguments):
        if not isinstance(arguments[0], Partition) or arguments[0].number == 2:
            fails.append(True)
        try:
            return function(*arguments)
        finally:
            fails.clear()

    module = next(each for each in (population, tasks) if hasattr(each, task))
    monkeypatch.setattr(module, task, partial(failing, getattr(module, task)))
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 1)
    rows = np.column_stack([make_blobs(1200, 4, centers=10, random_state=0)[0], np.arange(1200)])
    model = OneBatchPAM(3, metric=metric, batch_size=20, variant=variant, random_state=0)
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match="in partition") as caught:
        model.fit(da.from_array(rows, chunks=((500, 300, 200, 200), 5)))
    row, column = pairs[0] if expected.startswith("X") else pairs[0][::-1]
    slot = re.search(r"medoid (\d)", str(caught.value))
    assert f"({expected.format(row=row, column=column, slot=slot and slot[1])})" in str(caught.value)


def test_lazy_results_name_the_row():
    rows = make_blobs(60, 3, centers=5, random_state=0)[0]
    fails = []

    def metric(a, b):
        if fails:
            raise ZeroDivisionError("none")
        return np.abs(a - b).sum()

    data = da.from_array(rows, chunks=((40, 20), 3))
    model = OneBatchPAM(3, metric=metric, random_state=0).fit(data)
    fails.append(True)
    for lazy in (model.labels_, model.predict(data), model.transform(data)):
        with pytest.raises(ValueError, match=r"in partition 1, which begins with row 40: metric\(medoid 0, X\[40\]\)"):
            lazy[40:].compute(scheduler="sync")
    unknown = model.predict(data[data[:, 0] > -np.inf])  # without the sizes, rows are counted in their partition
    with pytest.raises(ValueError, match=r"in partition 1: metric\(medoid 0, row 0 of the partition\)"):
        unknown.partitions[1].compute(scheduler="sync")


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_bound_is_that_of_the_rows_in_memory(is_weighted, rng):
    X, _ = make_blobs(300, random_state=0)
    weights = rng.randint(0, 3, 300).astype(float) if is_weighted else None
    data = da.from_array(X, chunks=(100, 2))
    model = OneBatchPAM(3, random_state=0).fit(data, sample_weight=weights)
    found, expected = model.certify(data, weights), model.certify(X, weights)
    assert (found.bound, found.objective, found.is_exact) == (expected.bound, expected.objective, True)
    assert found.gap < 0.1
    stopped = model.certify(data, weights, time_limit=1e-9)
    assert stopped.stopped_by == "time_limit"
    assert 0 < stopped.bound <= found.bound
    assert not model.certify(data, weights, confidence=0.9).is_exact


def test_a_bound_needs_rows_that_fit_in_memory():
    X, _ = make_blobs(300, random_state=0)
    data = da.from_array(X, chunks=(100, 2))
    model = OneBatchPAM(3, random_state=0).fit(data)
    with pytest.raises(ValueError, match=r"an exact bound gathers all rows of X on the driver, about 4.8e-06 GB, but"):
        model.certify(data, memory_limit=4000)


def test_a_report_needs_rows_in_memory(tmp_path):
    X, _ = make_blobs(300, random_state=0)
    model = OneBatchPAM(3, random_state=0).fit(da.from_array(X, chunks=(100, 2)))
    with pytest.raises(ValueError, match="report does not work with Dask: expected X in memory"):
        model.report(da.from_array(X, chunks=(100, 2)), tmp_path / "report.html")
    model.report(X, tmp_path / "report.html")
    assert "300 rows in 3 clusters" in (tmp_path / "report.html").read_text(encoding="utf-8")
