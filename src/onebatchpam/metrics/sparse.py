"""Metrics of sparse rows, computed without making the rows dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from onebatchpam import _core, _tiles
from onebatchpam._tiles import rows_per_tile
from onebatchpam.data import Rows, SparseRows, check_sparse
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype

SPARSE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "cosine", "jaccard")


@dataclass(frozen=True)
class SparseMetric(Metric):
    """A metric between sparse rows; rows that come after the fit may also be dense."""

    name: str

    @property
    def separates_rows(self) -> bool:
        return self.name in ("manhattan", "euclidean", "sqeuclidean")

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> SparseRows:
        return check_sparse(X, name, estimator)

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> SparseRows:
        whole = rows.in_memory()
        assert isinstance(whole, SparseRows)  # `check` returns such rows
        return SparseRows(csr_array(np.reshape((weights / weights.sum()) @ whole.matrix, (1, -1))))

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return SparsePoints(self.name, points, rows, n_jobs)


class SparsePoints(Points):
    """Sparse points, packed feature by feature for the native kernels."""

    def __init__(self, name: str, points: Rows, rows: Rows, n_jobs: int) -> None:
        self.n = points.n
        self.dtype = output_dtype(compute_dtype(points.dtype, rows.dtype))
        self.tile_rows = rows_per_tile(points.n, rows.row_size, _tiles.NATIVE_TILE_WORK)
        starts, features, values = points.tile(slice(0, points.n))
        self._packed = _core.SparseColumns(starts, features, values, points.n_features or 0, name)
        self.n_jobs = n_jobs

    def fill(self, tile: tuple[Any, Any, Any], out: NDArray[Any]) -> None:
        starts, features, values = tile
        self._packed.fill(starts, features, values, out, self.n_jobs)
