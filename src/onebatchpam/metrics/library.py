"""The metrics that scipy and scikit-learn compute."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._tiles import rows_per_tile
from onebatchpam.data import Rows
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype, sum_of_rows, weighted_sum
from onebatchpam.metrics.checks import PairError
from onebatchpam.metrics.pacing import Pace

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
FIRST_MULTIPLICATIONS = 10_000_000  # in the first call, some milliseconds, because the cost of the metric is unknown
PARAMETERS = {  # of these metrics; all others take only `w`, the weights of the features
    "haversine": (),
    "mahalanobis": ("VI",),
    "minkowski": ("p", "w"),
    "nan_euclidean": ("squared", "missing_values"),
    "seuclidean": ("V",),
}
LEARNT_PARAMETERS = {"seuclidean": "V", "mahalanobis": "VI"}  # learnt from the data unless the user gives them


@dataclass(frozen=True)
class LibraryMetric(Metric):
    """A metric computed by scipy or scikit-learn."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    is_mirrored = True

    @property
    def allows_nan(self) -> bool:  # type: ignore[override]
        return self.name == "nan_euclidean"

    @property
    def separates_rows(self) -> bool:
        return self.name in ("minkowski", "nan_euclidean") and "w" not in self.params

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        rows = super().check(X, name, estimator)
        check_arrays(self.name, self.params, rows.row_size)
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
        with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
            learnt = learn(rows, np.ones(rows.n) if weights is None else weights)
        if not np.isfinite(learnt).all():
            raise ValueError(
                f"metric={self.name!r} takes {parameter} from the squares of X, which do not fit in float64: rescale "
                f"the data, whose values are too large or too small, or pass metric_params={{{parameter!r}: ...}}"
            )
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
            # scikit-learn squares float32 in float32, which loses digits, and small and large numbers as a whole.
            wide = (np.asarray(values, np.float64) for values in (rows, points))
            return sklearn.metrics.pairwise_distances(*wide, metric=self.name, **self.params)
        except TypeError as error:
            accepted = PARAMETERS.get(self.name, ("w",))
            if unknown := [parameter for parameter in self.params if parameter not in accepted]:
                expected = f"only {' and '.join(map(repr, accepted))}" if accepted else "none"
                raise ValueError(
                    f"metric={self.name!r} does not take {unknown[0]!r} in metric_params: expected {expected}"
                ) from error
            problem = str(error).partition("\n\nInvoked with")[0]  # the message of scipy goes on to print the data
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {problem}") from error


