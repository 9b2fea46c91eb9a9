"""The population of OneBatchPAM: all rows with a positive weight, in memory or in files that are read in parts.

OneBatchPAM asks its population to draw rows, to scan all rows for their nearest batch point, to search the block, to
find the best members of each cluster, and to sum the objective over all rows. `onebatchpam.dask` has a second
population, which does the same for rows in Dask partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, mark
from onebatchpam.algorithms.effort import CORE_PER_MEDOID, MOST_ROWS_FOR_CORE
from onebatchpam.batch import MemoryScan, draw_coreset
from onebatchpam.blocks import Block
from onebatchpam.bounds import find_core
from onebatchpam.search import (
    Judges,
    Measured,
    Start,
    SwapOptions,
    SwapResult,
    assign,
    best_by_cluster,
    label_parts,
    run_swaps,
    weigh_clusters,
)
from onebatchpam.space import Space


class InMemory:
    """All rows of a space, which all have a positive weight."""

    def __init__(self, space: Space, k: int, memory_limit: int, run: Run) -> None:
        self.space, self.n, self.total_weight = space, space.n, float(space.weights.sum())
        self._k, self._memory_limit, self._run = k, memory_limit, run

    def draw(self, size: int) -> Batch:
        """Draw rows by their weights, without replacement."""
        return sample_by_weight(self.space.weights, size, self._run.rng)

    draw_points = draw  # the points that confirm swaps in a refinement are drawn like a batch

    def draw_coreset(self, size: int) -> Batch:
        """Draw rows by their weights and distances to the mean, with replacement."""
        return draw_coreset(self.space, size, self._run)

    def weights_of(self, indices: Indices) -> NDArray[np.float64]:
        """Return the weights of the rows with these indices."""
        return self.space.weights[indices]

    def scan(self, m: int) -> MemoryScan:
        """Return a scan, which compares all rows with the m batch points as they are drawn."""
        return MemoryScan(self.space, m, self._k, self._memory_limit, self._run)

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult:
        """Search for medoids among all candidates; row i of the block belongs to row i of the space."""
        return run_swaps(block, start, weights, options, self._run, self.space.candidates)

    def best_members(
        self, medoids: Indices, judges: dict[int, Judges], tried: Indices, labels: NDArray[Any] | None
    ) -> Indices:
        """Return, for each judged cluster, the untried members with the smallest mean loss over the judges.

        `labels` are the nearest medoids of all rows; None means that they are computed here.
        """
        candidates = self.space.candidates
        known = [] if labels is None else [(candidates.rows(), candidates.of(labels))]
        parts = label_parts(self.space, medoids) if labels is None else known
        return best_by_cluster(self.space, judges, parts, mark(tried, self.n), self._run.n_jobs)

    def find_core(self, medoids: Indices) -> Indices:
        """Return the candidates that the Lagrangian dual finds cheapest; none if there are too many rows for it."""
        if self.n > MOST_ROWS_FOR_CORE:
            return np.empty(0, np.int64)
        size = CORE_PER_MEDOID * len(medoids)
        with self._run.stages.stage("core"):
            return find_core(self.space, medoids, size, self._memory_limit, self._run.silent())

    def objectives(self, medoid_sets: list[Indices]) -> list[float]:
        """Return the objective over all rows for each set of medoids; duplicates within a set are moved apart first."""
        return [assign(self.space, medoids)[1].inertia for medoids in medoid_sets]

    def measure(self, medoids: Indices) -> Measured:
        """Return medoids, duplicates moved apart, with the weights of their clusters and their objective."""
        medoids, assignment = assign(self.space, medoids)
        weights = weigh_clusters(assignment.labels, self.space.weights, len(medoids))
        return Measured(medoids, weights, assignment.inertia)
