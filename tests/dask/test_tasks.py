"""What is done with one partition, against naive NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam.dask.partition import BatchPoints, Partition
from onebatchpam.dask.tasks import ClusterPoints, best_members, best_swaps, draw, merge_best
from onebatchpam.metrics.registry import resolve_metric

N, M, K, FIRST, COUNT = 400, 30, 4, 1000, 3
METRIC = resolve_metric("manhattan")


@pytest.fixture(name="partition")
def make_partition(rng):
    return Partition(rng.rand(N, 3), rng.randint(3, size=N).astype(float), 2, FIRST)


def smallest(keys, slots, count=COUNT):
    """Return the rows with the smallest keys of each slot, as a set."""
    found = [np.flatnonzero(slots == slot) for slot in np.unique(slots)]
    return {int(row) for rows in found for row in rows[np.argsort(keys[rows], kind="stable")][:count]}


def test_best_swaps(partition, rng):
    X, weights = partition.given, rng.rand(M) + 0.1
    points, own = rng.permutation(N)[:M], np.full(M, 5.0)
    medoids = partition.take(np.array([3, 50, 200, 399]))
    block = reference.distance_block(X, X[points], "manhattan")
    block[points, np.arange(M)] = own
    loss = block[medoids.numbers - FIRST].min(axis=0) @ weights
    losses = np.empty((N, K))
    for slot in range(K):
        others = np.delete(block[medoids.numbers - FIRST], slot, axis=0).min(axis=0)
        losses[:, slot] = np.minimum(block, others) @ weights
    possible = np.setdiff1d(np.flatnonzero(partition.weights), medoids.numbers - FIRST)
    expected = smallest(losses[possible].min(axis=1), losses[possible].argmin(axis=1))

    batch = BatchPoints(METRIC, FIRST + points, X[points], weights, own)
    found = best_swaps(partition, batch, medoids, 0, COUNT)
    assert set(found.numbers - FIRST) == {int(possible[row]) for row in expected}
    np.testing.assert_allclose(-found.keys, loss - losses[found.numbers - FIRST].min(axis=1), atol=1e-4)
    np.testing.assert_array_equal(found.rows, X[found.numbers - FIRST])


def test_best_members(partition, rng):
    X, medoids = partition.given, partition.take(np.array([3, 50, 200, 399]))
    drawn, weights, second = rng.permutation(N)[:40], rng.rand(40), (rng.rand(40) + 0.3).astype(np.float32)
    slots = reference.distance_block(X, medoids.rows, "manhattan").argmin(axis=1)
    of_points = slots[drawn].astype(np.int32)
    losses = np.minimum(reference.distance_block(X, X[drawn], "manhattan"), second)
    others = [(of_points == slot) & (drawn != row) for row, slot in enumerate(slots)]  # a row does not judge itself
    keys = np.array([np.average(losses[row, some], weights=weights[some]) for row, some in enumerate(others)])
    possible = np.setdiff1d(np.flatnonzero(partition.weights), medoids.numbers - FIRST)
    possible = possible[slots[possible] >= 1]  # the first medoid is fixed
    expected = {int(possible[row]) for row in smallest(keys[possible], slots[possible])}

    points = ClusterPoints(X[drawn], FIRST + drawn, of_points, weights, second)
    found = best_members(partition, METRIC, medoids, points, 1, COUNT)
    assert set(found.numbers - FIRST) == expected
    merged = merge_best([None, found, None], 1)
    assert set(merged.numbers - FIRST) == {int(possible[row]) for row in smallest(keys[possible], slots[possible], 1)}


def test_rows_are_drawn_by_weight():
    weights = np.array([0.0, 1.0, 2.0, 4.0])
    first = []
    for seed in range(4000):
        sample, rates = draw(Partition(np.zeros((4, 1)), weights, 0, 0), None, np.empty(0, np.int64), seed, np.inf)
        np.testing.assert_array_equal(rates, weights[sample.numbers])
        first.append(sample.numbers[np.argmin(sample.keys)])
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 4000, weights / 7, atol=0.03)


def test_excluded_rows_are_not_drawn(partition):
    exclude = FIRST + np.arange(0, N, 2)
    sample, _ = draw(partition, None, exclude, 0, np.inf)
    np.testing.assert_array_equal(sample.numbers, np.setdiff1d(FIRST + np.flatnonzero(partition.weights), exclude))
