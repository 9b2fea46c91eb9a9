"""The search for medoids with a large medoid silhouette: of FasterMSC, and of DynMSC for several numbers of medoids.

Its loss is the weighted sum over the columns of a block of d1 / d2, the dissimilarities to the two nearest medoids; the
average medoid silhouette is 1 minus its mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block
from onebatchpam.search.build import Build
from onebatchpam.search.swaps import SwapOptions, SwapResult, place_start
from onebatchpam.space import Candidates


def search_silhouettes(
    block: Block,
    start: Indices | Build,
    weights: NDArray[np.float64],
    options: SwapOptions,
    run: Run,
    candidates: Candidates | None = None,
    least_k: int | None = None,
) -> list[SwapResult]:
    """Improve at least two medoids by eager swaps until a full cycle of candidates brings no swap.

    With `least_k`, the medoid whose removal costs most is then removed, and the search goes on, until so few are left.
    Without the one whose removal costs least, the others would be close to a local optimum, in which the search would
    soon end. Return the results for k, k - 1, ..., least_k medoids.
    """
    block, medoids, rows = place_start(block, start, weights, run, candidates)
    results, least_k = [], len(medoids) if least_k is None else max(least_k, options.n_fixed)
    with run.stages.stage("swap search", unit=" candidates") as bar:
        while True:
            search = _core.SilhouetteSearch(
                block.n, medoids, block.rows(medoids), weights, options.tol, options.n_fixed
            )
            n_iter = _sweep_until_idle(block, search, options, run.n_jobs, bar)
            medoids = np.array(search.medoids, dtype=np.int64)
            found = medoids if rows is None else rows[medoids]
            results.append(SwapResult(found, search.loss, n_iter, search.n_swaps, search.converged))
            if len(medoids) <= least_k:
                return results
            free = np.array(search.removal_changes[options.n_fixed :])
            medoids = np.delete(medoids, options.n_fixed + int(np.argmax(free)))


def _sweep_until_idle(
    block: Block, search: _core.SilhouetteSearch, options: SwapOptions, n_jobs: int, bar: Progress
) -> int:
    """Show the native search all candidates, pass after pass, until it ends; return the number of passes."""
    n_iter = 0
    while n_iter < options.max_iter and not search.converged:
        n_iter += 1
        for rows, tile in block.tiles():
            search.sweep(tile, rows.start, n_jobs)
            bar.set_postfix(medoids=len(search.medoids), passes=n_iter, swaps=search.n_swaps, refresh=False)
            bar.update(len(tile))
            if search.converged:
                break
    return n_iter
