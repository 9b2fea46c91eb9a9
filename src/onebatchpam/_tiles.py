"""Tiles: how many rows are handled at a time, and where their dissimilarities are written.

Other modules read the sizes by `_tiles.NAME` each time they need them, so that tests can make the sizes small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core

Indices = NDArray[np.int64]

# A tile takes at most this many comparisons of two features, a fraction of a second for one thread, because the
# progress bar is updated only between tiles.
NATIVE_TILE_WORK = 4_000_000_000
SCIPY_TILE_WORK = 100_000_000
# A tile has at most this many dissimilarities, and as many features, so that it stays in the cache until it is used.
TILE_ENTRIES = 2_000_000
# Rows that are compared with a single point at a time have at most this many values: also a fraction of a second.
COLUMN_VALUES = 200_000_000
# A Python function may take long for a pair, so its tiles are small.
COMPARED_TILE_ENTRIES = 200_000
# A function of two blocks may subtract all rows from all points at once, so it gets so few rows that the result has at
# most this many numbers.
BLOCK_FUNCTION_ENTRIES = 10_000_000
# Sums over all rows are added up from sums over this many rows, so that they need no array of the length of the data.
# These are not the rows of a tile, because the size of tiles must not change the last digits of a result.
ROWS_PER_SUM = 2**20


def rows_per_tile(n_columns: int, row_size: int, most_work: int) -> int:
    """Return how many rows of this size to compare with n_columns points at a time."""
    return min(most_work // (n_columns * row_size), TILE_ENTRIES // max(n_columns, row_size))


def tile_bounds(n: int, tile_rows: int) -> Iterator[slice]:
    """Cut n rows into consecutive tiles of about this many rows.

    Tiles start at multiples of the chunk of candidates that the swap search evaluates at a time, because its result
    then does not depend on the size of the tiles.
    """
    step = max(1, tile_rows // _core.SWEEP_CHUNK) * _core.SWEEP_CHUNK
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class TileBuffer:
    """An array to which one tile after the other is written, so that the memory stays in the cache."""

    def __init__(self, n_columns: int, dtype: Any = np.float32) -> None:
        self.n_columns = n_columns
        self._entries: NDArray[Any] = np.empty((0, n_columns), dtype)

    def for_rows(self, rows: slice) -> NDArray[Any]:
        """Return an array for a tile of these rows, which overwrites the tile before."""
        n_rows = rows.stop - rows.start
        if n_rows > len(self._entries):
            self._entries = np.empty((n_rows, self._entries.shape[1]), self._entries.dtype)
        return self._entries[:n_rows]


def mark(indices: Indices, n: int) -> NDArray[np.bool_]:
    """Return a boolean array of length n that is True at these indices."""
    marks = np.zeros(n, dtype=bool)
    marks[indices] = True
    return marks


def as_kernels_read(array: NDArray[Any], dtype: Any, n_jobs: int = 1) -> NDArray[Any]:
    """Return an array in this type, row by row, at addresses that the type admits, which views of a buffer may lack.

    NumPy takes much longer to widen float16 than to copy it, so these numbers are widened here, by so many threads.
    """
    if array.dtype != np.float16 or dtype != np.float32 or array.ndim != 2:
        return np.require(array, dtype, ("C", "A"))
    wide = np.empty(array.shape, np.float32)
    _core.widen_halves(np.require(array, np.float16, ("C", "A")).view(np.uint16), wide, n_jobs)
    return wide
