"""Refinement: the batch screens candidates, all points confirm them.

A batch finds promising candidates, but does not tell exactly which of them is best. So each round takes a few
candidates of every cluster, computes their dissimilarities to all points, and runs the same swap search on that
transposed block (candidates x all points). Its loss is the objective itself, so that a round never makes the objective
worse. If all points would take too many dissimilarities, a fresh sample of points confirms the candidates; the refined
medoids are then kept only if the objective over all points is not worse.

The rows may be in memory or in partitions: see `Refinable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from onebatchpam import _core, _tiles
from onebatchpam._draws import Batch
from onebatchpam._parameters import check_integer
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer, mark, tile_bounds
from onebatchpam.blocks import Block, WholeBlock, fill_checked, open_block
from onebatchpam.search.assignment import Assignment, spread_medoids
from onebatchpam.search.candidates import CANDIDATES_PER_MEDOID, Judges, best_by_batch, draw_judges
from onebatchpam.search.swaps import SwapOptions, SwapResult, run_swaps
from onebatchpam.space import Space, TiledDistances

MAX_AUTOMATIC_ROUNDS = 10
# Refinement ends with a round that lowers the loss by less than this fraction of it.
LEAST_PROGRESS = 2e-4
# A batch search that is refined afterwards need not find its last swaps: with very many candidates, it ends with a pass
# that lowers the loss by less than this fraction of it.
PROGRESS_OF_PASS = 5e-3
# The number of confirming points is chosen such that a round takes at most this many dissimilarities of candidates and
# medoids to points; there are at least as many points as in the batch, however.
MOST_ENTRIES = 2**26
# Rows of a tile that are transposed at a time: so few that a column of them stays in the first-level cache.
ROWS_TRANSPOSED = 256


def check_rounds(refine: Any, name: str) -> int:
    """Check the `refine` parameter of an estimator, and return the largest number of rounds."""
    if isinstance(refine, str) and refine == "auto":
        return MAX_AUTOMATIC_ROUNDS
    if isinstance(refine, str):
        raise ValueError(f"{name}={refine!r}: expected 'auto' or an integer of at least 0, the number of rounds")
    return check_integer(refine, name, at_least=0)


class Refinable(Protocol):
    """All n rows of a data set that have a positive weight. `space` holds the rows at hand, and indices refer to it.

    `draw_points` draws points that stand for all rows. `best_members` returns, for each judged cluster, the untried
    rows with the smallest mean loss over its judges. `objectives` sums over all rows, once for each set of
    medoids.
    """

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
    """The medoids after refinement, and the rounds and swaps that it took."""

    medoids: Indices
    n_rounds: int = 0
    n_swaps: int = 0


class Refinement:
    """Refines the medoids that searches on one block found, one set of medoids after the other."""

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
        self._buffer: TileBuffer | None = None  # holds the block of candidates, for all calls of `refine`

    def refine(self, medoids: Indices, candidates: Indices | None = None) -> Refined:
        """Improve medoids by swaps that the points confirm; the first round tries `candidates`, if there are any."""
        population, k = self._population, len(medoids)
        if self._rounds == 0 or self._block.m == population.n or self._options.n_fixed == k:
            return Refined(medoids)  # a batch of all rows has confirmed every swap, and fixed medoids allow no swap
        with self._run.stages.stage("refinement", unit=" rounds") as bar:
            points = population.draw_points(self._n_points(k))
            refined = self._run_rounds(medoids, points, candidates, bar)
            if len(points.indices) < population.n:
                before, after = population.objectives([medoids, refined.medoids])
                if after > before:
                    return Refined(medoids, refined.n_rounds)  # the swaps were good for the sample only
            return refined

    def _n_points(self, k: int) -> int:
        """Return the number of confirming points, such that a round takes no more dissimilarities than the block."""
        n, m = self._population.n, self._block.m
        n_points = min(n * m // (k * CANDIDATES_PER_MEDOID), MOST_ENTRIES // (k * (1 + CANDIDATES_PER_MEDOID)))
        return min(max(m, n_points), n)  # fewer points would tell less than the batch does

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
                # If no candidate has replaced a medoid, no more candidates are proposed for it.
                proposals.is_open = search.medoids != np.arange(len(medoids))
                if search.loss > state.loss * (1 - LEAST_PROGRESS):
                    break
            candidates = None
        return refined

    def _begin_confirmation(self, medoids: Indices, points: Batch) -> Confirmation:
        if self._buffer is None or self._buffer.n_columns != len(points.indices):
            self._buffer = TileBuffer(len(points.indices))
        limit = self._memory_limit - self._block.n_bytes
        confirmation = Confirmation(self._population, medoids, points, self._buffer, limit, self._options, self._run)
        if len(points.indices) == self._population.n:  # the rows farthest from all medoids are known
            confirmation.spread_medoids()
        return confirmation


class Proposals:
    """Proposes candidates: a few rows for each open medoid, none of them twice.

    A medoid is open until a round has found no better row for it; fixed medoids are never open.
    """

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
        # If the points are a sample, the batch screens only these, which spares a pass over the block in each round.
        self._screen = block if self._are_all_points else block.subset(points.indices)
        self._tried = np.empty(0, np.int64)
        self.is_open = np.arange(k) >= self._n_fixed

    @property
    def screen_bytes(self) -> int:
        """The number of bytes that the screen keeps in addition to the block."""
        return 0 if self._screen is self._block else self._screen.n_bytes

    def propose(self, medoids: Indices, state: _core.SwapSearch) -> Indices:
        """Return untried rows for the open medoids; `state` knows the nearest medoids of the confirming points."""
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


class Confirmation:
    """Medoids with their dissimilarities to the confirming points; makes the swaps that these points confirm."""

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

    def confirm(self, candidates: Indices, other_bytes: int) -> SwapResult:
        """Swap candidates in where that lowers the loss over the points."""
        k = len(self.medoids)
        contenders = np.concatenate([self.medoids, candidates[~np.isin(candidates, self.medoids)]])
        block = self._open_block(contenders, self._limit - other_bytes)
        search = run_swaps(block, np.arange(k), self._points.weights, self._options, self._run.silent())
        self._rows, self.medoids = block.rows(search.medoids), contenders[search.medoids]
        return search

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


class TransposedDistances(TiledDistances):
    """Dissimilarities of a few candidates to many points, computed a tile of points at a time."""

    def __init__(self, space: Space, points: Indices, candidates: Indices, n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(candidates), len(points)
        self.dtype, self.n_jobs, self.is_cheap = np.dtype(np.float32), n_jobs, False
        self._space, self._candidates = space, candidates
        self._point_indices = None if len(points) == space.n else points  # None: all rows of the space

    def tiles(self) -> Iterator[slice]:
        return tile_bounds(self.n_rows, _tiles.TILE_ENTRIES // self.n_columns)

    def fill(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer | None = None) -> None:
        distances = self._space.distances_from(self._candidates[rows], self._point_indices)
        buffer = TileBuffer(distances.n_columns)
        for points in distances.tiles():
            tile = buffer.for_rows(points)
            fill_checked(distances, points, tile)
            for part in tile_bounds(len(tile), ROWS_TRANSPOSED):
                out[:, points][:, part] = tile[part].T
        if viewer is not None:
            viewer.see(out)

    def mend(self, rows: slice, tile: NDArray[Any]) -> None:
        assert np.isfinite(tile).all()  # `fill` has checked every entry
