"""Dissimilarities that may depend on the order of their arguments, and that may be anything the user wrote.

The order is candidate first, point second, whichever of the two are the rows of a block. What is no dissimilarity is
reported with the pair it came from.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam.data import has_features
from onebatchpam.metrics.base import Columns, Metric, Rows, compute_dtype, output_dtype
from onebatchpam.metrics.checks import PairError

# Nothing is known of what a comparison costs, so as many pairs are compared at once as take about this long: Ctrl-C is
# answered in between.
SECONDS_AT_ONCE = 0.2

FIRST_PAIRS = 16


class OrderedMetric(Metric):
    """A dissimilarity d(candidate, point), in general not d(point, candidate)."""

    @property
    @abstractmethod
    def title(self) -> str:
        """How errors call the metric."""

    @abstractmethod
    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Return d(row, column), or d(column, row), with a row for each of the rows."""

    def rows_at_once(self, columns: NDArray[Any]) -> int | None:
        """Return how many rows to compare in one call; None to go by the time they take."""
        return None

    def tile_entries(self) -> int:
        """Return how many pairs to compare between two updates of the progress bar."""
        return _tiles.COMPARED_TILE_ENTRIES

    def dtype(self, rows: NDArray[Any], columns: NDArray[Any]) -> np.dtype[Any]:
        """Return the type of the dissimilarities."""
        return output_dtype(compute_dtype(rows.dtype, columns.dtype))

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        if not has_features(rows) or rows.dtype == object:
            raise ValueError("variant='lwcs' needs the mean of the rows: strings and other objects have none")
        return super().mean(rows, weights)

    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        return _ComparedColumns(self, X, points, rows_first=True, n_jobs=n_jobs)

    def to_medoids(self, medoids: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        return _ComparedColumns(self, X, medoids, rows_first=False, n_jobs=n_jobs)


class _ComparedColumns(Columns):
    def __init__(
        self, metric: OrderedMetric, rows: NDArray[Any], columns: NDArray[Any], *, rows_first: bool, n_jobs: int
    ) -> None:
        self.n_rows, self.n_columns = len(rows), len(columns)
        self.dtype = metric.dtype(rows, columns)
        self.tile_rows = metric.tile_entries() // self.n_columns
        self._metric, self._rows, self._columns = metric, rows, columns
        self._rows_first, self._n_jobs = rows_first, n_jobs
        rows_at_once = metric.rows_at_once(columns)
        self._is_paced = rows_at_once is None
        self._fewest_rows = n_jobs if self._is_paced else 1  # threads share rows
        self._pairs = rows_at_once * self.n_columns if rows_at_once else FIRST_PAIRS

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        for some_rows, some_columns in self._pieces(rows):
            began = time.perf_counter()
            piece = out[some_rows.start - rows.start : some_rows.stop - rows.start, some_columns]
            self._fill_piece(some_rows, some_columns, piece)
            if self._is_paced:
                self._pairs = next_pairs(piece.size, time.perf_counter() - began)

    def _pieces(self, rows: slice) -> Iterator[tuple[slice, slice]]:
        """Cut into pieces of about as many pairs as are to be compared next."""
        row, column = rows.start, 0
        while row < rows.stop:
            if column == 0 and self._pairs >= self.n_columns * self._fewest_rows:
                stop = min(rows.stop, row + self._pairs // self.n_columns)
                yield slice(row, stop), slice(0, self.n_columns)
                row = stop
            else:
                stop = min(rows.stop, row + self._fewest_rows)
                end = min(self.n_columns, column + max(1, self._pairs // self._fewest_rows))
                yield slice(row, stop), slice(column, end)
                row, column = (stop, 0) if end == self.n_columns else (row, end)

    def _fill_piece(self, rows: slice, columns: slice, out: NDArray[Any]) -> None:
        try:
            found = self._metric.compare(self._rows[rows], self._columns[columns], self._rows_first, self._n_jobs)
            self._check(found)
        except PairError as error:
            raise error.moved(rows.start, columns.start, self._rows_first) from error.__cause__
        with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
            out[:] = found

    def _check(self, found: NDArray[Any]) -> None:
        valid = (found >= 0) & (found < np.inf)
        if not valid.all():
            row, column = (int(i) for i in np.unravel_index(np.argmin(valid), valid.shape))
            advice = "; clip it at 0 if this is a rounding error" if -1e-6 < found[row, column] < 0 else ""
            problem = f"is {found[row, column]}: expected a finite number that is not negative{advice}"
            raise PairError(self._metric.title, problem, row, column)


def next_pairs(n_pairs: int, seconds: float) -> int:
    """Return how many pairs to compare next, given how long these took."""
    return max(1, min(8 * n_pairs, int(n_pairs * SECONDS_AT_ONCE / max(seconds, 1e-6))))
