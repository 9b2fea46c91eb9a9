"""How many rows are handled at a time, and where the tiles are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core

# A tile is at most this many feature comparisons, a fraction of a second for one thread, so that Ctrl-C and the
# progress bar are answered between tiles; and at most this many entries, of the block and of X, so that it stays small
# beside both and is still in the cache for who looks at it next.
NATIVE_TILE_WORK = 4_000_000_000

SCIPY_TILE_WORK = 100_000_000

TILE_ENTRIES = 2_000_000

# A comparison by a Python function may take long: small tiles show progress.
COMPARED_TILE_ENTRIES = 200_000

# A function of two blocks is given as many rows as make this many numbers, were it to compare every feature at once.
BLOCK_FUNCTION_ENTRIES = 10_000_000

# Rows that are added up at once, so that a sum takes no array of the length of the data. Not as many as a tile has:
# that must not show in the last digits.
ROWS_PER_SUM = 2**20


def tile_bounds(n: int, tile_rows: int) -> Iterator[slice]:
    """Cut n rows into consecutive tiles, at multiples of what the swap search evaluates together."""
    step = max(1, tile_rows // _core.SWEEP_CHUNK) * _core.SWEEP_CHUNK
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


class Room:
    """Where one tile after the other is written, so that it is in the cache."""

    def __init__(self, n_columns: int, dtype: Any = np.float32) -> None:
        self._entries: NDArray[Any] = np.empty((0, n_columns), dtype)

    def of(self, rows: slice) -> NDArray[Any]:
        """Return an array for a tile of these rows."""
        n_rows = rows.stop - rows.start
        if n_rows > len(self._entries):
            self._entries = np.empty((n_rows, self._entries.shape[1]), self._entries.dtype)
        return self._entries[:n_rows]


Indices = NDArray[np.int64]
