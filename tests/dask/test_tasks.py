"""The tasks on one partition, compared with naive NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference
from onebatchpam.dask.partition import GivenRows, Partition
from onebatchpam.dask.tasks import (
    JudgeRows,
    Totals,
    assess,
    best_members,
    draw_candidates,
    draw_sample,
    measure_far,
    merge_best,
    sum_up_far,
)
from onebatchpam.metrics.registry import resolve_metric
from onebatchpam.search import candidates

N, M, K, FIRST, COUNT = 400, 30, 4, 1000, 3
METRIC = resolve_metric("manhattan")


@pytest.fixture(name="partition")
def make_partition(rng):
    return Partition(rng.rand(N, 3), rng.randint(3, size=N).astype(float), np.ones(N, bool), 2, FIRST)


def received(array):
    """Return an array as it may come over the network: at an odd address."""
    buffer = np.empty(array.nbytes + 1, np.uint8)[1:]
    buffer[:] = np.frombuffer(array.tobytes(), np.uint8)
    return buffer.view(array.dtype)


def smallest(keys, slots, count=COUNT):
    """Return the rows with the smallest keys of each slot, as a set."""
    found = [np.flatnonzero(slots == slot) for slot in np.unique(slots)]
    return {int(row) for rows in found for row in rows[np.argsort(keys[rows], kind="stable")][:count]}


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
    nearest = reference.distance_block(X, X[medoids], "manhattan").min(axis=1)
    reach = {1: np.median(nearest[slots == 1]), 2: np.inf, 3: np.inf}
    possible = possible[[nearest[row] <= reach[slots[row]] for row in possible]]
    expected = {int(possible[row]) for row in smallest(keys[possible], slots[possible])}

    judges = {}
    for slot in range(1, K):
        own = np.flatnonzero(of_points == slot)
        points = GivenRows(FIRST + drawn[own], X[drawn[own]], received(weights[own]), np.ones(len(own), bool))
        judges[slot] = JudgeRows(points, received(second[own]), reach[slot])
    found = best_members(partition, METRIC, X[medoids], judges, FIRST + medoids)
    assert set(found.rows.indices - FIRST) == expected
    merged = merge_best([None, found, None], 1)
    best = {int(possible[row]) for row in smallest(keys[possible], slots[possible], 1)}
    assert set(merged.rows.indices - FIRST) == best


def test_rows_are_drawn_by_weight():
    weights = np.array([0.0, 1.0, 2.0, 4.0])
    first = []
    for seed in range(4000):
        drawn = draw_candidates(Partition(np.zeros((4, 1)), weights, np.ones(4, bool), 0, 0), seed, np.inf)
        np.testing.assert_array_equal(drawn.rates, weights[drawn.rows.indices])
        first.append(drawn.rows.indices[np.argmin(drawn.clocks)])
    np.testing.assert_allclose(np.bincount(first, minlength=4) / 4000, weights / 7, atol=0.03)


def test_a_sample_is_drawn_by_weight_and_by_distance(partition):
    """The odds are those of a sample of rows in memory; rows of weight zero and rows that are not candidates apart."""
    first = partition.take(np.array([3, 50]))
    far = measure_far(partition, METRIC, first)
    distances = reference.distance_block(partition.given, first.rows, "manhattan").min(axis=1)
    np.testing.assert_allclose(far, distances * partition.weights, rtol=1e-5)
    total = partition.weights.sum()
    assert sum_up_far(partition, far) == far.sum()
    drawn = draw_sample(partition, far, Totals(total, far.sum(), None), 0, np.inf)
    present = np.flatnonzero(partition.weights)
    np.testing.assert_array_equal(drawn.rows.indices, FIRST + present)
    expected = 0.9 * partition.weights / total + 0.1 * far / far.sum()
    np.testing.assert_allclose(drawn.rates, expected[present])
    assert len(draw_sample(partition, far, Totals(total, far.sum(), None), 0, 50).rows) == np.sum(drawn.clocks < 50)


def test_candidates_are_half_of_a_sample(partition):
    are_candidates = np.arange(N) % 40 == 7
    partition = replace(partition, are_candidates=are_candidates, weights=np.ones(N))
    drawn = draw_sample(partition, np.zeros(N), Totals(N, 0.0, 10.0), 0, np.inf)
    assert drawn.rates.sum() == pytest.approx(1)
    assert drawn.rates[are_candidates].sum() == pytest.approx(0.5 + 0.5 * 10 / N)
    assert set(draw_candidates(partition, 0, np.inf).rows.indices) == set(FIRST + np.flatnonzero(are_candidates))


def test_the_farthest_row_is_a_candidate_of_positive_weight(partition):
    are_candidates = np.random.RandomState(3).rand(N) < 0.3
    partition = replace(partition, are_candidates=are_candidates)
    medoids = partition.take(np.flatnonzero(are_candidates)[:2])
    (assessment,) = assess(partition, METRIC, [medoids])
    distances = reference.distance_block(partition.given, medoids.rows, "manhattan").min(axis=1)
    distances[(partition.weights == 0) | ~are_candidates] = 0
    assert assessment.farthest.indices == FIRST + distances.argmax()
    assert assessment.distance == pytest.approx(distances.max())
