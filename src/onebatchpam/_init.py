"""The medoids a search starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam._distances import Space
from onebatchpam._progress import Stages
from onebatchpam._tiles import only_column
from onebatchpam._validation import check_choice, check_distances, check_integer, check_medoids

INITS = ("random", "k-means++")


def initial_medoids(init: Any, space: Space, k: int, rng: np.random.RandomState, stages: Stages) -> NDArray[np.int64]:
    """Return k distinct row indices, by name or as the user gave them."""
    if not isinstance(init, str):
        return check_medoids(init, k, space.n, "init")
    if check_choice(init, "init", INITS) == "random":
        return random_medoids(space.n, k, rng)
    with stages.stage("initial medoids", total=k, unit=" medoids") as bar:
        return kmeans_plus_plus(space, k, rng, bar.update)


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


def kmeans_plus_plus(space: Space, k: int, rng: np.random.RandomState, on_medoid: Any) -> NDArray[np.int64]:
    """Draw medoids one by one, each with probability proportional to the distance to those before it.

    The distance itself, not its square: that is what the k-medoids objective sums.
    """
    medoids = np.empty(k, dtype=np.int64)
    nearest = np.full(space.n, np.inf)
    chosen = np.zeros(space.n, dtype=bool)
    for slot in range(k):
        odds = nearest if slot and nearest.any() else ~chosen / 1.0  # only duplicates left: any other row
        medoids[slot] = rng.choice(space.n, p=odds / odds.sum())
        chosen[medoids[slot]] = True
        distances = only_column(space.to_medoids(medoids[slot : slot + 1]))
        check_distances(distances, 0)
        np.minimum(nearest, distances, out=nearest)
        nearest[chosen] = 0
        on_medoid(1)
    return medoids
