"""Blocks that do not fit in memory: reduced to the entries that the search looks at, or computed again in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks.block import Block, Entries, WholeBlock
from onebatchpam.space import Distances

# A reduced block keeps what is nearer than the medoid of this rank, if there is room: the more, the less has to be
# computed again. With fewer than two it would have to be computed anew after every swap.
LEAST_RANK, LARGEST_RANK = 2, 6

MOST_OUTGROWN = 0.2  # of the columns of a tile; beyond, it is reduced anew

# Returns d(candidate, point) for these points and candidates, which are all rows of the data when None.
Compare = Callable[[Indices, Indices | None], Distances]


class RecomputedBlock(Block):
    """A block of which nothing is kept: a tile is computed when it is asked for, and looked at in the cache."""

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

    def rows(self, candidates: Indices) -> Entries:
        indices = self._numbers(candidates)
        out = np.empty((len(indices), self.m), np.float32)
        self._compare(self._points, indices).compute(out)
        self._replaced.apply(indices, out)
        return out

    def subset(self, candidates: Indices) -> Block:
        room = self._memory_limit - self.n_bytes
        if 4 * len(candidates) * self.m <= room and not self.is_cheap:
            return WholeBlock(self.rows(candidates))
        block = open_block(self._compare, self._points, self._numbers(candidates), self._k, room)
        block._replaced = self._replaced
        return block

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._replaced = _Replaced.of(self._numbers(rows), columns, values)

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
        """Compute a tile, and what the best swap of each of its candidates would gain."""
        tile = self._buffer.for_rows(rows)
        gains, slots = np.empty(len(tile)), np.empty(len(tile), dtype=np.int32)
        self._distances.fill(rows, tile, _core.SwapEvaluator(search, gains, slots, n_jobs))
        for place in self._replace_entries(rows, tile):
            here = slice(place, place + 1)
            _core.SwapEvaluator(search, gains[here], slots[here], 1).see(tile[here])
        return tile, gains

    def _compute(self, rows: slice) -> Entries:
        tile = self._buffer.for_rows(rows)
        self._distances.fill(rows, tile)
        self._replace_entries(rows, tile)
        return tile

    def _replace_entries(self, rows: slice, tile: Entries) -> Indices:
        return self._replaced.apply(self._numbers(np.arange(rows.start, rows.stop)), tile)

    def _numbers(self, candidates: Indices) -> Indices:
        """Return which rows of the space these candidates are."""
        return candidates if self._candidates is None else self._candidates[candidates]


class ReducedBlock(RecomputedBlock):
    """A block of which only what a search can look at is kept: entries below a threshold for their column.

    A candidate matters to a point only if it is nearer than the second nearest medoid. The threshold of a column lies
    farther: at a medoid of higher rank, as the medoids are when a tile is computed. Where the second nearest medoid has
    moved beyond it since, the column is computed again; so are the rows of candidates that are swapped in.
    """

    storage = "reduced"

    def __init__(self, *source: Any) -> None:
        super().__init__(*source)
        self._kept: dict[int, _ReducedTile] = {}
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
        done = 0
        while done < len(tile) and not search.converged:
            done, improving = search.find_improving(tile, rows.start, done, n_jobs)
            if improving and search.try_candidates(improving, self.rows(np.array(improving))):
                outgrown = np.flatnonzero(search.second_distances > thresholds)
                self._compute_columns(slice(rows.start + done, rows.stop), outgrown, tile[done:])
                thresholds[outgrown] = np.inf

    def _usable(self, rows: slice, search: _core.SwapSearch) -> _ReducedTile | None:
        """Return what is kept of a tile; forget it if most of that does not serve this search."""
        kept = self._kept.get(rows.start)
        if kept is not None and np.mean(search.second_distances > kept.thresholds) > MOST_OUTGROWN:
            self.n_bytes -= self._kept.pop(rows.start).n_bytes
            return None
        return kept

    def _expand(
        self, rows: slice, kept: _ReducedTile, search: _core.SwapSearch, n_jobs: int
    ) -> tuple[Entries, Entries]:
        """Return a tile for this search, and the thresholds below which its entries are right."""
        tile = kept.expand(self._buffer.for_rows(rows), n_jobs)
        outgrown = np.flatnonzero(search.second_distances > kept.thresholds)
        self._compute_columns(rows, outgrown, tile)
        thresholds = kept.thresholds.copy()
        thresholds[outgrown] = np.inf
        return tile, thresholds

    def _keep(self, rows: slice, tile: Entries, search: _core.SwapSearch, n_jobs: int) -> None:
        """Reduce a tile to what this search may look at, if there is room for that."""
        rank = max(LEAST_RANK, affordable_rank(self.n, self.m, search.medoid_distances.shape[1], self._memory_limit))
        thresholds = self._thresholds.of(search, rank)
        kept = _ReducedTile.of(tile, thresholds, self._memory_limit - self.n_bytes, n_jobs)
        if kept is not None:
            self._kept[rows.start] = kept
            self.n_bytes += kept.n_bytes

    def _compute_columns(self, rows: slice, columns: Indices, tile: Entries) -> None:
        """Write all entries of some columns of a tile."""
        if len(columns) == 0 or len(tile) == 0:
            return
        entries = np.empty((len(tile), len(columns)), np.float32)
        self._compare(self._points[columns], self._candidates).fill(rows, entries)
        tile[:, columns] = entries
        self._replace_entries(rows, tile)


class _Thresholds:
    """For each column the distance to its medoid of some rank, which is the same until the medoids change."""

    def __init__(self) -> None:
        self._of: tuple[_core.SwapSearch, int] | None = None
        self._thresholds = np.empty(0, np.float32)

    def of(self, search: _core.SwapSearch, rank: int) -> Entries:
        """Return them for the medoids as they are."""
        if self._of != (search, search.n_swaps):
            distances = search.medoid_distances
            place = min(rank, distances.shape[1]) - 1
            self._thresholds = np.partition(distances, place, axis=1)[:, place].copy()
            self._of = search, search.n_swaps
        return self._thresholds


@dataclass(frozen=True)
class _ReducedTile:
    """The entries of a tile that are below the thresholds of their columns, row after row."""

    thresholds: Entries
    starts: NDArray[np.int64]
    columns: NDArray[Any]
    values: Entries

    @classmethod
    def of(cls, tile: Entries, thresholds: Entries, room: int, n_jobs: int) -> _ReducedTile | None:
        """Reduce a tile, unless that takes more bytes than there is room for."""
        starts = np.zeros(len(tile) + 1, np.int64)
        _core.count_below(tile, thresholds, starts[1:], n_jobs)
        np.cumsum(starts, out=starts)
        dtype = column_dtype(tile.shape[1])
        if thresholds.nbytes + starts.nbytes + starts[-1] * (4 + dtype.itemsize) > room:
            return None
        columns, values = np.empty(starts[-1], dtype), np.empty(starts[-1], np.float32)
        _core.reduce_rows(tile, thresholds, starts, columns, values, n_jobs)
        return cls(thresholds, starts, columns, values)

    @property
    def n_bytes(self) -> int:
        return self.thresholds.nbytes + self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def expand(self, out: Entries, n_jobs: int) -> Entries:
        """Write the tile to `out`, infinite where an entry was not kept."""
        _core.expand_rows(self.starts, self.columns, self.values, out, n_jobs)
        return out


def column_dtype(m: int) -> np.dtype[Any]:
    """Return the type that holds the number of a column."""
    return np.dtype(np.uint16 if m <= 2**16 else np.uint32)


def affordable_rank(n: int, m: int, k: int, memory_limit: int) -> int:
    """Return up to which of k medoids, by distance, what is nearer fits in memory.

    Of all candidates a share of about r / (k + 1) is nearer to a point than the r-th nearest of k random ones.
    """
    bytes_of_rank = n * m * (4 + column_dtype(m).itemsize) / (k + 1)
    return min(LARGEST_RANK, int(memory_limit / bytes_of_rank))


def open_block(
    compare: Compare, points: Indices, candidates: Indices | None, k: int, memory_limit: int
) -> RecomputedBlock:
    """Return the block of a search for k medoids that is too large to be kept whole."""
    block = RecomputedBlock(compare, points, candidates, k, memory_limit)
    if k == 1 or block.is_cheap or affordable_rank(block.n, block.m, k, memory_limit) < LEAST_RANK:
        return block
    return ReducedBlock(compare, points, candidates, k, memory_limit)


class _Replaced:
    """Entries that are not what is computed: one in each of some rows of the space, which are in order."""

    def __init__(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._rows, self._distances, self._values = rows, columns, values

    @classmethod
    def none(cls) -> _Replaced:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, rows: Indices, columns: Indices, values: Entries) -> _Replaced:
        order = np.argsort(rows)
        return cls(rows[order], columns[order], values[order])

    def apply(self, rows: Indices, tile: Entries) -> Indices:
        """Replace entries in a tile of these rows; return in which of its rows."""
        if len(self._rows) == 0:
            return self._rows
        places = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        found = np.flatnonzero(self._rows[places] == rows)
        tile[found, self._distances[places[found]]] = self._values[places[found]]
        return found
