"""Dissimilarities, a tile of rows at a time.

Three questions are kept apart:

* *which* dissimilarity: `resolve_metric` looks a name up in one table and returns an object that knows how to
  compare rows with a fixed set of points (`Metric.to`). The native kernels serve five metrics, scipy and
  scikit-learn the others; nothing outside this module asks which.
* *of what*: a `Space` is a data set with its dissimilarity, either vectors with a metric or a precomputed matrix.
* *where to*: a `Columns` fills any range of rows of an n x m array, so that callers decide what is kept.

The order of arguments is candidate first, point second: entry (i, j) of the block is d(candidate i, batch point j).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core
from onebatchpam._progress import Stages
from onebatchpam._validation import check_rows, resolve_n_jobs

# A tile is at most this many feature comparisons, a fraction of a second for one thread, so that Ctrl-C and the
# progress bar are answered between tiles; and at most this many entries, of the block and of X, so that it stays small
# beside both and is still in the cache for who looks at it next.
NATIVE_TILE_WORK = 4_000_000_000
SCIPY_TILE_WORK = 100_000_000
TILE_ENTRIES = 2_000_000


def tile_bounds(n: int, tile_rows: int) -> Iterator[slice]:
    """Cut n rows into consecutive tiles, at multiples of what the swap search evaluates together."""
    step = max(1, tile_rows // _core.SWEEP_CHUNK) * _core.SWEEP_CHUNK
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def compute_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which rows are compared: bytes as they are, what float32 holds exactly in float32."""
    common = np.result_type(*dtypes)
    if common == np.uint8:
        return common
    return np.dtype(np.float32 if np.can_cast(common, np.float32) else np.float64)


def output_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of dissimilarities between rows that are compared as `dtype`."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


class Columns(ABC):
    """Dissimilarities of n rows to a fixed set of points: the columns of a block."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    tile_rows: int

    @abstractmethod
    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        """Write the dissimilarities of these rows to `out` of shape (rows, n_columns)."""

    def tiles(self) -> Iterator[slice]:
        """Return the ranges in which to fill all rows."""
        return tile_bounds(self.n_rows, self.tile_rows)


def fill_all(
    columns: Columns,
    out: NDArray[Any],
    stages: Stages,
    name: str,
    see: Callable[[NDArray[Any], int], None] | None = None,
) -> NDArray[Any]:
    """Fill `out` of shape (n_rows, n_columns), tile by tile; `see` gets each with its first row, still in the cache."""
    with stages.stage(name, total=columns.n_rows) as bar:
        for rows in columns.tiles():
            columns.fill(rows, out[rows])
            if see is not None:
                see(out[rows], rows.start)
            bar.update(rows.stop - rows.start)
    return out


def only_column(columns: Columns) -> NDArray[Any]:
    """Return the dissimilarities of all rows to a single point, of shape (n_rows,)."""
    return fill_all(columns, np.empty((columns.n_rows, 1), columns.dtype), Stages(), "distances")[:, 0]


class Metric(ABC):
    """A dissimilarity between rows of features."""

    allows_nan = False

    def fitted(self, X: NDArray[Any]) -> Metric:
        """Return the metric with what it takes from the data, such as variances."""
        return self

    @abstractmethod
    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        """Compare the rows of X with these points."""


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
        self.tile_rows = min(NATIVE_TILE_WORK // points.size, TILE_ENTRIES // max(points.shape))
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
        self.tile_rows = min(SCIPY_TILE_WORK // points.size, TILE_ENTRIES // max(points.shape))
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


def resolve_metric(name: str, params: Mapping[str, Any] | None = None) -> Metric:
    """Look up a metric by name."""
    if not isinstance(name, str) or name not in METRIC_NAMES:
        raise ValueError(f"metric={name!r} is not known: expected 'precomputed' or one of {sorted(METRIC_NAMES)}")
    canonical = ALIASES.get(name, name)
    if canonical in NATIVE_METRICS:
        if params:
            raise ValueError(f"metric={name!r} takes no parameters, got metric_params={dict(params)!r}")
        return NativeMetric(canonical)
    if canonical in SCIPY_METRICS:
        return LibraryMetric(canonical, "scipy", params=dict(params or {}))
    return LibraryMetric(canonical, "scikit-learn", allows_nan=canonical == "nan_euclidean", params=dict(params or {}))


class Space(ABC):
    """A data set with its dissimilarity. Counts the dissimilarities it is asked for."""

    n: int

    def __init__(self) -> None:
        self.n_distances = 0

    @abstractmethod
    def to_points(self, indices: NDArray[np.int64]) -> Columns:
        """Return d(every row as candidate, these rows as points)."""

    @abstractmethod
    def to_medoids(self, indices: NDArray[np.int64]) -> Columns:
        """Return d(these rows as medoids, every row as point), a row for each point."""

    @abstractmethod
    def rows(self, indices: NDArray[np.int64]) -> NDArray[Any] | None:
        """Return these rows of features; None if there are none."""

    def _counted(self, columns: Columns) -> Columns:
        self.n_distances += columns.n_rows * columns.n_columns
        return columns


class VectorSpace(Space):
    """Rows of features with a metric, for which d(a, b) = d(b, a)."""

    def __init__(self, X: NDArray[Any], metric: Metric, n_jobs: int) -> None:
        super().__init__()
        self.n = len(X)
        self.X = X
        self.metric = metric
        self._n_jobs = n_jobs

    def to_points(self, indices: NDArray[np.int64]) -> Columns:
        return self.to_rows(self.X[indices])

    to_medoids = to_points

    def rows(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        return self.X[indices]

    def to_rows(self, points: NDArray[Any]) -> Columns:
        """Return d(every row, these rows of features)."""
        return self._counted(self.metric.to(points, self.X, self._n_jobs))


class MatrixSpace(Space):
    """A precomputed square matrix whose entry (i, j) is d(candidate i, point j)."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        super().__init__()
        self.n = len(matrix)
        self.matrix = matrix

    def to_points(self, indices: NDArray[np.int64]) -> Columns:
        return self._counted(MatrixColumns(self.matrix, indices))

    def to_medoids(self, indices: NDArray[np.int64]) -> Columns:
        return self._counted(MatrixColumns(self.matrix.T, indices))

    def rows(self, indices: NDArray[np.int64]) -> None:
        return None


