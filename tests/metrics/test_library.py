"""Metrics of scipy and scikit-learn have the values that these libraries compute, in tiles and in both float types."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.spatial.distance
import sklearn.metrics
from sklearn.metrics import pairwise_distances

from onebatchpam import FasterPAM, OneBatchPAM, distance_block
from onebatchpam.metrics.library import SCIPY_METRICS, SKLEARN_METRICS, LibraryMetric
from onebatchpam.metrics.registry import METRICS

BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
N_ROWS = 600  # more than two of the smallest tiles


def make_rows(metric, n=N_ROWS, seed=0):
    """Draw rows for which the metric is defined."""
    rng = np.random.RandomState(seed)
    if metric in BOOLEAN:
        return rng.rand(n, 12) < 0.5
    X = rng.rand(n, 2 if metric == "haversine" else 5) + 0.1
    if metric == "nan_euclidean":
        X[rng.rand(*X.shape) < 0.1] = np.nan
        X[:, 0] = 1.0  # so that any two rows have a feature in common
    return X


def expected_block(X, Y, metric, **params):
    """Return the block that scipy or scikit-learn computes, given the variances of all rows of X."""
    if metric == "seuclidean":
        params = {"V": X.var(axis=0, ddof=1), **params}
    if metric == "mahalanobis":
        params = {"VI": np.linalg.inv(np.cov(X.T)), **params}
    if metric in SKLEARN_METRICS:
        return pairwise_distances(X, Y, metric=metric, **params)
    return scipy.spatial.distance.cdist(X, Y, metric, **params)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("metric", [*SCIPY_METRICS, *SKLEARN_METRICS])
def test_equals_the_library(metric, n_jobs, smallest_tiles):
    X = make_rows(metric)
    Y = X[:17]
    np.testing.assert_allclose(
        distance_block(X, Y, metric, n_jobs=n_jobs),
        expected_block(X, Y, metric),
        rtol=1e-6 if metric in BOOLEAN else 1e-9,
    )


@pytest.mark.parametrize("metric", [*SCIPY_METRICS, *SKLEARN_METRICS])
def test_float32_rows_make_a_float32_block(metric):
    X = make_rows(metric, n=40).astype(np.float32)
    block = distance_block(X, X[:9], metric)
    assert block.dtype == np.float32
    expected = expected_block(X.astype(np.float64), X[:9].astype(np.float64), metric)
    np.testing.assert_allclose(block, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev", "sqeuclidean"])
def test_native_metrics_mean_what_scipy_means(metric):
    X = make_rows(metric)
    np.testing.assert_allclose(
        distance_block(X, X[:20], metric),
        scipy.spatial.distance.cdist(X, X[:20], metric.replace("manhattan", "cityblock")),
        rtol=1e-9,
        atol=1e-15,
    )


def test_every_name_of_scikit_learn_is_known():
    assert set(sklearn.metrics.pairwise.distance_metrics()) <= METRICS.keys()


def is_scipy_metric(name):
    rows = make_rows("minkowski", n=9)
    try:
        scipy.spatial.distance.cdist(rows, rows, name)
    except ValueError:
        return False
    return True


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
def test_every_name_of_scipy_is_known():
    names = {name for name in scipy.spatial.distance.__all__ if is_scipy_metric(name)}
    names -= {"kulczynski1", "sokalmichener"}  # deprecated, and removed from newer versions of scipy
    assert {"cosine", "yule"} < names <= METRICS.keys()


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1, "w": [1, 2, 3, 4, 5]}),
        ("seuclidean", {"V": [1.0, 2, 3, 4, 5]}),
        ("mahalanobis", {"VI": np.diag([1.0, 2, 3, 4, 5])}),
    ],
)
def test_metric_params_reach_the_library(metric, params, smallest_tiles):
    X = make_rows(metric)
    block = distance_block(X, X[:9], metric, metric_params=params)
    np.testing.assert_allclose(block, expected_block(X, X[:9], metric, **params), rtol=1e-9)
    assert not np.allclose(block, distance_block(X, X[:9], metric))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_variances_of_the_fit_serve_new_rows(metric):
    X, new = make_rows(metric, seed=0), 10 * make_rows(metric, n=5, seed=1)
    model = OneBatchPAM(3, metric=metric, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    params = {"V": X.var(axis=0, ddof=1)} if metric == "seuclidean" else {"VI": np.linalg.inv(np.cov(X.T))}
    np.testing.assert_allclose(
        model.transform(new), scipy.spatial.distance.cdist(new, model.cluster_centers_, metric, **params), rtol=1e-9
    )


@pytest.mark.parametrize("metric", [*SCIPY_METRICS, *SKLEARN_METRICS])
def test_fit(metric):
    X = make_rows(metric, n=100)
    model = OneBatchPAM(4, metric=metric, batch_size=50, random_state=0).fit(X)
    expected = expected_block(X, X[model.medoid_indices_], metric)
    np.testing.assert_allclose(model.inertia_, expected.min(axis=1).sum(), rtol=1e-6)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((5, 2))], ids=["one row", "no variance"])
def test_no_variance_to_divide_by(metric, X):
    with pytest.raises(ValueError, match=r".+"):
        OneBatchPAM(1, metric=metric).fit(X)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize("scale", [1e200, 1e307])
def test_squares_that_are_too_large_to_learn_from(metric, scale):
    X = np.random.RandomState(0).uniform(-1, 1, (30, 3)) * scale
    with pytest.raises(ValueError, match=rf"metric='{metric}' takes VI? from the squares of X.*rescale"):
        OneBatchPAM(2, metric=metric).fit(X)


def test_products_that_are_too_large():
    X = np.random.RandomState(0).uniform(-1, 1, (30, 3)) * 1e200
    with pytest.raises(ValueError, match="expected a finite number"):
        OneBatchPAM(2, metric="nan_euclidean").fit(X)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("minkowski", "only 'p' and 'w'"),
        ("braycurtis", "only 'w'"),
        ("mahalanobis", "only 'VI'"),
        ("nan_euclidean", "only 'squared' and 'missing_values'"),
    ],
)
def test_parameters_that_a_metric_does_not_take(metric, expected):
    X = np.random.RandomState(0).rand(20, 3)
    with pytest.raises(
        ValueError, match=f"^metric='{metric}' does not take 'q' in metric_params: expected {expected}$"
    ):
        OneBatchPAM(2, metric=metric, metric_params={"q": 2}).fit(X)


def test_products_of_matrices_do_not_depend_on_the_number_of_threads():
    X = np.random.RandomState(0).rand(101, 37)
    expected = distance_block(X, X, "nan_euclidean", n_jobs=1)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(distance_block(X, X, "nan_euclidean", n_jobs=n_jobs), expected)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("seconds", [1e-9, 1e-4, 10])
@pytest.mark.parametrize("metric", ["canberra", "haversine"])
def test_a_slow_metric_is_computed_in_many_calls(metric, n_jobs, seconds, monkeypatch):
    # A call compares a single pair if it may take 1e-9 seconds, and all pairs if it may take 10 seconds.
    X = np.random.RandomState(0).rand(40, 2)
    expected = distance_block(X, X[:7], metric)
    monkeypatch.setattr("onebatchpam.metrics.pacing.SECONDS_PER_CALL", seconds)
    monkeypatch.setattr("onebatchpam.metrics.library.FIRST_MULTIPLICATIONS", 1)
    calls, compare = [], LibraryMetric.compare
    monkeypatch.setattr(LibraryMetric, "compare", lambda *given: calls.append(1) or compare(*given))
    np.testing.assert_array_equal(distance_block(X, X[:7], metric, n_jobs=n_jobs), expected)
    assert len(calls) >= (40 * 7 if seconds == 1e-9 else 1)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("mahalanobis", {"VI": np.eye(2)}),
        ("mahalanobis", {"VI": np.ones(3)}),
        ("seuclidean", {"V": [1, 2]}),
        ("hamming", {"w": [1, 2, 3, 4]}),
    ],
    ids=str,
)
def test_parameters_of_the_wrong_shape(metric, params):
    with pytest.raises(ValueError, match=rf"metric='{metric}' with a \w+ of shape .* X has 3 features"):
        OneBatchPAM(2, metric=metric, metric_params=params).fit(np.random.RandomState(0).rand(20, 3))


@pytest.mark.parametrize("value", [0.1, 0.3, 1e20])
@pytest.mark.parametrize("n", [7, 1000])
def test_a_constant_feature_is_seen(value, n):
    X = np.random.RandomState(0).rand(n, 2)
    X[:, 1] = value
    with pytest.raises(ValueError, match="feature 1 is constant"):
        distance_block(X, X[:3], "seuclidean")


@pytest.mark.parametrize("p", [-1, 0, np.nan, "2", None, True])
def test_a_power_that_is_not_positive(p):
    with pytest.raises(ValueError, match=rf"metric='minkowski' with p={p!r}: expected a positive number"):
        OneBatchPAM(2, metric="minkowski", metric_params={"p": p}).fit(np.eye(5))


class TestRowsWithoutACommonColumn:
    X = np.array([[1, 2, 3], [1, np.nan, 2], [np.nan, 5, np.nan], [0, 0, 0], [2, 1, np.nan]])

    def test_the_error_names_them_and_says_what_to_do(self):
        message = (
            r"the dissimilarity of X\[1\] and X\[2\] is not defined, because there is no column in which both have a "
            "value: fill in missing values, or pass metric='gower'"
        )
        for estimator in (OneBatchPAM, FasterPAM):
            with pytest.raises(ValueError, match=message):
                estimator(2, metric="nan_euclidean", random_state=0).fit(self.X)
        with pytest.raises(ValueError, match=r"of X\[0\] and Y\[1\] is not defined"):
            distance_block(self.X[1:2], self.X[[0, 2]], "nan_euclidean")

    def test_of_new_rows(self):
        model = OneBatchPAM(2, metric="nan_euclidean", random_state=0).fit(np.delete(self.X, 2, axis=0))
        with pytest.raises(ValueError, match=r"of X\[0\] and medoid \d is not defined"):
            model.predict([[np.nan] * 3])

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_another_reason(self):
        with pytest.raises(ValueError, match="is nan: expected a finite number"):
            OneBatchPAM(2, metric="nan_euclidean").fit([[1e308], [-1e308], [3.0]])


class TestSingularCovariances:
    """The covariance of dependent features has no inverse, although rounding may give it one."""

    def test_dependent_features_are_refused(self, rng):
        X = rng.standard_normal((50, 3))
        for dependent in (X @ rng.standard_normal((3, 5)), np.c_[X, X[:, 0]], np.c_[X, np.ones(50)], X[[0, 1] * 25]):
            with pytest.raises(ValueError, match="has no inverse, which metric='mahalanobis' needs"):
                OneBatchPAM(2, metric="mahalanobis").fit(dependent)

    def test_units_do_not_matter(self, rng):
        X = rng.standard_normal((50, 3))
        labels = OneBatchPAM(2, metric="mahalanobis", random_state=0).fit(X).labels_
        scaled = OneBatchPAM(2, metric="mahalanobis", random_state=0).fit(X * [1e-9, 1, 1e9])
        np.testing.assert_array_equal(scaled.labels_, labels)


def test_latitudes_in_degrees():
    degrees = np.array([[52.5, 13.4], [48.9, 2.4], [-0.1, 51.5]])
    with pytest.raises(ValueError, match=r"a latitude is 52.5: .* pass numpy.radians"):
        OneBatchPAM(2, metric="haversine").fit(degrees)
    for X, Y in itertools.permutations([degrees, np.radians(degrees)]):
        with pytest.raises(ValueError, match=r"a latitude is 52.5: .* pass numpy.radians"):
            distance_block(X, Y, "haversine")
    assert OneBatchPAM(2, metric="haversine").fit(np.radians(degrees)).inertia_ < 0.2


WRONG_PARAMETERS = [
    ("seuclidean", {"V": "abc"}, r"with a V of type str: expected finite numbers of shape \(3,\)"),
    ("seuclidean", {"V": [0, 1, 1]}, "V in metric_params that holds 0: expected positive variances"),
    ("seuclidean", {"V": [-1, 1, 1]}, "V in metric_params that holds -1: expected positive variances"),
    ("mahalanobis", {"VI": -np.eye(3)}, "VI in metric_params that holds -1 on its diagonal"),
    ("mahalanobis", {"VI": np.full((3, 3), np.nan)}, "VI in metric_params that holds NaN or infinity"),
    ("mahalanobis", {"VI": np.eye(3) + 1j}, "VI of type ndarray: expected finite numbers"),
    ("minkowski", {"w": -1}, r"w of shape \(\): expected finite numbers of shape \(3,\)"),
    ("minkowski", {"w": [-1, 1, 1]}, "w in metric_params that holds -1: expected weights that are not negative"),
    ("hamming", {"w": [0, 0, 0]}, "w in metric_params that holds 0: .* at least one of them positive"),
    ("jensenshannon", {"base": 2}, "takes no parameters, got metric_params={'base': 2}"),
]


@pytest.mark.parametrize(("metric", "params", "message"), WRONG_PARAMETERS)
def test_parameters_of_the_wrong_kind_or_sign(metric, params, message):
    with pytest.raises(ValueError, match=f"^metric='{metric}' .*{message}"):
        OneBatchPAM(2, metric=metric, metric_params=params).fit(np.random.RandomState(0).rand(30, 3))


@pytest.mark.parametrize(("value", "message"), [(-0.5, "a value is -0.5"), (0.0, "all numbers of a row are zero")])
def test_rows_that_are_no_distributions(value, message):
    rows = np.random.RandomState(0).rand(30, 3) + 0.1
    rows[7] = value
    with pytest.raises(ValueError, match=message):
        OneBatchPAM(2, metric="jensenshannon").fit(rows)
