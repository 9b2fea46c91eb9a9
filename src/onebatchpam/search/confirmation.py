"""Confirmation: candidates are compared with many points, and swapped in where that lowers the loss over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks import Block, WholeBlock, open_block
from onebatchpam.search.assignment import Assignment, spread_medoids
from onebatchpam.search.candidates import find_runners_up
from onebatchpam.search.refinable import Refinable
from onebatchpam.search.swaps import SwapOptions, SwapResult, run_swaps
from onebatchpam.space import TiledDistances, TransposedDistances

# Takes the arguments of `run_swaps`, and improves medoids by swaps within the block.
SearchBlock = Callable[[Block, Indices, NDArray[np.float64], SwapOptions, Run], SwapResult]


@dataclass(frozen=True)
class Confirmed:
    """The loss over the points after a round, the number of its swaps, and a search for candidates that came close.

    The search reads the block of the round, so that it must come before the next round.
    """

    loss: float
    n_swaps: int
    find_runners_up: Callable[[], Indices]


class Confirmation:
    """Medoids with their dissimilarities to the confirming points; makes the swaps that these points confirm."""

    def __init__(
        self,
        population: Refinable,
        medoids: Indices,
        points: Batch,
        buffer: TileBuffer,
        limit: Callable[[], int],
        options: SwapOptions,
        run: Run,
    ) -> None:
        self.medoids = medoids
        self._population, self._points, self._buffer, self._limit = population, points, buffer, limit
        self._options, self._run = options, run
        self._rows = np.empty((len(medoids), len(points.indices)), np.float32)
        self._fill(self._rows, medoids)

    def begin_round(self) -> None:
        """Do nothing: the medoids of the last round are compared with all points already."""

    def state(self) -> _core.SwapSearch:
        """Return a search that knows the nearest and second nearest medoids of all points, and the loss."""
        k = len(self.medoids)
        return _core.SwapSearch(k, np.arange(k), self._rows, self._points.weights, self._options.tol)

    def spread_medoids(self) -> None:
        """Replace duplicate medoids, as the assignment would do at the end; this never makes the loss worse."""
        state = self.state()
        assignment = Assignment(state.nearest, state.nearest_distances, self._population.space.weights)
        spread = spread_medoids(self._population.space, self.medoids, assignment)
        if not np.array_equal(spread, self.medoids):
            self.medoids = spread
            self._fill(self._rows, spread)

    def confirm(self, candidates: Indices, search_block: SearchBlock = run_swaps) -> Confirmed:
        """Swap candidates in where that lowers the loss over the points."""
        k = len(self.medoids)
        contenders = np.concatenate([self.medoids, candidates[~np.isin(candidates, self.medoids)]])
        block = self._open_block(contenders, self._limit())
        search = search_block(block, np.arange(k), self._points.weights, self._options, self._run.silent())
        self._rows, self.medoids = block.rows(search.medoids), contenders[search.medoids]

        def find() -> Indices:
            weights, n_fixed = self._points.weights, self._options.n_fixed
            return contenders[find_runners_up(block, search.medoids, weights, n_fixed, self._run.n_jobs)]

        return Confirmed(search.loss, search.n_swaps, find)

    def _open_block(self, contenders: Indices, limit: int) -> Block:
        """Return the block of contenders x points; the first k contenders are the medoids, whose rows are at hand."""
        k = len(self.medoids)
        if 4 * len(contenders) * len(self._points.indices) > limit:
            return open_block(self._compare, self._points.indices, contenders, k, limit)
        entries = self._buffer.for_rows(slice(0, len(contenders)))
        entries[:k] = self._rows
        self._fill(entries[k:], contenders[k:])
        return WholeBlock(entries)

    def _fill(self, out: NDArray[np.float32], candidates: Indices) -> None:
        """Write d(candidate, point) to `out`, a row for each candidate, in one pass over the points."""
        if len(candidates):
            self._compare(self._points.indices, candidates).fill(slice(0, len(candidates)), out)

    def _compare(self, points: Indices, candidates: Indices | None) -> TiledDistances:
        assert candidates is not None  # a confirmation never compares all rows as candidates
        return TransposedDistances(self._population.space, points, candidates, self._run.n_jobs)
