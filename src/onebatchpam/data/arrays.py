"""Checks of X if it holds numbers: rows of features, or a precomputed matrix of dissimilarities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from onebatchpam.data.rows import ArrayRows, Rows, SparseRows
from onebatchpam.data.sources import is_path, open_npy
from onebatchpam.data.stored import is_stored, open_rows


def check_rows(X: ArrayLike, name: str, *, allow_nan: bool = False, estimator: object = None) -> Rows:
    """Return X as rows of numbers; an array of numbers keeps its type and is not copied.

    A file is not read here, because its numbers are checked as they are read.
    """
    if is_stored(X):
        return open_rows(X, name, allow_nan=allow_nan)
    values = check_array(
        X,
        dtype="numeric",
        ensure_all_finite="allow-nan" if allow_nan else True,
        input_name=name,
        estimator=estimator,
    )
    return ArrayRows(values, header=X)


def check_matrix(X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
    """Return precomputed dissimilarities as a two-dimensional array; an array of numbers is not copied.

    The entries are checked as they are read, because most of them are never read.
    """
    if is_path(X):
        X = open_npy(Path(X), name)  # type: ignore[arg-type]
    return check_array(X, dtype="numeric", ensure_all_finite=False, input_name=name, estimator=estimator)


def check_sparse(X: Any, name: str, estimator: object = None) -> SparseRows:
    """Return the rows of a sparse matrix of any format, or of an array; a matrix in canonical CSR is not copied."""
    matrix = check_array(X, accept_sparse="csr", dtype="numeric", input_name=name, estimator=estimator)
    if not issparse(matrix):
        return SparseRows(csr_array(matrix), header=X)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} has {matrix.shape[1]} features: expected at most {np.iinfo(np.int32).max}")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return SparseRows(matrix, header=X)
