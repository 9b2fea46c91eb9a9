"""metric="precomputed": dissimilarities are looked up in a matrix whose entry (i, j) is d(candidate i, point j)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._parameters import refuse_masked
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.data import MatrixRows, Rows, check_matrix, expand_condensed
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype
from onebatchpam.metrics.checks import are_dissimilarities


@dataclass(frozen=True)
class Precomputed(Metric):
    """The metric that looks up dissimilarities in a matrix."""

    is_fitted: bool = False
    among_medoids: NDArray[Any] | None = None  # the entries of the fitted matrix at the rows and columns of the medoids
    n_fitted: int | None = None  # number of fitted rows; None in models of 0.1.0

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> MatrixRows:
        """Return the rows of a square matrix, or after the fit of a matrix of new rows x fitted rows."""
        refuse_masked(X, name)  # before a condensed matrix is expanded, which would drop its mask
        if not self.is_fitted or self.holds_all_pairs(X):
            X = expand_condensed(X, name)
        elif self.n_fitted is not None and len(np.shape(X)) == 1:
            n = self.n_fitted
            raise ValueError(
                f"{name} has shape {np.shape(X)}: expected a row of {n} dissimilarities for each new row, one to each "
                f"fitted row, or the {n * (n - 1) // 2} distances of all pairs of fitted rows. Reshape your data by "
                f"{name}.reshape(1, -1) if it is a single row"
            )
        matrix = check_matrix(X, name, estimator)
        if not self.is_fitted and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"{name} has shape {matrix.shape}: metric='precomputed' expects a square matrix of dissimilarities; "
                "pass an n x m block to onebatchpam.swap_search"
            )
        if not self.is_fitted and looks_like_similarities(matrix):
            warn(
                f"the largest entries of {name} are on its diagonal, as in a matrix of similarities; but "
                "metric='precomputed' expects dissimilarities, which are small if two rows are alike: pass, for "
                "instance, X.max() - X",
            )
        return MatrixRows(matrix, are_points=self.is_fitted)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Precomputed:
        return replace(self, is_fitted=True, n_fitted=rows.n)

    def holds_all_pairs(self, X: Any) -> bool:
        """Tell whether X holds a distance for each pair of the fitted rows, as scipy's `pdist` returns them."""
        n = self.n_fitted
        return n is not None and n > 2 and np.shape(X) == (n * (n - 1) // 2,)

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        assert isinstance(points, MatrixRows) and isinstance(rows, MatrixRows)  # noqa: PT018 (both come from check)
        columns = np.arange(points.n) if points.indices is None else points.indices
        if rows.are_points:
            self.warn_if_transposed(rows.matrix, columns)
        return MatrixPoints(rows.matrix, columns, n_jobs, transposed=not rows_first and not rows.are_points)

    def with_medoids(self, rows: Rows, medoids: Indices) -> Precomputed:
        assert isinstance(rows, MatrixRows)  # `check` returns such rows
        return replace(self, among_medoids=np.array(rows.matrix[np.ix_(medoids, medoids)]))

    def warn_if_transposed(self, matrix: NDArray[Any], medoids: Indices) -> None:
        """Warn if the matrix of the fit, which is not symmetric, is passed to `predict` as it was passed to `fit`."""
        if self.among_medoids is None or len(matrix) <= medoids.max():
            return
        own = matrix[np.ix_(medoids, medoids)]
        if np.array_equal(own, self.among_medoids) and not np.array_equal(own, own.T):
            warn(
                "X is the matrix of the fit, which is not symmetric: here its entry (i, j) is taken as the "
                "dissimilarity of the fitted row j, as a medoid, to the new row i; pass X.T, or take `labels_` and "
                "`inertia_`",
            )

    def read_medoids(self, centers: Any, indices: Indices) -> MatrixRows:
        return MatrixRows(np.empty((0, 0)), indices)  # an empty matrix, because `pack` uses that of the rows

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        raise ValueError(
            "variant='lwcs' needs the mean of the rows, and metric='precomputed' has none: use another variant"
        )

    def whole_block(self, rows: Rows) -> NDArray[np.float32] | None:
        assert isinstance(rows, MatrixRows)  # `check` returns such rows
        is_readable = rows.matrix.dtype == np.float32 and rows.matrix.flags.c_contiguous and rows.matrix.flags.aligned
        return rows.matrix if rows.indices is None and is_readable else None


class MatrixPoints(Points):
    """Columns of a matrix or of its transpose, of which only the entries of each tile are read."""

    def __init__(self, matrix: NDArray[Any], columns: Indices, n_jobs: int, *, transposed: bool) -> None:
        self.n, self.n_jobs = len(columns), n_jobs
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


def looks_like_similarities(matrix: NDArray[Any]) -> bool:
    """Tell whether each of some rows is more "dissimilar" to itself than to any other row."""
    rows = np.unique(np.linspace(0, len(matrix) - 1, 20).astype(np.int64)) if len(matrix) > 1 else np.empty(0, np.int64)
    others = np.array([np.delete(matrix[row], row).max() for row in rows])
    diagonal = matrix[rows, rows]
    return bool(len(rows) > 1 and (diagonal >= others).all() and (diagonal > others).any())
