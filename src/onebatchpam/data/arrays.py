"""Rows of numbers and precomputed matrices, as users pass them in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from onebatchpam.data.sources import is_path, open_npy
from onebatchpam.data.stored import is_stored, open_rows


def check_rows(X: ArrayLike, name: str, *, allow_nan: bool = False, estimator: object = None) -> Any:
    """Return X as a two-dimensional numeric array of the type it has; copied only if it is no array.

    What is on disk stays there, and is checked when it is read.
    """
    if is_stored(X):
        return open_rows(X, name, allow_nan=allow_nan)
    return check_array(
        X,
        dtype="numeric",
        ensure_all_finite="allow-nan" if allow_nan else True,
        input_name=name,
        estimator=estimator,
    )


def check_matrix(X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
    """Return precomputed dissimilarities as a two-dimensional numeric array, not copied if X is an array or memmap.

    The entries are checked when they are read: most never are.
    """
    if is_path(X):
        X = open_npy(Path(X), name)  # type: ignore[arg-type]
    return check_array(X, dtype="numeric", ensure_all_finite=False, input_name=name, estimator=estimator)


def check_square(X: NDArray[Any]) -> NDArray[Any]:
    """Check that a matrix of dissimilarities has a row and a column for each point."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric='precomputed' expects a square matrix of dissimilarities, got shape {X.shape}; "
            "an n x m block goes to onebatchpam.swap_search"
        )
    return X
