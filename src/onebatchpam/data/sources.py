"""Sources: data on disk, read in windows of consecutive rows.

They are .npy files, Parquet files and folders of them, and arrays of Zarr and h5py.
"""

from __future__ import annotations

import io
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onebatchpam._optional import require
from onebatchpam._tiles import Indices

READ_BYTES = 2**24  # approximate size of a window: large enough to read quickly, small beside a block
LARGEST_READ_BYTES = 2**28  # chunks of an array that are larger than this are read in parts
KEPT_BYTES = 2**28  # total size of the windows that are kept in memory, because decoding them again takes time
NEIGHBOUR_BYTES = 2**16  # wanted rows this close in a file are read together, with the rows between them

PARQUET_SUFFIXES = (".parquet", ".pq")
READABLE = (
    "a .npy file, a Parquet file or a folder of them, or the .npz file of a sparse matrix; pass arrays of Zarr and "
    "HDF5 open, as zarr.open_array(path) or h5py.File(path)[name]"
)


class Source(ABC):
    """A table of numbers on disk, read in windows of consecutive rows."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    edges: Indices  # the first row of each window, then the number of all rows
    neighbours: int | None  # wanted rows among this many consecutive rows are read together; None: by whole windows
    can_read_ahead: bool  # whether another thread may read while this one does
    kept_bytes: int  # at most this much of windows is kept in memory, and as much again of single rows

    @property
    def header(self) -> Any:
        """The object in which scikit-learn finds the number and the names of the features."""
        return self

    @abstractmethod
    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from `start` up to `stop` in a new array."""


