"""Objects: data without features, such as strings or series of unequal length, which a metric compares as they are.

They are held in a one-dimensional array of Python objects, so that they can be indexed like rows of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


def are_objects(X: Any) -> bool:
    """Tell whether X holds objects to compare: it is a list, a tuple, or one-dimensional and not numeric."""
    if isinstance(X, (list, tuple)):
        return True
    if len(getattr(X, "shape", ())) != 1:
        return False
    dtype = getattr(X, "dtype", None)
    # Numbers in one dimension are rows that lack their second dimension, a mistake that is reported later.
    return not (isinstance(dtype, np.dtype) and dtype.kind in "biufc")


def are_strings(X: Any) -> bool:
    """Tell whether X is a list of strings, to judge by its first element."""
    return are_objects(X) and len(X) > 0 and isinstance(next(iter(X)), str)


def check_objects(X: Any, name: str) -> NDArray[np.object_]:
    """Return a new one-dimensional array that holds the elements of X as they are."""
    if not are_objects(X):
        kind = f"an array of shape {X.shape}" if hasattr(X, "shape") else f"of type {type(X).__name__}"
        columns: Any = getattr(X, "columns", [])
        advice = f"; pass {name}[{columns[0]!r}]" if len(columns) == 1 else ""
        raise ValueError(f"{name} is {kind}: expected a list or a one-dimensional array of objects{advice}")
    if len(X) == 0:
        raise ValueError(f"{name} has no elements (0 samples): a minimum of 1 is required")
    return as_objects(X)


def as_objects(values: Any) -> NDArray[np.object_]:
    """Return a new one-dimensional array that holds the elements of a sequence as they are.

    np.asarray would turn elements of equal length into the rows of a two-dimensional array.
    """
    return np.fromiter(cast(Iterable[Any], values), dtype=object, count=len(values))