class MatrixColumns(Columns):
    """Some columns of a matrix, read only where they are needed."""

    def __init__(self, matrix: NDArray[Any], indices: NDArray[np.int64]) -> None:
        self.n_rows, self.n_columns = len(matrix), len(indices)
        self.dtype = output_dtype(compute_dtype(matrix.dtype))
        self.tile_rows = TILE_ENTRIES // self.n_columns
        self._matrix, self._indices = matrix, indices

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        with np.errstate(over="ignore"):
            out[:] = self._matrix[rows, self._indices]


def distance_block(
    X: ArrayLike,
    Y: ArrayLike,
    metric: str = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarities between the rows of two arrays.

    Parameters
    ----------
    X : array-like of shape (n, n_features)
        Rows of the block. Bytes (uint8) are compared as bytes, other small integers and float32 in float32, all
        others in float64; only a tile at a time is converted.
    Y : array-like of shape (m, n_features)
        Columns of the block.
    metric : str, default="euclidean"
        ``"manhattan"``, ``"euclidean"``, ``"sqeuclidean"``, ``"chebyshev"`` and ``"cosine"`` run in native code;
        every other name of scipy and scikit-learn is computed by them.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``. The variances of ``"seuclidean"``
        and the covariance of ``"mahalanobis"`` are those of X unless given here.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 all processors.
    out : ndarray of shape (n, m), C-contiguous, default=None
        Where to write the result: float32, or the type that the result would have.

    Returns
    -------
    ndarray of shape (n, m)
        `out` if given. Otherwise a new array: float64 when X or Y needs float64, else float32.

    Examples
    --------
    >>> from onebatchpam import distance_block
    >>> distance_block([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]], metric="l1")
    array([[0.],
           [7.]])
    """
    resolved = resolve_metric(metric, metric_params)
    X = check_rows(X, "X", allow_nan=resolved.allows_nan)
    Y = check_rows(Y, "Y", allow_nan=resolved.allows_nan)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features and Y has {Y.shape[1]}: expected the same number")
    columns = VectorSpace(X, resolved.fitted(X), resolve_n_jobs(n_jobs)).to_rows(Y)
    if out is None:
        out = np.empty((len(X), len(Y)), dtype=columns.dtype)
    elif not isinstance(out, np.ndarray):
        raise ValueError(f"out is of type {type(out).__name__}: expected an array")
    elif out.shape != (len(X), len(Y)) or out.dtype not in (np.float32, columns.dtype) or not out.flags.carray:
        raise ValueError(
            f"out has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable C-contiguous {columns.dtype} array of shape {(len(X), len(Y))}"
        )
    return fill_all(columns, out, Stages(), "distances")
