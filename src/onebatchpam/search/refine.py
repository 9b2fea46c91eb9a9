"""Refinement: the batch screens, all points confirm.

A batch ranks candidates well but not finely. Each round takes a few promising candidates of every cluster, computes
their dissimilarities to all points, and runs the same swap search on that transposed block (candidates x all points),
whose loss is the objective itself. A round can therefore never make the objective worse.

Candidates come from two estimates. The batch knows every swap, but only by m / k points of each cluster: it finds
medoids that are wanted elsewhere. A sample of each cluster knows only the swaps inside it, but those far better: it
finds the row in the middle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from onebatchpam import _core, _tiles
from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._parameters import check_integer
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, Room, tile_bounds
from onebatchpam.blocks import Block, WholeBlock, check_tile, open_block
from onebatchpam.metrics import Columns, each_tile
from onebatchpam.search.assignment import Assignment, assign, nearest_medoids, spread_duplicates
from onebatchpam.search.candidates import CANDIDATES_PER_MEDOID, best_by_batch, best_by_cluster, draw_judges
from onebatchpam.search.swaps import search_swaps
from onebatchpam.space import Space

MAX_AUTOMATIC_ROUNDS = 10

LEAST_PROGRESS = 2e-4  # another round is made while the last one lowered the objective by more than this fraction

# A search that is refined afterwards, among very many candidates, need not find the last swaps that improve on the
# batch: a pass that lowered the loss by less than this is its last.
PROGRESS_OF_PASS = 5e-3

# Dissimilarities that a round looks at, of candidates and medoids to the points that confirm them. Where all points
# would be more, a sample stands for them.
MOST_ENTRIES = 2**26

# Rows that are labelled, and compared within their clusters, at once: so few, and of so many entries, that little is
# held besides the data, and that those of a file stay in its windows; and enough that each cluster has a number of
# them.
PART_ROWS, PART_ENTRIES = 2**18, 2**22

ROWS_TRANSPOSED = 256  # at once: a column of so many rows stays in the first-level cache


def resolve_rounds(refine: Any) -> int:
    """Return the largest number of rounds for the `refine` parameter of an estimator."""
    if isinstance(refine, str) and refine == "auto":
        return MAX_AUTOMATIC_ROUNDS
    if isinstance(refine, str):
        raise ValueError(f"refine={refine!r}: expected 'auto' or a number of rounds")
    return check_integer(refine, "refine", at_least=0)


@dataclass(frozen=True)
class Refined:
    """The medoids after refinement."""

    medoids: Indices
    n_rounds: int = 0
    n_swaps: int = 0


class Refinement:
    """A batch search, with what it takes to confirm its candidates.

    All points confirm unless that would be more dissimilarities than the block itself, or than `MOST_ENTRIES`. Then a
    fresh sample of points does. Of the batch's candidates, only what is in it is looked at; those of the clusters still
    come from all rows.
    """

    def __init__(
        self,
        space: Space,
        block: Block,
        weights: NDArray[np.float64],
        memory_limit: int,
        rng: np.random.RandomState,
        n_jobs: int,
    ) -> None:
        self._space, self._block, self._weights, self._rng, self._n_jobs = space, block, weights, rng, n_jobs
        self._memory_limit = memory_limit
        self._n_fixed = len(space.fixed)
        self._room: Room | None = None  # for the block of candidates: every refinement has the same number of points

    def refine(
        self,
        medoids: Indices,
        *,
        rounds: int,
        max_iter: int,
        tol: float,
        stages: Stages,
        candidates: Indices | None = None,
    ) -> Refined:
        """Improve medoids by swaps that are confirmed; before that by those with candidates that are given."""
        if rounds == 0 or self._block.m == self._space.n or self._n_fixed == len(medoids):
            return Refined(medoids)  # a batch of all rows has confirmed already
        with stages.stage("refinement", unit=" rounds") as bar:
            points = self._confirming_points(len(medoids))
            refined = self._rounds(medoids, points, candidates, rounds, max_iter, tol, bar)
            if len(points.indices) < self._space.n and self._objective(refined.medoids) > self._objective(medoids):
                return Refined(medoids, refined.n_rounds)  # the sample was wrong
            return refined

    def _rounds(
        self,
        medoids: Indices,
        points: Batch,
        candidates: Indices | None,
        max_rounds: int,
        max_iter: int,
        tol: float,
        bar: tqdm,
    ) -> Refined:
        k, n_points = len(medoids), len(points.indices)
        tried, is_open = np.zeros(self._space.n, dtype=bool), np.arange(k) >= self._n_fixed
        screen = self._block if n_points == self._space.n else self._block.subset(points.indices)
        kept = self._block.n_bytes + (0 if screen is self._block else screen.n_bytes)
        open_block = self._block_opener(k, points.indices, self._memory_limit - kept)
        rows = np.empty((k, n_points), np.float32)
        self._fill(rows, medoids, points.indices)
        if n_points == self._space.n:
            medoids = self._without_duplicates(medoids, rows)
        refined = Refined(medoids)
        while is_open.any() and refined.n_rounds < max_rounds:
            state = _core.SwapSearch(k, np.arange(k), rows, points.weights, tol)
            proposed = candidates
            if proposed is None:
                proposed = self._candidates(refined.medoids, screen, is_open, points, state, tried)
            known = np.concatenate([refined.medoids, proposed[~np.isin(proposed, refined.medoids)]])
            block = open_block(known, rows)
            search = search_swaps(
                block,
                np.arange(k),
                points.weights,
                max_iter=max_iter,
                tol=tol,
                n_jobs=self._n_jobs,
                stages=Stages(),
                n_fixed=self._n_fixed,
            )
            rows = block.rows(search.medoids)
            refined = Refined(known[search.medoids], refined.n_rounds + 1, refined.n_swaps + search.n_swaps)
            bar.set_postfix(swaps=refined.n_swaps, objective=search.loss, refresh=False)
            bar.update()
            if candidates is None:
                # A medoid that its candidates could not replace has none better that are known of.
                is_open = search.medoids != np.arange(k)
                if search.loss > state.loss * (1 - LEAST_PROGRESS):
                    break
            candidates = None
        return refined

    def _confirming_points(self, k: int) -> Batch:
        n, m = self._space.n, self._block.m
        n_points = min(n * m // (k * CANDIDATES_PER_MEDOID), MOST_ENTRIES // (k * (1 + CANDIDATES_PER_MEDOID)))
        n_points = max(m, n_points)  # fewer than the batch has would tell nothing new
        return sample_by_weight(self._space.weights, min(n_points, n), self._rng)

    def _block_opener(self, k: int, points: Indices, limit: int) -> Callable[[Indices, NDArray[np.float32]], Block]:
        """Return what makes a block of candidates x points, the first k of which are medoids whose rows are known."""
        if self._room is None:
            self._room = Room(len(points))
        room = self._room

        def fill(known: Indices, rows: NDArray[np.float32]) -> Block:
            if 4 * len(known) * len(points) > limit:
                return open_block(self._compare, points, known, k, limit)
            entries = room.of(slice(0, len(known)))
            entries[:k] = rows
            self._fill(entries[k:], known[k:], points)
            return WholeBlock(entries)

        return fill

    def _without_duplicates(self, medoids: Indices, rows: NDArray[np.float32]) -> Indices:
        """Move duplicates of medoids, as the assignment would in the end: a start that is not worse."""
        state = _core.SwapSearch(len(medoids), np.arange(len(medoids)), rows, self._space.weights, 0.0)
        assignment = Assignment(state.nearest, state.nearest_distances, self._space.weights)
        distinct = spread_duplicates(self._space, medoids, assignment)
        if not np.array_equal(distinct, medoids):
            self._fill(rows, distinct, np.arange(self._space.n))
        return distinct

    def _objective(self, medoids: Indices) -> float:
        return assign(self._space, medoids, Stages())[1].inertia

    def _fill(self, out: NDArray[np.float32], candidates: Indices, points: Indices) -> None:
        """Write d(candidate, point), a row for each candidate; the points are gone through once."""
        if len(candidates):
            self._compare(points, candidates).fill(slice(0, len(candidates)), out)

    def _compare(self, points: Indices, candidates: Indices | None) -> Columns:
        assert candidates is not None  # they are few
        return _ToManyPoints(self._space, points, candidates, self._n_jobs)

    def _candidates(
        self,
        medoids: Indices,
        screen: Block,
        is_open: NDArray[np.bool_],
        points: Batch,
        state: _core.SwapSearch,
        tried: NDArray[np.bool_],
    ) -> Indices:
        """Return untried rows as candidates, some for each open medoid, and mark them as tried."""
        tried[medoids] = True
        search = _core.SwapSearch(
            len(medoids), np.arange(len(medoids)), self._block.rows(medoids), self._weights, 0.0, self._n_fixed
        )
        by_batch = points.indices[best_by_batch(screen, search, is_open, tried[points.indices], self._n_jobs)]
        tried[by_batch] = True
        judges = draw_judges(points, state, is_open, self._rng)
        by_cluster = best_by_cluster(self._space, judges, self._labelled_rows(medoids, state), tried, self._n_jobs)
        tried[by_cluster] = True
        return np.concatenate([by_batch, by_cluster])

    def _labelled_rows(self, medoids: Indices, state: _core.SwapSearch) -> Iterator[tuple[Indices, NDArray[Any]]]:
        """Return all rows with their nearest medoids, in parts that are read once."""
        space = self._space
        nearest = state.nearest
        if len(nearest) == space.n:
            yield np.arange(space.n), nearest
            return
        for part in tile_bounds(space.n, min(PART_ROWS, PART_ENTRIES // space.row_size)):
            rows = np.arange(part.start, part.stop)
            yield rows, nearest_medoids(space.to_medoids(medoids, rows), space.weights[part], Stages()).labels


class _ToManyPoints(Columns):
    """Dissimilarities of a few candidates to many points, which are compared with the candidates a tile at a time."""

    dtype = np.dtype(np.float32)

    def __init__(self, space: Space, points: Indices, candidates: Indices, n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(candidates), len(points)
        self.tile_rows = _tiles.TILE_ENTRIES // self.n_columns
        self._space, self._candidates, self._n_jobs = space, candidates, n_jobs
        self._points = None if len(points) == space.n else points

    def fill(self, rows: slice, out: NDArray[np.float32]) -> None:
        columns = self._space.to_medoids(self._candidates[rows], self._points)
        for points, tile in each_tile(columns):
            check_tile(tile, points.start, rows.start, self._n_jobs)
            for part in tile_bounds(len(tile), ROWS_TRANSPOSED):
                out[:, points][:, part] = tile[part].T
