"""Data of any scale: dissimilarities that float32 would lose are refused, and all others are treated alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs

from onebatchpam import (
    FasterPAM,
    OneBatchPAM,
    RandomMedoids,
    cluster_statistics,
    distance_block,
    lower_bound,
    medoids_of,
    select_k,
    select_representatives,
    swap_search,
)

X, _ = make_blobs(400, 3, centers=4, random_state=0)


both = pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM])


def scaled(metric, dtype, scale):
    data = distance_block(X, X) if metric == "precomputed" else X
    return (data * scale).astype(dtype)


@both
@pytest.mark.parametrize(
    ("dtype", "metric", "scale"),
    [
        ("float32", "euclidean", 1e-23),  # the squares are not normal numbers in float32
        ("float32", "euclidean", 1e-27),
        ("float32", "sqeuclidean", 1e-24),
        ("float64", "manhattan", 1e-50),
        ("float64", "manhattan", 1e-315),  # the inverse does not fit in float64
        ("float64", "euclidean", 1e-50),
        ("float64", "sqeuclidean", 1e-25),
        ("float64", "precomputed", 1e-50),
    ],
)
def test_dissimilarities_that_float32_loses(algorithm, dtype, metric, scale):
    with pytest.raises(ValueError, match=r"too small for float32: .* multiply the data by a constant"):
        algorithm(4, metric=metric, random_state=0).fit(scaled(metric, dtype, scale))


@both
@pytest.mark.parametrize(
    ("dtype", "metric", "scale"),
    [
        ("float32", "euclidean", 1e-14),
        ("float32", "manhattan", 1e-30),
        ("float32", "nan_euclidean", 1e-30),
        ("float32", "nan_euclidean", 1e30),
        ("float64", "euclidean", 1e-20),
        ("float64", "sqeuclidean", 1e-10),
        ("float64", "precomputed", 1e-30),
        ("float32", "euclidean", 1e25),
    ],
)
def test_dissimilarities_that_are_merely_small_or_large(algorithm, dtype, metric, scale):
    expected = algorithm(4, metric=metric, random_state=0).fit(scaled(metric, dtype, 1))
    model = algorithm(4, metric=metric, random_state=0).fit(scaled(metric, dtype, scale))
    power = 2 if metric == "sqeuclidean" else 1
    assert model.inertia_ == pytest.approx(float(scale) ** power * expected.inertia_, rel=1e-3)


def test_large_dissimilarities_are_not_called_small_where_every_row_is_a_medoid():
    rows = 1e65 * np.random.RandomState(0).rand(2, 3)
    assert RandomMedoids(2, metric="manhattan", random_state=0).fit(rows).inertia_ == 0


def test_every_estimator_refuses_them():
    rows = scaled("sqeuclidean", "float64", 1e-25)
    with pytest.raises(ValueError, match=r"too small for float32: .* multiply the data by a constant"):
        RandomMedoids(4, metric="sqeuclidean", random_state=0).fit(rows)


@both
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "minkowski", "nan_euclidean"])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_squares_that_float64_loses(algorithm, metric, form):
    rows = form(scaled(metric, "float64", 1e-170))
    if metric in ("minkowski", "nan_euclidean") and form is not np.asarray:
        pytest.skip("the metric takes no sparse rows")
    with pytest.raises(ValueError, match=r"too small for float64: rows differ by .*e-169, .* such as .*e\+168"):
        algorithm(4, metric=metric, random_state=0).fit(rows)


LABELS = np.arange(len(X)) % 2
FUNCTIONS = {
    "medoids_of": lambda rows: medoids_of(rows, LABELS),
    "cluster_statistics": lambda rows: cluster_statistics(rows, LABELS),
    "distance_block": lambda rows: distance_block(rows, rows),
    "select_k": lambda rows: select_k(rows, [2, 3]),
    "select_representatives": lambda rows: select_representatives(rows, 3),
    "lower_bound": lambda rows: lower_bound(rows, [1, 2]),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_function_refuses_them(function):
    with pytest.raises(ValueError, match=r"too small for float32: .* multiply the data by a constant"):
        function(scaled("euclidean", "float32", 1e-25))


def test_a_block_that_float32_loses():
    with pytest.raises(ValueError, match=r"block has no entry larger than .*e-60, which becomes 0 in float32"):
        swap_search(scaled("precomputed", "float64", 1e-61), 3)
    assert swap_search(np.zeros((5, 5)), 3).loss == 0


@pytest.mark.filterwarnings("ignore:found")
def test_small_dissimilarities_beside_large_ones():
    rows = np.vstack([scaled("euclidean", "float32", 1e-25), np.ones((1, 3), np.float32)])
    with pytest.warns(UserWarning, match=r"too small for float32 beside others, which are up to 1\.73: .* becomes 0"):
        OneBatchPAM(5, random_state=0).fit(rows)


@both
@pytest.mark.filterwarnings("ignore:found")
def test_parallel_rows_have_no_cosine_that_could_be_scaled(algorithm):
    model = algorithm(3, metric="cosine", random_state=0).fit(np.arange(1.0, 30.0)[:, None])
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


@pytest.mark.filterwarnings("ignore:found")
def test_equal_rows_are_not_refused():
    assert OneBatchPAM(2).fit(np.full((30, 2), 1e-30)).inertia_ == 0
    assert OneBatchPAM(2).fit(np.ones((30, 2), bool)).inertia_ == 0
