"""Rows that are not in memory: files and arrays on disk, which are read a window of rows at a time.

A `Source` knows how its rows are read, and where reading is best cut. `StoredRows` makes of it what a metric compares:
a slice gives a tile, an array of indices some rows. Tiles are asked for one after the other, so the next window is read
on a thread meanwhile; rows by index are read in the order of the file, neighbours at once. What is read is checked: no
pass over the data is made for that alone.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

READ_BYTES = 2**24  # about a window: long for a disk, short beside the block
LARGEST_READ_BYTES = 2**28  # a window of an array whose chunks are larger than this is less than a chunk
KEPT_BYTES = 2**28  # what had to be decoded is kept as long as it is no more than this
NEIGHBOUR_BYTES = 2**16  # rows as close as this in a file are read at once, with those between
SPARSE = 16  # where fewer than one row in this many is wanted, a window is not read for them

PARQUET_SUFFIXES = (".parquet", ".pq")


class Source(ABC):
    """Numbers in rows, somewhere."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    edges: Indices  # the windows: one from each to the next
    neighbours: int  # how many consecutive rows cost as much to read as one; 0 if that is a window
    kept_bytes: int  # of windows, and again of rows by index, that are worth keeping once they are read

    @abstractmethod
    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return these rows in an array of their own."""

    @property
    def header(self) -> Any:
        """What scikit-learn may look at for the number and the names of the features."""
        return self


class ArraySource(Source):
    """Anything with a shape, a type and slices of rows: a memory-mapped array, a Zarr array, a dataset of h5py."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        self._array = array
        row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        self.neighbours = chunk_rows(array) or max(1, NEIGHBOUR_BYTES // row_bytes)
        if self.neighbours * row_bytes > LARGEST_READ_BYTES:
            self.neighbours = max(1, READ_BYTES // row_bytes)
        window = -(-READ_BYTES // (self.neighbours * row_bytes)) * self.neighbours
        self.edges = np.append(np.arange(0, self.shape[0], window), self.shape[0])
        # What the system has read of a mapped file it keeps itself, but to collect rows from it takes time.
        self.kept_bytes = KEPT_BYTES // 4 if isinstance(array, np.memmap) else KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return np.array(self._array[start:stop], order="C", subok=False)


def chunk_rows(array: Any) -> int | None:
    """Return how many rows are in a chunk, if the array is stored in equal ones."""
    chunks = getattr(array, "chunks", None)
    return int(chunks[0]) if chunks and isinstance(chunks[0], (int, np.integer)) else None


class ParquetSource(Source):
    """The columns of a Parquet file, or of the files in a folder in the order of their names; read by row groups."""

    def __init__(self, path: Path, name: str) -> None:
        parquet = import_parquet()
        files = parquet_files(path)
        self._groups: list[tuple[Path, Any, int]] = []  # file, its metadata, number of the group in it
        sizes = []
        for file in files:
            metadata = parquet.read_metadata(file)
            schema = features_of(metadata.schema.to_arrow_schema())
            if file == files[0]:
                self._schema = schema
            elif (schema.names, schema.types) != (self._schema.names, self._schema.types):
                raise ValueError(
                    f"{name} has the columns {described(schema)} in {file}: expected those of {files[0]}, "
                    f"{described(self._schema)}"
                )
            for number in range(metadata.num_row_groups):
                if metadata.row_group(number).num_rows:
                    self._groups.append((file, metadata, number))
                    sizes.append(metadata.row_group(number).num_rows)
        self.dtype = common_dtype(self._schema, name)
        self._group_edges = np.cumsum([0, *sizes])
        self.shape = int(self._group_edges[-1]), len(self._schema.names)
        self.edges = merged(self._group_edges, READ_BYTES // max(1, self.shape[1] * self.dtype.itemsize))
        self.neighbours, self.kept_bytes = 0, KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        first, last = np.searchsorted(self._group_edges, [start, stop])
        for number in range(first, last):
            place = self._group_edges[number] - start
            self._read_group(number, rows[place : place + self._group_edges[number + 1] - self._group_edges[number]])
        return rows

    def _read_group(self, number: int, out: NDArray[Any]) -> None:
        path, metadata, group = self._groups[number]
        with import_parquet().ParquetFile(path, metadata=metadata) as file:
            table = file.read_row_group(group, columns=self._schema.names, use_threads=False)
        for position, column in enumerate(table.columns):
            if column.null_count and self.dtype.kind != "f":  # else it becomes NaN
                raise ValueError(
                    f"column {table.column_names[position]!r} lacks {column.null_count} values in row group {group} of "
                    f"{path}: expected a number in every row"
                )
            out[:, position] = column.to_numpy()

    @property
    def header(self) -> Any:
        return self._schema.empty_table()


def import_parquet() -> Any:
    """Return the library that reads Parquet files."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("to read Parquet files needs pyarrow: pip install 'onebatchpam[parquet]'") from error
    return pyarrow.parquet


def parquet_files(path: Path) -> list[Path]:
    """Return the file, or the files in the folder and below it that are not hidden."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.suffix in PARQUET_SUFFIXES and file.name[0] not in "._"]
    if not files:
        raise ValueError(f"there is no Parquet file in the folder {str(path)!r}: expected {WHAT_IS_READ}")
    return files


def features_of(schema: Any) -> Any:
    """Return the columns without those in which pandas has stored the index of a frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    for name in index:
        if isinstance(name, str):  # a range is no column
            schema = schema.remove(schema.get_field_index(name))
    return schema


def described(schema: Any) -> str:
    """Return the names and types of columns."""
    return ", ".join(f"{name} ({kind})" for name, kind in zip(schema.names, schema.types, strict=True))


def number_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the NumPy type of a column of numbers or truth values, None of any other."""
    try:
        dtype = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):  # categories; times with a zone
        return None
    return dtype if dtype.kind in "biuf" else None


def common_dtype(schema: Any, name: str) -> np.dtype[Any]:
    """Return the type that holds all columns."""
    kinds = [number_dtype(field.type) for field in schema]
    for field, kind in zip(schema, kinds, strict=True):
        if kind is None:
            raise ValueError(
                f"column {field.name!r} of {name} is of type {field.type}: expected numbers; leave it out of the file, "
                "or read the file into a frame for metric='gower'"
            )
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def merged(edges: Indices, least_rows: int) -> Indices:
    """Return some of the edges, between which are that many rows if not more, the first and the last included."""
    chosen = [0]
    for edge in edges[1:-1]:
        if edge - chosen[-1] >= least_rows:
            chosen.append(edge)
    return np.array([*chosen, edges[-1]])


class StoredRows:
    """Rows of a source, as a metric sees them."""

    ndim = 2

    def __init__(self, source: Source, name: str, *, allow_nan: bool = False) -> None:
        self.shape, self.dtype, self.header = source.shape, source.dtype, source.header
        self._source, self._name, self._allow_nan = source, name, allow_nan
        window_bytes = int(np.diff(source.edges).max()) * source.shape[1] * source.dtype.itemsize
        self._n_kept = max(1, source.kept_bytes // window_bytes)
        self._keeps_all = self._n_kept >= len(source.edges) - 1
        self._windows: OrderedDict[int, NDArray[Any]] = OrderedDict()  # those used last come last
        self._ahead: dict[int, Future[NDArray[Any]]] = {}  # the window that is being read, or none
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="onebatchpam-read")
        self._known_rows = np.empty(0, np.int64)  # those that were asked for by index, in order
        self._known = self._no_rows()

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Read everything, for those who must."""
        return np.array(self[:], dtype=dtype)

    def __getitem__(self, rows: slice | Indices) -> NDArray[Any]:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return self._between(start, stop)
        return self._gather(rows)

    def _between(self, start: int, stop: int) -> NDArray[Any]:
        first, last = self._window_of(start), self._window_of(stop - 1)
        parts = []
        for number in range(first, last + 1):
            edge = self._source.edges[number]
            parts.append(self._window(number)[max(start - edge, 0) : stop - edge])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _gather(self, indices: Indices) -> NDArray[Any]:
        rows, places = np.unique(indices, return_inverse=True)
        most_rows = 0 if self._keeps_all else self._source.kept_bytes // (self.shape[1] * self.dtype.itemsize)
        if not 0 < len(rows) <= most_rows or are_dense(rows) or self._are_here(rows):
            return self._collect(rows)[places]
        # Candidates and samples are asked for again and again; what is dense, or here already, is part of a pass.
        if len(self._known_rows) + len(rows) > most_rows:
            self._known_rows, self._known = self._known_rows[:0], self._no_rows()
        unknown = rows[~are_among(rows, self._known_rows)]
        if len(unknown):
            self._remember(unknown)
        return self._known[np.searchsorted(self._known_rows, rows)[places]]

    def _are_here(self, rows: Indices) -> bool:
        return all(number in self._windows for number in np.unique(self._window_of(rows)))

    def _remember(self, rows: Indices) -> None:
        known = np.concatenate([self._known_rows, rows])
        order = np.argsort(known, kind="stable")
        self._known_rows, self._known = known[order], np.concatenate([self._known, self._collect(rows)])[order]

    def _collect(self, rows: Indices) -> NDArray[Any]:
        """Read these rows, which are in order."""
        parts = [self._no_rows()]
        for in_window in split_by(rows, self._window_of(rows)):
            parts.extend(self._take(in_window, by_window=are_dense(rows)))
        return np.concatenate(parts)

    def _no_rows(self) -> NDArray[Any]:
        return np.empty((0, self.shape[1]), self.dtype)

    def _take(self, rows: Indices, *, by_window: bool) -> Iterator[NDArray[Any]]:
        """Return rows of one window, from the window itself if it is there or is to be read for them."""
        number, neighbours = int(self._window_of(rows[0])), self._source.neighbours
        start = self._source.edges[number]
        if number in self._windows or self._keeps_all or not neighbours or by_window:
            yield self._window(number)[rows - start]
            return
        for near in split_by(rows, rows // neighbours):
            yield self._read(int(near[0]), int(near[-1]) + 1)[near - near[0]]

    def _window_of(self, rows: Any) -> Any:
        return np.searchsorted(self._source.edges, rows, side="right") - 1

    def _window(self, number: int) -> NDArray[Any]:
        if number not in self._windows:
            ahead = self._ahead.pop(number, None)
            rows = self._read_window(number) if ahead is None else ahead.result()
            while len(self._windows) >= self._n_kept:
                self._windows.popitem(last=False)
            self._windows[number] = rows
        self._windows.move_to_end(number)
        self._read_ahead(number + 1)
        return self._windows[number]

    def _read_ahead(self, number: int) -> None:
        """Begin to read this window, if it is there to be read."""
        if number + 1 < len(self._source.edges) and number not in self._windows and number not in self._ahead:
            self._ahead = {number: self._thread.submit(self._read_window, number)}

    def _read_window(self, number: int) -> NDArray[Any]:
        start, stop = self._source.edges[number : number + 2]
        return self._read(int(start), int(stop))

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._source.read(start, stop)
        rows.flags.writeable = False
        self._check(rows, start)
        return rows

    def _check(self, rows: NDArray[Any], start: int) -> None:
        if rows.dtype.kind != "f":
            return
        with np.errstate(all="ignore"):
            if np.isfinite(rows.sum()):  # the quickest way to see that every number is
                return
        bad = np.isinf(rows) if self._allow_nan else ~np.isfinite(rows)
        if bad.any():
            row, column = np.unravel_index(np.argmax(bad), bad.shape)
            raise ValueError(
                f"{self._name}[{start + row}, {column}] is {rows[row, column]}: expected finite numbers"
                f"{' or NaN' if self._allow_nan else ''}"
            )


def are_among(rows: Indices, others: Indices) -> NDArray[np.bool_]:
    """Say which rows are among others; both are in order."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=bool)
    return others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] == rows


def are_dense(rows: Indices) -> bool:
    """Say whether rows are many, and so close to each other that what is between them may be read as well."""
    return bool(len(rows) >= SPARSE and rows[-1] - rows[0] <= len(rows) * SPARSE)


def split_by(rows: Indices, keys: Indices) -> list[Indices]:
    """Split rows where their keys change."""
    return np.split(rows, np.flatnonzero(np.diff(keys)) + 1) if len(rows) else []


WHAT_IS_READ = (
    "a .npy file, a Parquet file or a folder of them; arrays of Zarr and HDF5 are passed open, as "
    "zarr.open_array(path) or h5py.File(path)[name]"
)


def is_path(X: Any) -> bool:
    """Say whether X is the name of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def is_stored(X: Any) -> bool:
    """Say whether X is a table of numbers that is not in memory."""
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf"
    if is_path(X):
        return True
    # Not a list, a frame or a sparse matrix.
    dtype, has_columns = getattr(X, "dtype", None), hasattr(X, "iloc") or hasattr(X, "tocsr")
    return (
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" and len(getattr(X, "shape", ())) == 2 and not has_columns
    )


def open_rows(X: Any, name: str, *, allow_nan: bool = False) -> StoredRows:
    """Return the rows of a path or of an array that is not in memory."""
    source = open_source(X, name)
    if 0 in source.shape:
        raise ValueError(f"{name} has shape {source.shape}: a minimum of 1 row and 1 feature is required")
    return StoredRows(source, name, allow_nan=allow_nan)


def open_source(X: Any, name: str) -> Source:
    """Return what reads the rows of X."""
    if not is_path(X):
        return ArraySource(X)
    path = Path(X)
    if path.suffix == ".npy":
        return ArraySource(open_npy(path, name))
    if path.suffix in PARQUET_SUFFIXES or path.is_dir():
        return ParquetSource(path, name)
    raise ValueError(f"{name} is the path {str(path)!r}: expected {WHAT_IS_READ}")


def open_npy(path: Path, name: str) -> NDArray[Any]:
    """Return the array in a file, which is not read."""
    if path.suffix != ".npy":
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file")
    array: NDArray[Any] = np.load(path, mmap_mode="r")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is the file {str(path)!r} of shape {array.shape} and type {array.dtype}: expected rows of numbers"
        )
    return array


def in_memory(rows: Any) -> Any:
    """Return checked rows in memory, wherever they are; for few."""
    return np.asarray(rows) if isinstance(rows, StoredRows) else rows


def header_of(X: Any, rows: Any) -> Any:
    """Return what scikit-learn may look at for the number and the names of the features of X, which is now `rows`."""
    if isinstance(rows, StoredRows):
        return rows.header
    return rows if is_path(X) else X
