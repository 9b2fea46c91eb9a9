"""Parquet files and folders of them, read by row groups: columns of numbers, a column of vectors, or a mixed table."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._optional import require
from onebatchpam._parameters import describe
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.data.sources import (
    KEPT_BYTES,
    READ_BYTES,
    Source,
    check_not_empty,
    read_state,
    refuse_changed,
    refuse_special,
)

PARQUET_SUFFIXES = (".parquet", ".pq")
# Names that hardly any column but an id has. The name alone decides, because no values are read before a fit.
NAME_OF_ID_ONLY = re.compile(r"(.*[_ ])?(id|uuid|index)", re.IGNORECASE)


class ParquetScan(os.PathLike[str]):
    """A Parquet file or folder with the columns that are the rows; see `scan_parquet`."""

    def __init__(self, path: str | os.PathLike[str], columns: tuple[str, ...] | None) -> None:
        self.path, self.columns = Path(path), columns

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"scan_parquet({str(self.path)!r}, columns={None if self.columns is None else list(self.columns)!r})"


def scan_parquet(path: str | os.PathLike[str], columns: str | Sequence[str] | None = None) -> ParquetScan:
    """Choose the columns of Parquet files that are to be compared; pass the result as X.

    No data are read here: a fit reads the files in parts, as it does if X is a path.

    Parameters
    ----------
    path : path
        A Parquet file, or a folder of Parquet files.
    columns : str or list of str, default=None
        The columns to compare: columns of numbers; one column of vectors, such as embeddings; one column of strings
        for a metric of text; or columns of any kind for ``metric="gower"``. None means all columns, or the column of
        vectors if there is one.

    Returns
    -------
    ParquetScan
        The path and the columns, to be passed as X.

    Examples
    --------
    >>> from onebatchpam import OneBatchPAM, scan_parquet
    >>> X = scan_parquet("items.parquet", columns="embedding")
    >>> OneBatchPAM(n_clusters=100, metric="cosine").fit(X)  # doctest: +SKIP
    """
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ValueError(f"{describe(path, 'path')}: expected the path of a Parquet file, or of a folder of them")
    names = [columns] if isinstance(columns, str) else columns
    if names is not None and not are_names(names):
        raise ValueError(f"{describe(columns, 'columns')}: expected the name of a column, a list of names, or None")
    return ParquetScan(path, None if names is None else tuple(names))


def are_names(columns: Any) -> bool:
    """Tell whether these are the names of columns: a list of one or more distinct strings."""
    are_strings = isinstance(columns, (list, tuple)) and all(isinstance(name, str) and name for name in columns)
    return are_strings and len(set(columns)) == len(columns) > 0


class ParquetFiles:
    """A Parquet file, or the Parquet files of a folder in the order of their names, read by row groups."""

    def __init__(self, path: Any, name: str) -> None:
        self._parquet = require("pyarrow.parquet", extra="parquet", needed_by="reading Parquet files")
        files = parquet_files(Path(path))
        # Of each row group: its file, the metadata of that file, and the index of the group in it.
        self._groups: list[tuple[Path, Any, int]] = []
        self._states: dict[Path, tuple[int, int, int]] = {}
        sizes = []
        for file in files:
            refuse_special(file, name)
            self._states[file] = read_state(file)
            with naming(file):
                metadata = self._parquet.read_metadata(file)
                schema = without_index(metadata.schema.to_arrow_schema())
            if file == files[0]:
                self.schema = schema
            elif (schema.names, schema.types) != (self.schema.names, self.schema.types):
                raise ValueError(
                    f"{name} has the columns {describe_columns(schema)} in {file}: expected those of {files[0]}, "
                    f"{describe_columns(self.schema)}"
                )
            for group in range(metadata.num_row_groups):
                if metadata.row_group(group).num_rows:
                    self._groups.append((file, metadata, group))
                    sizes.append(metadata.row_group(group).num_rows)
        self._edges = np.cumsum([0, *sizes])
        self._all_columns = self.schema.names
        self.are_chosen = isinstance(path, ParquetScan) and path.columns is not None  # whether the user chose columns
        if self.are_chosen:
            self.choose(path.columns, name)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and the number of columns that are read."""
        return int(self._edges[-1]), len(self.schema.names)

    def choose(self, columns: Sequence[str], name: str) -> None:
        """Read only these columns from now on."""
        unknown = [column for column in columns if column not in self._all_columns]
        if unknown:
            raise ValueError(
                f"columns names {unknown[0]!r}, which {name} does not have: expected names among {self._all_columns}"
            )
        schema = require("pyarrow", extra="parquet", needed_by="reading Parquet files").schema
        self.schema = schema([self.schema.field(column) for column in columns])

    def windows(self, row_bytes: int) -> Indices:
        """Merge adjacent row groups into windows of about READ_BYTES; return the edges of these windows."""
        least_rows = READ_BYTES // max(1, row_bytes)
        chosen = [0]
        for edge in self._edges[1:-1]:
            if edge - chosen[-1] >= least_rows:
                chosen.append(edge)
        return np.array([*chosen, self._edges[-1]])

    def read_groups(self, start: int, stop: int) -> list[Any]:
        """Return the row groups between two edges of windows, each as an Arrow table."""
        first, last = np.searchsorted(self._edges, [start, stop])
        return [self._read_group(number, self.schema.names) for number in range(first, last)]

    def take(self, indices: Indices, columns: Sequence[str] | None = None) -> Any:
        """Return the rows of these indices as an Arrow table; None means all columns, also those not compared."""
        order = np.argsort(indices, kind="stable")
        ordered, parts = indices[order], []
        for number in np.unique(np.searchsorted(self._edges, ordered, side="right") - 1):
            first, last = np.searchsorted(ordered, self._edges[number : number + 2])
            group = self._read_group(number, columns or self._all_columns)
            parts.append(group.take(ordered[first:last] - self._edges[number]))
        arrow = require("pyarrow", extra="parquet", needed_by="reading Parquet files")
        return arrow.concat_tables(parts).take(np.argsort(order))

    def _read_group(self, number: int, columns: Sequence[str]) -> Any:
        path, metadata, group = self._groups[number]
        # The file is opened anew for each row group, because a folder may hold more files than can be open at a time.
        try:
            with naming(path), self._parquet.ParquetFile(path, metadata=metadata) as file:
                table = file.read_row_group(group, columns=list(columns), use_threads=False)
                check_content(table)
        finally:
            if read_state(path) != self._states[path]:
                refuse_changed(path)
        if table.num_rows != metadata.row_group(group).num_rows:
            raise ValueError(
                f"row group {group} of {path} has {table.num_rows} rows, but its file says "
                f"{metadata.row_group(group).num_rows}: expected a file that is not damaged"
            )
        return table

    def check_complete(self, numbers: Any, dtype: np.dtype[Any], column: str, row: int) -> None:
        """Raise if numbers of a column, from this row on, are missing, unless the type has NaN for them."""
        if numbers.null_count and dtype.kind != "f":
            raise ValueError(
                f"column {column!r} lacks {numbers.null_count} values in {self._place_of(row)}: expected no missing "
                "values; fill them in, or leave these rows out"
            )

    def _place_of(self, row: int) -> str:
        """Return the name of the row group and of the file of a row, for errors."""
        path, _, group = self._groups[int(np.searchsorted(self._edges, row, side="right")) - 1]
        return f"row group {group} of {path}"


