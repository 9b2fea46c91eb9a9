"""Where a search starts: at the medoids of the last fit, at those that are drawn or given, or at PAM's BUILD.

BUILD is for small data, and draws nothing. Candidates are then looked at in the order of their sums, the most central
first. So neither a random state nor the order of the rows enters, and a row that comes twice is the same as a row of
weight two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._parameters import check_choice, check_flag, check_integer
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.blocks import WholeBlock
from onebatchpam.search.first_medoids import draw_start, kmc2, kmeans_plus_plus, ls_kmeans_plus_plus
from onebatchpam.space import Space

# BUILD looks at the whole block for every medoid. With more rows a search from random ones is as good and faster.
MOST_ROWS = 200


def choose_start(
    estimator: Any, space: Space, k: int, m: int, rng: np.random.RandomState, stages: Stages
) -> Indices | None:
    """Return where an estimator with `init` and `warm_start` starts on a batch of m rows; None means by BUILD."""
    if check_flag(estimator.warm_start, "warm_start") and fits_last_one(estimator, space, k):
        name = "medoid_indices_ of the last fit (warm_start=True)"
        return fixed_first(space, space.indices_of(estimator.medoid_indices_, k, name), name)
    if starts_by_build(estimator.init, m, space.n):
        return None
    return initial_medoids(estimator.init, space, k, rng, stages)


def fits_last_one(estimator: Any, space: Space, k: int) -> bool:
    """Say whether there was a fit before, to as many rows with as many medoids."""
    if not hasattr(estimator, "medoid_indices_"):
        return False
    return (len(estimator.labels_), len(estimator.medoid_indices_)) == (space.n_given, k)


def starts_by_build(init: Any, m: int, n: int) -> bool:
    """Say whether the search on a batch of m among n rows starts by BUILD."""
    return isinstance(init, str) and init == "auto" and m == n <= MOST_ROWS


def most_central_first(block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> Indices:
    """Return the rows in the order of their weighted sums."""
    return np.argsort(weighted_sums(block, weights, n_jobs), kind="stable")


def build(block: NDArray[np.float32], k: int, weights: NDArray[np.float64], fixed: Indices, n_jobs: int) -> Indices:
    """Choose one medoid after the other, each the row that lowers the loss most; of equal ones the most central."""
    order = most_central_first(block, weights, n_jobs)
    medoids = np.concatenate([fixed, np.empty(k - len(fixed), np.int64)])
    nearest = np.min(block[fixed], axis=0, initial=np.inf)
    for slot in range(len(fixed), k):
        losses = weighted_sums(np.minimum(block, nearest), weights, n_jobs)
        losses[medoids[:slot]] = np.inf
        medoids[slot] = order[np.argmin(losses[order])]
        np.minimum(nearest, block[medoids[slot]], out=nearest)
    return medoids


def weighted_sums(block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
    """Return the weighted sum of every row."""
    return WholeBlock(block).weighted_sums(weights, n_jobs)


def initial_medoids(init: Any, space: Space, k: int, rng: np.random.RandomState, stages: Stages) -> NDArray[np.int64]:
    """Return k distinct row indices, by name or as the user gave them."""
    if not isinstance(init, str):
        return fixed_first(space, space.indices_of(init, k, "init"), "init")
    name = check_choice(init, "init", ("auto", *INITS))
    return _METHODS["random" if name == "auto" else name](space, k, rng, stages)


def check_n_init(n_init: Any, init: Any) -> int:
    """Return the number of starts."""
    n_starts = check_integer(n_init, "n_init", at_least=1)
    if n_starts > 1 and not isinstance(init, str):
        raise ValueError(f"n_init={n_starts} with given medoids as init would repeat one start: expected n_init=1")
    return n_starts


def fixed_first(space: Space, medoids: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Return medoids that the user gave, those that are fixed before the others."""
    missing = np.setdiff1d(space.fixed, medoids)
    if len(missing):
        row = space.numbers(missing)[0]
        raise ValueError(f"{name} lacks row {row}, which is one of fixed_medoids: expected all of them in it")
    return np.concatenate([space.fixed, medoids[~np.isin(medoids, space.fixed)]])


_METHODS: dict[str, Callable[[Space, int, np.random.RandomState, Stages], NDArray[np.int64]]] = {
    "random": lambda space, k, rng, stages: draw_start(space, k, rng),
    "k-means++": kmeans_plus_plus,
    "ls-k-means++": lambda space, k, rng, stages: ls_kmeans_plus_plus(space, k, rng, stages)[0],
    "kmc2": kmc2,
}

INITS = tuple(_METHODS)
