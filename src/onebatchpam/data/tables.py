"""Tables with columns of several kinds: pandas and polars frames, Arrow tables, arrays of objects, Parquet files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing, check_array

from onebatchpam._optional import require
from onebatchpam._tiles import Indices
from onebatchpam.data.objects import as_objects
from onebatchpam.data.rows import ArrayRows, EncodedRows, Rows
from onebatchpam.data.sources import EncodedSource, ParquetFiles, is_parquet, is_path
from onebatchpam.data.stored import StoredRows

Encoder = Callable[[Any], NDArray[np.float32]]  # turns each row of a table into a row of numbers

UNSEEN = -1.0  # code of a value that the fit did not see: at least 1, a full mismatch, away from all other codes


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table."""

    name: Hashable
    values: NDArray[Any]
    levels: list[Any] | None = None  # the categories in their order, if the column has declared them
    is_ordered: bool = False

    @property
    def holds_numbers(self) -> bool:
        """Whether all values are numbers, or dates or durations of NumPy; booleans do not count as numbers."""
        if self.values.dtype.kind != "O":
            return self.values.dtype.kind in "iufmM"
        types = set(map(type, self.values.tolist())) - {type(None)}
        return bool(types) and all(issubclass(each, Real) and not issubclass(each, (bool, np.bool_)) for each in types)

    @property
    def kind(self) -> str:
        """The kind of the column unless the user names one: "numeric", "ordinal" or "categorical"."""
        if self.is_ordered:
            return "ordinal"
        return "numeric" if self.levels is None and self.holds_numbers else "categorical"

    def as_floats(self) -> NDArray[np.float64]:
        """Return the values as numbers: dates and durations in seconds, missing values as NaN."""
        if self.values.dtype.kind in "mM":
            # Always in seconds, because new rows may have another unit than the rows of the fit.
            durations = self.values - np.datetime64(0, "s") if self.values.dtype.kind == "M" else self.values
            return np.asarray(durations / np.timedelta64(1, "s"))
        try:
            numbers = np.asarray(self.values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {self.name!r} is numeric: {error}; expected numbers or missing values, or "
                f"metric_params={{'kinds': {{{self.name!r}: 'categorical'}}}}"
            ) from error
        if np.isinf(numbers).any():
            raise ValueError(f"column {self.name!r} contains infinity: expected finite numbers or missing values")
        return numbers

    def distinct(self) -> list[Any]:
        """Return the distinct values of the column, without missing ones."""
        return [value for value in self._distinct_objects() if not is_missing(value)]

    def encoded(self, codes: Mapping[Any, float]) -> NDArray[np.float64]:
        """Return the code of every value: NaN for a missing value, UNSEEN for a value that has no code."""
        own = {value: np.nan if is_missing(value) else codes.get(value, UNSEEN) for value in self._distinct_objects()}
        return np.fromiter(map(own.__getitem__, self.values.tolist()), np.float64, len(self.values))

    def _distinct_objects(self) -> Iterable[Any]:
        try:
            return dict.fromkeys(self.values.tolist())
        except TypeError as error:
            # check_estimator of scikit-learn expects the words "argument must be ... string ... number".
            raise TypeError(
                f"column {self.name!r} has an {error}: the argument must be a table of strings, numbers or other "
                "hashable values"
            ) from error


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    differs = value != value
    # The comparison pandas.NA != pandas.NA is neither true nor false, but pandas.NA again.
    return bool(differs) if isinstance(differs, (bool, np.bool_)) else differs is value


def columns_of(table: Any) -> Iterator[TableColumn]:
    """Yield the columns of a pandas, polars or Arrow table, or of an array, whose columns are named 0, 1, ..."""
    if hasattr(table, "iloc"):
        for position, name in enumerate(table.columns):
            yield _pandas_column(name, table.iloc[:, position])
    elif is_arrow(table):
        for name, column in zip(table.column_names, table.columns, strict=True):
            yield _arrow_column(name, column)
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


def _arrow_column(name: Hashable, column: Any) -> TableColumn:
    arrow_types = require("pyarrow.types", extra="parquet", needed_by="an Arrow table")
    kind = column.type
    if arrow_types.is_dictionary(kind):
        column = column.unify_dictionaries()
        levels = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
        return TableColumn(name, as_objects(column.to_pylist()), levels, bool(kind.ordered))
    if arrow_types.is_decimal(kind):
        column = column.cast("float64")
    values = column.to_numpy()
    if values.dtype.kind in "iufmM":
        return TableColumn(name, values)
    return TableColumn(name, as_objects(column.to_pylist()))


