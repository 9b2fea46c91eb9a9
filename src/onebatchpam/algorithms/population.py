"""The population of rows among which OneBatchPAM searches: all in memory, or in files that are read as memory is.

`onebatchpam.dask` has another population, whose rows are in partitions. OneBatchPAM asks either for the same few
things: to draw rows, to scan all rows for their nearest batch point, to search the block, to name the best members of
each cluster, and to sum the objective over all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.batch import MemoryScan, draw_coreset
from onebatchpam.blocks import Block
from onebatchpam.search import (
    Judges,
    Start,
    SwapOptions,
    SwapResult,
    assign,
    best_by_cluster,
    label_parts,
    mark,
    run_swaps,
)
from onebatchpam.space import Space


class InMemory:
    """All rows of a space."""

    def __init__(self, space: Space, k: int, memory_limit: int, run: Run) -> None:
        self.space, self.n, self.total_weight = space, space.n, float(space.weights.sum())
        self._k, self._memory_limit, self._run = k, memory_limit, run

    def draw(self, size: int) -> Batch:
        """Draw rows by their weights, without replacement."""
        return sample_by_weight(self.space.weights, size, self._run.rng)

    draw_points = draw

    def draw_coreset(self, size: int) -> Batch:
        """Draw rows by their weights and distances to the mean, with replacement."""
        return draw_coreset(self.space, size, self._run)

    def weights_of(self, indices: Indices) -> NDArray[np.float64]:
        """Return the weights of rows."""
        return self.space.weights[indices]

    def scan(self, m: int) -> MemoryScan:
        """Return what compares all rows with m batch points, as they are drawn."""
        return MemoryScan(self.space, m, self._k, self._memory_limit, self._run)

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult:
        """Search the medoids among all rows, which are those of the block."""
        return run_swaps(block, start, weights, options, self._run)

    def best_members(
        self, medoids: Indices, judges: dict[int, Judges], tried: Indices, labels: NDArray[Any] | None
    ) -> Indices:
        """Return, for each judged cluster, the untried members with the smallest mean loss over the judges.

        The labels of all rows are computed unless they are known.
        """
        parts = label_parts(self.space, medoids) if labels is None else [(np.arange(self.n), labels)]
        return best_by_cluster(self.space, judges, parts, mark(tried, self.n), self._run.n_jobs)

    def objectives(self, medoid_sets: list[Indices]) -> list[float]:
        """Return the objective over all rows of each set of medoids, once duplicates among these are moved apart."""
        return [assign(self.space, medoids)[1].inertia for medoids in medoid_sets]
