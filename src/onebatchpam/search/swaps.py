"""The swap search: all rows of a block are candidates, the loss is summed over its columns.

The block is shown to the native search tile by tile, so that Ctrl-C is answered and progress is shown in between.
Where there are very many candidates, most swaps are found among a few of them: all are looked at only to finish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state
from tqdm.auto import tqdm

from onebatchpam import _core, _tiles
from onebatchpam._parameters import (
    check_integer,
    check_medoids,
    check_n_clusters,
    check_not_negative,
    check_weights,
    resolve_n_jobs,
)
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.blocks import Block, BlockScan, WholeBlock
from onebatchpam.search.first_medoids import random_medoids
from onebatchpam.search.start import build, most_central_first


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


# With more candidates than this the search converges first among an evenly spaced part of them, which is no less than a
# fifth of this number. It depends on their number only: how the block is kept must not change the result.
MANY_CANDIDATES = 100_000

LARGEST_STRIDE = 16


@dataclass(frozen=True)
class SwapResult:
    """What a swap search found.

    Attributes
    ----------
    medoids : ndarray of shape (k,)
        Rows of the block.
    loss : float
        Weighted sum over the columns of the distance to the nearest medoid.
    n_iter : int
        Passes over all candidates.
    n_swaps : int
        Swaps made.
    converged : bool
        Whether the search came to its end: a full cycle of candidates passed without a swap; False when `max_iter`
        ended it.
    """

    medoids: NDArray[np.int64]
    loss: float
    n_iter: int
    n_swaps: int
    converged: bool


def search_swaps(
    block: Block,
    medoids: NDArray[np.int64],
    weights: NDArray[np.float64],
    *,
    max_iter: int,
    tol: float,
    n_jobs: int,
    stages: Stages,
    n_fixed: int = 0,
    least_progress: float = 0.0,
) -> SwapResult:
    """Improve the medoids by eager swaps until a full cycle brings none; the first ones may be fixed.

    With many candidates, a pass that lowers the loss by less than a fraction `least_progress` of it is the last.
    """
    with stages.stage("swap search", unit=" candidates") as bar:
        if len(medoids) == 1 and n_fixed == 0:
            return _best_single(block, medoids, weights, n_jobs)

        def search(block: Block, start: NDArray[np.int64]) -> SwapResult:
            n_swaps = 0
            if block.n > MANY_CANDIDATES:
                some = some_candidates(block.n, start)
                among_some = search(block.subset(some), np.searchsorted(some, start))
                start, n_swaps = some[among_some.medoids], among_some.n_swaps
            enough = least_progress if block.n > MANY_CANDIDATES else 0.0
            found = _sweep_until_idle(block, start, weights, max_iter, tol, n_jobs, n_fixed, enough, bar)
            return replace(found, n_swaps=n_swaps + found.n_swaps)

        return search(block, medoids)


def some_candidates(n: int, medoids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the medoids and some of n candidates, evenly spaced, in order."""
    stride = min(LARGEST_STRIDE, 5 * n // MANY_CANDIDATES)
    return np.union1d(np.arange(0, n, stride), medoids)


def _sweep_until_idle(
    block: Block,
    medoids: NDArray[np.int64],
    weights: NDArray[np.float64],
    max_iter: int,
    tol: float,
    n_jobs: int,
    n_fixed: int,
    least_progress: float,
    bar: tqdm,
) -> SwapResult:
    search = _core.SwapSearch(block.n, medoids, block.rows(medoids), weights, tol, n_fixed)
    if n_fixed == len(medoids):
        return SwapResult(medoids, search.loss, 0, 0, True)
    n_iter, done = 0, False
    while n_iter < max_iter and not done:
        n_iter += 1
        loss_before = search.loss
        for n_done in block.sweep(search, n_jobs):
            bar.set_postfix(passes=n_iter, swaps=search.n_swaps, block=block.storage, refresh=False)
            bar.update(n_done)
        done = search.converged or search.loss > loss_before * (1 - least_progress)
    medoids = np.array(search.medoids, dtype=np.int64)
    return SwapResult(medoids, search.loss, n_iter, search.n_swaps, done)


def _best_single(block: Block, medoids: NDArray[np.int64], weights: NDArray[np.float64], n_jobs: int) -> SwapResult:
    """Return the row with the smallest weighted sum: a single medoid has no second one to fall back to."""
    sums = block.weighted_sums(weights, n_jobs)
    best = int(np.argmin(sums))
    return SwapResult(np.array([best], dtype=np.int64), float(sums[best]), 1, int(best != medoids[0]), True)


def swap_search(
    block: ArrayLike,
    n_clusters: int,
    *,
    init: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> SwapResult:
    """Choose k rows of a block of dissimilarities that are close to all of its columns.

    FasterPAM's eager swaps on a block of one's own: every row is a candidate, every column a point to be near to. A
    square matrix gives FasterPAM itself, an n x m block OneBatchPAM's search. With more than 100,000 rows the search
    converges among every 16th of them before it goes on with all.

    Parameters
    ----------
    block : array-like of shape (n, m)
        Entry (i, j) is the dissimilarity of candidate i and point j: finite and not negative. Held in float32.
    n_clusters : int
        Number of medoids, k.
    init : array-like of shape (k,), default=None
        Rows to start from; drawn at random when None.
    weights : array-like of shape (m,), default=None
        Weights of the columns, not negative; ones when None.
    max_iter : int, default=100
        Largest number of passes over all candidates.
    tol : float, default=1e-6
        A swap must lower the loss by more than this fraction of it.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 all processors. Does not change the result.
    random_state : int, RandomState or None, default=None
        Draws `init`.

    Returns
    -------
    SwapResult
        With `medoids`, `loss`, `n_iter`, `n_swaps` and `converged`.

    Examples
    --------
    >>> import numpy as np
    >>> from onebatchpam import swap_search
    >>> points = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    >>> result = swap_search(abs(points[:, None] - points), 2, random_state=0)
    >>> sorted(result.medoids.tolist()), result.loss
    ([1, 4], 4.0)
    """
    with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
        entries: NDArray[np.float32] = check_array(block, dtype=np.float32, order="C", input_name="block")
    n, m = entries.shape
    k = check_n_clusters(n_clusters, n)
    threads = resolve_n_jobs(n_jobs)
    max_iter, tol = check_integer(max_iter, "max_iter", at_least=1), check_not_negative(tol, "tol")
    weights = check_weights(weights, m)
    if init is None:
        medoids = random_medoids(n, k, check_random_state(random_state))
    else:
        medoids = check_medoids(init, k, n, "init")
    scan = BlockScan(n, threads)
    for rows in tile_bounds(n, _tiles.TILE_ENTRIES // m):
        scan.see(entries[rows], rows.start)
    return search_swaps(
        WholeBlock(entries), medoids, weights, max_iter=max_iter, tol=tol, n_jobs=threads, stages=Stages()
    )
