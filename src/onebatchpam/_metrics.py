"""Which dissimilarity: `resolve_metric` looks a name up in one table.

What it returns knows how to compare rows with a fixed set of points (`Metric.to`). The native kernels serve five
metrics, scipy and scikit-learn others; mixed tables, sparse rows, text and functions of the user's own have files of
their own. Nothing outside this module asks which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core, _tiles
from onebatchpam._bytes import are_bytes, steps_of_bytes
from onebatchpam._objects import are_strings
from onebatchpam._tiles import Columns
from onebatchpam._validation import check_rows


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
CHEAP_FEATURES = 16  # so many are compared while a dissimilarity that was kept would be fetched from memory


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


@dataclass(frozen=True)
class NativeMetric(Metric):
    """One of the kernels in `src/core`."""

    name: str
    steps: int = 0  # if not zero, all values are byte / steps, and compared as bytes

    def fitted(self, X: Rows, weights: NDArray[np.float64] | None = None) -> NativeMetric:
        return replace(self, steps=steps_of_bytes(X) if self.name in BYTE_METRICS else 0)

    def comparing(self, X: Rows) -> NativeMetric:
        return self if self.steps and are_bytes(X, self.steps) else replace(self, steps=0)

    def to(self, points: NDArray[Any], X: Rows, n_jobs: int) -> Columns:
        return _NativeColumns(self, points, X, n_jobs)


class _NativeColumns(Columns):
    def __init__(self, metric: NativeMetric, points: NDArray[Any], X: Rows, n_jobs: int) -> None:
        self.n_rows, self.n_columns = X.shape[0], len(points)
        self._row_dtype = compute_dtype(points.dtype, X.dtype)
        self.dtype = output_dtype(self._row_dtype)
        self.tile_rows = min(_tiles.NATIVE_TILE_WORK // points.size, _tiles.TILE_ENTRIES // max(points.shape))
        self.is_cheap = points.shape[1] <= CHEAP_FEATURES
        # Points need not be rows of X: their mean is seldom made of bytes.
        steps = metric.steps if metric.steps and are_bytes(points, metric.steps) else 0
        self._packed = _core.PackedColumns(np.ascontiguousarray(points, dtype=self._row_dtype), metric.name, steps)
        self._X = X
        self._n_jobs = n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        self._packed.fill(self._converted(rows), out, self._n_jobs)

    def fill_viewed(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        self._packed.fill(self._converted(rows), out, viewer)

    def _converted(self, rows: slice) -> NDArray[Any]:
        # Only this tile is converted when X is of another type or memory order.
        return np.ascontiguousarray(self._X[rows], dtype=self._row_dtype)


@dataclass(frozen=True)
class LibraryMetric(Metric):
    """A metric computed by scipy or scikit-learn."""

    name: str
    library: str = "scipy"
    allows_nan: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)

    def fitted(self, X: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Metric:
        # Left to scipy these would be taken from each tile anew.
        counts = np.ones(len(X)) if weights is None else weights
        if self.name == "seuclidean" and "V" not in self.params:
            return self._with(V=variances(X, counts))
        if self.name == "mahalanobis" and "VI" not in self.params:
            return self._with(VI=inverse_covariance(X, counts))
        return self

    def _with(self, **params: Any) -> LibraryMetric:
        return LibraryMetric(self.name, self.library, self.allows_nan, {**self.params, **params})

    def to(self, points: NDArray[Any], X: Rows, n_jobs: int) -> Columns:
        return _LibraryColumns(self, points, X, n_jobs)

    def compare(self, rows: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
        """Return the dissimilarities of all pairs as float64."""
        try:
            if self.library == "scipy":
                return scipy.spatial.distance.cdist(rows, points, self.name, **self.params)
            return sklearn.metrics.pairwise_distances(rows, points, metric=self.name, **self.params)
        except TypeError as error:
            problem = str(error).partition("\n\nInvoked with")[0]  # scipy would go on with the data
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {problem}") from error


def variances(X: Rows, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of each feature, by which metric="seuclidean" divides."""
    mean = sum_of_rows(X, counts, weighted_sum) / counts.sum()  # exactly the value of a constant feature

    def squares(rows: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return weighted_sum((rows - mean) ** 2, weights)

    V = sum_of_rows(X, counts, squares) * (sample_factor(counts, "seuclidean", "V") / counts.sum())
    if not V.all():
        raise ValueError(
            f"metric='seuclidean' divides by the variance of each feature, and feature {int(np.argmin(V))} is "
            "constant: leave it out, or pass variances as metric_params={'V': ...}"
        )
    return V


def inverse_covariance(X: Rows, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix by which metric="mahalanobis" multiplies."""
    mean = sum_of_rows(X, counts, weighted_sum) / counts.sum()

    def products(rows: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return (weights[:, np.newaxis] * (rows - mean)).T @ (rows - mean)

    try:
        if np.count_nonzero(counts) <= X.shape[1]:
            raise np.linalg.LinAlgError
        covariance = sum_of_rows(X, counts, products) * (sample_factor(counts, "mahalanobis", "VI") / counts.sum())
        return np.asarray(np.linalg.inv(covariance), np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"metric='mahalanobis' needs the inverse of the covariance of the features, and that of X with shape "
            f"{X.shape} has none: reduce the features, or pass a matrix as metric_params={{'VI': ...}}"
        ) from None


def sample_factor(counts: NDArray[np.float64], metric: str, parameter: str) -> float:
    """Return n / (n - 1), which makes the mean of squares a variance, where a row counts as often as it weighs."""
    n = float(counts.sum())
    if n <= 1:
        raise ValueError(
            f"metric={metric!r} takes variances from X, whose rows count as often as they weigh, which is {n:g} in "
            f"sum: expected more than 1; scale the weights, or pass metric_params={{{parameter!r}: ...}}"
        )
    return n / (n - 1)


class _LibraryColumns(Columns):
    def __init__(self, metric: LibraryMetric, points: NDArray[Any], X: Rows, n_jobs: int) -> None:
        self.n_rows, self.n_columns = X.shape[0], len(points)
        self.dtype = output_dtype(compute_dtype(points.dtype, X.dtype))
        self.tile_rows = min(_tiles.SCIPY_TILE_WORK // points.size, _tiles.TILE_ENTRIES // max(points.shape))
        self._metric, self._points, self._X, self._n_jobs = metric, points, X, n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        def fill_part(part: NDArray[Any], out_part: NDArray[Any]) -> None:
            with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
                out_part[:] = self._metric.compare(part, self._points)

        n_parts = self._n_jobs
        if self._metric.library == "scipy":
            # So small that Ctrl-C is answered between them although a tile has many columns.
            n_parts = max(n_parts, min(len(out), len(out) * self._points.size // _tiles.SCIPY_TILE_WORK))
        if self._metric.name == "nan_euclidean":
            n_parts = 1  # a product of matrices, which has threads of its own; its last digits depend on their size
        parts = np.array_split(self._X[rows], n_parts), np.array_split(out, n_parts)
        Parallel(n_jobs=self._n_jobs, backend="threading")(
            delayed(fill_part)(part, out_part) for part, out_part in zip(*parts, strict=True) if len(part)
        )


NATIVE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "chebyshev", "cosine")
BYTE_METRICS = ("manhattan", "euclidean", "sqeuclidean")  # of which those of bytes have kernels of their own
SCIPY_METRICS = (
    "braycurtis",
    "canberra",
    "correlation",
    "dice",
    "hamming",
    "jaccard",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "yule",
)
SPARSE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "cosine", "jaccard")
SKLEARN_METRICS = ("haversine", "nan_euclidean")
ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "chebychev": "chebyshev"}
METRIC_NAMES = (*NATIVE_METRICS, *ALIASES, *SCIPY_METRICS, *SKLEARN_METRICS, "gower")


def _gower(params: Mapping[str, Any] | None) -> Metric:
    from onebatchpam._gower import Gower  # which builds on this module

    unknown = [name for name in params or {} if name not in ("kinds", "weights")]
    if unknown:
        raise ValueError(
            f"metric='gower' has no parameter {unknown[0]!r}: expected metric_params among ['kinds', 'weights']"
        )
    return Gower.with_params(**(params or {}))


def _sparse(name: str, params: Mapping[str, Any] | None) -> Metric:
    from onebatchpam._sparse import SparseMetric  # which builds on this module

    if name not in SPARSE_METRICS:
        raise ValueError(
            f"metric={name!r} does not compare sparse rows: expected one of {sorted(SPARSE_METRICS)}, or a dense array "
            "as X.toarray()"
        )
    if params:
        raise ValueError(f"metric={name!r} takes no parameters for sparse rows, got metric_params={dict(params)!r}")
    return SparseMetric(name)


def compares_text(metric: MetricLike) -> bool:
    """Say whether this metric is one of strings only."""
    from onebatchpam._text import TEXT_METRICS

    return isinstance(metric, str) and metric in TEXT_METRICS and metric != "hamming"


def resolve_metric(name: MetricLike, params: Mapping[str, Any] | None = None, *, sparse: bool = False) -> Metric:
    """Look up a metric by name, or take a function as one; for rows that are sparse matrices or not."""
    from onebatchpam._callables import resolve_function  # these build on this module
    from onebatchpam._native_metric import is_compiled, resolve_compiled
    from onebatchpam._text import TEXT_METRICS, HammingMetric, TextMetric

    params = dict(params or {})
    if is_compiled(name):
        return resolve_compiled(name, params)
    if callable(name):
        return resolve_function(name, params)
    if not isinstance(name, str) or name not in (*METRIC_NAMES, *TEXT_METRICS):
        raise ValueError(
            f"metric={name!r} is not known: expected a function, 'precomputed' or one of "
            f"{sorted({*METRIC_NAMES, *TEXT_METRICS})}"
        )
    canonical = ALIASES.get(name, name)
    if sparse:
        return _sparse(canonical, params)
    if name == "gower":
        return _gower(params)
    if canonical in NATIVE_METRICS:
        if params:
            raise ValueError(f"metric={name!r} takes no parameters, got metric_params={params!r}")
        return NativeMetric(canonical)
    if canonical == "hamming":
        return HammingMetric(TextMetric(canonical, params), LibraryMetric(canonical, params=params))
    if canonical in TEXT_METRICS:
        return TextMetric(canonical, params)
    if canonical in SCIPY_METRICS:
        return LibraryMetric(canonical, "scipy", params=params)
    return LibraryMetric(canonical, "scikit-learn", allows_nan=canonical == "nan_euclidean", params=params)
