"""A block of dissimilarities, candidates x points, as the swap search sees it: a tile of candidates at a time.

All of it need not be in memory. How much is changes no result, only the time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._distances import Indices, Space
from onebatchpam._progress import Stages
from onebatchpam._tiles import Columns, fill_all, tile_bounds

# Where the entries are there already: a sweep of this many tiles takes a fraction of a second still.
TILES_PER_SWEEP = 16

Entries = NDArray[np.float32]


class Block(ABC):
    """Dissimilarities of n candidates to m points."""

    storage: str

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    @abstractmethod
    def rows(self, candidates: Indices) -> Entries:
        """Return the rows of these candidates."""

    @abstractmethod
    def subset(self, candidates: Indices) -> Block:
        """Return the block of these candidates only."""

    @abstractmethod
    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        """Put other values in place of some entries, at most one in a row."""

    @abstractmethod
    def tiles(self) -> Iterator[tuple[slice, Entries]]:
        """Return all rows, some at a time; they are there until the next are asked for."""

    def sweep(self, search: _core.SwapSearch, n_jobs: int) -> Iterator[int]:
        """Show the search all candidates once, or until it has converged; tell how many each time some are done."""
        for rows, tile in self.tiles():
            search.sweep(tile, rows.start, n_jobs)
            yield len(tile)
            if search.converged:
                return

    def best_swaps(self, search: _core.SwapSearch, n_jobs: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return for each candidate what its best swap would gain, and the slot whose medoid it would replace."""
        gains, slots = np.empty(self.n), np.empty(self.n, dtype=np.int32)
        for rows, tile in self.tiles():
            search.best_swaps(tile, gains[rows], slots[rows], n_jobs)
        return gains, slots

    def weighted_sums(self, weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
        """Return the weighted sum of every row."""
        sums = np.empty(self.n)
        for rows, tile in self.tiles():
            _core.weighted_row_sums(tile, weights, sums[rows], n_jobs)
        return sums


class WholeBlock(Block):
    """A block whose entries are all in memory."""

    storage = "whole"

    def __init__(self, entries: Entries) -> None:
        super().__init__(*entries.shape)
        self.entries = entries

    def rows(self, candidates: Indices) -> Entries:
        return self.entries[candidates]

    def subset(self, candidates: Indices) -> Block:
        return WholeBlock(self.entries[candidates])

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self.entries[rows, columns] = values

    def tiles(self) -> Iterator[tuple[slice, Entries]]:
        for rows in tile_bounds(self.n, TILES_PER_SWEEP * _tiles.TILE_ENTRIES // self.m):
            yield rows, self.entries[rows]


class RecomputedBlock(Block):
    """A block of which nothing is kept: a tile is computed when it is asked for, and looked at in the cache."""

    storage = "recomputed"

    def __init__(
        self,
        space: Space,
        points: Indices,
        candidates: Indices | None,
        memory_limit: int,
        check: Callable[[Entries, int], None] | None = None,
    ) -> None:
        self._space, self._points, self._candidates = space, points, candidates
        self._columns = columns_of(space, points, candidates)
        self._memory_limit, self._check = memory_limit, check
        self._replaced = _Replaced.none()
        super().__init__(self._columns.n_rows, self._columns.n_columns)

    def rows(self, candidates: Indices) -> Entries:
        indices = self._numbers(candidates)
        out = np.empty((len(indices), self.m), np.float32)
        fill_all(columns_of(self._space, self._points, indices), out, Stages(), "distances")
        self._replaced.apply(indices, out)
        return out

    def subset(self, candidates: Indices) -> Block:
        if 4 * len(candidates) * self.m <= self._memory_limit:
            return WholeBlock(self.rows(candidates))
        block = RecomputedBlock(self._space, self._points, self._numbers(candidates), self._memory_limit)
        block._replaced = self._replaced
        return block

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._replaced = _Replaced.of(self._numbers(rows), columns, values)

    def tiles(self) -> Iterator[tuple[slice, Entries]]:
        for rows in self._columns.tiles():
            yield rows, self._compute(rows)

    def _compute(self, rows: slice) -> Entries:
        out = np.empty((rows.stop - rows.start, self.m), np.float32)
        self._columns.fill(rows, out)
        if self._check is not None:
            self._check(out, rows.start)
        self._replaced.apply(self._numbers(np.arange(rows.start, rows.stop)), out)
        return out

    def _numbers(self, candidates: Indices) -> Indices:
        """Return which rows of the space these candidates are."""
        return candidates if self._candidates is None else self._candidates[candidates]


class _Replaced:
    """Entries that are not what is computed: one in each of some rows of the space, which are in order."""

    def __init__(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._rows, self._columns, self._values = rows, columns, values

    @classmethod
    def none(cls) -> _Replaced:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, rows: Indices, columns: Indices, values: Entries) -> _Replaced:
        order = np.argsort(rows)
        return cls(rows[order], columns[order], values[order])

    def apply(self, rows: Indices, tile: Entries) -> None:
        """Replace entries in a tile of these rows."""
        if len(self._rows) == 0:
            return
        places = np.minimum(np.searchsorted(self._rows, rows), len(self._rows) - 1)
        found = np.flatnonzero(self._rows[places] == rows)
        tile[found, self._columns[places[found]]] = self._values[places[found]]


class _ManyPoints(Columns):
    """Dissimilarities of candidates to more points than are to be copied at once."""

    def __init__(self, space: Space, points: Indices, candidates: Indices | None) -> None:
        self.n_rows, self.n_columns = space.n if candidates is None else len(candidates), len(points)
        self.dtype, self.tile_rows = np.dtype(np.float32), _tiles.TILE_ENTRIES // self.n_columns
        self._space, self._points, self._candidates = space, points, candidates

    def fill(self, rows: slice, out: Entries) -> None:
        candidates = np.arange(rows.start, rows.stop) if self._candidates is None else self._candidates[rows]
        for some in tile_bounds(self.n_columns, _tiles.TILE_ENTRIES // max(len(candidates), self._space.row_size)):
            fill_all(self._space.to_points(self._points[some], candidates), out[:, some], Stages(), "distances")


def columns_of(space: Space, points: Indices, candidates: Indices | None) -> Columns:
    """Return d(candidate, point) for some rows of the space, or all, as candidates."""
    if len(points) * space.row_size <= _tiles.TILE_ENTRIES:
        return space.to_points(points, candidates)
    return _ManyPoints(space, points, candidates)
