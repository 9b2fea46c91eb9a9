"""Where a search starts: at the medoids of the last fit, at those that are drawn or given, or at PAM's BUILD.

BUILD is for small data, and draws nothing. Candidates are then looked at in the order of their sums, the most central
first. So neither a random state nor the order of the rows enters, and a row that comes twice is the same as a row of
weight two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._block import Block, WholeBlock
from onebatchpam._distances import Indices, Space
from onebatchpam._init import fixed_first, initial_medoids
from onebatchpam._progress import Stages
from onebatchpam._swap import SwapResult, search_swaps
from onebatchpam._validation import check_flag

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


def search_from(
    start: Indices | None,
    block: Block,
    k: int,
    weights: NDArray[np.float64],
    fixed: Indices,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int,
    stages: Stages,
    least_progress: float = 0.0,
) -> SwapResult:
    """Improve k medoids by swaps, from this start, which begins with the fixed ones, or else from BUILD's."""

    def search(block: Block, start: Indices) -> SwapResult:
        return search_swaps(
            block,
            start,
            weights,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            stages=stages,
            n_fixed=len(fixed),
            least_progress=least_progress,
        )

    if start is not None:
        return search(block, start)
    entries = block.rows(np.arange(block.n))  # they are few
    order = most_central_first(entries, weights, n_jobs)
    places = np.argsort(order)  # of the rows in that order
    found = search(WholeBlock(entries[order]), places[build(entries, k, weights, fixed, n_jobs)])
    return replace(found, medoids=order[found.medoids])


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
