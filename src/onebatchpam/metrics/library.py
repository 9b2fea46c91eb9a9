"""The metrics that scipy and scikit-learn compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam.metrics.base import Columns, Metric, Rows, compute_dtype, output_dtype, sum_of_rows, weighted_sum


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
