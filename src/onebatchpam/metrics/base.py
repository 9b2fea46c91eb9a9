"""The interface of metrics: a `Metric` checks data, learns its parameters, and packs `Points` to compare with rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core
from onebatchpam.data import ArrayRows, Rows, are_strings, check_rows

MetricLike = str | Callable[..., Any] | Any  # Any: a pointer to a compiled function


class Points(ABC):
    """Points that are packed to be compared with many rows; they are the columns of a block."""

    n: int
    dtype: np.dtype[Any]  # the type of the dissimilarities
    n_jobs: int  # number of threads
    tile_rows: int  # how many rows to compare at a time
    is_cheap = False  # whether computing a dissimilarity again takes no longer than fetching it from memory

    @abstractmethod
    def fill(self, tile: Any, out: NDArray[Any]) -> None:
        """Write the dissimilarities of a tile of rows to `out`, an array of shape (rows, n)."""

    def fill_viewed(self, tile: Any, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        """Fill `out` and show it to a viewer; a native metric shows each row while it is in the cache."""
        self.fill(tile, out)
        viewer.see(out)

    def mend(self, tile: Any, out: NDArray[Any]) -> None:  # noqa: B027 (most points have nothing to mend)
        """Compute entries of `out` that overflowed, although the dissimilarities fit in its type, again."""

    def name_pair(self, row: str, column: str) -> str:
        """Return a name for the dissimilarity of a row and a column, whose names are given, for errors."""
        return f"the dissimilarity of {row} and {column}"


class Metric(ABC):
    """A dissimilarity between rows. Its methods are called in this order: check, fit, encode, pack."""

    allows_nan = False
    # Whether rows of the fitted data lack values, so that only some of them make good medoids: see `are_complete`.
    lacks_values = False
    advice: str | None = None  # a warning about the data to which the metric was fitted
    # Whether half of a square block is copied, because d(a, b) is known to equal d(b, a) and takes longer to compute.
    is_mirrored = False
    # Whether dissimilarities take most of the time of a fit, so that as few as possible should be computed.
    is_costly = False

    @property
    def has_scale_of_data(self) -> bool:
        """Whether dissimilarities grow with the data, so that they can be too small for float32."""
        return True

    @property
    def separates_rows(self) -> bool:
        """Whether only equal rows have a dissimilarity of zero, unless it is too small for float64."""
        return False

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        """Return X as rows of the kind that this metric compares."""
        if are_strings(X):
            raise ValueError(f"{name} holds strings: expected rows of numbers, or a metric of text like 'levenshtein'")
        return check_rows(X, name, allow_nan=self.allows_nan, estimator=estimator)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        """Return the metric with the parameters that it learns from the data, such as variances."""
        return self

    def encode(self, rows: Rows) -> Rows:
        """Return checked rows in the form in which the fitted metric compares them."""
        return rows

    def read(self, X: ArrayLike, name: str) -> Rows:
        """Check and encode data that come after the fit, such as the medoids."""
        return self.encode(self.check(X, name))

    def are_complete(self, rows: Rows) -> NDArray[np.bool_]:
        """Tell which encoded rows lack no value that most rows have."""
        return np.ones(rows.n, dtype=bool)

    @abstractmethod
    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        """Pack points to be compared with these rows.

        With `rows_first`, the rows are the candidates, the first argument of the dissimilarity; otherwise the points
        are the candidates.
        """

    def pack_exactly(self, rows: Rows) -> Points:
        """Make rows ready to be compared with each other, in float64 if the metric can do that."""
        return self.pack(rows, rows, 1)

    def with_medoids(self, rows: Rows, medoids: NDArray[np.int64]) -> Metric:
        """Return the metric with what it must know about the medoids of a finished fit."""
        return self

    def read_medoids(self, centers: Any, indices: NDArray[np.int64]) -> Rows:
        """Return the medoids of a fit as rows to compare, given as users see them and by their indices."""
        return self.read(centers, "cluster_centers_").in_memory()

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        """Return the weighted mean of the rows as a single row."""
        mean = mean_of_features(rows, weights, skip_nan=self.allows_nan)
        return ArrayRows(mean.astype(compute_dtype(rows.dtype, np.dtype(np.float32))))

    def whole_block(self, rows: Rows) -> NDArray[np.float32] | None:
        """Return the dissimilarities of all pairs of rows if they are in memory, ready to be searched; else None."""
        return None

    def summarise(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Any:
        """Summarise a part of the data for `fit_parts`. By default, the summary is the first row."""
        return rows.given(np.arange(min(rows.n, 1)))

    def fit_parts(self, summaries: list[Any]) -> Metric:
        """Fit the metric to data that come in parts, given the summaries of all parts."""
        return self.fit(self.check(summaries[0], "X"))


def compute_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which rows are compared: uint8 for bytes, float32 if it is exact, otherwise float64."""
    common = np.result_type(*dtypes)
    if common == np.uint8:
        return common
    return np.dtype(np.float32 if np.can_cast(common, np.float32) else np.float64)


def output_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of dissimilarities between rows that are compared as `dtype`."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


# Sums over all rows are added up in pieces of this many rows. A piece fits in memory; its size is not that of a tile,
# because the size of tiles must not change the last digits of a sum.
SUMMED_ROWS = 2**14


def sum_of_rows(
    rows: Rows,
    weights: NDArray[np.float64],
    summed: Callable[[NDArray[Any], NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return a sum over all rows, given the function `summed` that computes it for a piece: rows and their weights."""
    pieces = [slice(start, min(start + SUMMED_ROWS, rows.n)) for start in range(0, rows.n, SUMMED_ROWS)]
    total = summed(rows.tile(pieces[0]), weights[pieces[0]])
    for piece in pieces[1:]:
        total += summed(rows.tile(piece), weights[piece])
    return total


def weighted_sum(rows: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted sum of each feature."""
    return np.einsum("i,ij->j", weights, rows)


def mean_of_features(rows: Rows, weights: NDArray[np.float64], *, skip_nan: bool) -> NDArray[np.float64]:
    """Return the weighted mean of the rows in shape (1, n_features): NaN for a feature that is missing in every row."""
    if not skip_nan:
        return sum_of_rows(rows, weights / weights.sum(), weighted_sum)[np.newaxis]

    def sums_and_weights(tile: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        known = ~np.isnan(tile)
        return np.stack([weighted_sum(np.where(known, tile, 0), weights), weights @ known])

    sums, known_weights = sum_of_rows(rows, weights, sums_and_weights)
    with np.errstate(invalid="ignore"):
        return (sums / known_weights)[np.newaxis]
