"""What a metric is, and what it gives: the dissimilarities of all rows to some points, a tile at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core
from onebatchpam._progress import Stages
from onebatchpam._tiles import Room, tile_bounds
from onebatchpam.data import are_strings, check_rows


def compute_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which rows are compared: bytes as they are, what float32 holds exactly in float32."""
    common = np.result_type(*dtypes)
    if common == np.uint8:
        return common
    return np.dtype(np.float32 if np.can_cast(common, np.float32) else np.float64)


def output_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of dissimilarities between rows that are compared as `dtype`."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


MetricLike = str | Callable[..., Any] | Any  # Any: a pointer to a compiled function

# What a metric compares: something with a shape and a type of which a slice gives a tile. An array of indices chooses
# rows of it.
Rows = Any


class Metric(ABC):
    """A dissimilarity between rows of features."""

    allows_nan = False

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        """Return X as rows that this metric can compare."""
        if are_strings(X):
            raise ValueError(f"{name} holds strings: expected rows of numbers, or a metric of text like 'levenshtein'")
        return check_rows(X, name, allow_nan=self.allows_nan, estimator=estimator)

    def fitted(self, X: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        """Return the metric with what it takes from the data, such as variances."""
        return self

    def comparing(self, X: Rows) -> Metric:
        """Return the fitted metric for new rows, of which not all that was found in the data may be true."""
        return self

    @abstractmethod
    def to(self, points: Rows, X: Rows, n_jobs: int) -> Columns:
        """Compare the rows of X, as candidates, with these points: d(row, point)."""

    def to_medoids(self, medoids: Rows, X: Rows, n_jobs: int) -> Columns:
        """Compare these medoids with the rows of X, as points: d(medoid, row), a row for each row of X."""
        return self.to(medoids, X, n_jobs)

    def as_given(self, rows: Rows) -> Any:
        """Return rows in the form in which users see them; `check` of it gives the rows again."""
        return rows

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        """Return the weighted mean of the rows as a single row."""
        mean = mean_of_features(rows, weights, skip_nan=self.allows_nan)
        return mean.astype(compute_dtype(rows.dtype, np.dtype(np.float32)))


# A sum over all rows is the sum of sums over this many, which all can be in memory; whatever the tiles are.
SUMMED_ROWS = 2**14


def sum_of_rows(
    X: Rows,
    weights: NDArray[np.float64],
    summed: Callable[[NDArray[Any], NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return what `summed` makes of some rows and their weights, in sum over all rows."""
    pieces = [slice(start, start + SUMMED_ROWS) for start in range(0, X.shape[0], SUMMED_ROWS)]
    total = summed(X[pieces[0]], weights[pieces[0]])
    for piece in pieces[1:]:
        total += summed(X[piece], weights[piece])
    return total


def weighted_sum(rows: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each feature."""
    return np.einsum("i,ij->j", weights, rows)


def mean_of_features(X: Rows, weights: NDArray[np.float64], *, skip_nan: bool) -> NDArray[np.float64]:
    """Return the weighted mean as an array of one row; NaN for a feature that no row has."""
    if not skip_nan:
        return sum_of_rows(X, weights / weights.sum(), weighted_sum)[np.newaxis]

    def sums_and_weights(rows: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        known = ~np.isnan(rows)
        return np.stack([weighted_sum(np.where(known, rows, 0), weights), weights @ known])

    sums, known_weights = sum_of_rows(X, weights, sums_and_weights)
    with np.errstate(invalid="ignore"):
        return (sums / known_weights)[np.newaxis]


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


def only_column(columns: Columns) -> NDArray[Any]:
    """Return the dissimilarities of all rows to a single point, of shape (n_rows,)."""
    return fill_all(columns, np.empty((columns.n_rows, 1), columns.dtype), Stages(), "distances")[:, 0]
