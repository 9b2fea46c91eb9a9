"""Rows of numbers, and precomputed matrices, as users pass them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from onebatchpam.data.rows import ArrayRows, Rows
from onebatchpam.data.sources import is_path, open_npy
from onebatchpam.data.stored import is_stored, open_rows


def check_rows(X: ArrayLike, name: str, *, allow_nan: bool = False, estimator: object = None) -> Rows:
    """Return rows of numbers in the type they have, copied only if X is not an array.

    A file is not read here: its numbers are checked whenever some of them are read.
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
    """Return precomputed dissimilarities as a two-dimensional array of numbers, not copied if X is an array.

    The entries are checked when they are read, because most of them never are.
    """
    if is_path(X):
        X = open_npy(Path(X), name)  # type: ignore[arg-type]
    return check_array(X, dtype="numeric", ensure_all_finite=False, input_name=name, estimator=estimator)
