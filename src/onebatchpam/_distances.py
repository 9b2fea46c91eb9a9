"""Dissimilarities of a data set: vectors with a metric, or a precomputed matrix.

The order of arguments is candidate first, point second: entry (i, j) of the block is d(candidate i, batch point j).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._metrics import Metric, MetricLike, compute_dtype, output_dtype, resolve_metric
from onebatchpam._progress import Stages
from onebatchpam._tiles import Columns, PairError, fill_all
from onebatchpam._validation import check_rows, check_square, resolve_n_jobs

Indices = NDArray[np.int64]


class Space(ABC):
    """A data set with its dissimilarity. Counts the dissimilarities that are computed, or read if precomputed."""

    n: int

    def __init__(self) -> None:
        self.n_distances = 0

    def to_points(self, points: Indices, candidates: Indices | None = None) -> Columns:
        """Return d(candidate, point): a row for each candidate, which are all rows unless given."""
        return _CountedColumns(self._candidate_rows(points, candidates), self, candidates, points)

    def to_medoids(self, medoids: Indices, points: Indices | None = None) -> Columns:
        """Return d(medoid, point): a row for each point, which are all rows unless given."""
        return _CountedColumns(self._point_rows(medoids, points), self, points, medoids)

    @abstractmethod
    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns: ...

    @abstractmethod
    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns: ...

    @abstractmethod
    def rows(self, indices: Indices) -> NDArray[Any] | None:
        """Return these rows of features; None if there are none."""


class _CountedColumns(Columns):
    """Columns whose dissimilarities are counted as they are computed, and which know their rows by number."""

    def __init__(
        self,
        columns: Columns,
        space: Space,
        row_numbers: Indices | None = None,
        column_numbers: Indices | None = None,
    ) -> None:
        self.n_rows, self.n_columns = columns.n_rows, columns.n_columns
        self.dtype, self.tile_rows = columns.dtype, columns.tile_rows
        self._columns, self._space = columns, space
        self._row_numbers, self._column_numbers = row_numbers, column_numbers

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        try:
            self._columns.fill(rows, out)
        except PairError as error:
            if self._column_numbers is None:
                raise  # points that are no rows have no number
            row = error.row if self._row_numbers is None else self._row_numbers[error.row]
            column = self._column_numbers[error.column]
            raise ValueError(error.describe(f"X[{row}]", f"X[{column}]")) from error.__cause__
        self._space.n_distances += out.size


class VectorSpace(Space):
    """Rows of features, or objects without, and a metric."""

    def __init__(self, X: NDArray[Any], metric: Metric, n_jobs: int) -> None:
        super().__init__()
        self.n = X.shape[0]
        self.X = X
        self.metric = metric
        self._n_jobs = n_jobs

    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return self.metric.to(self.X[columns], self.X if rows is None else self.X[rows], self._n_jobs)

    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return self.metric.to_medoids(self.X[columns], self.X if rows is None else self.X[rows], self._n_jobs)

    def rows(self, indices: Indices) -> NDArray[Any]:
        return self.X[indices]

    def to_rows(self, points: NDArray[Any]) -> Columns:
        """Return d(every row, these rows of features)."""
        return _CountedColumns(self.metric.to(points, self.X, self._n_jobs), self)


class MatrixSpace(Space):
    """A precomputed square matrix whose entry (i, j) is d(candidate i, point j)."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        super().__init__()
        self.n = len(matrix)
        self.matrix = matrix

    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return MatrixColumns(self.matrix, columns, rows)

    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return MatrixColumns(self.matrix.T, columns, rows)

    def rows(self, indices: Indices) -> None:
        return None


class MatrixColumns(Columns):
    """Some columns of a matrix, and some rows or all, read only where they are needed."""

    def __init__(self, matrix: NDArray[Any], columns: Indices, rows: Indices | None = None) -> None:
        self.n_rows, self.n_columns = len(matrix) if rows is None else len(rows), len(columns)
        self.dtype = output_dtype(compute_dtype(matrix.dtype))
        self.tile_rows = _tiles.TILE_ENTRIES // self.n_columns
        self._matrix, self._columns, self._rows = matrix, columns, rows

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        with np.errstate(over="ignore"):
            if self._rows is None:
                out[:] = self._matrix[rows, self._columns]
            else:
                out[:] = self._matrix[np.ix_(self._rows[rows], self._columns)]


def open_space(
    X: ArrayLike, metric: MetricLike, metric_params: Mapping[str, Any] | None, n_jobs: int, estimator: object = None
) -> Space:
    """Check a data set, and make it ready to be compared."""
    if isinstance(metric, str) and metric == "precomputed":
        if metric_params:
            raise ValueError(f"metric='precomputed' takes no parameters, got metric_params={metric_params!r}")
        return MatrixSpace(check_square(check_rows(X, "X", estimator=estimator)))
    resolved = resolve_metric(metric, metric_params)
    rows = resolved.check(X, "X", estimator=estimator)
    return VectorSpace(rows, resolved.fitted(rows), n_jobs)


def distance_block(
    X: ArrayLike,
    Y: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarities between the rows of two arrays.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        Rows of the block. Bytes (uint8) are compared as bytes, other small integers and float32 in float32, all
        others in float64; only a tile at a time is converted.
    Y : array-like of shape (m, n_features), or m strings or objects
        Columns of the block.
    metric : str or callable, default="euclidean"
        As in `OneBatchPAM`, but for ``"precomputed"``. The rows of X are its first argument, those of Y its second.
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
    X = resolved.check(X, "X")
    resolved = resolved.fitted(X)
    Y = resolved.check(Y, "Y")
    if X.shape[1:] != Y.shape[1:]:
        raise ValueError(f"X has {X.shape[1]} features and Y has {Y.shape[1]}: expected the same number")
    columns = resolved.to(Y, X, resolve_n_jobs(n_jobs))
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
