"""A block of dissimilarities, candidates x points, as the swap search sees it: a tile of candidates at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.space import Candidates

# Tiles of a whole block that are swept at a time. The entries are in memory already, so that a sweep of this many tiles
# still takes only a fraction of a second.
TILES_PER_SWEEP = 16

Entries = NDArray[np.float32]


class Block(ABC):
    """Dissimilarities of n candidates to m points."""

    storage: str
    n_bytes: int = 0  # the size of the entries that are kept in memory

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    @abstractmethod
    def rows(self, candidates: Indices) -> Entries:
        """Return the entries of these candidates, one row for each."""

    @abstractmethod
    def subset(self, candidates: Indices) -> Block:
        """Return a block with only these candidates."""

    @abstractmethod
    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        """Replace the entries at these rows and columns by the values; at most one entry in each row."""

    @abstractmethod
    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        """Yield the range and the entries of each tile of rows; the next tile may overwrite the entries.

        If there is a search, an entry may be infinite unless it is below the distance of its point to the second
        nearest medoid, because larger entries make no difference to the search.
        """

    def sweep(self, search: _core.SwapSearch, n_jobs: int) -> Iterator[int]:
        """Show the search all candidates once, or until it converges; yield the number of candidates in each tile."""
        for rows, tile in self.tiles():
            search.sweep(tile, rows.start, n_jobs)
            yield len(tile)
            if search.converged:
                return

    def best_swaps(self, search: _core.SwapSearch, n_jobs: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return, for each candidate, the gain of its best swap and the slot of the medoid that this swap replaces."""
        gains, slots = np.empty(self.n), np.empty(self.n, dtype=np.int32)
        for rows, tile in self.tiles(search, n_jobs):
            _core.SwapEvaluator(search, gains[rows], slots[rows], n_jobs).see(tile)
        return gains, slots

    def weighted_sums(
        self, weights: NDArray[np.float64], n_jobs: int, caps: NDArray[np.float32] | None = None
    ) -> NDArray[np.float64]:
        """Return the weighted sum of every row; an entry above the cap of its column counts as the cap."""
        sums = np.empty(self.n)
        for rows, tile in self.tiles():
            _core.RowSummer(weights, sums[rows], n_jobs, caps).see(tile)
        return sums


class WholeBlock(Block):
    """A block whose entries are all in memory."""

    storage = "whole"

    def __init__(self, entries: Entries) -> None:
        super().__init__(*entries.shape)
        self.entries, self.n_bytes = entries, entries.nbytes

    def rows(self, candidates: Indices) -> Entries:
        return self.entries[candidates]

    def subset(self, candidates: Indices) -> Block:
        return _PartOfWholeBlock(self, candidates)

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self.entries[rows, columns] = values

    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        for rows in tile_bounds(self.n, TILES_PER_SWEEP * _tiles.TILE_ENTRIES // self.m):
            yield rows, self.entries[rows]


def of_all_rows(block: Block, candidates: Candidates) -> Block:
    """Return a block that holds a row for each candidate as one of all rows of the space."""
    return block if candidates.indices is None else _BlockOfCandidates(block, candidates)


class _BlockOfCandidates(Block):
    """A block of all rows of a space that holds only those of the candidates; a search takes a subset of these."""

    def __init__(self, block: Block, candidates: Candidates) -> None:
        super().__init__(candidates.n_rows, block.m)
        self.storage, self._block, self._candidates = block.storage, block, candidates

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        return self._block.n_bytes

    def rows(self, candidates: Indices) -> Entries:
        return self._block.rows(self._candidates.places(candidates))

    def subset(self, candidates: Indices) -> Block:
        is_all = len(candidates) == self._candidates.n
        return self._block if is_all else self._block.subset(self._candidates.places(candidates))

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._block.replace(self._candidates.places(rows), columns, values)

    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        raise TypeError("this block holds only the rows of candidates: search a subset of them")


class _PartOfWholeBlock(Block):
    """Some rows of a whole block, copied only a tile at a time."""

    storage = "whole"

    def __init__(self, block: WholeBlock, candidates: Indices) -> None:
        super().__init__(len(candidates), block.m)
        self._block, self._candidates = block, candidates
        self._buffer = TileBuffer(block.m)

    def rows(self, candidates: Indices) -> Entries:
        return self._block.rows(self._candidates[candidates])

    def subset(self, candidates: Indices) -> Block:
        return _PartOfWholeBlock(self._block, self._candidates[candidates])

    def replace(self, rows: Indices, columns: Indices, values: Entries) -> None:
        self._block.replace(self._candidates[rows], columns, values)

    def tiles(self, search: _core.SwapSearch | None = None, n_jobs: int = 1) -> Iterator[tuple[slice, Entries]]:
        for rows in tile_bounds(self.n, _tiles.TILE_ENTRIES // self.m):
            tile = self._buffer.for_rows(rows)
            # With mode="clip" NumPy writes to `tile` directly. Nothing is clipped, because all candidates are rows.
            yield rows, np.take(self._block.entries, self._candidates[rows], axis=0, out=tile, mode="clip")
