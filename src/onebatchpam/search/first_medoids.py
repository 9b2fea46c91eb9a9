"""Medoids drawn rather than searched for: where a search starts, or all that an estimator does.

Every method draws with a probability that grows with a power of the distance to the medoids drawn before, and is
proportional to the weights of the rows. The default power is 1, because the k-medoids objective sums plain distances.
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

N_PROPOSALS = 5
CHAIN_LENGTH = 20


def random_medoids(n: int, k: int, rng: np.random.RandomState, fixed: Indices | None = None) -> Indices:
    """Draw k of n rows, each set equally likely; fixed medoids come first."""
    fixed = np.empty(0, np.int64) if fixed is None else fixed
    ranks = sample_without_replacement(n - len(fixed), k - len(fixed), random_state=rng)
    return np.concatenate([fixed, rows_of_ranks(ranks.astype(np.int64), fixed)])


def draw_by_weight(space: Space, k: int, rng: np.random.RandomState) -> Indices:
    """Draw k distinct rows by their weights; fixed medoids come first."""
    if are_equal(space.weights):
        return random_medoids(space.n, k, rng, space.fixed)
    drawn = sample_by_odds(space.weights, k - len(space.fixed), rng, exclude=space.fixed)
    return np.concatenate([space.fixed, drawn])


def draw_with_replacement(space: Space, size: int, exclude: Indices, rng: np.random.RandomState) -> Indices:
    """Draw rows by their weights, possibly the same ones again, but none of the excluded ones."""
    if are_equal(space.weights):  # then no array of the length of the data is needed
        return rows_of_ranks(rng.randint(space.n - len(exclude), size=size), exclude)
    odds = space.weights.copy()
    odds[exclude] = 0
    return rng.choice(space.n, size=size, p=odds / odds.sum())


def kmeans_plus_plus(
    space: Space, k: int, run: Run, *, power: float = 1.0, distances: NDArray[np.float32] | None = None
) -> Indices:
    """Draw medoids one by one among all rows.

    The distances of every medoid to all rows are written to `distances` of shape (k, n), if it is given.
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
    """Return an array for k medoids that begins with the fixed ones."""
    return np.concatenate([space.fixed, np.empty(k - len(space.fixed), np.int64)])


def draw_far(
    nearest: NDArray[Any], weights: NDArray[np.float64], medoids: Any, power: float, rng: np.random.RandomState
) -> int:
    """Draw a row with odds of its weight times a power of its distance to the nearest medoid."""
    odds = raise_to_power(nearest, power) * weights
    odds[medoids] = 0
    if not odds.any():  # only duplicates of medoids are left
        odds[:] = weights
        odds[medoids] = 0
    return int(rng.choice(len(odds), p=odds / odds.sum()))


def raise_to_power(distances: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return numbers in proportion to a power of the distances; zero at distance zero, whatever the power."""
    odds = distances.astype(np.float64)
    if odds.any():
        odds /= odds.max()  # so that no power of it overflows
        np.power(odds, power, out=odds, where=odds > 0)
    return odds


def ls_kmeans_plus_plus(
    space: Space, k: int, run: Run, *, n_proposals: int = N_PROPOSALS, power: float = 1.0
) -> tuple[Indices, int, int]:
    """Draw medoids by k-means++, then propose further rows and make the best swap with each that improves.

    Return the medoids, how many rows were proposed, and how many were swapped in. Fewer rows are proposed if all are at
    distance 0. The search keeps the nearest and the second nearest medoid of every row, so that a proposal is weighed
    against all medoids at the price of its n distances.
    """
    distances = np.empty((k, space.n), np.float32)
    medoids = kmeans_plus_plus(space, k, run, power=power, distances=distances)
    n_proposals = n_proposals if len(space.fixed) < k < space.n else 0  # otherwise there is nothing to swap
    with run.stages.stage("local search", total=n_proposals, unit=" proposals") as bar:
        # The search is told of more candidates than there are rows, because it ends after as many in vain.
        n_candidates = space.n + n_proposals
        search = _core.SwapSearch(n_candidates, medoids, distances, space.weights, 0.0, len(space.fixed))
        del distances  # the search has a copy
        n_made = 0
        while n_made < n_proposals and search.nearest_distances.any():
            n_made += 1
            candidate = draw_far(search.nearest_distances, space.weights, search.medoids, power, run.rng)
            row = space.distances_from(np.array([candidate])).column().astype(np.float32)
            search.sweep(row[np.newaxis], candidate, 1)
            bar.update(1)
    return np.array(search.medoids, dtype=np.int64), n_made, search.n_swaps


def kmc2(space: Space, k: int, run: Run, *, chain_length: int = CHAIN_LENGTH, power: float = 1.0) -> Indices:
    """Draw medoids one by one, each the end of a Markov chain over a few rows instead of a choice among all."""
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
    """Return where a walk along a chain ends.

    The walk moves to the next row with probability min(1, (distance of the next row / of the present row)^power).
    """
    odds = raise_to_power(distances, power)
    present = 0
    for step, threshold in enumerate(rng.random_sample(len(odds))):
        if threshold * odds[present] < odds[step]:
            present = step
    return present