class ParquetSource(Source):
    """Parquet files, of which whole row groups are read."""

    neighbours = None
    can_read_ahead = True

    def __init__(self, files: ParquetFiles, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._files, self.shape, self.dtype = files, (files.shape[0], n_columns), dtype
        self.edges = files.windows(n_columns * dtype.itemsize)
        self.kept_bytes = KEPT_BYTES


class NumericSource(ParquetSource):
    """Parquet files whose rows are numbers, in the columns or in one column of vectors."""

    def show(self, indices: Indices) -> Any:
        return as_frame(self._files.take(indices))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        tables = self._files.read_groups(start, stop)  # first, because a damaged file may claim to have many rows
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        first = 0
        for table in tables:
            self._fill(rows[first : first + table.num_rows], table, start + first)
            first += table.num_rows
        return rows

    @abstractmethod
    def _fill(self, out: NDArray[Any], table: Any, first: int) -> None:
        """Write the rows of a table to `out`; errors count them from `first`."""


class NumberSource(NumericSource):
    """Parquet files of which all columns are numeric."""

    def __init__(self, files: ParquetFiles, name: str) -> None:
        super().__init__(files, files.shape[1], common_dtype(files.schema, name))

    @property
    def header(self) -> Any:
        return self._files.schema.empty_table()

    def _fill(self, out: NDArray[Any], table: Any, first: int) -> None:
        for position, column in enumerate(table.columns):
            self._files.check_complete(column, self.dtype, table.column_names[position], first)
            out[:, position] = column.to_numpy()


class VectorSource(NumericSource):
    """Parquet files with a column of vectors, such as embeddings, which are the rows."""

    def __init__(self, files: ParquetFiles) -> None:
        self._column = files.schema.names[0]
        dtype = number_dtype(files.schema.types[0].value_type)
        assert dtype is not None  # the column is one of vectors
        super().__init__(files, find_length(files), dtype)

    def _fill(self, out: NDArray[Any], table: Any, first: int) -> None:
        done = 0
        for vectors in table.column(0).chunks:
            self._check_lengths(vectors, first + done)
            numbers = vectors.flatten()
            self._files.check_complete(numbers, self.dtype, self._column, first + done)
            numbers = numbers.to_numpy(zero_copy_only=False)
            out[done : done + len(vectors)] = numbers.reshape(len(vectors), self.shape[1])
            done += len(vectors)

    def _check_lengths(self, vectors: Any, first: int) -> None:
        lengths = vectors.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False)
        bad = np.flatnonzero(lengths != self.shape[1])
        if len(bad):
            found = "is missing" if lengths[bad[0]] < 0 else f"has {lengths[bad[0]]} numbers"
            raise ValueError(
                f"the vector of row {first + bad[0]} in column {self._column!r} {found}: expected {self.shape[1]}, as "
                "in the first row"
            )


