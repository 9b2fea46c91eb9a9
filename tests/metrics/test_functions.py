"""Python functions as a metric: of two rows or objects, and of two blocks."""

from __future__ import annotations

import functools
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.spatial.distance
from sklearn.base import clone
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.model_selection import GridSearchCV

import reference
from contract import every_check
from onebatchpam import (
    KMC2,
    Alternate,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    block_metric,
    distance_block,
    pair_metric,
)
from onebatchpam.data import ArrayRows
from onebatchpam.metrics.functions import BlockFunction, PairFunction


def manhattan(a, b):
    return np.abs(a - b).sum()


def manhattan_block(A, B):
    return np.abs(A[:, None] - B[None]).sum(axis=-1)


def uphill(a, b, price=4.0):
    """Return the cost of going from a to b: not symmetric, and without a triangle inequality."""
    return float(np.where(b > a, price * (b - a) ** 2, a - b).sum())


def uphill_block(A, B, price=4.0):
    step = B[None] - A[:, None]
    return np.where(step > 0, price * step**2, -step).sum(axis=-1)


def uphill_lists(a, b, price=4.0):
    """Return the cost of going from a to b, which are lists of numbers."""
    return uphill(np.array(a), np.array(b), price)


@pytest.fixture(scope="module", name="X")
def rows(blobs):
    return blobs[:100]


@pytest.fixture(scope="module")
def matrix(X):
    return reference.dissimilarities(X, X, uphill)


both_shapes = pytest.mark.parametrize("metric", [uphill, uphill_block, pair_metric(uphill), block_metric(uphill_block)])


@both_shapes
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("init", ["random", "k-means++"])
@pytest.mark.parametrize("batch_size", [40, 100])
def test_candidate_first_and_point_second(metric, n_jobs, init, batch_size, X, matrix):
    model = OneBatchPAM(4, metric=metric, batch_size=batch_size, init=init, tol=0, n_jobs=n_jobs, random_state=0).fit(X)
    assert not np.allclose(matrix, matrix.T)
    rows = matrix[model.medoid_indices_]
    np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
    assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-12)
    np.testing.assert_allclose(model.transform(X), rows.T, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-12)
    if batch_size == len(X):
        assert reference.swap_gains(matrix, model.medoid_indices_, np.ones(100)).max() <= 1e-6 * model.inertia_


@both_shapes
def test_same_medoids_as_the_matrix(metric, X, matrix):
    parameters = {"n_clusters": 5, "batch_size": 50, "init": "k-means++", "effort": "balanced", "random_state": 0}
    expected = OneBatchPAM(metric="precomputed", **parameters).fit(matrix)
    model = OneBatchPAM(metric=metric, **parameters).fit(X)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.batch_weights_, expected.batch_weights_)
    assert model.n_distances_ == expected.n_distances_


@pytest.mark.parametrize(
    "estimator", [FasterPAM, FasterCLARA, Alternate, KMeansPlusPlus, LSKMeansPlusPlus, KMC2, RandomMedoids]
)
def test_other_algorithms(estimator, X, matrix):
    model = estimator(4, metric=uphill_block, random_state=0).fit(X)
    rows = matrix[model.medoid_indices_]
    np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
    assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-12)
    expected = estimator(4, metric="precomputed", random_state=0).fit(matrix)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)


@both_shapes
def test_distance_block_has_rows_first(metric, X, smallest_tiles):
    expected = reference.dissimilarities(X, X[:7], uphill)
    np.testing.assert_allclose(distance_block(X, X[:7], metric), expected, rtol=1e-12)


@both_shapes
def test_parameters_reach_the_function(metric, X):
    expected = reference.dissimilarities(X, X[:7], lambda a, b: uphill(a, b, price=9.0))
    block = distance_block(X, X[:7], metric, metric_params={"price": 9.0})
    np.testing.assert_allclose(block, expected, rtol=1e-12)
    model = OneBatchPAM(3, metric=metric, metric_params={"price": 9.0}, random_state=0).fit(X)
    rows = reference.dissimilarities(model.cluster_centers_, X, lambda a, b: uphill(a, b, price=9.0))
    assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-12)


ROWS = np.random.RandomState(0).rand(10, 3)
SETS = [frozenset(range(i, 2 * i)) for i in range(1, 8)]


