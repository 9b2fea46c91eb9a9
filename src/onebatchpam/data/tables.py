"""The columns of a mixed table: a pandas or polars frame, or an array of anything."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import check_array

from onebatchpam.data.sources import is_path

UNSEEN = -1.0  # at least 1 away from every code of the data that were fitted


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table."""

    name: Hashable
    values: NDArray[Any]
    levels: list[Any] | None = None  # the categories in their order, if the column knows one
    is_ordered: bool = False

    @property
    def holds_numbers(self) -> bool:
        """Tell whether all values are numbers, dates or durations; truth values are not."""
        if self.values.dtype.kind != "O":
            return self.values.dtype.kind in "iufmM"
        types = set(map(type, self.values.tolist())) - {type(None)}
        return bool(types) and all(issubclass(each, Real) and not issubclass(each, (bool, np.bool_)) for each in types)

    @property
    def kind(self) -> str:
        if self.is_ordered:
            return "ordinal"
        return "numeric" if self.levels is None and self.holds_numbers else "categorical"

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, dates as seconds since an epoch, with NaN for missing ones."""
        if self.values.dtype.kind in "mM":  # in whatever unit: new rows may come in another than those of the fit
            durations = self.values - np.datetime64(0, "s") if self.values.dtype.kind == "M" else self.values
            return np.asarray(durations / np.timedelta64(1, "s"))
        try:
            numbers = np.asarray(self.values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {self.name!r} is numeric: {error}; expected numbers or missing values") from error
        if np.isinf(numbers).any():
            raise ValueError(f"column {self.name!r} contains infinity: expected finite numbers or missing values")
        return numbers

    def distinct(self) -> list[Any]:
        """Return the values that occur, missing ones left out, each once."""
        return [value for value in self._distinct_objects() if not is_missing(value)]

    def encoded(self, codes: Mapping[Any, float]) -> NDArray[np.float64]:
        """Return the code of every value."""
        own = {value: np.nan if is_missing(value) else codes.get(value, UNSEEN) for value in self._distinct_objects()}
        return np.fromiter(map(own.__getitem__, self.values.tolist()), np.float64, len(self.values))

    def _distinct_objects(self) -> Iterable[Any]:
        try:
            return dict.fromkeys(self.values.tolist())
        except TypeError as error:
            raise TypeError(
                f"column {self.name!r} has an {error}: the argument must be a table of strings, numbers or other "
                "hashable values"
            ) from error


def is_missing(value: Any) -> bool:
    """Tell whether this is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    differs = value != value
    return bool(differs) if isinstance(differs, (bool, np.bool_)) else differs is value  # NA != NA is NA


def columns_of(table: Any) -> Iterator[TableColumn]:
    """Return the columns of a pandas or polars frame or of an array, whose columns are named by number."""
    if hasattr(table, "iloc"):
        for position, name in enumerate(table.columns):
            yield _pandas_column(name, table.iloc[:, position])
    elif hasattr(table, "get_columns"):
        for series in table.get_columns():
            is_enum = type(series.dtype).__name__ == "Enum"
            yield TableColumn(series.name, series.to_numpy(), list(series.dtype.categories) if is_enum else None)
    else:
        for position in range(table.shape[1]):
            yield TableColumn(position, table[:, position])


def _pandas_column(name: Hashable, series: Any) -> TableColumn:
    kind = series.dtype.kind
    if kind in "iuf":
        return TableColumn(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "mM":
        return TableColumn(name, series.to_numpy(dtype="datetime64[ns]" if kind == "M" else "timedelta64[ns]"))
    objects = series.to_numpy(dtype=object, na_value=None)
    if hasattr(series, "cat"):
        return TableColumn(name, objects, list(series.cat.categories), bool(series.cat.ordered))
    return TableColumn(name, objects)


def check_table(X: Any, name: str, estimator: object) -> Any:
    """Return X as a frame, or as an array of two dimensions with the values it has."""
    if is_path(X):
        raise ValueError(
            f"{name}={os.fspath(X)!r} is a path: metric='gower' takes tables in memory; read it into a frame"
        )
    if not hasattr(X, "iloc") and not hasattr(X, "get_columns"):
        kept = isinstance(X, np.ndarray) or issparse(X)
        dtype = None if kept else object  # NumPy would make strings of lists of numbers and strings
        return check_array(X, dtype=dtype, ensure_all_finite=False, input_name=name, estimator=estimator)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"{name} has shape {X.shape}: expected a table with rows and columns")
    return X
