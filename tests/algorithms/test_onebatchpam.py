"""OneBatchPAM as users see it: its attributes, its methods, its variants."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.spatial.distance
from sklearn.base import clone

import reference
from contract import assert_contract
from onebatchpam import OneBatchPAM, _core, batch_size
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.metrics.native import NATIVE_METRICS

variants = pytest.mark.parametrize("variant", VARIANTS)


@variants
@pytest.mark.parametrize("metric", NATIVE_METRICS)
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_contract(blobs, variant, metric, init):
    model = OneBatchPAM(5, metric=metric, variant=variant, batch_size=60, init=init, random_state=0).fit(blobs)
    assert_contract(model, blobs)


@pytest.mark.parametrize("k", [1, 2, 60])
@pytest.mark.parametrize("metric", NATIVE_METRICS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16"])
def test_contract_for_other_types(blobs, k, metric, dtype):
    X = (10 * (blobs + 15)).astype(dtype)
    model = OneBatchPAM(k, metric=metric, batch_size=80, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == dtype
    assert_contract(model, X, rtol=1e-5)


def test_fitted_attributes(blobs):
    model = OneBatchPAM(5, batch_size=60, random_state=0)
    assert model.fit(blobs) is model
    assert model.medoid_indices_.dtype == np.int64
    assert model.labels_.dtype == np.int32
    assert isinstance(model.inertia_, float)
    assert model.n_features_in_ == 4
    assert model.n_iter_ >= 1
    assert model.n_swaps_ >= 1
    assert list(model.fit_seconds_) == ["distances", "swap search", "refinement", "pool search", "assignment"]


def test_finds_the_groups():
    centers = 100 * np.eye(6)
    X = np.repeat(centers, 50, axis=0) + np.random.RandomState(0).randn(300, 6)
    model = OneBatchPAM(6, batch_size=100, init="k-means++", random_state=0).fit(X)
    assert sorted(model.medoid_indices_ // 50) == list(range(6))
    assert all(len(set(labels)) == 1 for labels in model.labels_.reshape(6, 50))


class TestErrorsOfPeers:
    """Mistakes of other k-medoids packages, each tested not to occur here."""

    def test_labels_are_of_all_rows_not_of_the_batch(self, blobs):
        model = OneBatchPAM(5, batch_size=40).fit(blobs)
        assert model.labels_.shape == (300,)
        assert model.batch_indices_.shape == (40,)

    def test_inertia_is_the_sum_over_all_rows_not_a_batch_loss(self, blobs):
        model = OneBatchPAM(5, metric="manhattan", batch_size=40, random_state=0).fit(blobs)
        expected = reference.inertia(blobs, model.medoid_indices_, "manhattan")
        assert model.inertia_ == pytest.approx(expected, rel=1e-12)
        assert model.batch_inertia_ != pytest.approx(expected, rel=0.1)

    def test_fit_predict_returns_labels_not_medoid_indices(self, blobs):
        model = OneBatchPAM(5, batch_size=40, random_state=0)
        labels = model.fit_predict(blobs)
        np.testing.assert_array_equal(labels, model.labels_)
        assert set(labels) == set(range(5))

    def test_predict_returns_labels_not_row_ids(self, blobs):
        model = OneBatchPAM(5, random_state=0).fit(blobs)
        np.testing.assert_array_equal(model.predict(model.cluster_centers_), np.arange(5))

    def test_metric_params_are_not_dropped(self, blobs):
        weights = np.array([1000.0, 1, 1, 1])
        model = OneBatchPAM(5, metric="minkowski", metric_params={"p": 1, "w": weights}, random_state=0).fit(blobs)
        expected = scipy.spatial.distance.cdist(blobs, blobs[model.medoid_indices_], "cityblock", w=weights)
        assert model.inertia_ == pytest.approx(expected.min(axis=1).sum(), rel=1e-9)
        np.testing.assert_array_equal(model.predict(blobs), expected.argmin(axis=1))
        np.testing.assert_allclose(model.transform(blobs), expected, rtol=1e-9)

    @pytest.mark.parametrize("call", ["fill", "fill viewed", "see", "sweep"])
    def test_other_threads_run_during_native_code(self, call):
        block = np.random.RandomState(0).rand(20_000, 200).astype(np.float32)
        n, m = block.shape
        packed = _core.PackedColumns(block[:300], "manhattan")
        out, weights = np.empty((n, 300), np.float32), np.ones(m)
        scanner = _core.RowScanner(np.empty(n, np.int32), np.empty(n, np.float32), 1)
        work = {
            "fill": lambda: packed.fill(block, out, 1),
            "fill viewed": lambda: packed.fill(block, out, scanner),
            "see": lambda: scanner.see(block),
            "sweep": lambda: _core.SwapSearch(n, np.arange(9), block[:9], weights, 0.0).sweep(block, 0, 1),
        }
        assert runs_beside(work[call])


def runs_beside(work, attempts=100):
    """Tell whether another thread runs Python code while `work` runs, that is whether `work` releases the GIL.

    The switch interval is made so long that the interpreter never changes threads by itself.
    """
    interval = sys.getswitchinterval()
    go, seen = threading.Event(), []
    other = threading.Thread(target=lambda: (go.wait(), seen.append(True)))
    other.start()
    sys.setswitchinterval(1000)
    try:
        go.set()
        for _ in range(attempts):  # a busy machine may wake the other thread late
            before = len(seen)
            work()
            if seen:
                return before == 0
    finally:
        go.set()
        sys.setswitchinterval(interval)
        other.join()
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="limits address space")
def test_threads_that_cannot_be_had_are_done_without():
    script = """
