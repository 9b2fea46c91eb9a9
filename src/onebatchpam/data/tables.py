"""Tables with columns of several kinds: pandas and polars frames, Arrow tables, arrays of objects, Parquet files."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onebatchpam._tiles import Indices
from onebatchpam.data.arrays import check_quietly
from onebatchpam.data.files import advise_on, is_path
from onebatchpam.data.frames import Column, is_missing, open_frame, take_rows
from onebatchpam.data.objects import as_objects
from onebatchpam.data.parquet import EncodedSource, ParquetFiles, as_frame, is_parquet
from onebatchpam.data.rows import ArrayRows, EncodedRows, Rows
from onebatchpam.data.stored import StoredRows

Encoder = Callable[[Any], NDArray[np.float32]]  # turns each row of a table into a row of numbers

NUMBERS = (Real, Decimal)  # to Python, a Decimal is not Real
UNSEEN = -1.0  # code of a value that the fit did not see: at least 1, a full mismatch, away from all other codes
MISSING = -1  # position of a missing value: that of the last entry of an array, which stands for it


@dataclass(frozen=True)
class Coding:
    """The values of a column as positions in the list of its distinct values, or MISSING."""

    distinct: list[Any]
    positions: NDArray[np.integer[Any]]

    @classmethod
    def of(cls, values: list[Any]) -> Coding:
        """Code a list of values of any types; raise TypeError if one of them cannot be hashed."""
        position_of = dict.fromkeys(values, MISSING)
        distinct = [value for value in position_of if not is_missing(value)]
        position_of.update(zip(distinct, itertools.count()))
        return cls(distinct, np.fromiter(map(position_of.__getitem__, values), np.intp, len(values)))

    def values(self) -> NDArray[np.object_]:
        """Return the value of each row; None stands for missing ones."""
        return as_objects([*self.distinct, None])[self.positions]


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table."""

    name: Hashable
    values: NDArray[Any]
    levels: list[Any] | None = None  # the categories in their order, if the column has declared them
    is_ordered: bool = False
    known_coding: Coding | None = None  # how `values` are coded, if the library of the table could tell

    def with_values(self, values: NDArray[Any]) -> TableColumn:
        """Return the column with other values."""
        return TableColumn(self.name, values, self.levels, self.is_ordered)

    @cached_property
    def coding(self) -> Coding:
        """How the values are coded."""
        if self.known_coding is not None:
            return self.known_coding
        try:
            return Coding.of(self.values.tolist())
        except TypeError as error:
            # check_estimator of scikit-learn expects the words "argument must be ... string ... number".
            raise TypeError(
                f"column {self.name!r} has an {error}: the argument must be a table of strings, numbers or other "
                "hashable values"
            ) from error

    @property
    def holds_numbers(self) -> bool:
        """Whether all values are numbers, or dates or durations of NumPy; booleans do not count as numbers."""
        if self.values.dtype.kind != "O":
            return self.values.dtype.kind in "iufmM"
        types = set(map(type, self.values.tolist())) - {type(None)}
        return bool(types) and all(
            issubclass(each, NUMBERS) and not issubclass(each, (bool, np.bool_)) for each in types
        )

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
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"column {self.name!r} is numeric: {error}; expected numbers or missing values, or "
                f"metric_params={{'kinds': {{{self.name!r}: 'categorical'}}}}"
            ) from error
        if np.isinf(numbers).any():
            raise ValueError(f"column {self.name!r} contains infinity: expected finite numbers or missing values")
        return numbers

    def distinct(self) -> list[Any]:
        """Return the distinct values of the column, without missing ones."""
        return self.coding.distinct

    def n_missing(self) -> int:
        """Return how many values are missing."""
        kind = self.values.dtype.kind
        if kind in "fmM":
            return int(np.count_nonzero(np.isnan(self.values) if kind == "f" else np.isnat(self.values)))
        return int(np.count_nonzero(self.coding.positions == MISSING)) if kind == "O" else 0

    def encoded(self, codes: Mapping[Any, float]) -> NDArray[np.float64]:
        """Return the code of every value: NaN for a missing value, UNSEEN for a value that has no code."""
        of_distinct = [codes.get(value, UNSEEN) for value in self.coding.distinct]
        return np.array([*of_distinct, np.nan])[self.coding.positions]


