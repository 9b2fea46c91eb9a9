"""The greedy order of medoids, and the losses of its prefixes."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam._draws import Batch
from onebatchpam.search import measure_prefixes, order_medoids
from onebatchpam.search.ordering import Ordered
from spaces import make_matrix_space, make_run, make_space

cases = pytest.mark.parametrize(
    ("k", "n_fixed", "weighted"),
    [(1, 0, False), (1, 1, False), (2, 0, True), (30, 0, False), (30, 3, True), (30, 30, True)],
)


def draw(rng, k, n_fixed, weighted, n=400):
    """Return a space, its medoids, and all of its rows as points."""
    weights = rng.rand(n) if weighted else np.ones(n)
    space = make_space(rng.standard_normal((n, 3)), weights=weights)
    medoids = rng.permutation(n)[:k]
    space.fixed = medoids[:n_fixed]
    return space, medoids, Batch(np.arange(n), weights)


def compute_block(space, medoids):
    return reference.distance_block(space.rows.values[medoids], space.rows.values, "euclidean")


@cases
def test_the_order_is_that_of_the_reference(rng, k, n_fixed, weighted):
    space, medoids, points = draw(rng, k, n_fixed, weighted)
    ordered = order_medoids(space, medoids, points, make_run())
    expected = reference.greedy_order(compute_block(space, medoids), points.weights, n_fixed)
    np.testing.assert_array_equal(ordered.medoids, medoids[expected])
    alone = compute_block(space, ordered.medoids) @ points.weights
    assert ordered.best_alone == np.argmin(alone)


def test_the_order_is_that_of_the_points(rng):
    """Rows that are not points do not count, and points count by their weights."""
    space, medoids, _ = draw(rng, 20, 0, weighted=False)
    medoids.sort()
    points = Batch(np.sort(rng.permutation(400)[:50]), rng.rand(50))
    expected = reference.greedy_order(compute_block(space, medoids)[:, points.indices], points.weights)
    np.testing.assert_array_equal(order_medoids(space, medoids, points, make_run()).medoids, medoids[expected])


def test_of_equal_gains_the_lowest_row_comes_first():
    space = make_matrix_space(1.0 - np.eye(6))
    points = Batch(np.arange(6), np.ones(6))
    assert order_medoids(space, np.array([5, 2, 4, 0]), points, make_run()).medoids.tolist() == [0, 2, 4, 5]


def test_an_asymmetric_matrix_is_read_by_the_rows_of_the_medoids():
    matrix = np.array([[0, 9, 9, 9], [1, 0, 1, 1], [5, 5, 0, 5], [2, 2, 2, 0.0]])
    ordered = order_medoids(make_matrix_space(matrix), np.array([0, 1, 2]), Batch(np.arange(4), np.ones(4)), make_run())
    assert ordered.medoids[0] == 1
    prefixes = measure_prefixes(make_matrix_space(matrix), ordered, make_run())
    assert prefixes.losses[0] == prefixes.loss_alone == 3


@cases
def test_the_losses_of_prefixes_are_those_of_the_reference(rng, k, n_fixed, weighted):
    space, medoids, points = draw(rng, k, n_fixed, weighted)
    labels = np.empty(space.n, np.int32)
    prefixes = measure_prefixes(space, Ordered(medoids, best_alone=0), make_run(), labels)
    block = compute_block(space, medoids)
    np.testing.assert_allclose(prefixes.losses, reference.prefix_losses(block, range(k), points.weights), rtol=1e-12)
    np.testing.assert_allclose(prefixes.loss_alone, block[0] @ points.weights, rtol=1e-12)
    np.testing.assert_array_equal(labels, block.argmin(axis=0))
    np.testing.assert_allclose(prefixes.counts, np.bincount(labels, points.weights, minlength=k), rtol=1e-12)


def test_tiles_and_threads_change_no_bit(rng, request):
    weights = rng.rand(5000)
    X, medoids = rng.standard_normal((5000, 4)).astype(np.float32), rng.permutation(5000)[:40]
    points = Batch(np.arange(5000), weights)

    def measure(n_jobs):
        ordered = order_medoids(make_space(X, n_jobs=n_jobs, weights=weights), medoids, points, make_run(n_jobs=n_jobs))
        prefixes = measure_prefixes(make_space(X, n_jobs=n_jobs, weights=weights), ordered, make_run(n_jobs=n_jobs))
        return ordered.medoids, prefixes.losses, prefixes.loss_alone, prefixes.counts

    expected = measure(1)
    several_threads = measure(3)
    request.getfixturevalue("smallest_tiles")
    for other in (several_threads, measure(1)):
        for actual, value in zip(other, expected, strict=True):
            np.testing.assert_array_equal(actual, value)