def is_arrow(table: Any) -> bool:
    """Tell whether a table is one of pyarrow, without importing pyarrow."""
    return hasattr(table, "column_names") and hasattr(table, "schema")


def column_names(table: Any) -> list[Hashable] | None:
    """Return the names of the columns; None for an array, whose columns have no names."""
    if is_arrow(table):
        return list(table.column_names)
    return list(table.columns) if hasattr(table, "columns") else None


def take_rows(table: Any, indices: Indices) -> Any:
    """Return the rows of these indices as a table of the same type."""
    return table.take(indices) if is_arrow(table) else _safe_indexing(table, indices)


class TableRows(Rows):
    """The rows of a table in memory. They can be compared once a metric has encoded them."""

    dtype = np.dtype(object)

    def __init__(self, table: Any) -> None:
        self.n, self.n_features = table.shape
        self.row_size, self.header = table.shape[1], table

    def parts(self) -> Iterator[tuple[slice, Any]]:
        """Yield all rows in parts: the range of the rows of a part, and a table in memory that holds them."""
        yield slice(0, self.n), self.header

    def encoded(self, encode: Encoder) -> Rows:
        """Return rows that are compared by the numbers into which `encode` turns the table."""
        return EncodedRows(self, ArrayRows(encode(self.header)))

    def tile(self, rows: slice) -> Any:
        raise TypeError("a table must be encoded before its rows are compared")

    def take(self, indices: Indices) -> TableRows:
        return TableRows(self.given(indices))

    def given(self, indices: Indices) -> Any:
        return take_rows(self.header, indices)


class StoredTable(TableRows):
    """The rows of a table in Parquet files, read a few row groups at a time."""

    def __init__(self, path: Path, name: str) -> None:
        self._files, self._name = ParquetFiles(path, name), name
        self.n, self.n_features = self._files.shape
        self.row_size, self.header = self._files.shape[1], self._files.schema.empty_table()

    def parts(self) -> Iterator[tuple[slice, Any]]:
        edges = self._files.windows(8 * self.row_size)
        for start, stop in itertools.pairwise(edges):
            first = int(start)
            for table in self._files.read_groups(start, stop):
                yield slice(first, first + table.num_rows), table
                first += table.num_rows

    def encoded(self, encode: Encoder) -> Rows:
        return EncodedRows(self, StoredRows(EncodedSource(self._files, encode), self._name, allow_nan=True))

    def given(self, indices: Indices) -> Any:
        """Return the rows of these indices as a pandas frame, or as an Arrow table if pandas is not installed."""
        arrow = require("pyarrow", extra="parquet", needed_by="an Arrow table")
        order = np.argsort(indices, kind="stable")
        chosen = [self.header]
        for rows, table in self.parts():
            first, last = np.searchsorted(indices[order], [rows.start, rows.stop])
            chosen.append(table.take(indices[order[first:last]] - rows.start))
        table = arrow.concat_tables(chosen).take(np.argsort(order))
        try:
            return table.to_pandas(date_as_object=False)
        except ImportError:
            return table


def check_table(X: Any, name: str, estimator: object) -> TableRows:
    """Return X as the rows of a table: X is a frame, an Arrow table, an array or lists of values, or a path."""
    if is_path(X):
        if not is_parquet(Path(X)):
            raise ValueError(
                f"{name} is the path {str(X)!r}: metric='gower' reads Parquet files; load any other file into a frame"
            )
        rows: TableRows = StoredTable(Path(X), name)
    elif hasattr(X, "iloc") or hasattr(X, "get_columns") or is_arrow(X):
        if len(X.shape) != 2:
            raise ValueError(f"{name} has shape {X.shape}: expected a table with rows and columns")
        rows = TableRows(X)
    else:
        keeps_type = isinstance(X, np.ndarray) or issparse(X)
        dtype = None if keeps_type else object  # otherwise NumPy would turn lists of numbers and strings into strings
        rows = TableRows(check_array(X, dtype=dtype, ensure_all_finite=False, input_name=name, estimator=estimator))
    if 0 in (rows.n, rows.n_features):
        raise ValueError(f"{name} has shape {(rows.n, rows.n_features)}: expected at least 1 row and 1 column")
    return rows
