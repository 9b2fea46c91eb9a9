"""Dissimilarities of a data set: vectors with a metric, or a precomputed matrix.

The order of arguments is candidate first, point second: entry (i, j) of the block is d(candidate i, batch point j).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam import _core, _tiles
from onebatchpam._parameters import check_medoids
from onebatchpam._tiles import Indices
from onebatchpam.metrics import Columns, Metric, PairError, Rows, only_column


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
