"""The base of metrics that may depend on the order of their arguments: Python and compiled functions, and text.

The first argument is the candidate and the second the point, whichever of the two is the row of a block. An error names
the pair whose value is not a dissimilarity.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam.data import Rows
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype
from onebatchpam.metrics.checks import PairError, check_entries
from onebatchpam.metrics.pacing import Pace

FIRST_PAIRS = 16  # pairs in the first call: a Python function may take long for each
ROWS_TO_TRY = 4  # all pairs of so many rows are compared in both orders if the user says that the order does not matter


class OrderedMetric(Metric):
    """A dissimilarity d(candidate, point), which need not equal d(point, candidate)."""

    is_costly = True

    @property
    @abstractmethod
    def title(self) -> str:
        """The name of the metric in errors."""

    @abstractmethod
    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Return d(row, point) if `rows_first`, otherwise d(point, row), as an array of shape (rows, points)."""

    def compare_safely(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        """Do what `compare` does; a metric by a Python function protects the rows, to which the function may write."""
        return self.compare(rows, points, rows_first, n_jobs)

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
        # A piece has at least one row for each thread.
        self._pace = Pace(self.n, FIRST_PAIRS, fewest_rows=n_jobs)

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        for rows, columns in self._pieces(len(tile)):
            self._fill_piece(tile, rows, columns, out[rows, columns])

    def name_pair(self, row: str, column: str) -> str:
        first, second = (row, column) if self._rows_first else (column, row)
        return f"{self._metric.title}({first}, {second})"

    def _pieces(self, n_rows: int) -> Iterator[tuple[slice, slice]]:
        """Return the rows and columns of each piece of a tile."""
        step = self._metric.rows_per_call(self._values)
        if step is None:
            return self._pace.pieces(n_rows)
        return ((slice(row, min(n_rows, row + step)), slice(0, self.n)) for row in range(0, n_rows, step))

    def _fill_piece(self, tile: NDArray[Any], rows: slice, columns: slice, out: NDArray[Any]) -> None:
        try:
            values = self._metric.compare_safely(tile[rows], self._values[columns], self._rows_first, self.n_jobs)
            check_entries(values)
        except PairError as error:
            raise error.moved(rows.start, columns.start) from error.__cause__
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which is refused later
            out[:] = values


def check_symmetry(metric: OrderedMetric, rows: Rows) -> None:
    """Raise if the dissimilarity of some pair of a few rows depends on their order, although the user denies it."""
    tried = np.unique(np.linspace(0, rows.n - 1, ROWS_TO_TRY).astype(np.int64))
    values = rows.take(tried).tile(slice(0, len(tried)))
    try:
        entries = metric.compare_safely(values, values, True, 1)
    except PairError:
        return  # the fit raises the same error again, and names the rows
    unequal = ~np.isclose(entries, entries.T, rtol=1e-5, atol=1e-12, equal_nan=True)
    if unequal.any():
        i, j = np.argwhere(unequal)[0].tolist()
        first, second = f"X[{tried[i]}]", f"X[{tried[j]}]"
        raise ValueError(
            f"{metric.title}({first}, {second}) is {entries[i, j]:g} and {metric.title}({second}, {first}) is "
            f"{entries[j, i]:g}: expected equal values with symmetric=True; leave it out"
        )
