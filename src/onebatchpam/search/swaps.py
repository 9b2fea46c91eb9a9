"""The swap search: all rows of a block are candidates, and the loss is summed over its columns.

The native search sees the block tile by tile, so that progress is shown between tiles. With very many candidates, the
search first converges among a few of them, evenly spaced, because these already yield most swaps; then it goes on with
all candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
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
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, WholeBlock, check_block
from onebatchpam.search.build import Build, most_central_first
from onebatchpam.search.first_medoids import random_medoids
from onebatchpam.space import Candidates

# With more candidates than this, the search first converges among every 16th of them, or among more if these would be
# fewer than a fifth of this number. The rule depends only on the number of candidates, because the storage of a block
# must not change the result.
MANY_CANDIDATES = 100_000
LARGEST_STRIDE = 16


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
    # With more than MANY_CANDIDATES, the search ends with a pass that lowers the loss by less than this fraction of it.
    least_progress: float = 0.0
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
    medoids = np.argsort(order)[start.choose(block, weights, run)]
    return block.subset(order), medoids, order if rows is None else rows[order]


def _search(
    block: Block, start: Indices, weights: NDArray[np.float64], options: SwapOptions, n_jobs: int, bar: tqdm
) -> SwapResult:
    """Improve medoids by swaps, in levels if there are very many candidates."""
    if len(start) == 1 and options.n_fixed == 0 and options.max_iter > 0:
        return _find_best_single(block, start, weights, n_jobs)
    if options.steepest:
        return _swap_best(block, start, weights, options, n_jobs, bar)
    medoids, n_swaps = start, 0
    for spaced in choose_levels(block.n, start):
        level = block if spaced is None else block.subset(spaced)
        places = medoids if spaced is None else np.searchsorted(spaced, medoids)
        search = _sweep_until_idle(level, places, weights, options, n_jobs, bar)
        medoids = search.medoids if spaced is None else spaced[search.medoids]
        n_swaps += search.n_swaps
    return replace(search, medoids=medoids, n_swaps=n_swaps)


def choose_levels(n: int, medoids: Indices) -> Iterator[Indices | None]:
    """Return the levels of a search, each with its candidates: first a few evenly spaced ones, at last all (None).

    Every level contains the medoids from which the search starts, and the candidates of the levels before it.
    """
    levels: list[Indices | None] = [None]
    while n > MANY_CANDIDATES:
        stride = stride_of_level(n)
        spaced = np.arange(0, n, stride) if levels[-1] is None else levels[-1][::stride]
        candidates = np.union1d(spaced, medoids)
        if 2 * len(candidates) > n:
            break  # the medoids alone are so many that a level of them would save little
        levels.append(candidates)
        n = len(candidates)
    return reversed(levels)


def stride_of_level(n: int) -> int:
    """Return which of n candidates are searched first: every how many-th of them."""
    return min(LARGEST_STRIDE, 5 * n // MANY_CANDIDATES)


def level_sizes(n: int) -> list[int]:
    """Return about how many candidates each level of a search among n has; the last one has all."""
    sizes = [n]
    while sizes[-1] > MANY_CANDIDATES:
        sizes.append(-(-sizes[-1] // stride_of_level(sizes[-1])))
    return sizes[::-1]


def _sweep_until_idle(
    block: Block, medoids: Indices, weights: NDArray[np.float64], options: SwapOptions, n_jobs: int, bar: tqdm
) -> SwapResult:
    """Show the native search all candidates, pass after pass, until it ends."""
    search = _core.SwapSearch(block.n, medoids, block.rows(medoids), weights, options.tol, options.n_fixed)
    if options.n_fixed == len(medoids):
        return SwapResult(medoids, search.loss, 0, 0, True)
    least_progress = options.least_progress if block.n > MANY_CANDIDATES else 0.0
    n_iter, is_done = 0, False
    while n_iter < options.max_iter and not is_done:
        n_iter += 1
        loss_before = search.loss
        for n_seen in block.sweep(search, n_jobs):
            bar.set_postfix(passes=n_iter, swaps=search.n_swaps, block=block.storage, refresh=False)
            bar.update(n_seen)
        is_done = search.converged or search.loss > loss_before * (1 - least_progress)
    return SwapResult(np.array(search.medoids, dtype=np.int64), search.loss, n_iter, search.n_swaps, is_done)


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
        best = int(np.argmax(gains))
        is_done = not np.isfinite(gains[best]) or not search.try_candidates([best], block.rows(np.array([best])))
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
    With more than 100,000 rows, the search first converges among some of them, evenly spaced, and then goes on with
    all rows.

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
        Largest number of passes over all candidates; the search ends as soon as a full cycle brings no swap.
    tol : float, default=1e-6
        A swap must lower the loss by more than this fraction of it, the farthest point aside.
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
    options = SwapOptions(check_integer(max_iter, "max_iter", at_least=1), check_not_negative(tol, "tol"))
    checked_weights = check_weights(weights, "weights", "column")
    start = None if init is None else check_medoids(init, k, None, "init")
    # A number too large for float32 becomes infinite, which is refused below. The check also adds up all entries, and
    # a sum that is too large says nothing about them.
    with np.errstate(over="ignore", invalid="ignore"):
        entries: NDArray[np.float32] = check_array(block, dtype=np.float32, order="C", input_name="block")
    n, m = entries.shape
    check_n_clusters(k, n)
    column_weights = spread_weights(checked_weights, m, "weights", "column")
    medoids = random_medoids(n, k, run.rng) if start is None else check_medoids(start, k, n, "init")
    check_block(entries, run.n_jobs)
    return run_swaps(WholeBlock(entries), medoids, column_weights, options, run)
