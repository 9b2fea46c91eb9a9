"""Medoids that are drawn: the start of a search, or the result of the seeding estimators.

Rows are drawn with a probability proportional to their weight. k-means++ and its relatives multiply it by a power of
the distance to the medoids drawn before. The default power is 1, because the k-medoids objective sums plain distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam import _core
from onebatchpam._draws import are_equal, rows_of_ranks, sample_by_odds
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.space import Space

N_PROPOSALS = 5  # the default of LS-k-means++
CHAIN_LENGTH = 20  # the default of K-MC^2


def random_medoids(n: int, k: int, rng: np.random.RandomState, fixed: Indices | None = None) -> Indices:
    """Draw k of n rows, with every set equally likely; the fixed medoids are among the k and come first."""
    fixed = np.empty(0, np.int64) if fixed is None else fixed
    ranks = sample_without_replacement(n - len(fixed), k - len(fixed), random_state=rng)
    return np.concatenate([fixed, rows_of_ranks(ranks.astype(np.int64), fixed)])


def draw_by_weight(space: Space, k: int, rng: np.random.RandomState) -> Indices:
    """Draw k distinct rows by their weights; the fixed medoids are among the k and come first."""
    if are_equal(space.weights):
        return random_medoids(space.n, k, rng, space.fixed)
    drawn = sample_by_odds(space.weights, k - len(space.fixed), rng, exclude=space.fixed)
    return np.concatenate([space.fixed, drawn])


def draw_with_replacement(space: Space, size: int, exclude: Indices, rng: np.random.RandomState) -> Indices:
    """Draw rows by their weights, with replacement; excluded rows are never drawn."""
    if are_equal(space.weights):  # equal weights need no array of odds, which is as long as the data
        return rows_of_ranks(rng.randint(space.n - len(exclude), size=size), exclude)
    odds = space.weights.copy()
    odds[exclude] = 0
    return rng.choice(space.n, size=size, p=odds / odds.sum())


def kmeans_plus_plus(
    space: Space, k: int, run: Run, *, power: float = 1.0, distances: NDArray[np.float32] | None = None
) -> Indices:
    """Draw medoids one after the other, each among all rows.

    If there is an array `distances` of shape (k, n), the distances of every medoid to all rows are written to it.
    """
    medoids = begin_with_fixed(space, k)
    nearest = np.full(space.n, np.inf)
    with run.stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(k):
            if slot == 0 and len(space.fixed) == 0:
                medoids[0] = draw_with_replacement(space, 1, medoids[:0], run.rng)[0]
            elif slot >= len(space.fixed):
                medoids[slot] = draw_far(nearest, space.weights, medoids[:slot], power, run.rng)
            row = space.distances_from(medoids[slot : slot + 1]).column()
            np.minimum(nearest, row, out=nearest)
            if distances is not None:
                distances[slot] = row
            bar.update(1)
    return medoids


def begin_with_fixed(space: Space, k: int) -> Indices:
    """Return an array of k medoids that begins with the fixed ones; the others are not set yet."""
    return np.concatenate([space.fixed, np.empty(k - len(space.fixed), np.int64)])


def draw_far(
    nearest: NDArray[Any], weights: NDArray[np.float64], medoids: Any, power: float, rng: np.random.RandomState
) -> int:
    """Draw a row that is not a medoid, with odds of weight times a power of the distance to the nearest medoid."""
    odds = raise_to_power(nearest, power) * weights
    odds[medoids] = 0
    if not odds.any():  # every other row is a duplicate of a medoid
        odds[:] = weights
        odds[medoids] = 0
    return int(rng.choice(len(odds), p=odds / odds.sum()))


def raise_to_power(distances: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return numbers proportional to a power of the distances; distance zero gives zero, even with power zero."""
    odds = distances.astype(np.float64)
    if odds.any():
        odds /= odds.max()  # powers of numbers up to 1 do not overflow
        np.power(odds, power, out=odds, where=odds > 0)
    return odds


def ls_kmeans_plus_plus(
    space: Space, k: int, run: Run, *, n_proposals: int = N_PROPOSALS, power: float = 1.0
) -> tuple[Indices, int, int]:
    """Draw medoids by k-means++, then propose more rows one after the other, and swap in those that lower the loss.

    Return the medoids, the number of proposals and the number of swaps. The proposals end early if every row is at
    distance 0 from a medoid. The search knows the nearest and the second nearest medoid of every row, so that a
    proposal can be tried in the place of each medoid at the cost of its n distances.
    """
    distances = np.empty((k, space.n), np.float32)
    medoids = kmeans_plus_plus(space, k, run, power=power, distances=distances)
    n_proposals = n_proposals if len(space.fixed) < k < space.n else 0  # a swap takes a free medoid and another row
    with run.stages.stage("local search", total=n_proposals, unit=" proposals") as bar:
        # The search ends after a full cycle of candidates without a swap. It is told of more candidates than rows, so
        # that rejected proposals never make up a full cycle.
        n_candidates = space.n + n_proposals
        search = _core.SwapSearch(n_candidates, medoids, distances, space.weights, 0.0, len(space.fixed))
        del distances  # the search has copied them
        n_made = 0
        while n_made < n_proposals and search.nearest_distances.any():
            n_made += 1
            candidate = draw_far(search.nearest_distances, space.weights, search.medoids, power, run.rng)
            row = space.distances_from(np.array([candidate])).column().astype(np.float32)
            search.sweep(row[np.newaxis], candidate, 1)
            bar.update(1)
    return np.array(search.medoids, dtype=np.int64), n_made, search.n_swaps


def kmc2(space: Space, k: int, run: Run, *, chain_length: int = CHAIN_LENGTH, power: float = 1.0) -> Indices:
    """Draw medoids one after the other, each as the end of a Markov chain over a few rows instead of among all rows."""
    medoids = begin_with_fixed(space, k)
    if len(space.fixed) == 0:
        medoids[0] = draw_with_replacement(space, 1, medoids[:0], run.rng)[0]
    with run.stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(max(1, len(space.fixed)), k):
            chain = draw_with_replacement(space, chain_length, medoids[:slot], run.rng)
            distances = space.distances_from(medoids[:slot], chain)
            block = distances.compute()
            nearest = block.argmin(axis=1)
            values = block[np.arange(chain_length), nearest]
            distances.check(slice(0, chain_length), nearest, values)
            medoids[slot] = chain[walk_chain(values, power, run.rng)]
            bar.update(1)
    return medoids


def walk_chain(distances: NDArray[Any], power: float, rng: np.random.RandomState) -> int:
    """Return the position at which a walk along a chain of rows ends.

    The walk looks at one row after the other, and moves from its present row to this row with probability
    min(1, (distance of this row / distance of the present row)^power).
    """
    odds = raise_to_power(distances, power)
    present = 0
    for step, threshold in enumerate(rng.random_sample(len(odds))):
        if threshold * odds[present] < odds[step]:
            present = step
    return present
