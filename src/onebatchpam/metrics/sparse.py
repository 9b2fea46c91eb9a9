"""Sparse rows: the metrics that are computed without making them dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from onebatchpam import _core, _tiles
from onebatchpam.metrics.base import Columns, Metric, compute_dtype, output_dtype

SparseRows = Any  # a matrix or array of scipy in CSR format, the features of each row distinct and in order


@dataclass(frozen=True)
class SparseMetric(Metric):
    """A metric between sparse rows; those to compare with the fitted ones may also be dense."""

    name: str

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> SparseRows:
        rows = check_array(X, accept_sparse="csr", dtype="numeric", input_name=name, estimator=estimator)
        if not issparse(rows):
            return csr_array(rows)
        if rows.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"{name} has {rows.shape[1]} features: expected at most {np.iinfo(np.int32).max}")
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows

    def mean(self, rows: SparseRows, weights: NDArray[np.float64]) -> SparseRows:
        return csr_array(np.reshape((weights / weights.sum()) @ rows, (1, -1)))

    def to(self, points: SparseRows, X: SparseRows, n_jobs: int) -> Columns:
        return _SparseColumns(self.name, points, X, n_jobs)


class _SparseColumns(Columns):
    def __init__(self, name: str, points: SparseRows, X: SparseRows, n_jobs: int) -> None:
        self.n_rows, self.n_columns = X.shape[0], points.shape[0]
        self.dtype = output_dtype(compute_dtype(points.dtype, X.dtype))
        mean_values = 1 + X.nnz // self.n_rows
        work = mean_values * self.n_columns
        self.tile_rows = min(_tiles.NATIVE_TILE_WORK // work, _tiles.TILE_ENTRIES // max(mean_values, self.n_columns))
        self._packed = _core.SparseColumns(*parts_of(points, slice(0, self.n_columns)), points.shape[1], name)
        self._X, self._n_jobs = X, n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        self._packed.fill(*parts_of(self._X, rows), out, self._n_jobs)


def parts_of(X: SparseRows, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return where each of these rows begins, the features and the values; only these rows are converted."""
    starts = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
    values = slice(int(starts[0]), int(starts[-1]))
    features = np.ascontiguousarray(X.indices[values], dtype=np.int32)
    return starts - starts[0], features, np.ascontiguousarray(X.data[values], dtype=np.float64)
