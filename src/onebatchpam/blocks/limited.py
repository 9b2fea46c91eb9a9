"""Blocks that do not fit in memory: reduced to the entries that a search needs, or computed again in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks.block import Block, Entries, WholeBlock
from onebatchpam.blocks.reduced import ReducedRows, column_dtype
from onebatchpam.blocks.scan import compute_checked, fill_checked
from onebatchpam.space import TiledDistances

# A reduced block keeps the entries that are smaller than the distance of their point to its medoid of some rank. A
# search needs rank 2, the second nearest medoid; with a larger rank, more swaps can be made before entries are missing.
LEAST_RANK, LARGEST_RANK = 2, 6
# The most bytes of a block that are kept if computing an entry again takes no longer than fetching it from memory:
# filling more memory for the first time takes longer than computing the entries in each of the few passes of a search.
MOST_OF_CHEAP = 2**30
# A tile is reduced anew if entries may be missing in more than this share of its columns.
MOST_OUTGROWN = 0.2

# Returns d(candidate, point) for all pairs of these points and candidates; None stands for all rows as candidates.
Compare = Callable[[Indices, Indices | None], TiledDistances]


class RecomputedBlock(Block):
    """A block that keeps no entries: a tile is computed each time it is needed, and used while it is in the cache.

    Its subsets, which a search for k medoids takes, keep entries if that is of use and fits in memory.
    """

    storage = "recomputed"

    def __init__(
        self, compare: Compare, points: Indices, candidates: Indices | None, k: int, memory_limit: int
    ) -> None:
        self._compare, self._points, self._candidates = compare, points, candidates
        self._distances = compare(points, candidates)
        self.is_cheap = self._distances.is_cheap
        self._k, self._memory_limit = k, memory_limit
        self._replaced = _Replaced.none()
        super().__init__(self._distances.n_rows, self._distances.n_columns)
        self._buffer = TileBuffer(self.m)

    @classmethod
    def keeping_nothing(cls, compare: Compare, points: Indices, candidates: Indices | None) -> RecomputedBlock:
        """Return a block of which no subset keeps entries either."""
        return cls(compare, points, candidates, k=1, memory_limit=0)

    def rows(self, candidates: Indices) -> Entries:
        indices = self._space_indices(candidates)
        out = compute_checked(self._compare(self._points, indices))
        self._replaced.apply(indices, out)
        return out

    def subset(self, candidates: Indices) -> Block:
        bytes_left = self._memory_limit - self.n_bytes
        if 4 * len(candidates) * self.m <= bytes_left and not self.is_cheap:
            return WholeBlock(self.rows(candidates))
        block = open_block(self._compare, self._points, self._space_indices(candidates), self._k, bytes_left)
        block._replaced = self._replaced
        return block

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._replaced = _Replaced.of(self._space_indices(rows), columns, values)

    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        for rows in self._distances.tiles():
            yield rows, self._compute(rows)

    def sweep(self, search: _core.SwapSearch, n_jobs: int) -> Iterator[int]:
        for rows in self._distances.tiles():
            self._sweep_tile(rows, search, n_jobs)
            yield rows.stop - rows.start
            if search.converged:
                return

    def _sweep_tile(self, rows: slice, search: _core.SwapSearch, n_jobs: int) -> None:
        tile, gains = self._evaluate(rows, search, n_jobs)
        search.sweep(tile, rows.start, n_jobs, gains)

    def _evaluate(self, rows: slice, search: _core.SwapSearch, n_jobs: int) -> tuple[Entries, NDArray[np.float64]]:
        """Return a tile, and the gain of the best swap of each of its candidates."""
        tile = self._buffer.for_rows(rows)
        gains, slots = np.empty(len(tile)), np.empty(len(tile), dtype=np.int32)
        evaluator = _core.SwapEvaluator(search, gains, slots, n_jobs)
        self._distances.fill(rows, tile, evaluator)
        if not evaluator.valid:
            self._distances.mend(rows, tile)
            evaluator.see(tile)
        # The evaluator has seen the computed entries of these rows instead of those that replace them.
        for place in self._replace_entries(rows, tile):
            here = slice(place, place + 1)
            _core.SwapEvaluator(search, gains[here], slots[here], 1).see(tile[here])
        return tile, gains

    def _compute(self, rows: slice) -> Entries:
        tile = self._buffer.for_rows(rows)
        fill_checked(self._distances, rows, tile)
        self._replace_entries(rows, tile)
        return tile

    def _replace_entries(self, rows: slice, tile: Entries) -> Indices:
        return self._replaced.apply(self._space_indices(np.arange(rows.start, rows.stop)), tile)

    def _space_indices(self, candidates: Indices) -> Indices:
        """Return the row indices of these candidates in the space."""
        return candidates if self._candidates is None else self._candidates[candidates]


class ReducedBlock(RecomputedBlock):
    """A block that keeps only the entries below the threshold of their column.

    A candidate matters to a point only if it is nearer than the second nearest medoid of the point. The threshold of a
    column is the distance to a medoid of the same or a higher rank, at the time when the tile was computed. If the
    second nearest medoid has moved beyond the threshold since then, the column is outgrown, and is computed again. The
    rows of candidates that improve the loss are computed again as a whole.
    """

    storage = "reduced"

    def __init__(self, *source: Any) -> None:
        super().__init__(*source)
        self._kept: dict[int, ReducedRows] = {}
        self._thresholds = _Thresholds()

    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        for rows in self._distances.tiles():
            kept = None if search is None else self._usable(rows, search)
            if kept is not None and search is not None:
                yield rows, self._expand(rows, kept, search, n_jobs)[0]
                continue
            tile = self._compute(rows)
            if search is not None:
                self._keep(rows, tile, search, n_jobs)
            yield rows, tile

    def _sweep_tile(self, rows: slice, search: _core.SwapSearch, n_jobs: int) -> None:
        kept = self._usable(rows, search)
        if kept is not None:
            self._sweep_reduced(rows, *self._expand(rows, kept, search, n_jobs), search, n_jobs)
            return
        tile, gains = self._evaluate(rows, search, n_jobs)
        self._keep(rows, tile, search, n_jobs)
        search.sweep(tile, rows.start, n_jobs, gains)

    def _sweep_reduced(
        self, rows: slice, tile: Entries, thresholds: Entries, search: _core.SwapSearch, n_jobs: int
    ) -> None:
        """Sweep a tile with entries missing above the thresholds; compute the columns that swaps make outgrown."""
        done = 0
        while done < len(tile) and not search.converged:
            done, found = search.find_improving(tile, rows.start, done, n_jobs)
            improving = np.array(found, dtype=np.int64)
            if found and search.try_candidates(improving, self.rows(improving)):
                outgrown = np.flatnonzero(search.second_distances > thresholds)
                self._compute_columns(slice(rows.start + done, rows.stop), outgrown, tile[done:])
                thresholds[outgrown] = np.inf

    def _usable(self, rows: slice, search: _core.SwapSearch) -> ReducedRows | None:
        """Return the kept entries of a tile, if there are any; drop them if too many columns are outgrown."""
        kept = self._kept.get(rows.start)
        if kept is not None and np.mean(search.second_distances > kept.thresholds) > MOST_OUTGROWN:
            self.n_bytes -= self._kept.pop(rows.start).n_bytes
            return None
        return kept

    def _expand(self, rows: slice, kept: ReducedRows, search: _core.SwapSearch, n_jobs: int) -> tuple[Entries, Entries]:
        """Return a tile from its kept entries, and the thresholds below which the entries of its columns are exact."""
        tile = kept.expand(self._buffer.for_rows(rows), n_jobs)
        outgrown = np.flatnonzero(search.second_distances > kept.thresholds)
        self._compute_columns(rows, outgrown, tile)
        thresholds = kept.thresholds.copy()
        thresholds[outgrown] = np.inf
        return tile, thresholds

    def _keep(self, rows: slice, tile: Entries, search: _core.SwapSearch, n_jobs: int) -> None:
        """Keep the entries of a tile that this search may need, if they fit in the memory that is left."""
        rank = max(LEAST_RANK, affordable_rank(self.n, self.m, search.medoid_distances.shape[1], self._memory_limit))
        thresholds = self._thresholds.of(search, rank)
        kept = ReducedRows.of(tile, thresholds, self._memory_limit - self.n_bytes, n_jobs)
        if kept is not None:
            self._kept[rows.start] = kept
            self.n_bytes += kept.n_bytes

    def _compute_columns(self, rows: slice, columns: Indices, tile: Entries) -> None:
        """Compute some columns of a tile, and write them to it."""
        if len(columns) == 0 or len(tile) == 0:
            return
        entries = np.empty((len(tile), len(columns)), np.float32)
        fill_checked(self._compare(self._points[columns], self._candidates), rows, entries)
        tile[:, columns] = entries
        self._replace_entries(rows, tile)


class _Thresholds:
    """The thresholds of all columns, which are computed again only after a swap."""

    def __init__(self) -> None:
        self._of: tuple[_core.SwapSearch, int] | None = None
        self._thresholds = np.empty(0, np.float32)

    def of(self, search: _core.SwapSearch, rank: int) -> Entries:
        """Return the distance of each point to its medoid of this rank, or to the farthest one if there are fewer."""
        if self._of != (search, search.n_swaps):
            distances = search.medoid_distances
            place = min(rank, distances.shape[1]) - 1
            self._thresholds = np.partition(distances, place, axis=1)[:, place].copy()
            self._of = search, search.n_swaps
        return self._thresholds


def affordable_rank(n: int, m: int, k: int, memory_limit: int) -> int:
    """Return the largest rank r such that the entries nearer than the r-th nearest of k medoids fit in memory.

    A share of about r / (k + 1) of all candidates is nearer to a point than the r-th nearest of k random medoids.
    """
    bytes_of_rank = n * m * (4 + column_dtype(m).itemsize) / (k + 1)
    return min(LARGEST_RANK, int(memory_limit / bytes_of_rank))


def open_block(
    compare: Compare, points: Indices, candidates: Indices | None, k: int, memory_limit: int
) -> RecomputedBlock:
    """Return a block for a search for k medoids that is too large to be kept whole: reduced if that fits in memory."""
    block = RecomputedBlock(compare, points, candidates, k, memory_limit)
    if choose_storage(block.n, block.m, k, memory_limit, is_cheap=block.is_cheap, may_be_whole=False) == "recomputed":
        return block
    return ReducedBlock(compare, points, candidates, k, memory_limit)


def choose_storage(n: int, m: int, k: int, memory_limit: int, *, is_cheap: bool, may_be_whole: bool = True) -> str:
    """Return how a block of n candidates x m points is stored for a search for k medoids, as in `Block.storage`.

    No entries are kept if k is 1, because all entries matter then, or if computing them is as fast as reading them.
    """
    if may_be_whole and fits_whole(n, m, memory_limit, is_cheap=is_cheap):
        return WholeBlock.storage
    if k == 1 or is_cheap or affordable_rank(n, m, k, memory_limit) < LEAST_RANK:
        return RecomputedBlock.storage
    return ReducedBlock.storage


def fits_whole(n: int, m: int, memory_limit: int, *, is_cheap: bool) -> bool:
    """Tell whether a block of n candidates x m points is kept whole; one of all pairs is, if memory allows."""
    return 4 * n * m <= (min(memory_limit, MOST_OF_CHEAP) if is_cheap and m < n else memory_limit)


class _Replaced:
    """Values that override computed entries (the debiased diagonal): at most one in each row, sorted by row."""

    def __init__(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._rows, self._columns, self._values = rows, columns, values

    @classmethod
    def none(cls) -> _Replaced:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, rows: Indices, columns: Indices, values: Entries) -> _Replaced:
        order = np.argsort(rows)
        return cls(rows[order], columns[order], values[order])

    def apply(self, rows: Indices, tile: Entries) -> Indices:
        """Override entries in a tile of these rows; return the positions of the rows in which this happened."""
        if len(self._rows) == 0:
            return self._rows
        places = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        found = np.flatnonzero(self._rows[places] == rows)
        tile[found, self._columns[places[found]]] = self._values[places[found]]
        return found