class EncodedSource(ParquetSource):
    """A mixed table in Parquet files that a metric encodes as numbers; a window is encoded when it is read."""

    is_encoded = True

    def __init__(self, files: ParquetFiles, encode: Callable[[Any], NDArray[np.float32]]) -> None:
        super().__init__(files, files.shape[1], np.dtype(np.float32))
        self._encode = encode

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        return np.concatenate([self._encode(table) for table in self._files.read_groups(start, stop)])


def find_length(files: ParquetFiles) -> int:
    """Return the length of the vectors: that of their type if it has one, otherwise that of the first vector."""
    column, kind = files.schema.names[0], files.schema.types[0]
    # A vector that is missing has the value None.
    length = getattr(kind, "list_size", None) or len(files.take(np.array([0])).column(column)[0].as_py() or ())
    if length == 0:
        raise ValueError(f"the vector of row 0 in column {column!r} is missing or empty: expected numbers")
    return length


def open_parquet(X: Any, name: str) -> Source:
    """Return the source for Parquet files of numbers: all columns, or the only column of vectors."""
    files = ParquetFiles(X, name)
    check_not_empty(files.shape, name)
    vectors = [field.name for field in files.schema if is_vector(field.type)]
    others = [column for column in files.schema.names if column not in vectors]
    if not vectors:
        warn_of_names_of_ids(files, name)
        return NumberSource(files, name)
    if len(vectors) > 1 or (others and files.are_chosen):
        raise ValueError(
            f"{name} has the columns {describe_columns(files.schema)}: expected one column of vectors, or columns of "
            f"numbers; choose one, as scan_parquet({str(Path(X))!r}, columns={vectors[0]!r})"
        )
    if others:
        warn(
            f"the rows of {name} are the vectors in column {vectors[0]!r}; other columns are left out: "
            f"{', '.join(map(repr, others))}. Choose columns by scan_parquet(path, columns=...)",
        )
        files.choose(vectors, name)
    return VectorSource(files)


def warn_of_names_of_ids(files: ParquetFiles, name: str) -> None:
    """Warn if a column of numbers is an id, to judge by its name alone, and the user has not chosen the columns."""
    ids = [column for column in files.schema.names if NAME_OF_ID_ONLY.fullmatch(column)]
    if ids and len(files.schema.names) > len(ids) and not files.are_chosen:
        warn(
            f"the column {ids[0]!r} of {name} counts as a feature like the others, although its name is that of an id; "
            "choose the columns to compare by scan_parquet(path, columns=[...])",
        )


def is_vector(kind: Any) -> bool:
    """Tell whether an Arrow type is a list of numbers."""
    return hasattr(kind, "value_type") and "list" in str(kind) and number_dtype(kind.value_type) is not None


def as_frame(table: Any) -> Any:
    """Return an Arrow table as a pandas frame, or as it is if pandas is not installed."""
    try:
        return table.to_pandas(date_as_object=False)
    except ImportError:
        return table


def check_content(table: Any) -> None:
    """Raise if a column holds what its type does not allow, as text that is not UTF-8: Arrow reads it unchecked."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in errors of pyarrow, which only say what is wrong with its content."""
    try:
        yield
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # an error of the operating system names the file
        raise ValueError(f"the file {str(path)!r} cannot be read as Parquet: {str(error).strip()}") from error


def parquet_files(path: Path) -> list[Path]:
    """Return the path itself if it is a file, or all Parquet files in the folder and below it that are not hidden."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.suffix in PARQUET_SUFFIXES and file.name[0] not in "._"]
    if not files:
        raise ValueError(f"there is no Parquet file in the folder {str(path)!r}: expected one or more files *.parquet")
    return files


def without_index(schema: Any) -> Any:
    """Return the schema without the columns in which pandas has stored the index of a frame."""
    for name in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(name, str):  # an index that is a plain range is described by a dictionary, and has no column
            schema = schema.remove(schema.get_field_index(name))
    return schema


def describe_columns(schema: Any) -> str:
    """Return the names and types of the columns, for errors."""
    return ", ".join(f"{name} ({kind})" for name, kind in zip(schema.names, schema.types, strict=True))


def number_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the NumPy type of an Arrow type that is numeric or boolean; None for any other."""
    try:
        dtype = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):  # for categories, and for times with a zone
        return None
    return dtype if dtype.kind in "biuf" else None


def common_dtype(schema: Any, name: str) -> np.dtype[Any]:
    """Return the NumPy type that can hold the values of all columns; raise if a column is not numeric."""
    kinds = [number_dtype(field.type) for field in schema]
    for field, kind in zip(schema, kinds, strict=True):
        if kind is None:
            raise ValueError(
                f"column {field.name!r} of {name} is of type {field.type}: expected numbers; leave it out of the file, "
                "or pass metric='gower', which compares mixed tables"
            )
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def is_parquet(path: Path) -> bool:
    """Tell whether a path names a Parquet file, or a folder, which is taken for a folder of Parquet files."""
    return path.suffix in PARQUET_SUFFIXES or path.is_dir()
