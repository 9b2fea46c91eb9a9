"""A block of dissimilarities, candidates x points, as the swap search sees it: a tile of candidates at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import tile_bounds

# Where the entries are there already: a sweep of this many tiles takes a fraction of a second still.
TILES_PER_SWEEP = 16


class Block(ABC):
    """Dissimilarities of n candidates to m points."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    @abstractmethod
    def rows(self, candidates: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the rows of these candidates."""

    @abstractmethod
    def subset(self, candidates: NDArray[np.int64]) -> Block:
        """Return the block of these candidates only."""

    @abstractmethod
    def replace(self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        """Put other values in place of some entries."""

    @abstractmethod
    def tiles(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
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

    def __init__(self, entries: NDArray[np.float32]) -> None:
        super().__init__(*entries.shape)
        self.entries = entries

    def rows(self, candidates: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.entries[candidates]

    def subset(self, candidates: NDArray[np.int64]) -> Block:
        return WholeBlock(self.entries[candidates])

    def replace(self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        self.entries[rows, columns] = values

    def tiles(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        for rows in tile_bounds(self.n, TILES_PER_SWEEP * _tiles.TILE_ENTRIES // self.m):
            yield rows, self.entries[rows]