@pytest.mark.parametrize(
    ("function", "X", "kind"),
    [
        (manhattan, ROWS, PairFunction),
        (manhattan_block, ROWS, BlockFunction),
        (scipy.spatial.distance.euclidean, ROWS, PairFunction),
        (scipy.spatial.distance.cdist, ROWS, BlockFunction),
        (manhattan_distances, ROWS, BlockFunction),
        (functools.partial(scipy.spatial.distance.cdist, metric="cosine"), ROWS, BlockFunction),
        (lambda a, b: 1 - min(1.0, a @ b), ROWS, PairFunction),
        (lambda A, B: np.maximum(0, 2 - A @ B.T), ROWS, BlockFunction),
        (lambda a, b: abs(a - b).max(), ROWS[:, :1], PairFunction),
        (manhattan, ROWS[:1], PairFunction),
        (manhattan_block, ROWS[:1], BlockFunction),
        (lambda a, b: len(a ^ b), SETS, PairFunction),
        (lambda A, B: [[len(a ^ b) for b in B] for a in A], SETS, BlockFunction),
        (lambda a, b: abs(len(a) - len(b)), ["a", "bb", "ccc"], PairFunction),
        (lambda a, b: abs(a - b), [1.0, 2.0, 5.0], PairFunction),
    ],
)
def test_the_two_shapes_are_told_apart(function, X, kind):
    model = OneBatchPAM(1, metric=function).fit(X)
    assert type(model._metric) is kind


def test_a_function_that_answers_to_both_can_be_declared():
    calls = []

    def squares(a, b):
        calls.append(np.shape(a))
        return np.maximum(0, 3 - a @ b.T)

    OneBatchPAM(1, metric=pair_metric(squares)).fit(ROWS)
    assert set(calls) == {(3,)}
    calls.clear()
    OneBatchPAM(1, metric=block_metric(squares)).fit(ROWS)
    assert {len(shape) for shape in calls} == {2}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "bool"])
def test_rows_keep_their_type(dtype):
    seen = set()

    def differences(a, b):
        seen.add((type(a), a.ndim, a.dtype))
        return float((a != b).sum())

    X = (ROWS > 0.5).astype(dtype)
    model = OneBatchPAM(2, metric=pair_metric(differences), random_state=0).fit(X)
    assert seen == {(np.ndarray, 1, np.dtype(dtype))}
    assert model.n_features_in_ == 3


class TestObjects:
    @pytest.mark.parametrize("container", [list, tuple, lambda X: np.fromiter(X, object), pd.Series])
    @pytest.mark.parametrize(
        "X",
        [
            [[0], [1, 1], [2, 2, 2], [9] * 9, [8] * 8],
            [[0, 1], [2, 3], [4, 5], [96, 97], [98, 99]],
            [(0,), "ab", {1: 1}, b"123456789", np.arange(8)],
        ],
        ids=["lists", "lists of one length", "all sorts"],
    )
    def test_elements_are_passed_and_returned_as_they_are(self, X, container):
        def by_size(a, b):
            assert any(a is x for x in X)
            assert any(b is x for x in X)
            return abs(len(a) - len(b)) + 0.5 * (a is not b)

        model = OneBatchPAM(2, metric=pair_metric(by_size), random_state=0).fit(container(X))
        assert model.cluster_centers_.shape == (2,)
        assert all(center is X[i] for center, i in zip(model.cluster_centers_, model.medoid_indices_, strict=True))
        np.testing.assert_array_equal(model.predict(container(X)), model.labels_)
        assert not hasattr(model, "n_features_in_")

    def test_asymmetric(self):
        X = [row.tolist() for row in 10 * ROWS]
        model = OneBatchPAM(3, metric=uphill_lists, tol=0, random_state=0).fit(X)
        rows = reference.dissimilarities(X, X, uphill_lists)[model.medoid_indices_]
        np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
        assert model.inertia_ == pytest.approx(rows.min(axis=0).sum())

    def test_tables_of_anything(self):
        frame = pd.DataFrame({"word": list("aabbb"), "number": [1.0, np.nan, 3.0, 4.0, 5.0]})
        model = OneBatchPAM(2, metric=lambda a, b: float(a[0] != b[0]), init=[0, 1], random_state=0).fit(frame)
        assert model.labels_.tolist() in ([0, 0, 1, 1, 1], [1, 1, 0, 0, 0])
        assert model.feature_names_in_.tolist() == ["word", "number"]

    def test_fit_and_predict_take_the_same_kind(self):
        model = OneBatchPAM(1, metric=lambda a, b: 1.0).fit(ROWS)
        with pytest.raises(ValueError, match="list of objects: expected a table of rows, as in the fit"):
            model.predict(list(ROWS))
        model = OneBatchPAM(1, metric=lambda a, b: 1.0).fit(list(ROWS))
        with pytest.raises(ValueError, match=r"shape \(10, 3\): expected a list"):
            model.predict(ROWS)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("seconds", [1e-9, 1e-4, 10])
