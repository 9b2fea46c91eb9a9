"""Dissimilarities of a data set: vectors with a metric, or a precomputed matrix.

The order of arguments is candidate first, point second: entry (i, j) of the block is d(candidate i, batch point j).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam import _core, _tiles
from onebatchpam._metrics import Metric, MetricLike, Rows, compute_dtype, output_dtype, resolve_metric
from onebatchpam._progress import Stages
from onebatchpam._sources import in_memory
from onebatchpam._tiles import Columns, PairError, fill_all, only_column
from onebatchpam._validation import check_matrix, check_medoids, check_sample_weight, check_square, resolve_n_jobs

Indices = NDArray[np.int64]


class Space(ABC):
    """A data set with its dissimilarity, the weights by which every sum over rows goes, and the rows that are fixed.

    Those are medoids whatever the others are; they come first.
    """

    def __init__(self, n: int, weights: NDArray[np.float64] | None) -> None:
        self.n = n
        self.weights = np.ones(n) if weights is None else weights
        self.fixed = np.empty(0, np.int64)

    @abstractmethod
    def to_points(self, points: Indices, candidates: Indices | None = None) -> Columns:
        """Return d(candidate, point): a row for each candidate, which are all rows unless given."""

    @abstractmethod
    def to_medoids(self, medoids: Indices, points: Indices | None = None) -> Columns:
        """Return d(medoid, point): a row for each point, which are all rows unless given."""

    @abstractmethod
    def distances_to_mean(self) -> NDArray[Any]:
        """Return d(row, mean) for all rows."""

    @property
    @abstractmethod
    def row_size(self) -> int:
        """How many entries a row takes to store."""

    @property
    @abstractmethod
    def n_given(self) -> int:
        """Number of rows of the user's data."""

    @abstractmethod
    def numbers(self, indices: Indices) -> Indices:
        """Return which rows of the user's data these are."""

    @abstractmethod
    def indices_of(self, numbers: ArrayLike, k: int, name: str) -> Indices:
        """Return where these k rows of the user's data are here; check that they are k distinct rows."""


class WholeSpace(Space):
    """All rows. Counts the dissimilarities that are computed, or read if precomputed."""

    X: Rows  # as it was checked

    def __init__(self, n: int, weights: NDArray[np.float64] | None) -> None:
        super().__init__(n, weights)
        self.n_distances = 0

    def to_points(self, points: Indices, candidates: Indices | None = None) -> Columns:
        return _CountedColumns(self._candidate_rows(points, candidates), self, candidates, points)

    def to_medoids(self, medoids: Indices, points: Indices | None = None) -> Columns:
        return _CountedColumns(self._point_rows(medoids, points), self, points, medoids)

    @abstractmethod
    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns: ...

    @abstractmethod
    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns: ...

    @property
    def row_size(self) -> int:
        return 1

    @abstractmethod
    def rows(self, indices: Indices) -> Any:
        """Return these rows as the user gave them; None if there are no rows of features."""

    @property
    def n_given(self) -> int:
        return self.n

    def numbers(self, indices: Indices) -> Indices:
        return indices

    def indices_of(self, numbers: ArrayLike, k: int, name: str) -> Indices:
        return check_medoids(numbers, k, self.n, name)

    def present(self) -> Space:
        """Return the rows that have a weight: a row of weight zero is as good as absent."""
        return self if self.weights.all() else PresentRows(self, np.flatnonzero(self.weights))


class PresentRows(Space):
    """Some rows of a data set, of which none is copied."""

    def __init__(self, whole: WholeSpace, chosen: Indices) -> None:
        super().__init__(len(chosen), whole.weights[chosen])
        self._whole, self._chosen = whole, chosen
        self.fixed = self.indices_of(whole.fixed, len(whole.fixed), "fixed_medoids")

    def to_points(self, points: Indices, candidates: Indices | None = None) -> Columns:
        return self._whole.to_points(self.numbers(points), self._some_or_all(candidates))

    def to_medoids(self, medoids: Indices, points: Indices | None = None) -> Columns:
        return self._whole.to_medoids(self.numbers(medoids), self._some_or_all(points))

    def distances_to_mean(self) -> NDArray[Any]:
        return self._whole.distances_to_mean()[self._chosen]

    @property
    def row_size(self) -> int:
        return self._whole.row_size

    @property
    def n_given(self) -> int:
        return self._whole.n

    def numbers(self, indices: Indices) -> Indices:
        return self._chosen[indices]

    def indices_of(self, numbers: ArrayLike, k: int, name: str) -> Indices:
        rows = self._whole.indices_of(numbers, k, name)
        absent = rows[self._whole.weights[rows] == 0]
        if len(absent):
            raise ValueError(f"{name} holds row {absent[0]}, whose weight is zero: expected rows that have a weight")
        return np.searchsorted(self._chosen, rows)

    def _some_or_all(self, indices: Indices | None) -> Indices:
        return self._chosen if indices is None else self.numbers(indices)


