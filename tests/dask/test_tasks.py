"""The tasks on one partition, compared with naive NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference
from onebatchpam.dask.partition import GivenRows, Partition
from onebatchpam.dask.tasks import BatchPoints, JudgeRows, assess, best_members, best_swaps, draw, merge_best
from onebatchpam.metrics.registry import resolve_metric
from onebatchpam.search import candidates

N, M, K, FIRST, COUNT = 400, 30, 4, 1000, 3
METRIC = resolve_metric("manhattan")


@pytest.fixture(name="partition")
def make_partition(rng):
    return Partition(rng.rand(N, 3), rng.randint(3, size=N).astype(float), np.ones(N, bool), 2, FIRST)


def smallest(keys, slots, count=COUNT):
    """Return the rows with the smallest keys of each slot, as a set."""
    found = [np.flatnonzero(slots == slot) for slot in np.unique(slots)]
    return {int(row) for rows in found for row in rows[np.argsort(keys[rows], kind="stable")][:count]}


def test_best_swaps(partition, rng):
    X, weights = partition.given, rng.rand(M) + 0.1
    points, own = rng.permutation(N)[:M], np.full(M, 5.0)
    medoids = np.array([3, 50, 200, 399])
    block = reference.distance_block(X, X[points], "manhattan")
    block[points, np.arange(M)] = own
    loss = block[medoids].min(axis=0) @ weights
    losses = np.empty((N, K))
    for slot in range(K):
        others = np.delete(block[medoids], slot, axis=0).min(axis=0)
        losses[:, slot] = np.minimum(block, others) @ weights
    possible = np.setdiff1d(np.flatnonzero(partition.weights), medoids)
    expected = smallest(losses[possible].min(axis=1), losses[possible].argmin(axis=1))

    batch = BatchPoints(METRIC, partition.take(points), weights, np.arange(M), own.astype(np.float32))
    found = best_swaps(partition, batch, partition.take(medoids), 0, COUNT)
    rows = found.rows.indices - FIRST
    assert set(rows) == {int(possible[row]) for row in expected}
    np.testing.assert_allclose(-found.scores, loss - losses[rows].min(axis=1), atol=1e-4)
    np.testing.assert_array_equal(found.rows.rows, X[rows])


def test_best_members(partition, rng, monkeypatch):
    monkeypatch.setattr(candidates, "CANDIDATES_BY_CLUSTER", COUNT)
    X, medoids = partition.given, np.array([3, 50, 200, 399])
    drawn, weights, second = rng.permutation(N)[:40], rng.rand(40), (rng.rand(40) + 0.3).astype(np.float32)
    slots = reference.distance_block(X, X[medoids], "manhattan").argmin(axis=1)
    of_points = slots[drawn]
    losses = np.minimum(reference.distance_block(X, X[drawn], "manhattan"), second)
    others = [(of_points == slot) & (drawn != row) for row, slot in enumerate(slots)]  # a row does not judge itself
    keys = np.array([np.average(losses[row, some], weights=weights[some]) for row, some in enumerate(others)])
    possible = np.setdiff1d(np.flatnonzero(partition.weights), medoids)
    possible = possible[slots[possible] >= 1]  # the first cluster has no judges
    expected = {int(possible[row]) for row in smallest(keys[possible], slots[possible])}

    judges = {}
    for slot in range(1, K):
        own = np.flatnonzero(of_points == slot)
        points = GivenRows(FIRST + drawn[own], X[drawn[own]], weights[own], np.ones(len(own), bool))
        judges[slot] = JudgeRows(points, second[own])
    found = best_members(partition, METRIC, X[medoids], judges, FIRST + medoids)
    assert set(found.rows.indices - FIRST) == expected
    merged = merge_best([None, found, None], 1)
    best = {int(possible[row]) for row in smallest(keys[possible], slots[possible], 1)}
    assert set(merged.rows.indices - FIRST) == best


def test_rows_are_drawn_by_weight():
    weights = np.array([0.0, 1.0, 2.0, 4.0])
    first = []
    for seed in range(4000):
        drawn = draw(
            Partition(np.zeros((4, 1)), weights, np.ones(4, bool), 0, 0), None, np.empty(0, np.int64), seed, np.inf
        )
        np.testing.assert_array_equal(drawn.rates, weights[drawn.rows.indices])
        first.append(drawn.rows.indices[np.argmin(drawn.clocks)])
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 4000, weights / 7, atol=0.03)


def test_excluded_rows_are_not_drawn(partition):
    exclude = FIRST + np.arange(0, N, 2)
    drawn = draw(partition, None, exclude, 0, np.inf).rows
    np.testing.assert_array_equal(drawn.indices, np.setdiff1d(FIRST + np.flatnonzero(partition.weights), exclude))


def test_the_farthest_row_is_a_candidate_of_positive_weight(partition):
    are_candidates = np.random.RandomState(3).rand(N) < 0.3
    partition = replace(partition, are_candidates=are_candidates)
    medoids = partition.take(np.flatnonzero(are_candidates)[:2])
    (assessment,) = assess(partition, METRIC, [medoids])
    distances = reference.distance_block(partition.given, medoids.rows, "manhattan").min(axis=1)
    distances[(partition.weights == 0) | ~are_candidates] = 0
    assert assessment.farthest.indices == FIRST + distances.argmax()
    assert assessment.distance == pytest.approx(distances.max())