@pytest.mark.parametrize("rows_first", [True, False])
def test_no_piece_is_left_out(n_jobs, seconds, rows_first, X, matrix, smallest_tiles, monkeypatch):
    # A call compares a single pair if it may take 1e-9 seconds, and all pairs if it may take 10 seconds.
    monkeypatch.setattr("onebatchpam.metrics.pacing.SECONDS_PER_CALL", seconds)
    calls = []
    metric = PairFunction(lambda a, b: calls.append(1) or uphill(a, b))
    points = metric.pack(ArrayRows(X[:5]), ArrayRows(X), n_jobs, rows_first=rows_first)
    block = np.full((100, 5), np.nan)
    points.fill(X, block)
    np.testing.assert_array_equal(block, matrix[:, :5] if rows_first else matrix[:5].T)
    assert len(calls) == 500


@pytest.mark.parametrize("n_jobs", [1, 8])
def test_blocks_of_many_features_come_in_parts(n_jobs, monkeypatch):
    monkeypatch.setattr("onebatchpam._tiles.BLOCK_FUNCTION_ENTRIES", 40)
    sizes = set()

    def block(A, B):
        sizes.add(len(A))
        return manhattan_block(A, B)

    found = distance_block(ROWS, ROWS[:4], block_metric(block), n_jobs=n_jobs)
    np.testing.assert_allclose(found, manhattan_block(ROWS, ROWS[:4]))
    assert sizes == {1, 3}


def test_processes_by_a_joblib_context(blobs):
    expected = OneBatchPAM(3, metric=uphill, batch_size=20, random_state=0).fit(blobs)
    with joblib.parallel_config("loky", n_jobs=2):
        model = OneBatchPAM(3, metric=uphill, batch_size=20, random_state=0).fit(blobs)
        with pytest.raises(ValueError, match=r"X\[0\], X\[\d+\]\) is nan"):
            OneBatchPAM(3, metric=pair_metric(lambda a, b: np.nan)).fit(blobs)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert model.inertia_ == expected.inertia_


@pytest.mark.parametrize("metric", [uphill, uphill_block, pair_metric(uphill), block_metric(uphill_block)])
def test_copies(metric, X):
    model = OneBatchPAM(3, metric=metric, random_state=0).fit(X)
    for copy in (clone(model).fit(X), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(X), model.labels_)


def test_lambdas_can_be_cloned(blobs):
    model = OneBatchPAM(3, metric=lambda a, b: manhattan(a, b), random_state=0)
    assert clone(model).get_params()["metric"] is model.metric
    search = GridSearchCV(model, {"n_clusters": [2, 5]}, cv=3).fit(blobs[::5])
    assert search.best_params_ == {"n_clusters": 5}


class TolerantBlock:
    """Compares blocks of lists or of arrays, with zero in place of NaN."""

    def __call__(self, A, B):
        A, B = (np.nan_to_num(np.array(list(block), dtype=float)) for block in (A, B))
        return manhattan_block(A, B)

    def __repr__(self):  # which is part of the names of tests, and the same in every process
        return "TolerantBlock()"


@every_check(
    [OneBatchPAM(metric=TolerantBlock())],
    expected_failed_checks=lambda _: {"check_dtype_object": "the function decides what a table may hold"},
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["dtw", "msm"])
def test_a_distance_of_series_is_answered_by_the_function_to_pass(name):
    advice = rf"expected a function; aeon has one, block_metric\(aeon\.distances\.{name}_pairwise_distance\)"
    with pytest.raises(ValueError, match=rf"^metric='{name}' compares time series, .*: {advice}$"):
        OneBatchPAM(2, metric=name).fit([[1.0], [2.0]])