class ArraySource(Source):
    """An object with a shape, a type and slices of rows: a memory-mapped array, a Zarr array or a dataset of h5py."""

    neighbours: int

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        self._array = array
        self.can_read_ahead = is_safe_in_threads(array)
        row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        self.neighbours = chunk_rows(array) or max(1, NEIGHBOUR_BYTES // row_bytes)
        if self.neighbours * row_bytes > LARGEST_READ_BYTES:
            self.neighbours = max(1, READ_BYTES // row_bytes)
        window = -(-READ_BYTES // (self.neighbours * row_bytes)) * self.neighbours
        self.edges = np.append(np.arange(0, self.shape[0], window), self.shape[0])
        # A mapped file gets a smaller cache, because the operating system keeps its pages in memory anyway. It gets one
        # at all because gathering rows from these pages takes time.
        self.kept_bytes = KEPT_BYTES // 4 if isinstance(array, np.memmap) else KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return np.array(self._array[start:stop], order="C", subok=False)


def is_safe_in_threads(array: Any) -> bool:
    """Tell whether several threads may read an array at once; nothing is known of a reader that the user wrote."""
    return isinstance(array, np.memmap) or type(array).__module__.partition(".")[0] in ("zarr", "h5py")


class NpySource(ArraySource):
    """The rows of a .npy file in C order, read and not mapped: so a file that shrinks is an error, not a crash.

    The file stays open, so that a file of the same name that takes its place is not read.
    """

    def __init__(self, path: Path, array: np.memmap[Any, Any]) -> None:
        super().__init__(array)
        self._array = None
        self._path, self._offset, self._lock = path, array.offset, threading.Lock()
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, descriptor)
        self._file = io.FileIO(descriptor, closefd=False)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        with self._lock:
            self._file.seek(self._offset + start * self.shape[1] * self.dtype.itemsize)
            n_bytes = self._file.readinto(rows.view(np.uint8).data) or 0
        if n_bytes < rows.nbytes:
            raise OSError(
                f"the file {str(self._path)!r} ends within row {start + n_bytes // rows[:1].nbytes} of "
                f"{self.shape[0]:,}: it became shorter while it was read"
            )
        return rows


def chunk_rows(array: Any) -> int | None:
    """Return the number of rows in a chunk; None if the array is not stored in chunks of equal size."""
    chunks = getattr(array, "chunks", None)
    return int(chunks[0]) if chunks and isinstance(chunks[0], (int, np.integer)) else None


class ParquetFiles:
    """A Parquet file, or the Parquet files of a folder in the order of their names, read by row groups."""

    def __init__(self, path: Path, name: str) -> None:
        self._parquet = require("pyarrow.parquet", extra="parquet", needed_by="reading Parquet files")
        files = parquet_files(path)
        # Of each row group: its file, the metadata of that file, and the index of the group in it.
        self._groups: list[tuple[Path, Any, int]] = []
        sizes = []
        for file in files:
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
        self.shape = int(self._edges[-1]), len(self.schema.names)

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
        return [self._read_group(*self._groups[number]) for number in range(first, last)]

    def _read_group(self, path: Path, metadata: Any, group: int) -> Any:
        with self._parquet.ParquetFile(path, metadata=metadata) as file:
            return file.read_row_group(group, columns=self.schema.names, use_threads=False)

    def place_of(self, row: int) -> str:
        """Return the name of the row group and of the file of a row, for errors."""
        path, _, group = self._groups[int(np.searchsorted(self._edges, row, side="right")) - 1]
        return f"row group {group} of {path}"


class ParquetSource(Source):
    """Parquet files of which all columns are numeric."""

    neighbours = None
    can_read_ahead = True

    def __init__(self, files: ParquetFiles, name: str) -> None:
        self._files = files
        self.shape, self.dtype = files.shape, common_dtype(files.schema, name)
        self.edges = files.windows(self.shape[1] * self.dtype.itemsize)
        self.kept_bytes = KEPT_BYTES

    @property
    def header(self) -> Any:
        return self._files.schema.empty_table()

    def read(self, start: int, stop: int) -> NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        first = 0
        for table in self._files.read_groups(start, stop):
            for position, column in enumerate(table.columns):
                if column.null_count and self.dtype.kind != "f":  # floats have NaN for missing values
                    raise ValueError(
                        f"column {table.column_names[position]!r} lacks {column.null_count} values in "
                        f"{self._files.place_of(start + first)}: expected a number in every row; fill them in, or "
                        "leave these rows out"
                    )
                rows[first : first + table.num_rows, position] = column.to_numpy()
            first += table.num_rows
        return rows


class EncodedSource(Source):
    """A mixed table in Parquet files that a metric encodes as numbers; a window is encoded when it is read."""

    neighbours = None
    can_read_ahead = True

    def __init__(self, files: ParquetFiles, encode: Callable[[Any], NDArray[np.float32]]) -> None:
        self._files, self._encode = files, encode
        self.shape, self.dtype = files.shape, np.dtype(np.float32)
        self.edges = files.windows(self.shape[1] * self.dtype.itemsize)
        self.kept_bytes = KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        return np.concatenate([self._encode(table) for table in self._files.read_groups(start, stop)])


def parquet_files(path: Path) -> list[Path]:
    """Return the path itself if it is a file, or all Parquet files in the folder and below it that are not hidden."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.suffix in PARQUET_SUFFIXES and file.name[0] not in "._"]
    if not files:
        raise ValueError(f"there is no Parquet file in the folder {str(path)!r}: expected {READABLE}")
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


def is_path(X: Any) -> bool:
    """Tell whether X is the path of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def is_parquet(path: Path) -> bool:
    """Tell whether a path names a Parquet file, or a folder, which is taken for a folder of Parquet files."""
    return path.suffix in PARQUET_SUFFIXES or path.is_dir()


def open_source(X: Any, name: str) -> Source:
    """Return the source for a path, or for an array that is not in memory."""
    if not is_path(X):
        return ArraySource(X)
    path = Path(X)
    if path.suffix == ".npy":
        array = open_npy(path, name)
        return NpySource(path, array) if array.flags.c_contiguous and array.size else ArraySource(array)
    if is_parquet(path):
        return ParquetSource(ParquetFiles(path, name), name)
    raise ValueError(f"{name} is the path {str(path)!r}: expected {READABLE}")


def open_npy(path: Path, name: str) -> np.memmap[Any, Any]:
    """Return the array in a .npy file, mapped into memory."""
    if path.suffix != ".npy":
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file")
    array = read_npy_header(path, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is the file {str(path)!r} of shape {array.shape} and type {array.dtype}: expected rows of "
            "numbers, in two dimensions"
        )
    return array


def read_npy_header(path: Path, name: str) -> np.memmap[Any, Any]:
    """Return the array in a .npy file, mapped; errors name the file. No file with pickled objects is opened."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:  # as NumPy says it, the file is not named
        raise ValueError(f"{name} is the file {str(path)!r}, which cannot be read as .npy: {error}") from error
    if not isinstance(array, np.memmap):
        raise ValueError(f"{name} is the file {str(path)!r}: expected one array, as numpy.save writes it")
    return array


def load_sparse(X: Any) -> Any:
    """Return the sparse matrix if X is the path of a .npz file, which cannot be read in parts; otherwise X itself."""
    return scipy.sparse.load_npz(X) if is_path(X) and Path(X).suffix == ".npz" else X


def holds_strings(X: Any) -> bool:
    """Tell whether a path is that of a .npy file of strings, or of a Parquet file with one column of strings."""
    if Path(X).suffix == ".npy":
        return read_npy_header(Path(X), "X").dtype.kind == "U"
    types = ParquetFiles(Path(X), "X").schema.types if is_parquet(Path(X)) else []
    return len(types) == 1 and str(types[0]) in ("string", "large_string")


def read_strings(X: Any, name: str) -> NDArray[Any]:
    """Return the strings in a file: the elements of a .npy file, or the only column of Parquet files."""
    path = Path(X)
    if path.suffix == ".npy":
        return np.asarray(read_npy_header(path, name)).astype(object)
    if not is_parquet(path):
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file or a Parquet file of strings")
    files = ParquetFiles(path, name)
    if files.shape[1] != 1:
        raise ValueError(
            f"{name} is the path {str(path)!r} with the columns {describe_columns(files.schema)}: expected one column "
            "of strings"
        )
    groups = files.read_groups(0, files.shape[0])
    return np.array([string for table in groups for string in table.column(0).to_pylist()], dtype=object)
