"""The population of OneBatchPAM: all rows with a positive weight, in memory or in files that are read in parts.

OneBatchPAM asks its population for the sample on which to search, which is a smaller population in memory or, if there
are few rows, the population itself. That draws rows, scans them for their nearest batch point, and searches the block.
Refinement asks the whole population for the best members of each cluster, and for the objective over all rows.
`onebatchpam.dask` has a second kind of population, for rows in Dask partitions, whose sample is in memory as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._draws import Batch, draw_by_odds, sample_by_weight
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, mark, tile_bounds
from onebatchpam.batch import MemoryScan, draw_coreset, find_odds, sample_size
from onebatchpam.blocks import Block, RecomputedBlock
from onebatchpam.search import (
    Assignment,
    Judges,
    Measured,
    Refinable,
    Start,
    SwapOptions,
    SwapResult,
    assign,
    best_by_cluster,
    label_parts,
    run_swaps,
    weigh_clusters,
)
from onebatchpam.space import Space, TiledDistances


@dataclass(frozen=True)
class SearchSample:
    """Rows that stand for all rows of a population in the batch search."""

    population: InMemory
    indices: Indices  # their indices in the population for which they stand, in ascending order

    @classmethod
    def of(
        cls, space: Space, indices: Indices, weights: NDArray[np.float64], k: int, memory_limit: int, run: Run
    ) -> SearchSample:
        """Return the sample of rows of a space, which are copied if they fit in memory."""
        part = space.part(indices, weights)
        n_bytes = part.n * part.rows.row_size * part.rows.dtype.itemsize
        if n_bytes <= memory_limit:  # otherwise they are fetched in each pass
            part, memory_limit = part.in_memory(), memory_limit - n_bytes
        return cls(InMemory(part, k, memory_limit, run, is_sample=True), indices)

    def places(self, rows: Indices) -> Indices:
        """Return the positions in the sample of these rows, which are in it."""
        return np.searchsorted(self.indices, rows)

    def widen(self, block: Block, points: Indices, whole: Refinable, k: int, memory_limit: int) -> Block:
        """Return a block of all rows of the whole population, of which entries are computed when they are needed.

        `block` is that of the sample, and `points` are the batch points, which are rows of the sample.
        """

        def compare(columns: Indices, rows: Indices | None) -> TiledDistances:
            return whole.space.distances_to(columns, rows)

        wide = RecomputedBlock(compare, self.indices[points], None, k, memory_limit)
        # Batch points that are candidates are as far from themselves as in the block of the sample.
        own = np.flatnonzero(self.population.space.candidates.marked()[points])
        parts = [own[part] for part in tile_bounds(len(own), _tiles.TILE_ENTRIES // block.m)]
        values = [np.diagonal(block.rows(points[part])[:, part]) for part in parts]
        wide.replace(self.indices[points[own]], own, np.concatenate([np.empty(0, np.float32), *values]))
        return wide


class InMemory:
    """All rows of a space, which all have a positive weight."""

    holds_all_rows = True

    def __init__(self, space: Space, k: int, memory_limit: int, run: Run, *, is_sample: bool = False) -> None:
        self.is_sample = is_sample
        self.space, self.n, self.total_weight = space, space.n, float(space.weights.sum())
        self._space = space  # the space as it was given; `space` may hold some of its rows in memory
        self._k, self._memory_limit, self._run = k, memory_limit, run
        self._odds: NDArray[np.float64] | None = None  # the odds by which the rows of the sample were drawn
        self._objectives: dict[bytes, float] = {}  # the keys are the bytes of `medoids`
        # The key, medoids and assignment of the smallest of the objectives.
        self._best: tuple[bytes, Indices, Assignment] | None = None

    def hold(self, indices: Indices, memory_limit: int) -> int:
        """Hold rows of a file in memory, if they fit, instead of those held before; return how many bytes they take."""
        self.space = self._space.hold(indices, memory_limit)
        return self.space.rows.held_bytes

    def draw(self, size: int) -> Batch:
        """Draw rows by their weights, without replacement."""
        return sample_by_weight(self.space.weights, size, self._run.rng)

    def draw_points(self, size: int) -> Batch:
        """Draw points that stand for all rows: like a batch, or by the same odds as the sample if there is one."""
        if self._odds is None or size == self.n:
            return self.draw(size)
        return draw_by_odds(self.space.weights, self._odds, size, np.empty(0, np.int64), self._run.rng)

    def draw_coreset(self, size: int) -> Batch:
        """Draw rows by their weights and distances to the mean, with replacement."""
        return draw_coreset(self.space, size, self._run)

    def weights_of(self, indices: Indices) -> NDArray[np.float64]:
        """Return the weights of the rows with these indices."""
        return self.space.weights[indices]

    def scan(self, m: int) -> MemoryScan:
        """Return a scan, which compares all rows with the m batch points as they are drawn."""
        return MemoryScan(self.space, m, self._k, self._memory_limit, self._run)

    def count_searched(self, m: int, k: int, rounds: int) -> int:
        """Return the number of rows that a search for k medoids with m batch points runs on."""
        return sample_size(self.n, m, k, rounds)

    def sample(self, first: Indices, include: Indices, size: int) -> SearchSample:
        """Return a sample of rows for a search; the first medoids tell which rows are far, others may be included."""
        self._odds = find_odds(self.space, first, self._run)
        rows = np.union1d(include, self.space.fixed)
        drawn = draw_by_odds(self.space.weights, self._odds, size, rows, self._run.rng)
        return SearchSample.of(self.space, drawn.indices, drawn.weights, self._k, self._memory_limit, self._run)

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult:
        """Search for medoids among all candidates; row i of the block belongs to row i of the space."""
        return run_swaps(block, start, weights, options, self._run, self.space.candidates)

    def best_members(self, medoids: Indices, judges: dict[int, Judges], tried: Indices) -> Indices:
        """Return, for each judged cluster, the untried members with the smallest mean loss over the judges."""
        parts = label_parts(self.space, medoids)
        return best_by_cluster(self.space, judges, parts, mark(tried, self.n), self._run.n_jobs)

    def objectives(self, medoid_sets: list[Indices]) -> list[float]:
        """Return the objective over all rows for each set of medoids; duplicates within a set are moved apart first."""
        for medoids in medoid_sets:
            if medoids.tobytes() not in self._objectives:
                self._assign(medoids)
        return [self._objectives[medoids.tobytes()] for medoids in medoid_sets]

    def _assign(self, medoids: Indices) -> Assignment:
        """Assign all rows to medoids, duplicates moved apart; remember the objective, and the best assignment."""
        key = medoids.tobytes()
        if self._best is not None and self._best[0] == key:
            return self._best[2]
        spread, assignment = assign(self.space, medoids)
        self._objectives[key] = assignment.inertia
        if self._best is None or assignment.inertia < self._objectives[self._best[0]]:
            self._best = key, spread, assignment
        return assignment

    def recall(self, medoids: Indices) -> tuple[Indices, Assignment | None]:
        """Return medoids, duplicates moved apart, with the assignment of all rows to them; None if it is not known."""
        if self._best is None or self._best[0] != medoids.tobytes():
            return medoids, None
        return self._best[1:]

    def measure(self, medoids: Indices) -> Measured:
        """Return medoids, duplicates moved apart, with the weights of their clusters and their objective."""
        medoids, assignment = assign(self.space, medoids)
        weights = weigh_clusters(assignment.labels, self.space.weights, len(medoids))
        return Measured(medoids, weights, assignment.inertia)
