"""The metrics that scipy and scikit-learn compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._tiles import rows_per_tile
from onebatchpam.data import Rows
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype, sum_of_rows, weighted_sum

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
LEARNT_PARAMETERS = {"seuclidean": "V", "mahalanobis": "VI"}  # learnt from the data unless the user gives them


@dataclass(frozen=True)
class LibraryMetric(Metric):
    """A metric computed by scipy or scikit-learn."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def allows_nan(self) -> bool:  # type: ignore[override]
        return self.name == "nan_euclidean"

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        rows = super().check(X, name, estimator)
        check_shapes(self.name, self.params, rows.row_size)
        return rows

    @property
    def learnt_parameter(self) -> str | None:
        """The parameter that must be learnt from the data, or None."""
        parameter = LEARNT_PARAMETERS.get(self.name)
        return None if parameter is None or parameter in self.params else parameter

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        parameter = self.learnt_parameter
        if parameter is None:
            return self
        # The parameter is learnt from all rows, because scipy would learn it anew from each tile.
        learn = {"V": variances, "VI": inverse_covariance}[parameter]
        learnt = learn(rows, np.ones(rows.n) if weights is None else weights)
        return replace(self, params={**self.params, parameter: learnt})

    def fit_parts(self, summaries: list[Any]) -> Metric:
        if self.learnt_parameter is not None:
            raise ValueError(
                f"metric={self.name!r} takes {self.learnt_parameter} from the data, but cannot do so for partitions: "
                f"compute it and pass metric_params={{{self.learnt_parameter!r}: ...}}"
            )
        return self

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return LibraryPoints(self, points, rows, n_jobs)

    def compare(self, rows: NDArray[Any], points: NDArray[Any]) -> NDArray[Any]:
        """Return the dissimilarities of all rows to all points."""
        try:
            if self.name in SCIPY_METRICS:
                return scipy.spatial.distance.cdist(rows, points, self.name, **self.params)
            return sklearn.metrics.pairwise_distances(rows, points, metric=self.name, **self.params)
        except TypeError as error:
            problem = str(error).partition("\n\nInvoked with")[0]  # the message of scipy goes on to print the data
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {problem}") from error


class LibraryPoints(Points):
    """Points as a plain array, which a library compares with rows."""

    def __init__(self, metric: LibraryMetric, points: Rows, rows: Rows, n_jobs: int) -> None:
        self.n = points.n
        self.dtype = output_dtype(compute_dtype(points.dtype, rows.dtype))
        self.tile_rows = rows_per_tile(points.n, points.row_size, _tiles.SCIPY_TILE_WORK)
        self._metric, self._values, self.n_jobs = metric, points.tile(slice(0, points.n)), n_jobs

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        def fill_part(part: NDArray[Any], out_part: NDArray[Any]) -> None:
            with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which is refused later
                out_part[:] = self._metric.compare(part, self._values)

        n_parts = self.n_jobs
        if self._metric.name in SCIPY_METRICS:
            # Even a tile of few rows may have many columns. Ctrl-C is answered between its parts, so they are small.
            n_parts = max(n_parts, min(len(out), len(out) * self._values.size // _tiles.SCIPY_TILE_WORK))
        if self._metric.name == "nan_euclidean":
            # scikit-learn multiplies matrices in its own threads, and the last digits depend on the size of the parts.
            n_parts = 1
        parts = np.array_split(tile, n_parts), np.array_split(out, n_parts)
        Parallel(n_jobs=self.n_jobs, backend="threading")(
            delayed(fill_part)(part, out_part) for part, out_part in zip(*parts, strict=True) if len(part)
        )


def check_shapes(metric: str, params: Mapping[str, Any], n_features: int) -> None:
    """Raise unless parameters that are arrays fit the features: scipy would read beyond their ends."""
    shapes = {"V": (n_features,), "VI": (n_features, n_features), "w": (n_features,)}
    for name in params.keys() & shapes.keys():
        array = np.asarray(params[name], dtype=np.float64)
        if array.shape != shapes[name] or not np.isfinite(array).all():
            raise ValueError(
                f"metric={metric!r} with a {name} of shape {array.shape}: expected finite numbers of shape "
                f"{shapes[name]} in metric_params, because X has {n_features} features"
            )


def variances(rows: Rows, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variance of each feature, by which metric="seuclidean" divides."""
    # Differences from the first row are exactly zero in a constant feature, and so is the variance then.
    first = rows.tile(slice(0, 1))[0].astype(np.float64)
    mean = first + sum_of_rows(rows, counts, lambda tile, weights: weighted_sum(tile - first, weights)) / counts.sum()

    def squares(tile: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return weighted_sum((tile - mean) ** 2, weights)

    V = sum_of_rows(rows, counts, squares) * (sample_factor(counts, "seuclidean", "V") / counts.sum())
    if not V.all():
        raise ValueError(
            f"metric='seuclidean' divides by the variance of each feature, and feature {int(np.argmin(V))} is "
            "constant: leave it out, or pass variances as metric_params={'V': ...}"
        )
    return V


def inverse_covariance(rows: Rows, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the inverse of the covariance of the features, by which metric="mahalanobis" multiplies."""
    mean = sum_of_rows(rows, counts, weighted_sum) / counts.sum()

    def products(tile: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return (weights[:, np.newaxis] * (tile - mean)).T @ (tile - mean)

    if np.count_nonzero(counts) <= rows.row_size:
        refuse_covariance(rows)
    covariance = sum_of_rows(rows, counts, products) * (sample_factor(counts, "mahalanobis", "VI") / counts.sum())
    try:
        return np.asarray(np.linalg.inv(covariance), np.float64)
    except np.linalg.LinAlgError:
        refuse_covariance(rows)


def refuse_covariance(rows: Rows) -> NoReturn:
    """Raise the error for rows whose covariance has no inverse."""
    raise ValueError(
        f"the covariance of X with shape {(rows.n, rows.n_features)} has no inverse, which metric='mahalanobis' needs: "
        "leave features out, or pass a matrix as metric_params={'VI': ...}"
    ) from None


def sample_factor(counts: NDArray[np.float64], metric: str, parameter: str) -> float:
    """Return n / (n - 1), which turns a mean of squares into a variance; n is the sum of the weights."""
    n = float(counts.sum())
    if n <= 1:
        raise ValueError(
            f"the weights of X sum to {n:g}: expected more than 1, because metric={metric!r} takes variances from X "
            f"and a weight counts copies of a row; rescale the weights, or pass metric_params={{{parameter!r}: ...}}"
        )
    return n / (n - 1)
