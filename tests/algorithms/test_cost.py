"""What a fit will cost: sizes and counts are those of the fit, and seconds are measured on the rows themselves."""

from __future__ import annotations

import json
import time
from functools import partial

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import onebatchpam.dask
from onebatchpam import FasterPAM, OneBatchPAM, _show, estimate_cost, medoid_silhouette, pair_metric
from onebatchpam.batch import sample

pytestmark = pytest.mark.usefixtures("short_measurements")


@pytest.mark.parametrize(
    ("n", "p", "k", "parameters"),
    [
        (500, 5, 4, {}),
        (8000, 5, 1, {}),
        (8000, 5, 10, {}),
        (8000, 5, 60, {"refine": 0}),
        (8000, 5, 60, {"batch_size": 300}),
        (8000, 20, 60, {"memory_limit": 0}),
        (8000, 20, 60, {"memory_limit": "9MB"}),
        (8000, 5, 20, {"memory_limit": "9MB"}),
        (8000, 5, 20, {"n_init": 3}),
        (8000, 5, 20, {"effort": "balanced"}),
        (2000, 5, 20, {"effort": "best"}),
        (8000, 5, 5, {"effort": "best"}),
    ],
)
def test_sizes_are_those_of_the_fit_and_counts_come_close(n, p, k, parameters):
    X = np.random.RandomState(0).standard_normal((n, p)).astype("float32")
    model = OneBatchPAM(k, random_state=0, **parameters)
    cost = model.estimate_cost((n, p), dtype="float32")
    assert not hasattr(model, "labels_")
    model.fit(X)
    assert cost.batch_size == len(model.batch_indices_)
    assert cost.block_storage == model.block_storage_
    assert cost.block_bytes == 4 * n * cost.batch_size
    assert cost.n_distances == pytest.approx(model.n_distances_, rel=0.6)
    assert set(cost.seconds) == set(model.fit_seconds_)
    assert all(seconds > 0 for seconds in cost.seconds.values())


def test_starts_without_swaps_are_not_combined():
    X = np.random.RandomState(0).standard_normal((2000, 5)).astype("float32")
    model = OneBatchPAM(20, batch_size=300, n_init=3, max_iter=0, random_state=0)
    cost = model.estimate_cost(X)
    assert cost.n_distances == model.fit(X).n_distances_
    assert "pool search" not in {**cost.seconds, **model.fit_seconds_}


@pytest.mark.parametrize("k", [5, 40])
def test_a_search_on_a_sample(k, monkeypatch):
    monkeypatch.setattr(sample, "MANY_ROWS", 3000)
    X = np.random.RandomState(0).standard_normal((12_000, 4)).astype("float32")
    model = OneBatchPAM(k, batch_size=500, random_state=0)
    cost = model.estimate_cost(X)
    model.fit(X)
    assert cost.block_bytes == 4 * 3000 * 500
    assert cost.block_storage == model.block_storage_
    assert cost.n_distances == pytest.approx(model.n_distances_, rel=0.6)
    assert set(cost.seconds) == set(model.fit_seconds_)


@pytest.mark.parametrize(
    ("n", "p", "m"), [(1, 1, 1), (100, 3, 2), (5000, 2, 3), (5000, 2, 5000), (10**9, 2, 10), (7, 10**6, 7)]
)
def test_trials_end_whatever_the_sizes(n, p, m):
    assert estimate_cost(n, p, 1, batch_size=m).batch_size == m


def test_a_slow_function_is_estimated_from_the_rows_themselves():
    durations = []

    def slow(a, b):
        began = time.perf_counter()
        time.sleep(1e-3)
        durations.append(time.perf_counter() - began)  # longer than a millisecond if the machine is busy
        return float(abs(a[0] - b[0]))

    X = np.random.RandomState(0).rand(1000, 1)
    cost = OneBatchPAM(5, metric=slow).estimate_cost(X)
    assert len(durations) < 10_000
    assert 0.5e6 * min(durations) < cost.total_seconds < 2e6 * max(durations)  # a million calls
    same = estimate_cost(1000, None, 5, metric=slow, sample=X[:50])
    assert (same.n_samples, same.n_distances, same.metric) == (1000, cost.n_distances, "slow")


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "canberra", "gower", "precomputed", "mahalanobis", "hamming"]
)
@pytest.mark.parametrize("dtype", ["float64", np.float32, "uint8"])
def test_every_metric_of_numbers_is_estimated_from_a_size(metric, dtype):
    p = 400 if metric == "precomputed" else 6
    assert estimate_cost(400, p, 3, metric=metric, dtype=dtype).total_seconds > 0


def test_other_data(tmp_path):
    words = ["a" * (i % 7) + "b" * (i % 5) for i in range(200)]
    frame = pd.DataFrame({"number": np.arange(200) % 7, "letter": list("abcd") * 50})
    np.save(tmp_path / "rows.npy", np.random.RandomState(0).rand(200, 3))
    for X, metric in [(words, "levenshtein"), (frame, "gower"), (tmp_path / "rows.npy", "manhattan")]:
        cost = OneBatchPAM(3, metric=metric).estimate_cost(X)
        assert (cost.n_samples, cost.metric) == (200, metric)
    assert estimate_cost(10**6, None, 3, metric="levenshtein", sample=words).n_samples == 10**6


