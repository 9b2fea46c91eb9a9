"""Medoids drawn rather than searched for: where a search starts, or all that is wanted.

Every method draws with a probability that grows with a power of the distance to the medoids drawn before. The default
power is 1: that is what the k-medoids objective sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam import _core
from onebatchpam._distances import Space
from onebatchpam._progress import Stages
from onebatchpam._tiles import fill_all, only_column
from onebatchpam._validation import check_choice, check_distances, check_integer, check_medoids

N_PROPOSALS = 5
CHAIN_LENGTH = 20


def initial_medoids(init: Any, space: Space, k: int, rng: np.random.RandomState, stages: Stages) -> NDArray[np.int64]:
    """Return k distinct row indices, by name or as the user gave them."""
    if not isinstance(init, str):
        return check_medoids(init, k, space.n, "init")
    return _METHODS[check_choice(init, "init", INITS)](space, k, rng, stages)


def check_n_init(n_init: Any, init: Any) -> int:
    """Return the number of starts."""
    n_starts = check_integer(n_init, "n_init", at_least=1)
    if n_starts > 1 and not isinstance(init, str):
        raise ValueError(f"n_init={n_starts} with given medoids as init would repeat one start: expected n_init=1")
    return n_starts


def random_medoids(n: int, k: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Draw k of n rows, each set equally likely."""
    drawn: NDArray[np.int64] = np.asarray(sample_without_replacement(n, k, random_state=rng), dtype=np.int64)
    return drawn


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
    medoids = np.empty(k, dtype=np.int64)
    nearest = np.full(space.n, np.inf)
    with stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(k):
            medoids[slot] = draw_far(nearest, medoids[:slot], power, rng) if slot else rng.randint(space.n)
            row = distances_from(space, medoids[slot])
            np.minimum(nearest, row, out=nearest)
            if distances is not None:
                distances[slot] = row
            bar.update(1)
    return medoids


def draw_far(nearest: NDArray[Any], medoids: Any, power: float, rng: np.random.RandomState) -> int:
    """Draw a row with probability proportional to a power of its distance to the nearest of the medoids."""
    odds = odds_of(nearest, power)
    odds[medoids] = 0
    if not odds.any():  # only duplicates of medoids are left: any of them
        odds[:] = 1
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
    n_proposals = n_proposals if k < space.n else 0  # there is no other row
    with stages.stage("local search", total=n_proposals, unit=" proposals") as bar:
        search = _local_search(medoids, distances, n_proposals)
        del distances  # the search has a copy
        n_made = 0
        while n_made < n_proposals and search.nearest_distances.any():
            n_made += 1
            candidate = draw_far(search.nearest_distances, search.medoids, power, rng)
            row = distances_from(space, candidate).astype(np.float32)
            search.sweep(row[np.newaxis], candidate, 1)
            bar.update(1)
    return np.array(search.medoids, dtype=np.int64), n_made, search.n_swaps


def _local_search(
    medoids: NDArray[np.int64], distances: NDArray[np.float32], n_proposals: int
) -> _core.SwapSearch | _SingleMedoid:
    k, n = distances.shape
    if k == 1:
        return _SingleMedoid(medoids, distances)
    # As many more candidates than rows: however many proposals are in vain, they are no full cycle of all rows.
    return _core.SwapSearch(n + n_proposals, medoids, distances, np.ones(n), 0.0)


class _SingleMedoid:
    """The swap search with one medoid, which has no second one to fall back to."""

    def __init__(self, medoids: NDArray[np.int64], distances: NDArray[np.float32]) -> None:
        self.medoids = medoids.tolist()
        self.nearest_distances = distances[0]
        self.n_swaps = 0

    def sweep(self, rows: NDArray[np.float32], first: int, n_threads: int) -> None:
        if rows[0].sum(dtype=np.float64) < self.nearest_distances.sum(dtype=np.float64):
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
    medoids = np.empty(k, dtype=np.int64)
    medoids[0] = rng.randint(space.n)
    with stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        for slot in range(1, k):
            chain = other_rows(rng.randint(space.n - slot, size=chain_length), medoids[:slot])
            columns = space.to_medoids(medoids[:slot], chain)
            block = fill_all(columns, np.empty((chain_length, slot), columns.dtype), Stages(), "distances")
            distances = block.min(axis=1)
            check_distances(distances, rows=chain)
            medoids[slot] = chain[end_of_chain(distances, power, rng)]
            bar.update(1)
    return medoids


def other_rows(ranks: NDArray[Any], medoids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows with these ranks among those that are no medoids, without looking at all of them."""
    # The row of rank r comes after as many medoids as have at most r other rows before them.
    others_before = np.sort(medoids) - np.arange(len(medoids))
    return ranks + np.searchsorted(others_before, ranks, side="right")


def end_of_chain(distances: NDArray[Any], power: float, rng: np.random.RandomState) -> int:
    """Walk the chain: move on to the next row with probability min(1, (its distance / the present one)^power)."""
    odds = odds_of(distances, power)
    at = 0
    for step, threshold in enumerate(rng.random_sample(len(odds))):
        if threshold * odds[at] < odds[step]:
            at = step
    return at


_METHODS: dict[str, Callable[[Space, int, np.random.RandomState, Stages], NDArray[np.int64]]] = {
    "random": lambda space, k, rng, stages: random_medoids(space.n, k, rng),
    "k-means++": kmeans_plus_plus,
    "ls-k-means++": lambda space, k, rng, stages: ls_kmeans_plus_plus(space, k, rng, stages)[0],
    "kmc2": kmc2,
}
INITS = tuple(_METHODS)
