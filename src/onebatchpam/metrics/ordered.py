"""The base of metrics that may depend on the order of their arguments: Python and compiled functions, and text.

The first argument is the candidate and the second the point, whichever of the two is the row of a block. An error names
the pair whose value is not a dissimilarity.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam.data import Rows
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype
from onebatchpam.metrics.checks import PairError, check_entries

# A call should take about this long, because Ctrl-C is answered between calls. The cost of a comparison is unknown, so
# the first call compares few pairs, and each later call as many as the time of the last call suggests.
SECONDS_PER_CALL = 0.2
FIRST_PAIRS = 16


class OrderedMetric(Metric):
    """A dissimilarity d(candidate, point), which need not equal d(point, candidate)."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the metric in errors."""

    @abstractmethod
    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Return d(row, point) if `rows_first`, otherwise d(point, row), as an array of shape (rows, points)."""

    def rows_per_call(self, points: NDArray[Any]) -> int | None:
        """Return how many rows to compare in one call; None if the number depends on the time that a call takes."""
        return None

    def tile_entries(self) -> int:
        """Return the number of pairs in a tile; the progress bar is updated after each tile."""
        return _tiles.COMPARED_TILE_ENTRIES

    def entry_dtype(self, points: Rows, rows: Rows) -> np.dtype[Any]:
        """Return the type of the dissimilarities."""
        return output_dtype(compute_dtype(points.dtype, rows.dtype))

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        if rows.n_features is None or rows.dtype == object:
            raise ValueError("variant='lwcs' needs the mean of the rows, and objects have none: use another variant")
        return super().mean(rows, weights)

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return OrderedPoints(self, points, rows, n_jobs, rows_first)


class OrderedPoints(Points):
    """Points as a plain array, which is compared with a tile of rows in pieces, one call for each piece."""

    def __init__(self, metric: OrderedMetric, points: Rows, rows: Rows, n_jobs: int, rows_first: bool) -> None:
        self.n = points.n
        self.dtype = metric.entry_dtype(points, rows)
        self.tile_rows = metric.tile_entries() // self.n
        self._metric, self._values = metric, points.tile(slice(0, points.n))
        self._rows_first, self.n_jobs = rows_first, n_jobs
        rows_per_call = metric.rows_per_call(self._values)
        self._is_paced = rows_per_call is None
        self._fewest_rows = n_jobs if self._is_paced else 1  # a row for each thread
        self._pairs = rows_per_call * self.n if rows_per_call else FIRST_PAIRS

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        for rows, columns in self._pieces(len(tile)):
            began = time.perf_counter()
            self._fill_piece(tile, rows, columns, out[rows, columns])
            if self._is_paced:
                self._pairs = next_pairs(out[rows, columns].size, time.perf_counter() - began)

    def name_pair(self, row: str, column: str) -> str:
        first, second = (row, column) if self._rows_first else (column, row)
        return f"{self._metric.title}({first}, {second})"

    def _pieces(self, n_rows: int) -> Iterator[tuple[slice, slice]]:
        """Cut a tile into pieces of about `_pairs` pairs, a number that may change after each piece."""
        row, column = 0, 0
        while row < n_rows:
            if column == 0 and self._pairs >= self.n * self._fewest_rows:
                stop = min(n_rows, row + self._pairs // self.n)
                yield slice(row, stop), slice(0, self.n)
                row = stop
            else:
                stop = min(n_rows, row + self._fewest_rows)
                end = min(self.n, column + max(1, self._pairs // self._fewest_rows))
                yield slice(row, stop), slice(column, end)
                row, column = (stop, 0) if end == self.n else (row, end)

    def _fill_piece(self, tile: NDArray[Any], rows: slice, columns: slice, out: NDArray[Any]) -> None:
        try:
            values = self._metric.compare(tile[rows], self._values[columns], self._rows_first, self.n_jobs)
            check_entries(values)
        except PairError as error:
            raise error.moved(rows.start, columns.start) from error.__cause__
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which is refused later
            out[:] = values


def next_pairs(n_pairs: int, seconds: float) -> int:
    """Return how many pairs to compare in the next call, given the pairs and the seconds of the last call."""
    return max(1, min(8 * n_pairs, int(n_pairs * SECONDS_PER_CALL / max(seconds, 1e-6))))
