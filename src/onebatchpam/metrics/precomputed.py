"""metric="precomputed": dissimilarities are looked up in a matrix whose entry (i, j) is d(candidate i, point j)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._tiles import Indices
from onebatchpam.data import Rows, check_matrix
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype
from onebatchpam.metrics.checks import are_dissimilarities


class MatrixRows(Rows):
    """Rows that are known by their place in a matrix only."""

    def __init__(self, matrix: NDArray[Any], indices: Indices | None = None, *, are_points: bool = False) -> None:
        self.matrix, self.indices, self.are_points = matrix, indices, are_points
        self.n = len(matrix) if indices is None else len(indices)
        self.n_features, self.row_size, self.dtype, self.header = matrix.shape[1], 1, matrix.dtype, matrix

    def tile(self, rows: slice) -> slice | Indices:
        return rows if self.indices is None else self.indices[rows]

    def take(self, indices: Indices) -> MatrixRows:
        chosen = indices if self.indices is None else self.indices[indices]
        return MatrixRows(self.matrix, chosen, are_points=self.are_points)

    choose = take  # a choice of rows is a choice of numbers, which costs nothing

    def given(self, indices: Indices) -> None:
        return None


@dataclass(frozen=True)
class Precomputed(Metric):
    """A look-up in a matrix."""

    is_fitted: bool = False

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> MatrixRows:
        """Return the rows of a square matrix; after the fit those of a matrix of new rows x fitted rows."""
        matrix = check_matrix(X, name, estimator)
        if not self.is_fitted and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"metric='precomputed' expects a square matrix of dissimilarities, got shape {matrix.shape}; "
                "an n x m block goes to onebatchpam.swap_search"
            )
        return MatrixRows(matrix, are_points=self.is_fitted)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Precomputed:
        return replace(self, is_fitted=True)

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        assert isinstance(points, MatrixRows) and isinstance(rows, MatrixRows)  # noqa: PT018 (both come from check)
        columns = np.arange(points.n) if points.indices is None else points.indices
        return MatrixPoints(rows.matrix, columns, transposed=not rows_first and not rows.are_points)

    def read_medoids(self, centers: Any, indices: Indices) -> MatrixRows:
        return MatrixRows(np.empty((0, 0)), indices)

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        raise ValueError("variant='lwcs' needs the mean of the rows: it does not work with metric='precomputed'")

    def whole_block(self, rows: Rows) -> NDArray[np.float32] | None:
        assert isinstance(rows, MatrixRows)  # as `check` returned them
        in_place = rows.indices is None and rows.matrix.dtype == np.float32 and rows.matrix.flags.c_contiguous
        return rows.matrix if in_place else None


class MatrixPoints(Points):
    """Some columns of a matrix or of its transpose, read only where they are needed."""

    def __init__(self, matrix: NDArray[Any], columns: Indices, *, transposed: bool) -> None:
        self.n = len(columns)
        self.dtype = output_dtype(compute_dtype(matrix.dtype))
        self.tile_rows = _tiles.TILE_ENTRIES // self.n
        self._matrix, self._columns, self._transposed = matrix.T if transposed else matrix, columns, transposed

    def fill(self, tile: slice | Indices, out: NDArray[Any]) -> None:
        chosen = (tile, self._columns) if isinstance(tile, slice) else np.ix_(tile, self._columns)
        values = self._matrix[chosen]
        with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite, which is refused below
            out[:] = values
        valid = are_dissimilarities(out)
        if not valid.all():
            i, j = np.unravel_index(np.argmin(valid), valid.shape)
            row, column = tile.start + i if isinstance(tile, slice) else tile[i], self._columns[j]
            entry = (column, row) if self._transposed else (row, column)
            raise ValueError(
                f"X[{entry[0]}, {entry[1]}] is {values[i, j]}: expected dissimilarities that are not NaN or infinity, "
                "not negative, and fit in float32"
            )
