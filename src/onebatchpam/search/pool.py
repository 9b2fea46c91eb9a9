"""Pool search: combines what several searches have found (iterated local search).

Single swaps end where no swap of one medoid improves, though another choice of a few medoids together might. What other
searches have found shows where such choices are, so their medoids form a pool. A kick replaces some medoids by others
of the pool, at random; swaps within the pool then mend what the kick has spoilt. The result is kept if it is not worse.
The search ends early when half of all kicks, one after the other, bring no gain.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block
from onebatchpam.search.swaps import SwapOptions, SwapResult, run_swaps

# The number of medoids that a kick replaces: this share of them, but at least two.
LEAST_KICKED, SHARE_KICKED = 2, 1 / 20


class PoolSearch:
    """A search with the arguments of `run_swaps` that kicks its medoids; a progress bar counts the candidates tried.

    It may be called for one part of the pool after the other. The bar counts for all of them together.
    """

    def __init__(self, n_kicks: int, bar: Progress) -> None:
        self._n_kicks, self._bar = n_kicks, bar
        self._n_made = self._n_better = 0  # kicks, and those that brought a gain

    def __call__(
        self, block: Block, start: Indices, weights: NDArray[np.float64], options: SwapOptions, run: Run
    ) -> SwapResult:
        """Search for medoids among the rows of a block, which are the pool."""
        best = run_swaps(block, start, weights, options, run)
        n_free, n_others = len(start) - options.n_fixed, block.n - len(start)
        n_kicked = min(count_kicked(len(start)), n_free, n_others)
        if n_free == 1 or n_kicked == 0:
            return best  # swaps of one medoid are all that can be done
        idle = 0
        for _ in range(self._n_kicks):
            slots = options.n_fixed + run.rng.choice(n_free, n_kicked, replace=False)
            medoids = best.medoids.copy()
            medoids[slots] = run.rng.choice(np.setdiff1d(np.arange(block.n), medoids), n_kicked, replace=False)
            found = run_swaps(block, medoids, weights, options, run)
            is_better = found.loss < best.loss
            idle = 0 if is_better else idle + 1
            if found.loss <= best.loss:
                best = replace(found, n_swaps=best.n_swaps + n_kicked + found.n_swaps)
            self._tell(n_others, is_better=is_better)
            if idle == self._n_kicks // 2:
                break
        return best

    def _tell(self, n_tried: int, *, is_better: bool) -> None:
        """Tell by the bar that a kick was made, and how many candidates were tried after it."""
        self._n_made, self._n_better = self._n_made + 1, self._n_better + is_better
        self._bar.set_postfix(kicks=self._n_made, better=self._n_better, refresh=False)
        self._bar.update(n_tried)


def count_kicked(k: int) -> int:
    """Return how many of k medoids a kick replaces, if so many may be replaced."""
    return max(LEAST_KICKED, int(k * SHARE_KICKED))
