"""Dissimilarities a tile of rows at a time, so that callers decide what is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._progress import Stages

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


class Columns(ABC):
    """Dissimilarities of n rows to a fixed set of points: the columns of a block."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    tile_rows: int
    is_cheap = False  # whether to compute an entry again takes no longer than to keep it and to fetch it

    @abstractmethod
    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        """Write the dissimilarities of these rows to `out` of shape (rows, n_columns)."""

    def fill_viewed(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        """Fill, and show what was computed to a viewer: if that can be, while it is in the cache."""
        self.fill(rows, out)
        viewer.see(out)

    def tiles(self) -> Iterator[slice]:
        """Return the ranges in which to fill all rows."""
        return tile_bounds(self.n_rows, self.tile_rows)


class PairError(ValueError):
    """What is wrong with one dissimilarity: of this row and this column, in the order in which they are compared."""

    def __init__(self, metric: str, problem: str, row: int, column: int, rows_first: bool = True) -> None:
        super().__init__(metric, problem, row, column, rows_first)
        self.metric, self.problem, self.rows_first = metric, problem, rows_first
        self.row, self.column = row, column

    def moved(self, rows: int, columns: int = 0, rows_first: bool | None = None) -> PairError:
        """Return the same error in a block that begins that many rows and columns earlier."""
        order = self.rows_first if rows_first is None else rows_first
        return PairError(self.metric, self.problem, self.row + rows, self.column + columns, order)

    def describe(self, row: str, column: str) -> str:
        """Say it with the names under which the user knows the row and the column."""
        pair = (row, column) if self.rows_first else (column, row)
        return f"{self.metric}({', '.join(pair)}) {self.problem}"

    def __str__(self) -> str:
        return self.describe(f"X[{self.row}]", f"Y[{self.column}]" if self.rows_first else f"medoid {self.column}")


def fill_all(columns: Columns, out: NDArray[Any], stages: Stages, name: str) -> NDArray[Any]:
    """Fill `out` of shape (n_rows, n_columns), tile by tile."""
    with stages.stage(name, total=columns.n_rows) as bar:
        for rows in columns.tiles():
            columns.fill(rows, out[rows])
            bar.update(rows.stop - rows.start)
    return out


def each_tile(columns: Columns, dtype: Any = np.float32) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Compute all tiles and keep none: each takes the place of the one before, which is in the cache."""
    room = Room(columns.n_columns, dtype)
    for rows in columns.tiles():
        tile = room.of(rows)
        columns.fill(rows, tile)
        yield rows, tile


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


def only_column(columns: Columns) -> NDArray[Any]:
    """Return the dissimilarities of all rows to a single point, of shape (n_rows,)."""
    return fill_all(columns, np.empty((columns.n_rows, 1), columns.dtype), Stages(), "distances")[:, 0]
