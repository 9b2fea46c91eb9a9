"""Which dissimilarity: `resolve_metric` looks a name up in one table.

What it returns knows how to compare rows with a fixed set of points (`Metric.to`). The native kernels serve five
metrics, scipy and scikit-learn others; text and functions of the user's own stand in `_text.py` and `_callables.py`.
Nothing outside asks which.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core, _tiles
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


class Metric(ABC):
    """A dissimilarity between rows of features."""

    allows_nan = False

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
        """Return X as rows that this metric can compare: something with a shape that an array of indices can index."""
        if are_strings(X):
            raise ValueError(f"{name} holds strings: expected rows of numbers, or a metric of text like 'levenshtein'")
        return check_rows(X, name, allow_nan=self.allows_nan, estimator=estimator)

    def fitted(self, X: NDArray[Any]) -> Metric:
        """Return the metric with what it takes from the data, such as variances."""
        return self

    @abstractmethod
    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        """Compare the rows of X, as candidates, with these points: d(row, point)."""

    def to_medoids(self, medoids: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        """Compare these medoids with the rows of X, as points: d(medoid, row), a row for each row of X."""
        return self.to(medoids, X, n_jobs)


@dataclass(frozen=True)
class NativeMetric(Metric):
    """One of the kernels in `src/core`."""

    name: str

    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        return _NativeColumns(self.name, points, X, n_jobs)


class _NativeColumns(Columns):
    def __init__(self, name: str, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(X), len(points)
        self._row_dtype = compute_dtype(points.dtype, X.dtype)
        self.dtype = output_dtype(self._row_dtype)
        self.tile_rows = min(_tiles.NATIVE_TILE_WORK // points.size, _tiles.TILE_ENTRIES // max(points.shape))
        self._packed = _core.PackedColumns(np.ascontiguousarray(points, dtype=self._row_dtype), name)
        self._X = X
        self._n_jobs = n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        # Only this tile is converted when X is of another type or memory order.
        self._packed.fill(np.ascontiguousarray(self._X[rows], dtype=self._row_dtype), out, self._n_jobs)


@dataclass(frozen=True)
class LibraryMetric(Metric):
    """A metric computed by scipy or scikit-learn."""

    name: str
    library: str = "scipy"
    allows_nan: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)

    def fitted(self, X: NDArray[Any]) -> Metric:
        # Left to scipy these would be taken from each tile anew.
        if self.name == "seuclidean" and "V" not in self.params:
            return self._with(V=variances(X))
        if self.name == "mahalanobis" and "VI" not in self.params:
            return self._with(VI=inverse_covariance(X))
        return self

    def _with(self, **params: Any) -> LibraryMetric:
        return LibraryMetric(self.name, self.library, self.allows_nan, {**self.params, **params})

    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        return _LibraryColumns(self, points, X, n_jobs)

    def compare(self, rows: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
        """Return the dissimilarities of all pairs as float64."""
        try:
            if self.library == "scipy":
                return scipy.spatial.distance.cdist(rows, points, self.name, **self.params)
            return sklearn.metrics.pairwise_distances(rows, points, metric=self.name, **self.params)
        except TypeError as error:
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {error}") from error


def variances(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the variance of each feature, by which metric="seuclidean" divides."""
    V = np.var(X, axis=0, dtype=np.float64) * (len(X) / max(1, len(X) - 1))
    if not V.all():
        raise ValueError(
            f"metric='seuclidean' divides by the variance of each feature, and feature {int(np.argmin(V))} is "
            "constant: leave it out, or pass variances as metric_params={'V': ...}"
        )
    return V


def inverse_covariance(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return the matrix by which metric="mahalanobis" multiplies."""
    try:
        if len(X) <= X.shape[1]:
            raise np.linalg.LinAlgError
        return np.linalg.inv(np.atleast_2d(np.cov(X, rowvar=False, dtype=np.float64)))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"metric='mahalanobis' needs the inverse of the covariance of the features, and that of X with shape "
            f"{X.shape} has none: reduce the features, or pass a matrix as metric_params={{'VI': ...}}"
        ) from None


class _LibraryColumns(Columns):
    def __init__(self, metric: LibraryMetric, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(X), len(points)
        self.dtype = output_dtype(compute_dtype(points.dtype, X.dtype))
        self.tile_rows = min(_tiles.SCIPY_TILE_WORK // points.size, _tiles.TILE_ENTRIES // max(points.shape))
        self._metric, self._points, self._X, self._n_jobs = metric, points, X, n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        def fill_part(part: NDArray[Any], out_part: NDArray[Any]) -> None:
            with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
                out_part[:] = self._metric.compare(part, self._points)

        parts = np.array_split(self._X[rows], self._n_jobs), np.array_split(out, self._n_jobs)
        Parallel(n_jobs=self._n_jobs, backend="threading")(
            delayed(fill_part)(part, out_part) for part, out_part in zip(*parts, strict=True) if len(part)
        )


NATIVE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "chebyshev", "cosine")
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
SKLEARN_METRICS = ("haversine", "nan_euclidean")
ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "chebychev": "chebyshev"}
METRIC_NAMES = (*NATIVE_METRICS, *ALIASES, *SCIPY_METRICS, *SKLEARN_METRICS)


def compares_text(metric: MetricLike) -> bool:
    """Say whether this metric is one of strings only."""
    from onebatchpam._text import TEXT_METRICS

    return isinstance(metric, str) and metric in TEXT_METRICS and metric != "hamming"


def resolve_metric(name: MetricLike, params: Mapping[str, Any] | None = None) -> Metric:
    """Look up a metric by name, or take a function as one."""
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
