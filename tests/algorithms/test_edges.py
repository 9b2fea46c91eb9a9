"""Degenerate data, and data that cannot be clustered."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

import reference
from contract import assert_contract
from onebatchpam import CLARANS, OneBatchPAM, RandomMedoids, distance_block, pair_metric, swap_search
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.metrics.native import NATIVE_METRICS

metrics = pytest.mark.parametrize("metric", NATIVE_METRICS)
variants = pytest.mark.parametrize("variant", VARIANTS)
inits = pytest.mark.parametrize("init", ["random", "k-means++"])


@metrics
@variants
@inits
@pytest.mark.parametrize("k", [1, 3, 5])
def test_duplicates(metric, variant, init, k):
    X = np.repeat([[1.0, 0], [0, 1], [5, 5], [-1, 3], [-9, -2]], 20, axis=0)
    model = OneBatchPAM(k, metric=metric, variant=variant, init=init, batch_size=10, random_state=0).fit(X)
    assert_contract(model, X)


@metrics
@variants
@inits
@pytest.mark.parametrize("size", [4, 30])
@pytest.mark.parametrize("value", [0.0, 7.0])
def test_more_clusters_than_distinct_rows(metric, variant, init, size, value):
    X = np.full((30, 3), value)
    X[:10, 0] += 1
    X[:10, 1] -= 1
    model = OneBatchPAM(4, metric=metric, variant=variant, init=init, batch_size=size, random_state=0)
    with pytest.warns(ConvergenceWarning, match="found 2 distinct clusters instead of n_clusters=4"):
        model.fit(X)
    assert_contract(model, X)
    assert model.inertia_ == 0


@metrics
@variants
@inits
@pytest.mark.parametrize("k", [1, 4])
def test_constant_data(metric, variant, init, k):
    X = np.full((30, 3), 2.5)
    model = OneBatchPAM(k, metric=metric, variant=variant, init=init, batch_size=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert model.inertia_ == 0
    assert not model.labels_.any()


@metrics
@variants
@inits
def test_one_row(metric, variant, init):
    model = OneBatchPAM(1, metric=metric, variant=variant, init=init).fit([[3.0, 4.0]])
    assert model.medoid_indices_.tolist() == [0]
    assert model.labels_.tolist() == [0]
    assert (model.inertia_, model.batch_inertia_) == (0, 0)


@metrics
@variants
@inits
@pytest.mark.parametrize("size", ["auto", 25, 100])
def test_every_row_is_a_medoid(metric, variant, init, size, rng):
    X = rng.randn(25, 3)
    model = OneBatchPAM(25, metric=metric, variant=variant, init=init, batch_size=size, random_state=0).fit(X)
    assert_contract(model, X)
    assert model.inertia_ == 0


@metrics
def test_one_medoid_is_the_best_row_for_the_batch(metric, rng):
    X = rng.randn(200, 3)
    model = OneBatchPAM(1, metric=metric, variant="unif", refine=0, batch_size=50, random_state=0).fit(X)
    sums = reference.distance_block(X, X[model.batch_indices_], metric) @ model.batch_weights_
    assert sums[model.medoid_indices_[0]] == pytest.approx(sums.min(), rel=1e-6)
    assert not model.labels_.any()


@variants
@pytest.mark.parametrize("seed", range(5))
def test_far_rare_rows_replace_duplicate_medoids(variant, seed):
    # Three of a thousand rows are far away, and the batch hardly ever has one of them; all other rows are equal.
    X = np.zeros((1000, 2))
    X[[100, 500, 900]] = [[10, 0], [0, 20], [30, 30]]
    model = OneBatchPAM(4, variant=variant, batch_size=10, random_state=seed).fit(X)
    assert {100, 500, 900} < set(model.medoid_indices_)
    assert model.inertia_ == 0
    assert_contract(model, X)


def test_only_duplicates_are_replaced():
    X = np.zeros((1000, 1))
    X[500:, 0] = 5
    X[[200, 700, 900], 0] = [700, 800, 1000]  # once 1000 is a medoid, 700 is farther from all than 800
    model = OneBatchPAM(4, batch_size=10, variant="nniw", init=[0, 1, 600, 2], tol=1e9, random_state=1).fit(X)
    assert not set(model.batch_indices_) & {200, 700, 900}
    assert model.medoid_indices_.tolist() == [0, 900, 600, 200]


def test_the_smaller_distances_of_a_batch_do_not_hide_far_rows():
    model = OneBatchPAM(2, batch_size=2, random_state=0).fit([[0.0], [0.0], [0.0], [1e-30]])
    assert 3 in model.medoid_indices_


class TestNotFinite:
    @pytest.mark.parametrize(
        ("value", "message"),
        [(np.nan, "missing"), (np.inf, "inf")],
    )
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_in_fit_and_predict(self, value, message, dtype, blobs):
        bad = blobs.astype(dtype)
        bad[17, 2] = value
        with pytest.raises(ValueError, match=rf"X\[17, 2\] is {message}"):
            OneBatchPAM(3).fit(bad)
        model = OneBatchPAM(3, random_state=0).fit(blobs)
        with pytest.raises(ValueError, match=rf"X\[17, 2\] is {message}"):
            model.predict(bad)

    def test_missing_values_where_the_metric_knows_them(self, blobs):
        X = blobs.copy()
        X[::10, 1] = np.nan
        model = OneBatchPAM(3, metric="nan_euclidean", random_state=0).fit(X)
        assert np.isfinite(model.inertia_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_rows_without_a_common_feature(self):
        """Such rows have no distance, which must be an error, not a label or an inertia of NaN."""
        X = np.random.RandomState(0).randn(40, 2)
        X[0], X[1] = [0, np.nan], [np.nan, 0]
        model = OneBatchPAM(
            2, metric="nan_euclidean", batch_size=5, variant="unif", init=[0, 5], tol=1e9, random_state=0
        )
        with pytest.raises(ValueError, match="is not defined"):
            model.fit(X)


class TestTooLarge:
    """Dissimilarities are kept in float32; one that is too large for it is an error that says so."""

    message = "float32"

    @pytest.mark.parametrize(
        ("metric", "dtype", "factor"),
        [
            ("sqeuclidean", "float32", 1e20),
            ("manhattan", "float64", 1e39),
            ("chebyshev", "float64", 1e39),
            ("euclidean", "float64", 1e200),
            ("sqeuclidean", "float64", 1e20),
            ("minkowski", "float64", 1e39),
            ("canberra", "float64", None),
        ],
    )
    @pytest.mark.parametrize("n_features", [2, 40])
    def test_distances(self, metric, dtype, factor, n_features, rng):
        X = rng.randn(50, n_features) * (factor or 1)
        if factor is None:
            OneBatchPAM(3, metric=metric).fit((1e300 * X).astype(dtype))  # canberra does not depend on the scale
            return
        with pytest.raises(ValueError, match=self.message):
            OneBatchPAM(3, metric=metric).fit(X.astype(dtype))

    @pytest.mark.parametrize("changed", [{"init": "k-means++"}, {"variant": "lwcs", "batch_size": 10}], ids=str)
    @pytest.mark.parametrize(("metric", "factor"), [("euclidean", 1e200), ("manhattan", 1e307)])
    def test_distances_that_draw_rows(self, changed, metric, factor, rng):
        X = rng.uniform(-1, 1, (50, 3)) * factor
        with pytest.raises(ValueError, match=self.message):
            OneBatchPAM(3, metric=metric, **changed).fit(X)

    def test_new_rows(self, blobs):
        model = OneBatchPAM(3, random_state=0).fit(blobs.astype(np.float32))
        with pytest.raises(ValueError, match="inf"):
            model.predict(np.full_like(blobs, 3e38, dtype=np.float32))

    def test_only_the_distances_have_to_fit(self, blobs):
        X = 1e39 + 1e30 * np.round(blobs)
        model = OneBatchPAM(5, metric="manhattan", random_state=0).fit(X)
        assert_contract(model, X)

    @pytest.mark.parametrize("metric", ["chebyshev", pair_metric(lambda a, b: float(abs(a[0] - b[0])))])
    def test_only_the_sum_of_all_values_is_too_large(self, metric):
        """The check for NaN adds up all values, and the sums of these columns are both infinities."""
        X = np.outer(np.repeat([1.0, 0.5], 8), np.tile([1.5e38, -1.5e38], 8)).astype(np.float32)
        model = OneBatchPAM(2, metric=metric, random_state=0).fit(X)
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        assert model.inertia_ == 0

    def test_float64_keeps_what_float32_would_merge(self):
        X = 1e8 + np.arange(12.0)[:, None]
        model = OneBatchPAM(12, metric="manhattan").fit(X)
        assert model.inertia_ == 0
        assert_contract(model, X)


class TestParameters:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"n_clusters": 301}, "n_clusters=301 is larger than n_samples=300"),
            ({"n_clusters": 0}, "n_clusters=0"),
            ({"n_clusters": 2.5}, "n_clusters=2.5"),
            ({"n_clusters": "8"}, "n_clusters='8'"),
            ({"metric": "euclid"}, "metric='euclid' is not known"),
            ({"metric": 3}, "metric=3"),
            ({"metric_params": {"p": 1}}, "metric='euclidean' takes no parameters.*'p': 1"),
            ({"batch_size": 3}, "batch_size=3 is smaller than n_clusters=8"),
            ({"batch_size": 0}, "batch_size=0"),
            ({"batch_size": "all"}, "batch_size='all'.*'auto'"),
            ({"batch_size": 10.0}, "batch_size=10.0"),
            ({"batch_size": None}, "batch_size=None"),
            ({"variant": "nnw"}, "variant='nnw'.*'nniw', 'debias', 'unif', 'lwcs'"),
            ({"variant": None}, "variant=None"),
            ({"init": "kmeans++"}, r"init='kmeans\+\+'.*'random', 'k-means\+\+'"),
            ({"init": [0, 1]}, r"init has shape \(2,\).*8 integers"),
            ({"init": [0] * 8}, "init holds 0 more than once"),
            ({"init": [*range(7), 300]}, "init holds 300.*0 to 299"),
            ({"max_iter": -1}, "max_iter=-1"),
            ({"tol": -1}, "tol=-1"),
            ({"tol": None}, "tol=None"),
            ({"n_jobs": 0}, "n_jobs=0"),
            ({"n_jobs": "2"}, "n_jobs='2'"),
            ({"random_state": "seed"}, "seed"),
            ({"verbose": -1}, "verbose=-1"),
        ],
        ids=str,
    )
    def test_errors(self, changed, message, blobs):
        with pytest.raises(ValueError, match=message):
            OneBatchPAM(**changed).fit(blobs)


small_rows = arrays(
    np.float64,
    st.tuples(st.integers(1, 14), st.integers(1, 4)),
    elements=st.integers(-3, 3).map(float),  # small values make duplicates, zero rows and ties common
)


class TestAnyData:
    @settings(max_examples=60, deadline=None)
    @given(
        X=small_rows,
        metric=st.sampled_from(NATIVE_METRICS),
        variant=st.sampled_from(VARIANTS),
        init=st.sampled_from(["random", "k-means++"]),
        data=st.data(),
    )
    def test_contract(self, X, metric, variant, init, data):
        k = data.draw(st.integers(1, len(X)), label="k")
        m = data.draw(st.integers(k, len(X) + 1), label="m")
        model = OneBatchPAM(k, metric=metric, variant=variant, init=init, batch_size=m, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        assert_contract(model, X)

    @settings(max_examples=60, deadline=None)
    @given(
        block=arrays(
            np.float32,
            st.tuples(st.integers(1, 12), st.integers(1, 20)),
            elements=st.integers(0, 4).map(float),
        ),
        data=st.data(),
    )
    def test_no_swap_improves(self, block, data):
        n, m = block.shape
        k = data.draw(st.integers(1, n), label="k")
        weights = data.draw(arrays(np.float64, m, elements=st.integers(1, 3).map(float)), label="weights")
        result = swap_search(block, k, weights=weights, tol=0, random_state=0)
        assert result.loss == reference.loss(block, result.medoids, weights)
        gains = reference.swap_gains(block, result.medoids, weights)
        assert np.delete(gains, result.medoids, axis=0).max(initial=0) <= 0

    @settings(max_examples=60, deadline=None)
    @given(
        X=arrays(
            np.float32,
            st.tuples(st.integers(1, 9), st.integers(1, 70)),
            elements=st.floats(-1000, 1000, width=32, allow_subnormal=False),
        ),
        metric=st.sampled_from(NATIVE_METRICS),
    )
    def test_distances(self, X, metric):
        block = distance_block(X, X[::2], metric)
        expected = reference.distance_block(X, X[::2], metric)
        # Squares of very small differences are too small for float32, so a small absolute error is accepted.
        np.testing.assert_allclose(block, expected, rtol=1e-5, atol=1e-6 if metric == "cosine" else 1e-18)


def test_no_candidate_is_among_the_points_that_confirm():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for seed in range(20):
        model = OneBatchPAM(1, batch_size=3, random_state=seed).fit(X, candidates=[7])
        assert model.medoid_indices_.tolist() == [7]


@pytest.mark.filterwarnings("ignore:found . distinct clusters")
def test_swapping_a_medoid_that_no_row_has_as_nearest_or_second_nearest():
    X = np.concatenate([np.zeros(30), np.arange(1.0, 10.0)])[:, None]
    block = np.abs(X - X.T)
    for seed in range(10):  # most starts have another row that is equal to the fixed medoids
        model = CLARANS(5, max_neighbors=37, random_state=seed).fit(scipy.sparse.csr_array(X), fixed_medoids=[0, 1])
        medoids = model.medoid_indices_
        assert medoids[:2].tolist() == [0, 1]
        assert len(np.unique(medoids)) == 5
        np.testing.assert_array_equal(model.labels_, block[:, medoids].argmin(axis=1))
        assert model.inertia_ == pytest.approx(block[:, medoids].min(axis=1).sum())
        assert np.delete(reference.swap_gains(block, medoids, np.ones(39))[:, 2:], medoids, axis=0).max() <= 1e-9


def test_largest_distances_of_clusters():
    X = np.random.default_rng(0).normal(size=(50_000, 2))
    model = RandomMedoids(3, random_state=0).fit(X)
    expected = [model.distances_[model.labels_ == slot].max() for slot in range(3)]
    assert model.max_distances_.tolist() == expected
