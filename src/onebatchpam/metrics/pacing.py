"""Calls of about the same length: Ctrl-C is answered between two calls of a function or a library."""

from __future__ import annotations

import time
from collections.abc import Iterator

# A call should take about this long. The cost of a comparison is unknown, so the first call compares few pairs. Each
# later call compares as many pairs as the time of the last call suggests.
SECONDS_PER_CALL = 0.2


class Pace:
    """Cuts tiles, rows x columns, into pieces that take about `SECONDS_PER_CALL` each."""

    def __init__(self, n_columns: int, first_pairs: int, fewest_rows: int = 1) -> None:
        self._n_columns, self._fewest_rows = n_columns, fewest_rows
        self._pairs = first_pairs  # how many pairs of a row and a column the next piece should have

    def pieces(self, n_rows: int) -> Iterator[tuple[slice, slice]]:
        """Yield the rows and columns of each piece of a tile, and take the time until the next one is asked for."""
        row, column = 0, 0
        while row < n_rows:
            rows, columns = self._next_piece(row, column, n_rows)
            began = time.perf_counter()
            yield rows, columns
            n_pairs = (rows.stop - rows.start) * (columns.stop - columns.start)
            self._pairs = next_pairs(n_pairs, time.perf_counter() - began)
            row, column = (rows.stop, 0) if columns.stop == self._n_columns else (row, columns.stop)

    def _next_piece(self, row: int, column: int, n_rows: int) -> tuple[slice, slice]:
        """Return the piece that begins at this row and column: whole rows, or a part of the fewest rows."""
        if column == 0 and self._pairs >= self._n_columns * self._fewest_rows:
            return slice(row, min(n_rows, row + self._pairs // self._n_columns)), slice(0, self._n_columns)
        end = min(self._n_columns, column + max(1, self._pairs // self._fewest_rows))
        return slice(row, min(n_rows, row + self._fewest_rows)), slice(column, end)


def next_pairs(n_pairs: int, seconds: float) -> int:
    """Return how many pairs to compare in the next call, given the pairs and the seconds of the last call."""
    return max(1, min(8 * n_pairs, int(n_pairs * SECONDS_PER_CALL / max(seconds, 1e-6))))
