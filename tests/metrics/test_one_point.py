"""The dissimilarities of all rows to a single point, which the methods need that draw one medoid after the other."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam import _core, distance_block
from onebatchpam.metrics.native import NATIVE_METRICS, NativePoint
from spaces import make_space

DTYPES = ("float32", "float64", "uint8")


def make_rows(n, n_features, dtype, seed=0):
    rng = np.random.RandomState(seed)
    if dtype == "uint8":
        return rng.randint(0, 256, (n, n_features)).astype(np.uint8)
    return rng.standard_normal((n, n_features)).astype(dtype)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_a_point_is_compared_as_the_reference_does(metric, dtype, n_features):
    X = make_rows(40, n_features, dtype)
    space = make_space(X, metric)
    assert isinstance(space.metric.pack(space.rows.take(np.array([3])), space.rows, 1), NativePoint)
    column = space.distances_from(np.array([3])).column()
    expected = reference.distance_block(X.astype(np.float64), X[3:4].astype(np.float64), metric)[:, 0]
    precision = 1e-13 if dtype == "float64" else 2e-6
    np.testing.assert_allclose(column, expected, rtol=precision, atol=precision * expected.max())
    assert column[3] == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_threads_do_not_change_a_column(metric, dtype):
    X = make_rows(30_000, 70, dtype)
    columns = [np.empty((len(X), 1), np.float32) for _ in range(2)]
    for column, n_threads in zip(columns, (1, 3), strict=True):
        _core.fill_column(metric, X, X[7], column, n_threads)
    np.testing.assert_array_equal(*columns)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosine_of_zero_rows(dtype):
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [3, 0, 0]], dtype)
    assert distance_block(X, X[:1], "cosine").ravel().tolist() == [0, 1, 1, 1]
    np.testing.assert_allclose(distance_block(X, X[1:2], "cosine").ravel(), [1, 0, 1, 0], atol=1e-7)


@pytest.mark.parametrize("n_features", [1, 7, 384, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_the_same_direction_are_at_cosine_distance_zero(dtype, n_features):
    factors = np.random.RandomState(0).random_sample((200, 1)).astype(dtype) + np.dtype(dtype).type(0.1)
    X = np.abs(make_rows(1, n_features, dtype)) * factors
    assert not distance_block(X, X[:1], "cosine").any()


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        *(("float32", scale) for scale in (1e-44, 1e-25, 1e30, 3e38)),
        *(("float64", scale) for scale in (1e-320, 1e-200, 1e200, 1e308)),
    ],
)
def test_cosine_of_very_long_and_very_short_rows(dtype, scale):
    X = (np.array([[1, 0], [0, 1], [-1, 0], [0.5, 0.5]]) * scale).astype(dtype)
    np.testing.assert_allclose(
        distance_block(X, X[:1], "cosine").ravel(), [0, 1, 2, 1 - np.sqrt(0.5)], atol=1e-6 if scale > 1e-300 else 0.1
    )


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_squares_that_overflow_are_mended(metric):
    X = np.array([[0, 0], [3e19, 4e19], [3, 4]], np.float32)
    column = distance_block(X, X[:1], metric).ravel()
    assert column[2] == (5 if metric == "euclidean" else 25)
    assert column[1] == (np.float32(5e19) if metric == "euclidean" else np.inf)


def test_many_bytes():
    X = np.zeros((2, 70_000), np.uint8)
    X[1] = 255
    assert distance_block(X, X[:1], "sqeuclidean").ravel().tolist() == [0, np.float32(255**2 * 70_000)]
    assert distance_block(X, X[:1], "manhattan").ravel().tolist() == [0, np.float32(255 * 70_000)]


def test_bytes_that_come_as_floats_give_the_same_bits():
    X = make_rows(50, 700, "uint8")
    for metric in ("manhattan", "euclidean", "sqeuclidean"):
        np.testing.assert_array_equal(
            distance_block(X, X[:1], metric), distance_block(X.astype(np.float32), X[:1].astype(np.float32), metric)
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("manhattan", np.ones((3, 2)), np.ones(3), np.empty((3, 1)), 1), "rows has shape"),
        (("manhattan", np.ones((3, 2)), np.ones(2), np.empty((2, 1)), 1), "out has shape"),
        (("manhattan", np.ones((3, 0)), np.ones(0), np.empty((3, 1)), 1), "point is empty"),
        (("canberra", np.ones((3, 2)), np.ones(2), np.empty((3, 1)), 1), "no native metric"),
        (("manhattan", np.ones((3, 2)), np.ones(2), np.empty((3, 1)), 0), "n_threads"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        _core.fill_column(*arguments)
