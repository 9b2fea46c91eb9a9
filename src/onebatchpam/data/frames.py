"""Frames: tables in memory whose columns have names and types, of pandas, polars, Arrow and other libraries.

narwhals makes them alike. A metric of numbers takes a frame whose columns are all numeric; errors name the column at
fault, what it holds, and a metric that takes it.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from onebatchpam._tiles import Indices

Column = Any  # a series of narwhals, whose type differs between its versions

TAKES_MIXED = "pass metric='gower', which compares mixed tables, or leave the column out"
TAKES_MISSING = "pass metric='nan_euclidean' or 'gower', which take missing values, or fill them in"


def open_frame(X: Any, name: str) -> nw.DataFrame[Any] | None:
    """Return X as a frame of narwhals; None if X is not a frame."""
    frame = open_native(X, name)
    return frame if isinstance(frame, nw.DataFrame) else None


def open_native(X: Any, name: str) -> Any:
    """Return X as a frame or series of narwhals if it is one, otherwise X itself.

    Raise if X is a lazy frame: a plan, without values.
    """
    if isinstance(X, np.ndarray):  # narwhals would ask for each library in turn, longer than a small fit takes
        return X
    try:
        native = nw.from_native(X, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        columns = list(X.columns)
        twice = next(column for column in columns if columns.count(column) > 1)
        raise ValueError(f"{name} has several columns {twice!r}: expected distinct names") from None
    if isinstance(native, nw.LazyFrame):
        library = type(X).__module__.partition(".")[0]
        advice = "use onebatchpam.dask.OneBatchPAM" if library == "dask" else "pass X.collect()"
        raise ValueError(f"{name} is a lazy frame of {library}: expected data in memory; {advice}")
    return native


def check_columns(frame: nw.DataFrame[Any], name: str, *, allow_nan: bool) -> None:
    """Raise unless all columns of a frame hold numbers or truth values, and unless all of them are known."""
    for column in frame.iter_columns():
        held = describe_content(column)
        if held == "vectors":
            raise ValueError(
                f"column {column.name!r} of {name} holds vectors, beside other columns: expected numbers; pass "
                f"X[{column.name!r}] to compare the vectors"
            )
        if held is not None:
            raise ValueError(f"column {column.name!r} of {name} holds {held}: expected numbers; {TAKES_MIXED}")
    for column in frame.iter_columns():
        n_missing = 0 if allow_nan else count_missing(column)
        if n_missing:
            raise ValueError(
                f"column {column.name!r} of {name} lacks {n_missing:,} of {len(column):,} values (NaN): {TAKES_MISSING}"
            )


def describe_content(column: Column) -> str | None:
    """Return what a column holds, in words; None if it holds numbers or truth values."""
    dtype = column.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return None
    if dtype in (nw.Object, nw.Unknown):  # a column of pandas that may hold anything, also numbers
        strange = [value for value in column.to_list() if not isinstance(value, Real) and not is_missing(value)]
        if strange and isinstance(strange[0], (np.ndarray, list, tuple)):
            return "vectors"
        return f"{strange[0]!r} of type {type(strange[0]).__name__}" if strange else None
    words = {
        "text": (nw.String,),
        "categories": (nw.Categorical, nw.Enum),
        "dates": (nw.Date, nw.Datetime),
        "times": (nw.Time, nw.Duration),
        "vectors": (nw.List, nw.Array),
    }
    return next((word for word, dtypes in words.items() if dtype in dtypes), f"values of type {dtype}")


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    differs = value != value
    # The comparison pandas.NA != pandas.NA is neither true nor false, but pandas.NA again.
    return bool(differs) if isinstance(differs, (bool, np.bool_)) else differs is value


def count_missing(column: Column) -> int:
    """Return how many values of a column are missing or NaN."""
    n_missing = int(column.null_count())
    return n_missing + int(column.is_nan().sum() or 0) if not n_missing and column.dtype.is_float() else n_missing


def take_rows(table: Any, indices: Indices) -> Any:
    """Return the rows of these indices as a table of the same library, or as an array."""
    frame = open_frame(table, "X")
    return table[indices] if frame is None else frame[np.asarray(indices)].to_native()


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns; None for an array, whose columns have no names."""
    frame = open_frame(table, "X")
    return None if frame is None else frame.columns


def stack_vectors(X: Any, name: str) -> Any:
    """Return the matrix whose rows are the vectors in a column of vectors, such as embeddings; otherwise X itself.

    X may be a frame with this only column, a series, or an array of vectors.
    """
    column = open_native(X, name)
    if isinstance(column, nw.DataFrame) and column.shape[1] == 1:
        column = column[:, 0]
    vectors = column.to_numpy() if isinstance(column, nw.Series) else column
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_numpy"):  # an Arrow array, which is not a column
        vectors = X.to_numpy(zero_copy_only=False)
    if not isinstance(vectors, np.ndarray) or not holds_vectors(vectors):
        # polars returns a column of arrays as a matrix.
        is_matrix = isinstance(vectors, np.ndarray) and vectors.ndim == 2
        return vectors if is_matrix else X
    lengths = [np.size(vector) for vector in vectors]
    if len(set(lengths)) > 1:
        other = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"{name}[0] has {lengths[0]} numbers and {name}[{other}] has {lengths[other]}: expected vectors of the "
            "same length"
        )
    return np.stack(list(vectors))


def holds_vectors(values: np.ndarray[Any, Any]) -> bool:
    """Tell whether an array holds one vector of numbers after the other, to judge by the first."""
    return (
        values.ndim == 1
        and values.dtype == object
        and len(values) > 0
        and isinstance(values[0], (np.ndarray, list, tuple))
        and np.asarray(values[0]).dtype.kind in "biuf"
    )