def columns_of(table: Any) -> Iterator[TableColumn]:
    """Yield the columns of a frame, or of an array, whose columns are named 0, 1, ..."""
    frame = open_frame(table, "X")
    if frame is not None:
        yield from map(_frame_column, frame.iter_columns())
        return
    for position in range(table.shape[1]):
        values = table[:, position]
        yield TableColumn(position, as_dates(values) if values.dtype == object else values)


def _frame_column(column: Column) -> TableColumn:
    dtype = column.dtype
    if dtype.is_integer():  # cast by NumPy, because Arrow refuses to round integers beyond 2^53
        return TableColumn(column.name, column.to_numpy().astype(np.float64))
    if dtype.is_numeric():
        return TableColumn(column.name, column.cast(nw.Float64()).to_numpy())
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return TableColumn(column.name, column.to_numpy())
    if dtype not in (nw.String, nw.Boolean, nw.Categorical, nw.Enum):
        return TableColumn(column.name, as_dates(as_objects(column.to_list())))
    declares = dtype in (nw.Categorical, nw.Enum)
    levels = find_levels(column) if declares else None
    coding = code_column(column)
    return TableColumn(column.name, coding.values(), levels, declares and is_ordered(column), coding)


def code_column(column: Column) -> Coding:
    """Code a column of text, categories or truth values by means of its library."""
    if column.implementation.is_pandas_like():
        positions, distinct = column.to_native().factorize()
        return Coding(distinct.tolist(), positions)
    distinct = column.drop_nulls().unique(maintain_order=True).to_list()
    if not distinct:
        return Coding([], np.full(len(column), MISSING))
    positions = column.replace_strict(distinct, list(range(len(distinct))), return_dtype=nw.Int64)
    return Coding(distinct, positions.fill_null(MISSING).to_numpy())


def find_levels(column: Column) -> list[Any] | None:
    """Return the categories that a column has declared, in their order; a Categorical of polars declares none."""
    if column.dtype == nw.Enum:
        return list(column.dtype.categories)
    return None if column.implementation.is_polars() else column.cat.get_categories().to_list()


def is_ordered(column: Column) -> bool:
    """Tell whether the categories of a column were declared to be ordered; those of an Enum of polars were not."""
    native = column.to_native()
    if column.implementation.is_pyarrow():
        return bool(native.type.ordered)
    return column.dtype == nw.Enum and not column.implementation.is_polars()


def as_dates(values: NDArray[np.object_]) -> NDArray[Any]:
    """Return objects as an array of dates if all of them are dates or missing, otherwise as they are."""
    dates = (datetime.date, np.datetime64)
    if not any(issubclass(each, dates) for each in set(map(type, values.tolist()))):
        return values  # most columns: without asking each value whether it is missing
    if not all(isinstance(value, dates) or is_missing(value) for value in values):
        return values
    return np.array([None if is_missing(value) else to_utc(value) for value in values], "datetime64[us]")


def to_utc(value: Any) -> Any:
    """Return a date without its time zone, which NumPy does not know."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


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

    def __init__(self, path: Any, name: str) -> None:
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
        return EncodedRows(self, StoredRows(EncodedSource(self._files, encode), self._name))

    def given(self, indices: Indices) -> Any:
        return as_frame(self._files.take(indices, self._files.schema.names))

    def show(self, indices: Indices) -> Any:
        return as_frame(self._files.take(indices))


def check_table(X: Any, name: str, estimator: object) -> TableRows:
    """Return X as the rows of a table: X is a frame, an Arrow table, an array or lists of values, or a path."""
    if is_path(X):
        if not is_parquet(Path(X)):
            raise ValueError(
                f"{name} is the path {str(X)!r}: metric='gower' reads Parquet files"
                f"{advise_on(Path(X)) or '; load any other file into a frame'}"
            )
        rows: TableRows = StoredTable(X, name)
    elif open_frame(X, name) is not None:
        rows = TableRows(X)
    else:
        keeps_type = isinstance(X, np.ndarray) or issparse(X)
        dtype = None if keeps_type else object  # otherwise NumPy would turn lists of numbers and strings into strings
        rows = TableRows(check_quietly(X, dtype=dtype, ensure_all_finite=False, input_name=name, estimator=estimator))
    if 0 in (rows.n, rows.n_features):
        raise ValueError(f"{name} has shape {(rows.n, rows.n_features)}: expected at least 1 row and 1 column")
    return rows
