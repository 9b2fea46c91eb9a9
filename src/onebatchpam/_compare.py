"""Dissimilarities that may depend on the order of their arguments, and that may be anything the user wrote.

The order is candidate first, point second, whichever of the two are the rows of a block. What is no dissimilarity is
reported with the pair it came from.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._metrics import Metric, compute_dtype, output_dtype
from onebatchpam._tiles import Columns, PairError

# Nothing is known of what a comparison costs, so rows are compared a few at a time: as many as take about this long,
# so that Ctrl-C is answered in between.
SECONDS_AT_ONCE = 0.2


class OrderedMetric(Metric):
    """A dissimilarity d(candidate, point), in general not d(point, candidate)."""

    @property
    @abstractmethod
    def title(self) -> str:
        """How errors call the metric."""

    @abstractmethod
    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Return d(row, column), or d(column, row), with a row for each of the rows."""

    def rows_at_once(self, rows: NDArray[Any], columns: NDArray[Any]) -> int | None:
        """Return how many rows to compare in one call; None to go by the time they take."""
        return None

    def dtype(self, rows: NDArray[Any], columns: NDArray[Any]) -> np.dtype[Any]:
        """Return the type of the dissimilarities."""
        return output_dtype(compute_dtype(rows.dtype, columns.dtype))

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
        self.tile_rows = _tiles.COMPARED_TILE_ENTRIES // self.n_columns
        self._metric, self._rows, self._columns = metric, rows, columns
        self._rows_first, self._n_jobs = rows_first, n_jobs
        self._fixed_step = metric.rows_at_once(rows, columns)
        self._step = self._fixed_step or 1

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        start = rows.start
        while start < rows.stop:
            some = slice(start, min(start + self._step, rows.stop))
            began = time.perf_counter()
            self._fill_some(some, out[some.start - rows.start : some.stop - rows.start])
            if self._fixed_step is None:
                self._step = next_step(some.stop - some.start, time.perf_counter() - began)
            start = some.stop

    def _fill_some(self, rows: slice, out: NDArray[Any]) -> None:
        try:
            found = self._metric.compare(self._rows[rows], self._columns, self._rows_first, self._n_jobs)
            self._check(found)
        except PairError as error:
            row = rows.start + error.row
            raise PairError(error.metric, error.problem, row, error.column, self._rows_first) from error.__cause__
        with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
            out[:] = found

    def _check(self, found: NDArray[Any]) -> None:
        valid = (found >= 0) & (found < np.inf)
        if not valid.all():
            row, column = (int(i) for i in np.unravel_index(np.argmin(valid), valid.shape))
            advice = "; clip it at 0 if this is a rounding error" if -1e-6 < found[row, column] < 0 else ""
            problem = f"is {found[row, column]}: expected a finite number that is not negative{advice}"
            raise PairError(self._metric.title, problem, row, column)


def next_step(n_rows: int, seconds: float) -> int:
    """Return how many rows to compare next, given how long these took."""
    return max(1, min(8 * n_rows, int(n_rows * SECONDS_AT_ONCE / max(seconds, 1e-6))))
