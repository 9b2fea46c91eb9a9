"""Medoids drawn rather than searched for: where a search starts, or all that is wanted.

Every method draws with a probability that grows with a power of the distance to the medoids drawn before, and is
proportional to the weights of the rows. The default power is 1: that is what the k-medoids objective sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam import _core
from onebatchpam._draws import are_equal, other_rows, sample_by_odds
from onebatchpam._progress import Stages
from onebatchpam.metrics import check_distances, fill_all, only_column
from onebatchpam.space import Space

N_PROPOSALS = 5

CHAIN_LENGTH = 20


def random_medoids(
    n: int, k: int, rng: np.random.RandomState, fixed: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Draw k of n rows, each set equally likely; those that are fixed come first."""
    fixed = np.empty(0, np.int64) if fixed is None else fixed
    ranks = sample_without_replacement(n - len(fixed), k - len(fixed), random_state=rng)
    return np.concatenate([fixed, other_rows(ranks.astype(np.int64), fixed)])


def draw_start(space: Space, k: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Draw k rows by their weights; those that are fixed come first."""
    if are_equal(space.weights):
        return random_medoids(space.n, k, rng, space.fixed)
    drawn = sample_by_odds(space.weights, k - len(space.fixed), rng, exclude=space.fixed)
    return np.concatenate([space.fixed, drawn])


def draw_by_weight(space: Space, others_than: NDArray[np.int64], size: int, rng: np.random.RandomState) -> NDArray[Any]:
    """Draw rows with replacement, by their weights, but not those given."""
    if are_equal(space.weights):  # without looking at all rows
        return other_rows(rng.randint(space.n - len(others_than), size=size), others_than)
    odds = space.weights.copy()
    odds[others_than] = 0
    return rng.choice(space.n, size=size, p=odds / odds.sum())


def kmeans_plus_plus(
    space: Space,
    k: int,
    rng: np.random.RandomState,
    stages: Stages,
    *,
    power: float = 1.0,
    distances: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    """Draw medoids one by one among all rows; `distances` of shape (k, n) takes those of each medoid to all rows."""
    medoids = with_fixed(space, k)
    nearest = np.full(space.n, np.inf)
    with stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(k):
            if slot == 0 and len(space.fixed) == 0:
                medoids[0] = draw_by_weight(space, medoids[:0], 1, rng)[0]
            elif slot >= len(space.fixed):
                medoids[slot] = draw_far(nearest, space.weights, medoids[:slot], power, rng)
            row = distances_from(space, medoids[slot])
            np.minimum(nearest, row, out=nearest)
            if distances is not None:
                distances[slot] = row
            bar.update(1)
    return medoids


def with_fixed(space: Space, k: int) -> NDArray[np.int64]:
    """Return room for k medoids, of which those that are fixed are there."""
    return np.concatenate([space.fixed, np.empty(k - len(space.fixed), np.int64)])


def draw_far(
    nearest: NDArray[Any], weights: NDArray[np.float64], medoids: Any, power: float, rng: np.random.RandomState
) -> int:
    """Draw a row with odds of its weight times a power of its distance to the nearest of the medoids."""
    odds = odds_of(nearest, power) * weights
    odds[medoids] = 0
    if not odds.any():  # only duplicates of medoids are left: any of them
        odds[:] = weights
        odds[medoids] = 0
    return int(rng.choice(len(odds), p=odds / odds.sum()))


def odds_of(distances: NDArray[Any], power: float) -> NDArray[np.float64]:
    """Return numbers in proportion to a power of the distances; zero at distance zero, whatever the power."""
    odds = distances.astype(np.float64)
    if odds.any():
        odds /= odds.max()  # no power of it overflows
        np.power(odds, power, out=odds, where=odds > 0)
    return odds


def distances_from(space: Space, medoid: int) -> NDArray[Any]:
    """Return d(medoid, row) for all rows."""
    distances = only_column(space.to_medoids(np.array([medoid])))
    check_distances(distances)
    return distances


def ls_kmeans_plus_plus(
    space: Space,
    k: int,
    rng: np.random.RandomState,
    stages: Stages,
    *,
    n_proposals: int = N_PROPOSALS,
    power: float = 1.0,
) -> tuple[NDArray[np.int64], int, int]:
    """Draw as `kmeans_plus_plus`, then propose further rows for the best swap.

    Return the medoids, how many rows were proposed, fewer if all are at distance 0, and how many were swapped in.

    The search keeps the nearest and the second nearest medoid of every row, so that a proposal is weighed against all
    medoids at the price of its n distances.
    """
    distances = np.empty((k, space.n), np.float32)
    medoids = kmeans_plus_plus(space, k, rng, stages, power=power, distances=distances)
    n_proposals = n_proposals if len(space.fixed) < k < space.n else 0  # nothing to swap
    with stages.stage("local search", total=n_proposals, unit=" proposals") as bar:
        search = _local_search(space, medoids, distances, n_proposals)
        del distances  # the search has a copy
        n_made = 0
        while n_made < n_proposals and search.nearest_distances.any():
            n_made += 1
            candidate = draw_far(search.nearest_distances, space.weights, search.medoids, power, rng)
            row = distances_from(space, candidate).astype(np.float32)
            search.sweep(row[np.newaxis], candidate, 1)
            bar.update(1)
    return np.array(search.medoids, dtype=np.int64), n_made, search.n_swaps


def _local_search(
    space: Space, medoids: NDArray[np.int64], distances: NDArray[np.float32], n_proposals: int
) -> _core.SwapSearch | _SingleMedoid:
    if len(medoids) == 1:
        return _SingleMedoid(medoids, distances, space.weights)
    # As many more candidates than rows: however many proposals are in vain, they are no full cycle of all rows.
    return _core.SwapSearch(space.n + n_proposals, medoids, distances, space.weights, 0.0, len(space.fixed))


class _SingleMedoid:
    """The swap search with one medoid, which has no second one to fall back to."""

    def __init__(
        self, medoids: NDArray[np.int64], distances: NDArray[np.float32], weights: NDArray[np.float64]
    ) -> None:
        self.medoids = medoids.tolist()
        self.nearest_distances = distances[0]
        self.n_swaps = 0
        self._weights = weights

    def sweep(self, rows: NDArray[np.float32], first: int, n_threads: int) -> None:
        if np.sum(rows[0] * self._weights) < np.sum(self.nearest_distances * self._weights):
            self.medoids, self.nearest_distances = [first], rows[0]
            self.n_swaps += 1


def kmc2(
    space: Space,
    k: int,
    rng: np.random.RandomState,
    stages: Stages,
    *,
    chain_length: int = CHAIN_LENGTH,
    power: float = 1.0,
) -> NDArray[np.int64]:
    """Draw medoids one by one, each the end of a Markov chain over a few rows instead of a choice among all."""
    medoids = with_fixed(space, k)
    if len(space.fixed) == 0:
        medoids[0] = draw_by_weight(space, medoids[:0], 1, rng)[0]
    with stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(max(1, len(space.fixed)), k):
            chain = draw_by_weight(space, medoids[:slot], chain_length, rng)
            columns = space.to_medoids(medoids[:slot], chain)
            block = fill_all(columns, np.empty((chain_length, slot), columns.dtype), Stages(), "distances")
            distances = block.min(axis=1)
            check_distances(distances, rows=chain)
            medoids[slot] = chain[end_of_chain(distances, power, rng)]
            bar.update(1)
    return medoids


def end_of_chain(distances: NDArray[Any], power: float, rng: np.random.RandomState) -> int:
    """Walk the chain: move on to the next row with probability min(1, (its distance / the present one)^power)."""
    odds = odds_of(distances, power)
    at = 0
    for step, threshold in enumerate(rng.random_sample(len(odds))):
        if threshold * odds[at] < odds[step]:
            at = step
    return at