class _CountedColumns(Columns):
    """Columns whose dissimilarities are counted as they are computed, and which know their rows by number."""

    def __init__(
        self,
        columns: Columns,
        space: WholeSpace,
        row_numbers: Indices | None = None,
        column_numbers: Indices | None = None,
    ) -> None:
        self.n_rows, self.n_columns = columns.n_rows, columns.n_columns
        self.dtype, self.tile_rows, self.is_cheap = columns.dtype, columns.tile_rows, columns.is_cheap
        self._columns, self._space = columns, space
        self._row_numbers, self._column_numbers = row_numbers, column_numbers

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        with self._counting(out):
            self._columns.fill(rows, out)

    def fill_viewed(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        with self._counting(out):
            self._columns.fill_viewed(rows, out, viewer)

    @contextmanager
    def _counting(self, out: NDArray[Any]) -> Iterator[None]:
        try:
            yield
        except PairError as error:
            if self._column_numbers is None:
                raise  # points that are no rows have no number
            row = error.row if self._row_numbers is None else self._row_numbers[error.row]
            column = self._column_numbers[error.column]
            raise ValueError(error.describe(f"X[{row}]", f"X[{column}]")) from error.__cause__
        self._space.n_distances += out.size


class _ChosenRows(Columns):
    """Dissimilarities of some rows of X in any order, which are copied a tile at a time."""

    def __init__(self, compare: Callable[[Rows], Columns], X: Rows, indices: Indices) -> None:
        one = compare(X[indices[:1]])
        self.n_rows, self.n_columns, self.dtype, self.tile_rows = len(indices), one.n_columns, one.dtype, one.tile_rows
        self.is_cheap = one.is_cheap
        self._compare, self._X, self._indices = compare, X, indices

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        try:
            self._chosen(rows).fill(slice(0, len(out)), out)
        except PairError as error:
            raise error.moved(rows.start) from error.__cause__

    def fill_viewed(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        try:
            self._chosen(rows).fill_viewed(slice(0, len(out)), out, viewer)
        except PairError as error:
            raise error.moved(rows.start) from error.__cause__

    def _chosen(self, rows: slice) -> Columns:
        return self._compare(self._X[self._indices[rows]])


class VectorSpace(WholeSpace):
    """Rows of features, or objects without, and a metric."""

    def __init__(self, X: Rows, metric: Metric, n_jobs: int, weights: NDArray[np.float64] | None = None) -> None:
        super().__init__(X.shape[0], weights)
        self.X = X
        self.metric = metric
        self._n_jobs = n_jobs

    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return self._compare(self.metric.to, columns, rows)

    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return self._compare(self.metric.to_medoids, columns, rows)

    def _compare(self, to: Callable[[Rows, Rows, int], Columns], columns: Indices, rows: Indices | None) -> Columns:
        points = self.X[columns]

        def compare(X: Rows) -> Columns:
            return to(points, X, self._n_jobs)

        if rows is None:
            return compare(self.X)
        if len(rows) * self.row_size <= _tiles.TILE_ENTRIES:
            return compare(self.X[rows])
        return _ChosenRows(compare, self.X, rows)

    @property
    def row_size(self) -> int:
        if issparse(self.X):
            return 1 + self.X.nnz // self.X.shape[0]
        return int(np.prod(self.X.shape[1:]))

    def rows(self, indices: Indices) -> Any:
        return self.metric.as_given(self.X[indices])

    def distances_to_mean(self) -> NDArray[Any]:
        mean = self.metric.mean(self.X, self.weights)
        return only_column(_CountedColumns(self.metric.to(mean, self.X, self._n_jobs), self))


class MatrixSpace(WholeSpace):
    """A precomputed square matrix whose entry (i, j) is d(candidate i, point j)."""

    def __init__(self, matrix: NDArray[Any], weights: NDArray[np.float64] | None = None) -> None:
        super().__init__(len(matrix), weights)
        self.X = self.matrix = matrix

    def _candidate_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return MatrixColumns(self.matrix, columns, rows)

    def _point_rows(self, columns: Indices, rows: Indices | None) -> Columns:
        return MatrixColumns(self.matrix, columns, rows, transposed=True)

    def rows(self, indices: Indices) -> None:
        return None

    def distances_to_mean(self) -> NDArray[Any]:
        raise ValueError("variant='lwcs' needs the mean of the rows: it does not work with metric='precomputed'")


class MatrixColumns(Columns):
    """Some columns of a matrix or of its transpose, and some rows or all, read only where they are needed."""

    def __init__(
        self, matrix: NDArray[Any], columns: Indices, rows: Indices | None = None, *, transposed: bool = False
    ) -> None:
        self._matrix = matrix.T if transposed else matrix
        self.n_rows, self.n_columns = len(self._matrix) if rows is None else len(rows), len(columns)
        self.dtype = output_dtype(compute_dtype(matrix.dtype))
        self.tile_rows = _tiles.TILE_ENTRIES // self.n_columns
        self._columns, self._rows, self._transposed = columns, rows, transposed

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        if self._rows is None:
            values = self._matrix[rows, self._columns]
        else:
            values = self._matrix[np.ix_(self._rows[rows], self._columns)]
        with np.errstate(over="ignore"):  # what does not fit in float32 becomes infinite, and is refused as such
            out[:] = values
        valid = (out >= 0) & (out < np.inf)
        if not valid.all():
            i, j = np.unravel_index(np.argmin(valid), valid.shape)
            self._raise_for_bad_entry(rows, values, int(i), int(j))

    def _raise_for_bad_entry(self, rows: slice, values: NDArray[Any], i: int, j: int) -> NoReturn:
        row, column = rows.start + i if self._rows is None else self._rows[rows.start + i], self._columns[j]
        entry = (column, row) if self._transposed else (row, column)
        raise ValueError(
            f"X[{entry[0]}, {entry[1]}] is {values[i, j]}: expected dissimilarities that are not NaN or infinity, not "
            "negative, and fit in float32"
        )


def open_space(
    X: ArrayLike,
    metric: MetricLike,
    metric_params: Mapping[str, Any] | None,
    n_jobs: int,
    estimator: object = None,
    sample_weight: ArrayLike | None = None,
) -> WholeSpace:
    """Check a data set, and make it ready to be compared."""
    if isinstance(metric, str) and metric == "precomputed":
        if metric_params:
            raise ValueError(f"metric='precomputed' takes no parameters, got metric_params={metric_params!r}")
        matrix = check_square(check_matrix(X, "X", estimator=estimator))
        return MatrixSpace(matrix, check_sample_weight(sample_weight, len(matrix)))
    resolved = resolve_metric(metric, metric_params, sparse=issparse(X))
    rows = resolved.check(X, "X", estimator=estimator)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    return VectorSpace(rows, resolved.fitted(rows, weights), n_jobs, weights)


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
    X : array-like or sparse matrix of shape (n, n_features), path, or n strings or objects
        Rows of the block. Bytes (uint8) are compared as bytes, other small integers and float32 in float32, all
        others in float64; only a tile at a time is converted. May be on disk, as in the fit of an estimator.
    Y : array-like or sparse matrix of shape (m, n_features), or m strings or objects
        Columns of the block.
    metric : str or callable, default="euclidean"
        As in `OneBatchPAM`, but for ``"precomputed"``. The rows of X are its first argument, those of Y its second.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``. The variances of ``"seuclidean"``
        and the covariance of ``"mahalanobis"`` are those of X unless given here; the ranges of ``"gower"`` are those
        of X.
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
    if metric == "precomputed":
        raise ValueError("metric='precomputed' leaves nothing to compute: expected a metric of rows")
    resolved = resolve_metric(metric, metric_params, sparse=issparse(X) or issparse(Y))
    rows = resolved.check(X, "X")
    fitted = resolved.fitted(rows)
    points = in_memory(fitted.check(Y, "Y"))
    if rows.shape[1:] != points.shape[1:]:
        raise ValueError(f"X has {rows.shape[1]} features and Y has {points.shape[1]}: expected the same number")
    columns = fitted.to(points, rows, resolve_n_jobs(n_jobs))
    shape = columns.n_rows, columns.n_columns
    if out is None:
        out = np.empty(shape, dtype=columns.dtype)
    elif not isinstance(out, np.ndarray):
        raise ValueError(f"out is of type {type(out).__name__}: expected an array")
    elif out.shape != shape or out.dtype not in (np.float32, columns.dtype) or not out.flags.carray:
        raise ValueError(
            f"out has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable C-contiguous {columns.dtype} array of shape {shape}"
        )
    return fill_all(columns, out, Stages(), "distances")
