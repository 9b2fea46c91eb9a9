"""The swap search: all rows of a block are candidates, and the loss is summed over its columns.

The native search sees the block tile by tile, so that progress is shown between tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from onebatchpam import _core
from onebatchpam._parameters import (
    check_integer,
    check_medoids,
    check_n_clusters,
    check_not_negative,
    check_seed,
    check_weights,
    resolve_n_jobs,
    spread_weights,
)
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, as_kernels_read
from onebatchpam.blocks import Block, WholeBlock, check_block
from onebatchpam.data import check_quietly
from onebatchpam.search.build import Build, most_central_first
from onebatchpam.search.first_medoids import random_medoids
from onebatchpam.space import Candidates


@dataclass(frozen=True)
class SwapResult:
    """Result of a swap search.

    Attributes
    ----------
    medoids : ndarray of shape (k,)
        Row indices of the medoids in the block.
    loss : float
        Sum over all columns of the dissimilarity to the nearest medoid, times the weight of the column.
    n_iter : int
        Passes over all candidates.
    n_swaps : int
        Swaps made.
    converged : bool
        True if the search ended because a full cycle of candidates brought no swap, False if `max_iter` ended it.
    """

    medoids: NDArray[np.int64]
    loss: float
    n_iter: int
    n_swaps: int
    converged: bool


@dataclass(frozen=True)
class SwapOptions:
    """Settings of a swap search."""

    max_iter: int = 100
    tol: float = 1e-6
    n_fixed: int = 0  # this many medoids, the first ones, are never swapped
    steepest: bool = False  # make only the best swap of each pass, as PAM does, instead of every one that improves


def run_swaps(
    block: Block,
    start: Indices | Build,
    weights: NDArray[np.float64],
    options: SwapOptions,
    run: Run,
    candidates: Candidates | None = None,
) -> SwapResult:
    """Improve medoids by swaps until a full cycle of candidates brings no swap.

    The candidates are all rows of the block, or those that are named; the result names medoids by their rows as well.
    """
    block, medoids, rows = place_start(block, start, weights, run, candidates)
    with run.stages.stage("swap search", unit=" candidates") as bar:
        search = _search(block, medoids, weights, options, run.n_jobs, bar)
    return search if rows is None else replace(search, medoids=rows[search.medoids])


def place_start(
    block: Block, start: Indices | Build, weights: NDArray[np.float64], run: Run, candidates: Candidates | None = None
) -> tuple[Block, Indices, Indices | None]:
    """Return the block of the candidates, in the order in which they are tried, and the places of the start in it.

    The last of the three results are the rows at all places; None if each row is at its own place. After BUILD, the
    most central candidates are tried first.
    """
    rows = None
    if candidates is not None and candidates.indices is not None:
        block, rows = block.subset(candidates.indices), candidates.indices
        start = start if isinstance(start, Build) else candidates.places(start)
    if not isinstance(start, Build):
        return block, start, rows
    order = most_central_first(block, weights, run.n_jobs)
    medoids = np.argsort(order)[start.choose(block, order, weights, run)]
    return block.subset(order), medoids, order if rows is None else rows[order]


def _search(
    block: Block, start: Indices, weights: NDArray[np.float64], options: SwapOptions, n_jobs: int, bar: tqdm
) -> SwapResult:
    """Improve medoids by swaps."""
    if len(start) == 1 and options.n_fixed == 0 and options.max_iter > 0:
        return _find_best_single(block, start, weights, n_jobs)
    if options.steepest:
        return _swap_best(block, start, weights, options, n_jobs, bar)
    return _sweep_until_idle(block, start, weights, options, n_jobs, bar)


def _sweep_until_idle(
    block: Block, medoids: Indices, weights: NDArray[np.float64], options: SwapOptions, n_jobs: int, bar: tqdm
) -> SwapResult:
    """Show the native search all candidates, pass after pass, until it ends."""
    search = _core.SwapSearch(block.n, medoids, block.rows(medoids), weights, options.tol, options.n_fixed)
    if options.n_fixed == len(medoids):
        return SwapResult(medoids, search.loss, 0, 0, True)
    n_iter = 0
    while n_iter < options.max_iter and not search.converged:
        n_iter += 1
        for n_seen in block.sweep(search, n_jobs):
            bar.set_postfix(passes=n_iter, swaps=search.n_swaps, block=block.storage, refresh=False)
            bar.update(n_seen)
    return SwapResult(np.array(search.medoids, dtype=np.int64), search.loss, n_iter, search.n_swaps, search.converged)


def _swap_best(
    block: Block, medoids: Indices, weights: NDArray[np.float64], options: SwapOptions, n_jobs: int, bar: tqdm
) -> SwapResult:
    """Make the best of all swaps, pass after pass, until none improves the loss; of equal ones, the first candidate."""
    search = _core.SwapSearch(block.n, medoids, block.rows(medoids), weights, options.tol, options.n_fixed)
    n_iter, is_done = 0, options.n_fixed == len(medoids)
    while n_iter < options.max_iter and not is_done:
        n_iter += 1
        gains, _ = block.best_swaps(search, n_jobs)
        gains[search.medoids] = -np.inf
        best = np.argmax(gains, keepdims=True)
        is_done = not np.isfinite(gains[best].item()) or not search.try_candidates(best, block.rows(best))
        bar.set_postfix(passes=n_iter, swaps=search.n_swaps, refresh=False)
        bar.update(block.n)
    return SwapResult(np.array(search.medoids, dtype=np.int64), search.loss, n_iter, search.n_swaps, is_done)


def _find_best_single(block: Block, start: Indices, weights: NDArray[np.float64], n_jobs: int) -> SwapResult:
    """Return the row with the smallest weighted sum, which is the best single medoid."""
    sums = block.weighted_sums(weights, n_jobs)
    best = int(np.argmin(sums))
    return SwapResult(np.array([best], dtype=np.int64), float(sums[best]), 1, int(best != start[0]), True)


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
    """Choose k rows of a block of dissimilarities such that every column is close to one of them.

    This is the swap search of FasterPAM on a block of your own: every row is a candidate for a medoid, every column is
    a point. With a square matrix it is FasterPAM itself, with an n x m block it is the batch search of OneBatchPAM.

    Parameters
    ----------
    block : array-like of shape (n, m)
        Entry (i, j) is the dissimilarity of candidate i and point j, a finite number that is not negative. Converted to
        float32 if it is of another type.
    n_clusters : int
        Number of medoids, k.
    init : array-like of shape (k,), default=None
        Row indices of the medoids from which the search starts; None draws them at random.
    weights : array-like of shape (m,) or float, default=None
        Weights of the columns, not negative; None gives every column weight 1.
    max_iter : int, default=100
        Largest number of passes over all candidates; the search ends as soon as a full cycle brings no swap. 0 returns
        the first medoids with their loss.
    tol : float, default=1e-6
        A swap must lower the loss by more than this fraction of it, where the farthest point does not count.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number.
    random_state : int, RandomState or None, default=None
        Draws the first medoids if `init` is None.

    Returns
    -------
    SwapResult
        The medoids as row indices of the block, their loss, and how the search went.

    Examples
    --------
    >>> import numpy as np
    >>> from onebatchpam import swap_search
    >>> points = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    >>> result = swap_search(abs(points[:, None] - points), 2, random_state=0)
    >>> sorted(result.medoids.tolist()), result.loss
    ([1, 4], 4.0)
    """
    k = check_integer(n_clusters, "n_clusters", at_least=1)
    run = Run(resolve_n_jobs(n_jobs), check_seed(random_state, "random_state"), Stages())
    options = SwapOptions(check_integer(max_iter, "max_iter", at_least=0), check_not_negative(tol, "tol"))
    checked_weights = check_weights(weights, "weights", "column")
    start = None if init is None else check_medoids(init, k, None, "init")
    # Entries that are not finite in float32 are refused below, with the row and the column.
    entries = check_quietly(block, dtype=np.float32, order="C", ensure_all_finite=False, input_name="block")
    entries = as_kernels_read(entries, np.float32)
    n, m = entries.shape
    check_n_clusters(k, n)
    column_weights = spread_weights(checked_weights, m, "weights", "column")
    medoids = random_medoids(n, k, run.rng) if start is None else check_medoids(start, k, n, "init")
    check_block(entries, run.n_jobs)
    check_block_scale(block, entries)
    return run_swaps(WholeBlock(entries), medoids, column_weights, options, run)


def check_block_scale(given: ArrayLike, entries: NDArray[np.float32]) -> None:
    """Raise if the entries of a block are all zero only because float32 cannot hold them."""
    largest = 0.0 if entries.any() else float(np.max(np.asarray(given, np.float64)))
    if largest > 0:
        raise ValueError(
            f"block has no entry larger than {largest:.3g}, which becomes 0 in float32: expected larger "
            "dissimilarities; multiply them by a constant"
        )