def test_numbers_for_people():
    assert [_show.show_count(n) for n in (12, 1234, 2.7e6, 5.12e8, 3e13)] == [
        *("12", "1,234", "2.7 million", "512 million", "30 trillion"),
    ]
    assert [_show.show_seconds(s) for s in (0.0123, 4.56, 45.6, 600, 7500)] == [
        *("0.012 s", "4.6 s", "46 s", "10 min", "2 h 5 min"),
    ]
    assert [_show.show_bytes(n) for n in (12, 7.37e9, 2e15)] == ["12 bytes", "7.37 GB", "2,000.0 TB"]
    assert [_show.show_share(share) for share in (0.347, 0.0027, 0.00003)] == ["35%", "0.27%", "0.003%"]


def test_it_is_a_text_a_table_and_a_dictionary():
    cost = estimate_cost(1_000_000, 8, 100, memory_limit="1GB", n_jobs=2)
    text = str(cost)
    for part in ("1,000,000, 100; metric euclidean", "1,843", "737 MB, ", "with 2 threads", "3 passes"):
        assert part in text
    assert cost._repr_html_().count("<tr>") == text.count("\n")
    assert json.loads(json.dumps(cost.as_dict()))["total_seconds"] == cost.total_seconds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_cost(100, None, 3), "n_features=None: expected an integer"),
        (lambda: estimate_cost(100, 3, 101), "n_clusters=101 is larger than n_samples=100"),
        (lambda: estimate_cost(100, 3, 3, metric="levenshtein"), r"how long metric='levenshtein' takes .* sample=rows"),
        (lambda: OneBatchPAM(3, metric=max).estimate_cost((100, 3)), r"takes depends on the rows"),
        (lambda: OneBatchPAM(3).estimate_cost((0, 3)), "n_samples=0: expected an integer from 1"),
        (
            lambda: onebatchpam.dask.OneBatchPAM(3).estimate_cost(da.ones((10, 2))),
            r"estimate_cost does not work with Dask: expected rows in memory, or their .* \(1_000_000, 768\)",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_summary_of_every_estimator():
    X = np.random.RandomState(0).rand(300, 3)
    for name in onebatchpam.__all__:
        estimator = getattr(onebatchpam, name)
        if hasattr(estimator, "summary") and hasattr(estimator, "fit"):
            model = estimator(4, random_state=0).fit(X)
            summary = model.summary(X)
            assert summary.estimator == name
            assert summary.n_distances == model.n_distances_
            assert summary.silhouette == pytest.approx(onebatchpam.medoid_silhouette(X, model))
            assert json.loads(json.dumps(summary.as_dict()))["inertia"] == model.inertia_
            assert f"{name}, metric euclidean" in str(summary)
            assert summary._repr_html_().count("<tr>") == len(str(summary).splitlines())


def test_summary_says_only_what_is_known():
    X = np.random.RandomState(0).rand(300, 3)
    quick = FasterPAM(30, random_state=0).fit(X, candidates=np.arange(100)).summary()
    assert quick.silhouette is quick.batch_size is quick.block_storage is None
    assert "100 rows may become medoids" in str(quick)
    assert "median" in str(quick)
    assert OneBatchPAM(1).fit(X).summary(X).silhouette is None
    weighted = OneBatchPAM(3, random_state=0).fit(X, sample_weight=np.full(300, 0.5))
    assert weighted.summary().mean_distance == pytest.approx(weighted.inertia_ / 150)
    weights = np.arange(len(X)) % 7
    weighted = OneBatchPAM(3, random_state=0).fit(X, sample_weight=weights)
    expected = medoid_silhouette(np.repeat(X, weights, axis=0), weighted)
    assert weighted.summary(X, sample_weight=weights).silhouette == pytest.approx(expected)
    assert weighted.summary(X).silhouette != pytest.approx(expected, rel=1e-4)


def test_a_function_is_called_by_its_name(tmp_path):
    def walk(a, b):
        return abs(a - b).sum()

    X = np.random.RandomState(0).rand(30, 3)
    for metric, name in ((walk, "walk"), (pair_metric(walk), "walk"), (partial(walk), "function"), ("l1", "l1")):
        model = OneBatchPAM(2, metric=metric, random_state=0).fit(X)
        assert model.summary().metric == model.estimate_cost(X).metric == name
        model.report(X, tmp_path / "report.html")
        assert f"metric {name}<" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_summary_with_dask():
    X = np.random.RandomState(0).rand(300, 3)
    model = onebatchpam.dask.OneBatchPAM(4, random_state=0).fit(da.from_array(X, chunks=(70, 3)))
    summary = model.summary(da.from_array(X, chunks=(70, 3)))
    assert summary.n_samples == 300
    assert summary.silhouette == pytest.approx(model.assess_rows(X).silhouettes.mean())