class LibraryPoints(Points):
    """Points as a plain array, which a library compares with rows."""

    def __init__(self, metric: LibraryMetric, points: Rows, rows: Rows, n_jobs: int) -> None:
        self.n = points.n
        self.dtype = output_dtype(compute_dtype(points.dtype, rows.dtype))
        self.tile_rows = rows_per_tile(points.n, points.row_size, _tiles.SCIPY_TILE_WORK)
        self._metric, self._values, self.n_jobs = metric, points.tile(slice(0, points.n)), n_jobs
        check_values(metric.name, self._values)
        # The costliest of these metrics, mahalanobis, multiplies a matrix with the difference of each pair of rows.
        first_pairs = max(1, FIRST_MULTIPLICATIONS // points.row_size**2)
        self._pace = Pace(self.n, first_pairs, fewest_rows=n_jobs)

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        if self._metric.name == "nan_euclidean":
            # scikit-learn multiplies matrices in its own threads, and the last digits depend on the size of the parts.
            self._fill_piece(tile, slice(0, self.n), out)
            check_common_columns(tile, self._values, out)
            return
        check_values(self._metric.name, tile)
        if self.n_jobs == 1:
            for rows, columns in self._pace.pieces(len(tile)):
                self._fill_piece(tile[rows], columns, out[rows, columns])
            return
        # The executor waits for its threads even after Ctrl-C: a thread that is still in a library when the interpreter
        # exits would abort the process.
        with ThreadPoolExecutor(self.n_jobs) as executor:
            for rows, columns in self._pace.pieces(len(tile)):
                n_parts = min(self.n_jobs, rows.stop - rows.start)
                tiles, outs = (np.array_split(array, n_parts) for array in (tile[rows], out[rows, columns]))
                list(executor.map(self._fill_piece, tiles, itertools.repeat(columns), outs))

    def _fill_piece(self, tile: NDArray[Any], columns: slice, out: NDArray[Any]) -> None:
        # Numbers that are too large become infinite or NaN, which is refused later.
        with np.errstate(over="ignore", invalid="ignore"):
            out[:] = self._metric.compare(tile, self._values[columns])


def check_values(metric: str, rows: NDArray[Any]) -> None:
    """Raise for values that a metric does not take, if it takes only some."""
    if metric == "haversine":
        check_latitudes(rows[:, 0])
    if metric == "jensenshannon":
        check_shares(rows)


def check_shares(rows: NDArray[Any]) -> None:
    """Raise unless each row can be divided by its sum to become a probability distribution."""
    if rows.min() < 0:
        raise ValueError(
            f"metric='jensenshannon' compares probability distributions, but a value is {rows.min():.6g}: expected "
            "numbers that are not negative"
        )
    if not rows.any(axis=1).all():
        raise ValueError(
            "metric='jensenshannon' divides each row by its sum, but all numbers of a row are zero: leave such rows out"
        )


def check_latitudes(latitudes: NDArray[Any]) -> None:
    """Raise if a latitude is beyond the poles, as most are if they are passed in degrees."""
    farthest = float(np.abs(latitudes).max(initial=0))
    if farthest > np.pi / 2 + 1e-6:
        raise ValueError(
            f"metric='haversine' compares latitudes and longitudes in radians, but a latitude is {farthest:.6g}: "
            "expected at most pi / 2; for degrees, pass numpy.radians(X)"
        )


def check_common_columns(rows: NDArray[Any], points: NDArray[Any], distances: NDArray[Any]) -> None:
    """Raise for the first row and point without a column in which both have a value; their distance is NaN."""
    is_undefined = np.isnan(distances)
    if not is_undefined.any():
        return
    known, known_points = (~np.isnan(values) for values in (rows, points))
    is_undefined &= known.astype(np.float32) @ known_points.T.astype(np.float32) == 0  # no column in common
    if is_undefined.any():
        row, column = np.argwhere(is_undefined)[0].tolist()
        raise PairError(
            "is not defined, because there is no column in which both have a value: fill in missing values, or pass "
            "metric='gower', which takes such rows as entirely different",
            row,
            column,
        )


def check_arrays(metric: str, params: Mapping[str, Any], n_features: int) -> None:
    """Raise unless parameters that are arrays fit the features, beyond whose ends scipy would read, and the metric."""
    shapes = {"V": (n_features,), "VI": (n_features, n_features), "w": (n_features,)}
    for name in params.keys() & shapes.keys():
        array = read_numbers(params[name])
        if array is None or array.shape != shapes[name]:
            found = f"of type {type(params[name]).__name__}" if array is None else f"of shape {array.shape}"
            raise ValueError(
                f"metric={metric!r} with a {name} {found}: expected finite numbers of shape {shapes[name]} in "
                f"metric_params, because X has {n_features} features"
            )
        if problem := find_problem(name, array):
            raise ValueError(f"metric={metric!r} with a {name} in metric_params that {problem}")


def read_numbers(values: Any) -> NDArray[np.float64] | None:
    """Return a parameter as an array of numbers; None if it holds anything else, also complex numbers."""
    try:
        array = np.asarray(values)
        return array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def find_problem(name: str, array: NDArray[np.float64]) -> str | None:
    """Return what is wrong with the numbers of a parameter, and what would be right; None if nothing is."""
    if not np.isfinite(array).all():
        return "holds NaN or infinity: expected finite numbers"
    if name == "V" and not (array > 0).all():
        return f"holds {array.min():g}: expected positive variances"
    if name == "w" and not ((array >= 0).all() and array.any()):
        return f"holds {array.min():g}: expected weights that are not negative, at least one of them positive"
    if name == "VI" and (np.diagonal(array) < 0).any():
        return f"holds {np.diagonal(array).min():g} on its diagonal: expected the inverse of a covariance"
    return None


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
    if not np.isfinite(covariance).all():
        return covariance  # the caller refuses it
    if is_singular(covariance):
        refuse_covariance(rows)
    return np.asarray(np.linalg.inv(covariance), np.float64)


def is_singular(covariance: NDArray[np.float64]) -> bool:
    """Tell whether a covariance has no inverse, or has one only by rounding, which would mean nothing.

    Its rank is that of the correlations, which does not depend on the units of the features.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    if not deviations.all():
        return True
    correlation = covariance / deviations / deviations[:, np.newaxis]
    return bool(np.linalg.matrix_rank(correlation, hermitian=True) < len(correlation))


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
