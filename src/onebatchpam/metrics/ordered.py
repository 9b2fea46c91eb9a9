"""Dissimilarities that may depend on the order of their arguments: functions, compiled functions, distances of text.

The order is candidate first, point second, whichever of the two are the rows of a block. A value that is not a
dissimilarity is reported with the pair it came from.
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

# The cost of a comparison is unknown, so each call compares as many pairs as take about this long: Ctrl-C is answered
# between calls.
SECONDS_PER_CALL = 0.2
FIRST_PAIRS = 16


class OrderedMetric(Metric):
    """A dissimilarity d(candidate, point), in general not d(point, candidate)."""

    @property
    @abstractmethod
    def title(self) -> str:
        """How errors call the metric."""

    @abstractmethod
    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Return d(row, point), or d(point, row) unless rows are first, as an array of shape (rows, points)."""

    def rows_per_call(self, points: NDArray[Any]) -> int | None:
        """Return how many rows to compare in one call; None to go by the time they take."""
        return None

    def tile_entries(self) -> int:
        """Return how many pairs to compare between two updates of the progress bar."""
        return _tiles.COMPARED_TILE_ENTRIES

    def entry_dtype(self, points: Rows, rows: Rows) -> np.dtype[Any]:
        """Return the type of the dissimilarities."""
        return output_dtype(compute_dtype(points.dtype, rows.dtype))

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        if rows.n_features is None or rows.dtype == object:
            raise ValueError("variant='lwcs' needs the mean of the rows: strings and other objects have none")
        return super().mean(rows, weights)

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return OrderedPoints(self, points, rows, n_jobs, rows_first)


class OrderedPoints(Points):
    """Points as a plain array, compared with a tile of rows in pieces."""

    def __init__(self, metric: OrderedMetric, points: Rows, rows: Rows, n_jobs: int, rows_first: bool) -> None:
        self.n = points.n
        self.dtype = metric.entry_dtype(points, rows)
        self.tile_rows = metric.tile_entries() // self.n
        self._metric, self._values = metric, points.tile(slice(0, points.n))
        self._rows_first, self._n_jobs = rows_first, n_jobs
        rows_per_call = metric.rows_per_call(self._values)
        self._is_paced = rows_per_call is None
        self._fewest_rows = n_jobs if self._is_paced else 1  # threads share the rows of a call
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
        """Cut a tile into pieces, each of about as many pairs as are to be compared in the next call."""
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
            values = self._metric.compare(tile[rows], self._values[columns], self._rows_first, self._n_jobs)
            check_entries(values)
        except PairError as error:
            raise error.moved(rows.start, columns.start) from error.__cause__
        out[:] = values


def next_pairs(n_pairs: int, seconds: float) -> int:
    """Return how many pairs to compare in the next call, given how long the last ones took."""
    return max(1, min(8 * n_pairs, int(n_pairs * SECONDS_PER_CALL / max(seconds, 1e-6))))
