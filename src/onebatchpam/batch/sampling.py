"""Drawing batch points from rows in memory, and scanning all rows for the nearest of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._draws import Batch, coreset_odds, sample_by_odds, scale_to_mean
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.blocks import (
    Block,
    BlockScan,
    WholeBlock,
    fill_mirrored,
    fill_scanned,
    fits_whole,
    is_mirrored,
    of_all_rows,
    open_block,
)
from onebatchpam.space import Space


def draw_coreset(space: Space, m: int, run: Run) -> Batch:
    """Draw a lightweight coreset: rows far from the mean are drawn more often, and weigh less.

    Rows are drawn with replacement, because their weights divided by their odds are then unbiased. A row that is drawn
    twice is kept once, with twice the weight.
    """
    with run.stages.stage("distances to the mean"):
        distances = space.distances_to_mean()
    shares = space.weights / space.weights.sum()
    far = distances * shares
    odds = coreset_odds(shares, far, far.sum())
    drawn, counts = np.unique(run.rng.choice(space.n, size=m, p=odds / odds.sum()), return_counts=True)
    estimates = counts * shares[drawn] / odds[drawn]
    return Batch(drawn.astype(np.int64), scale_to_mean(estimates, space.weights.mean()))


class MemoryScan:
    """Compares all rows of a space with the batch points, as these are added.

    The rows of candidates are kept if they fit in memory; the other rows only tell which batch point is the nearest.
    """

    def __init__(self, space: Space, m: int, k: int, memory_limit: int, run: Run) -> None:
        self._space, self._k, self._memory_limit, self._run = space, k, memory_limit, run
        self._m, self._points, n_kept = m, np.empty(0, np.int64), space.candidates.n
        is_kept = fits_whole(n_kept, m, memory_limit, is_cheap=space.is_cheap)
        self._entries = np.empty((n_kept, m), np.float32) if is_kept else None
        # A batch of all rows stands for no other rows, so that only candidates need to be compared with it.
        self._compared = space.candidates.indices if m == space.n else None
        self._scan = BlockScan(space.n if self._compared is None else n_kept, run.n_jobs)

    @property
    def largest(self) -> float:
        """The largest dissimilarity so far."""
        return self._scan.largest

    def add(self, points: Indices) -> None:
        """Compare all rows with new batch points."""
        first, last = len(self._points), len(self._points) + len(points)
        self._points = np.concatenate([self._points, points])
        out = None if self._entries is None else self._entries[:, first:last]
        are_all = len(points) == self._space.n
        if out is not None and are_all and is_mirrored(self._space, points, self._space.candidates.indices):
            # Every row is a batch point and a candidate; which point is the nearest of a row is then of no use.
            self._scan.largest = fill_mirrored(self._space, points, out, self._run.stages)
            return
        distances = self._space.distances_to(points, self._compared)
        kept = self._space.candidates.indices if self._compared is None else None
        fill_scanned(distances, out, self._scan, self._run.stages, first, kept, self._m)

    def draw_far(self, size: int) -> Indices:
        """Draw rows with odds of weight times distance to the batch, so that small groups far away get their share."""
        odds = self._scan.distances * self._space.weights
        odds[self._points] = 0
        return sample_by_odds(odds, size, self._run.rng, exclude=self._points)

    def weights_of_nearest(self) -> NDArray[np.float64]:
        """Return, for each batch point, the weight of the rows to which it is the nearest."""
        totals = np.zeros(len(self._points))
        for rows in tile_bounds(self._space.n, _tiles.ROWS_PER_SUM):
            totals += np.bincount(self._scan.nearest[rows], self._space.weights[rows], minlength=len(totals))
        return totals

    def block(self) -> Block:
        """Return the block of all candidates x batch points; if it was not kept, the search computes it again."""
        compare, candidates = self._space.distances_to, self._space.candidates
        if self._entries is not None:
            return of_all_rows(WholeBlock(self._entries), candidates)
        block = open_block(compare, self._points, candidates.indices, self._k, self._memory_limit)
        return of_all_rows(block, candidates)
