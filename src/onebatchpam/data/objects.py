"""Data without features: strings, series of unequal length, anything that a dissimilarity can compare.

They are held as a one-dimensional array of Python objects, which indices can index as they do rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


def are_objects(X: Any) -> bool:
    """Say whether X is to be taken element by element: a list, a tuple, or one dimension that is not numeric."""
    if isinstance(X, (list, tuple)):
        return True
    if len(getattr(X, "shape", ())) != 1:
        return False
    dtype = getattr(X, "dtype", None)
    return not (isinstance(dtype, np.dtype) and dtype.kind in "biufc")  # numbers in one dimension miss the second


def are_strings(X: Any) -> bool:
    """Say whether X is meant to be a list of strings, to judge by the first."""
    return are_objects(X) and len(X) > 0 and isinstance(next(iter(X)), str)


def check_objects(X: Any, name: str) -> NDArray[np.object_]:
    """Return the elements of X, as they are, in an array of their own."""
    if not are_objects(X):
        kind = f"an array of shape {X.shape}" if hasattr(X, "shape") else f"of type {type(X).__name__}"
        raise ValueError(f"{name} is {kind}: expected a list or a one-dimensional array of objects")
    if len(X) == 0:
        raise ValueError(f"{name} has no elements (0 samples): a minimum of 1 is required")
    # Not np.asarray, which makes a table of elements that have the same length.
    return np.fromiter(cast(Iterable[Any], X), dtype=object, count=len(X))
