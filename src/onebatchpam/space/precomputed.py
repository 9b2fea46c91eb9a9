"""A precomputed matrix of dissimilarities."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._tiles import Indices
from onebatchpam.metrics import Columns, compute_dtype, output_dtype
from onebatchpam.space.space import WholeSpace


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
