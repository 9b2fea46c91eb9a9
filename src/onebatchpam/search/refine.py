"""Refinement: the batch screens, all points confirm.

A batch ranks candidates well but not finely. Each round takes a few promising candidates of every cluster, computes
their dissimilarities to all points, and runs the same swap search on that transposed block (candidates x all points),
whose loss is the objective itself. So a round never makes the objective worse. Where all points would be too many
dissimilarities, a fresh sample of points confirms, and the objective over all points has the last word.

The rows may be in memory or in partitions: see `Refinable`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from onebatchpam import _core, _tiles
from onebatchpam._draws import Batch
from onebatchpam._parameters import check_integer
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.blocks import Block, WholeBlock, fill_checked, open_block
from onebatchpam.search.assignment import Assignment, spread_medoids
from onebatchpam.search.candidates import CANDIDATES_PER_MEDOID, Judges, best_by_batch, draw_judges
from onebatchpam.search.swaps import SwapOptions, SwapResult, run_swaps
from onebatchpam.space import Distances, Space

MAX_AUTOMATIC_ROUNDS = 10
LEAST_PROGRESS = 2e-4  # another round is made while the last one lowered the objective by more than this fraction
# Among very many candidates, a search that is refined afterwards need not find its last swaps: a pass that lowers the
# loss by less than this fraction is its last.
PROGRESS_OF_PASS = 5e-3
# Dissimilarities that a round looks at: of candidates and medoids to the points that confirm them.
MOST_ENTRIES = 2**26
ROWS_TRANSPOSED = 256  # at a time, because a column of so many rows stays in the first-level cache


def check_rounds(refine: Any, name: str) -> int:
    """Return the largest number of rounds for the `refine` parameter of an estimator."""
    if isinstance(refine, str) and refine == "auto":
        return MAX_AUTOMATIC_ROUNDS
    if isinstance(refine, str):
        raise ValueError(f"{name}={refine!r}: expected 'auto' or a number of rounds")
    return check_integer(refine, name, at_least=0)


class Refinable(Protocol):
    """All rows of a data set that have a weight. The indices of rows are those of `space`, the rows at hand."""

    n: int

    @property
    def space(self) -> Space: ...
    def draw_points(self, size: int) -> Batch: ...
    def best_members(
        self, medoids: Indices, judges: dict[int, Judges], tried: Indices, labels: NDArray[Any] | None
    ) -> Indices: ...
    def objectives(self, medoid_sets: list[Indices]) -> list[float]: ...


@dataclass(frozen=True)
class Refined:
    """The medoids after refinement."""

    medoids: Indices
    n_rounds: int = 0
    n_swaps: int = 0


class Refinement:
    """The refinement of medoids that a batch search found."""

    def __init__(
        self,
        population: Refinable,
        block: Block,
        weights: NDArray[np.float64],
        options: SwapOptions,
        rounds: int,
        memory_limit: int,
        run: Run,
    ) -> None:
        self._population, self._block, self._weights = population, block, weights
        self._options = replace(options, least_progress=0.0)
        self._rounds, self._memory_limit, self._run = rounds, memory_limit, run
        self._buffer: TileBuffer | None = None  # for the block of candidates, which all refinements share

    def refine(self, medoids: Indices, candidates: Indices | None = None) -> Refined:
        """Improve medoids by swaps that are confirmed; given candidates are tried first."""
        population, k = self._population, len(medoids)
        if self._rounds == 0 or self._block.m == population.n or self._options.n_fixed == k:
            return Refined(medoids)  # a batch of all rows has confirmed every swap already
        with self._run.stages.stage("refinement", unit=" rounds") as bar:
            points = population.draw_points(self._n_points(k))
            refined = self._run_rounds(medoids, points, candidates, bar)
            if len(points.indices) < population.n:
                before, after = population.objectives([medoids, refined.medoids])
                if after > before:
                    return Refined(medoids, refined.n_rounds)  # the sample has misled
            return refined

    def _n_points(self, k: int) -> int:
        """Return how many points confirm: so many that a round costs no more than the block itself, if that is few."""
        n, m = self._population.n, self._block.m
        n_points = min(n * m // (k * CANDIDATES_PER_MEDOID), MOST_ENTRIES // (k * (1 + CANDIDATES_PER_MEDOID)))
        return min(max(m, n_points), n)  # fewer points than the batch has would tell nothing new

    def _run_rounds(self, medoids: Indices, points: Batch, candidates: Indices | None, bar: tqdm) -> Refined:
        confirmation = self._begin_confirmation(medoids, points)
        proposals = Proposals(
            self._population, self._block, self._weights, points, len(medoids), self._options, self._run
        )
        refined = Refined(confirmation.medoids)
        while proposals.is_open.any() and refined.n_rounds < self._rounds:
            state = confirmation.state()
            proposed = proposals.propose(refined.medoids, state) if candidates is None else candidates
            search = confirmation.confirm(proposed, proposals.screen_bytes)
            refined = Refined(confirmation.medoids, refined.n_rounds + 1, refined.n_swaps + search.n_swaps)
            bar.set_postfix(swaps=refined.n_swaps, objective=search.loss, refresh=False)
            bar.update()
            if candidates is None:
                # A medoid that none of its candidates could replace is proposed no more candidates.
                proposals.is_open = search.medoids != np.arange(len(medoids))
                if search.loss > state.loss * (1 - LEAST_PROGRESS):
                    break
            candidates = None
        return refined

    def _begin_confirmation(self, medoids: Indices, points: Batch) -> Confirmation:
        if self._buffer is None:
            self._buffer = TileBuffer(len(points.indices))
        limit = self._memory_limit - self._block.n_bytes
        confirmation = Confirmation(self._population, medoids, points, self._buffer, limit, self._options, self._run)
        if len(points.indices) == self._population.n:
            confirmation.spread_medoids()
        return confirmation


class Proposals:
    """Which rows to try next: some for each open medoid, none of them twice."""

    def __init__(
        self,
        population: Refinable,
        block: Block,
        weights: NDArray[np.float64],
        points: Batch,
        k: int,
        options: SwapOptions,
        run: Run,
    ) -> None:
        self._population, self._block, self._weights, self._points = population, block, weights, points
        self._n_fixed, self._run = options.n_fixed, run
        self._are_all_points = len(points.indices) == population.n
        # Only the points are screened by the batch, because they are compared with the batch already.
        self._screen = block if self._are_all_points else block.subset(points.indices)
        self._tried = np.empty(0, np.int64)
        self.is_open = np.arange(k) >= self._n_fixed

    @property
    def screen_bytes(self) -> int:
        """How many bytes the screen holds besides the block."""
        return 0 if self._screen is self._block else self._screen.n_bytes

    def propose(self, medoids: Indices, state: _core.SwapSearch) -> Indices:
        """Return untried rows for the open medoids; the state is that of the medoids and the points."""
        k, run = len(medoids), self._run
        self._tried = np.union1d(self._tried, medoids)
        search = _core.SwapSearch(k, np.arange(k), self._block.rows(medoids), self._weights, 0.0, self._n_fixed)
        tried_points = mark(self._tried, self._population.space.n)[self._points.indices]
        by_batch = self._points.indices[best_by_batch(self._screen, search, self.is_open, tried_points, run.n_jobs)]
        self._tried = np.union1d(self._tried, by_batch)
        judges = draw_judges(self._points, state, self.is_open, run.rng)
        labels = state.nearest if self._are_all_points else None
        by_cluster = self._population.best_members(medoids, judges, self._tried, labels)
        self._tried = np.union1d(self._tried, by_cluster)
        return np.concatenate([by_batch, by_cluster])


def mark(indices: Indices, n: int) -> NDArray[np.bool_]:
    """Return an array of n truth values, true at these indices."""
    marks = np.zeros(n, dtype=bool)
    marks[indices] = True
    return marks


class Confirmation:
    """Medoids with their dissimilarities to the confirming points, and the search among them and candidates."""

    def __init__(
        self,
        population: Refinable,
        medoids: Indices,
        points: Batch,
        buffer: TileBuffer,
        limit: int,
        options: SwapOptions,
        run: Run,
    ) -> None:
        self.medoids = medoids
        self._population, self._points, self._buffer, self._limit = population, points, buffer, limit
        self._options, self._run = options, run
        self._rows = np.empty((len(medoids), len(points.indices)), np.float32)
        self._fill(self._rows, medoids)

    def state(self) -> _core.SwapSearch:
        """Return the nearest and second nearest medoid of every point, and the loss."""
        k = len(self.medoids)
        return _core.SwapSearch(k, np.arange(k), self._rows, self._points.weights, self._options.tol)

    def spread_medoids(self) -> None:
        """Move medoids that are duplicates of others, as the assignment would in the end: a start that is not worse."""
        state = self.state()
        assignment = Assignment(state.nearest, state.nearest_distances, self._population.space.weights)
        spread = spread_medoids(self._population.space, self.medoids, assignment)
        if not np.array_equal(spread, self.medoids):
            self.medoids = spread
            self._fill(self._rows, spread)

    def confirm(self, candidates: Indices, other_bytes: int) -> SwapResult:
        """Make the swaps with candidates that lower the loss over the points."""
        k = len(self.medoids)
        known = np.concatenate([self.medoids, candidates[~np.isin(candidates, self.medoids)]])
        block = self._open_block(known, self._limit - other_bytes)
        search = run_swaps(block, np.arange(k), self._points.weights, self._options, self._run.silent())
        self._rows, self.medoids = block.rows(search.medoids), known[search.medoids]
        return search

    def _open_block(self, known: Indices, limit: int) -> Block:
        """Return the block of medoids and candidates x points; the rows of the medoids are known."""
        k = len(self.medoids)
        if 4 * len(known) * len(self._points.indices) > limit:
            return open_block(self._compare, self._points.indices, known, k, limit)
        entries = self._buffer.for_rows(slice(0, len(known)))
        entries[:k] = self._rows
        self._fill(entries[k:], known[k:])
        return WholeBlock(entries)

    def _fill(self, out: NDArray[np.float32], candidates: Indices) -> None:
        """Write d(candidate, point), a row for each candidate; the points are gone through once."""
        if len(candidates):
            self._compare(self._points.indices, candidates).fill(slice(0, len(candidates)), out)

    def _compare(self, points: Indices, candidates: Indices | None) -> Distances:
        assert candidates is not None  # a confirmation never compares all rows as candidates
        return TransposedDistances(self._population.space, points, candidates, self._run.n_jobs)


class TransposedDistances(Distances):
    """Dissimilarities of a few candidates to many points, computed a tile of points at a time."""

    def __init__(self, space: Space, points: Indices, candidates: Indices, n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(candidates), len(points)
        self.dtype, self.is_cheap = np.dtype(np.float32), False
        self._space, self._candidates, self._n_jobs = space, candidates, n_jobs
        self._point_indices = None if len(points) == space.n else points

    def tiles(self) -> Any:
        return tile_bounds(self.n_rows, _tiles.TILE_ENTRIES // self.n_columns)

    def fill(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer | None = None) -> None:
        distances = self._space.distances_from(self._candidates[rows], self._point_indices)
        buffer = TileBuffer(distances.n_columns)
        for points in distances.tiles():
            tile = buffer.for_rows(points)
            fill_checked(distances, points, tile, self._n_jobs)
            for part in tile_bounds(len(tile), ROWS_TRANSPOSED):
                out[:, points][:, part] = tile[part].T
        if viewer is not None:
            viewer.see(out)