import resource, sys
import numpy as np
import pandas as pd
from onebatchpam import OneBatchPAM
X = np.random.RandomState(0).rand(3000, 40)
models = [OneBatchPAM(5, batch_size=500, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 500)]
expected = models[0].fit(X).medoid_indices_
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))  # this leaves room for about thirty stacks
assert (models[1].fit(X).medoid_indices_ == expected).all()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)


def test_bad_names_of_features_are_found_before_the_search(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(OneBatchPAM, "_select", lambda *_: pytest.fail("the search began"))
    frame = pd.DataFrame(blobs).rename(columns={0: "a"})
    model = OneBatchPAM(3)
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        model.fit(frame)
    assert not hasattr(model, "n_features_in_")


class TestMethods:
    @pytest.fixture
    def model(self, blobs):
        return OneBatchPAM(5, random_state=0).fit(blobs)

    def test_transform_gives_the_distances_to_the_medoids_in_their_order(self, model, blobs):
        new = blobs[:50] + 1
        expected = reference.distance_block(new, blobs[model.medoid_indices_], "euclidean")
        np.testing.assert_allclose(model.transform(new), expected, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(new), expected.argmin(axis=1))
        assert model.score(new) == pytest.approx(-expected.min(axis=1).sum(), rel=1e-12)

    @pytest.mark.parametrize(
        ("dtype", "result"),
        [("float32", "float32"), ("uint8", "float32"), ("float64", "float64"), ("int64", "float64")],
    )
    def test_transform_keeps_the_precision_of_the_rows(self, blobs, dtype, result):
        X = np.abs(10 * blobs).astype(dtype)
        assert OneBatchPAM(3, random_state=0).fit(X).transform(X).dtype == result

    def test_rows_of_another_type_than_the_fitted_ones(self, model, blobs):
        np.testing.assert_array_equal(model.predict(blobs.astype(np.float32)), model.labels_)
        integers = np.round(10 * blobs).astype(np.int32)
        np.testing.assert_array_equal(model.predict(integers), model.predict(integers.astype(np.float64)))

    def test_of_equally_near_medoids_the_lowest(self):
        X = np.array([[0.0], [2.0], [4.0]])
        for init in ([0, 2], [2, 0]):
            model = OneBatchPAM(2, init=init, max_iter=1, tol=10).fit(X)
            assert model.predict([[2.0]]) == [0]

    def test_y_is_ignored(self, blobs):
        assert OneBatchPAM(5, random_state=0).fit(blobs, np.ones(300)).score(blobs, 1) < 0

    @pytest.mark.parametrize("method", ["predict", "transform", "score"])
    def test_rows_with_other_features(self, model, method, blobs):
        with pytest.raises(ValueError, match="3 features"):
            getattr(model, method)(blobs[:, :3])


class TestBatch:
    @variants
    def test_indices_and_weights(self, blobs, variant):
        model = OneBatchPAM(5, batch_size=60, variant=variant, random_state=0).fit(blobs)
        m = len(model.batch_indices_)
        assert m == 60 if variant != "lwcs" else 30 < m <= 60  # a coreset may draw a row twice, but keeps it once
        assert len(np.unique(model.batch_indices_)) == m
        assert model.batch_weights_.shape == (m,)
        assert model.batch_weights_.mean() == pytest.approx(1)

    def test_weights_of_the_variants(self, blobs):
        models = {
            variant: OneBatchPAM(5, batch_size=60, variant=variant, random_state=0).fit(blobs) for variant in VARIANTS
        }
        for variant in ("unif", "debias"):
            np.testing.assert_array_equal(models[variant].batch_weights_, np.ones(60))
        indices = models["nniw"].batch_indices_
        nearest, _ = reference.scan_block(reference.distance_block(blobs, blobs[indices], "euclidean"))
        expected = reference.nearest_neighbour_weights(nearest, 60)
        np.testing.assert_allclose(models["nniw"].batch_weights_, expected)

    @variants
    @pytest.mark.parametrize("seed", range(3))
    def test_batch_inertia_is_the_loss_that_was_minimised(self, blobs, variant, seed):
        model = OneBatchPAM(5, batch_size=60, variant=variant, refine=0, random_state=seed).fit(blobs)
        block = reference.distance_block(blobs, blobs[model.batch_indices_], "euclidean")
        if variant != "unif":
            block = reference.debias(block, model.batch_indices_)
        expected = reference.loss(block, model.medoid_indices_, model.batch_weights_)
        assert model.batch_inertia_ == pytest.approx(expected, rel=1e-6)
        gains = reference.swap_gains(block, model.medoid_indices_, model.batch_weights_)
        gains[model.medoid_indices_] = 0
        assert gains.max() <= 2e-6 * expected

    def test_batch_inertia_estimates_the_inertia(self, blobs):
        parameters = {"batch_size": 150, "variant": "unif", "refine": 0}
        models = [OneBatchPAM(5, random_state=seed, **parameters).fit(blobs) for seed in range(30)]
        ratios = [each.batch_inertia_ * 300 / len(each.batch_indices_) / each.inertia_ for each in models]
        assert np.mean(ratios) == pytest.approx(1, abs=0.1)

    @pytest.mark.parametrize(
        ("size", "expected"), [("auto", batch_size(5000, 3)), (70, 70), (np.int64(70), 70), (5000, 5000), (9999, 5000)]
    )
    def test_size(self, size, expected):
        X = np.random.RandomState(0).rand(5000, 2).astype(np.float32)
        model = OneBatchPAM(3, batch_size=size, random_state=0).fit(X)
        assert len(model.batch_indices_) == expected

    def test_all_rows_are_a_batch_in_order(self, blobs):
        model = OneBatchPAM(5, batch_size=300).fit(blobs)
        np.testing.assert_array_equal(model.batch_indices_, np.arange(300))

    @variants
    @pytest.mark.parametrize("init", ["random", "k-means++", list(range(5))], ids=str)
    def test_every_dissimilarity_is_counted(self, blobs, variant, init, monkeypatch):
        computed = []
        compare = scipy.spatial.distance.cdist

        def counting(rows, points, *args, **kwargs):
            computed.append(len(rows) * len(points))
            return compare(rows, points, *args, **kwargs)

        monkeypatch.setattr(scipy.spatial.distance, "cdist", counting)
        parameters = {"metric": "canberra", "batch_size": 60, "variant": variant, "init": init, "random_state": 0}
        for effort in ("auto", "fast"):
            computed.clear()
            model = OneBatchPAM(5, effort=effort, **parameters).fit(blobs)
            assert model.n_distances_ == sum(computed)
        assert model.n_distances_ < 300 * 300


class TestSearch:
    def test_init_is_where_the_search_starts(self, blobs):
        start = np.array([7, 250, 31])
        model = OneBatchPAM(3, init=start, tol=1e9).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, start)
        assert model.n_swaps_ == 0

    def test_full_batch_is_fasterpam(self, blobs):
        block = reference.distance_block(blobs, blobs, "manhattan")
        model = OneBatchPAM(5, metric="manhattan", batch_size=300, tol=0, random_state=0).fit(blobs)
        assert model.batch_inertia_ == pytest.approx(model.inertia_, rel=1e-6)
        gains = reference.swap_gains(block, model.medoid_indices_, np.ones(300))
        assert gains.max() <= 1e-6 * model.inertia_

    def test_max_iter_warns(self):
        X = np.random.RandomState(0).rand(500, 5)
        with pytest.warns(match="max_iter=1 passes"):
            model = OneBatchPAM(20, max_iter=1, random_state=0).fit(X)
        assert model.n_iter_ == 1
        assert_contract(model, X)

    @variants
    def test_a_larger_batch_is_not_worse_on_average(self, variant):
        X = np.random.RandomState(0).randn(400, 3)
        model = OneBatchPAM(8, variant=variant, refine=0)
        mean_inertia = [
            np.mean([clone(model).set_params(batch_size=m, random_state=s).fit(X).inertia_ for s in range(10)])
            for m in (10, 100, 400)
        ]
        assert mean_inertia == sorted(mean_inertia, reverse=True)
