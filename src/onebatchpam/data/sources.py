"""What can be read from disk: .npy files, Parquet files and folders of them, arrays of Zarr and h5py."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from onebatchpam._optional import require
from onebatchpam._tiles import Indices

READ_BYTES = 2**24  # about the size of a window: long enough for a disk, small beside a block
LARGEST_READ_BYTES = 2**28  # an array with chunks larger than this is read in parts of chunks
KEPT_BYTES = 2**28  # windows that had to be decoded are kept up to this size
NEIGHBOUR_BYTES = 2**16  # rows this close in a file are read together, with the rows between them

PARQUET_SUFFIXES = (".parquet", ".pq")
READABLE = (
    "a .npy file, a Parquet file or a folder of them, or the .npz file of a sparse matrix; arrays of Zarr and HDF5 are "
    "passed open, as zarr.open_array(path) or h5py.File(path)[name]"
)


class Source(ABC):
    """A table of numbers that is read in windows of consecutive rows."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    edges: Indices  # the first row of each window, and the number of rows
    neighbours: int | None  # rows that are read together when one of them is wanted; None: the whole window
    kept_bytes: int  # how much is worth keeping of windows, and as much again of single rows

    @property
    def header(self) -> Any:
        """What scikit-learn looks at for the number and the names of the features."""
        return self

    @abstractmethod
    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows in an array of their own."""


class ArraySource(Source):
    """Anything with a shape, a type and slices of rows: a memory-mapped array, a Zarr array, a dataset of h5py."""

    neighbours: int

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        self._array = array
        row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        self.neighbours = chunk_rows(array) or max(1, NEIGHBOUR_BYTES // row_bytes)
        if self.neighbours * row_bytes > LARGEST_READ_BYTES:
            self.neighbours = max(1, READ_BYTES // row_bytes)
        window = -(-READ_BYTES // (self.neighbours * row_bytes)) * self.neighbours
        self.edges = np.append(np.arange(0, self.shape[0], window), self.shape[0])
        # The system itself keeps what was read of a mapped file, but collecting rows from it takes time.
        self.kept_bytes = KEPT_BYTES // 4 if isinstance(array, np.memmap) else KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return np.array(self._array[start:stop], order="C", subok=False)


def chunk_rows(array: Any) -> int | None:
    """Return the number of rows in a chunk, if the array is stored in chunks of equal size."""
    chunks = getattr(array, "chunks", None)
    return int(chunks[0]) if chunks and isinstance(chunks[0], (int, np.integer)) else None


class ParquetFiles:
    """The columns of a Parquet file, or of the files in a folder in the order of their names, read by row groups."""

    def __init__(self, path: Path, name: str) -> None:
        self._parquet = require("pyarrow.parquet", extra="parquet", needed_by="reading Parquet files")
        files = parquet_files(path)
        self._groups: list[tuple[Path, Any, int]] = []  # the file, its metadata, the index of the group in it
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
        """Return the edges of windows: adjacent row groups, until together they have about the size of a read."""
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
        """Return in which file and row group a row is."""
        path, _, group = self._groups[int(np.searchsorted(self._edges, row, side="right")) - 1]
        return f"row group {group} of {path}"


class ParquetSource(Source):
    """The numbers in Parquet files."""

    neighbours = None

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
                if column.null_count and self.dtype.kind != "f":  # in a column of floats it becomes NaN
                    raise ValueError(
                        f"column {table.column_names[position]!r} lacks {column.null_count} values in "
                        f"{self._files.place_of(start + first)}: expected a number in every row"
                    )
                rows[first : first + table.num_rows, position] = column.to_numpy()
            first += table.num_rows
        return rows


class EncodedSource(Source):
    """The numbers that a metric makes of a mixed table in Parquet files; a window is encoded when it is read."""

    neighbours = None

    def __init__(self, files: ParquetFiles, encode: Callable[[Any], NDArray[np.float32]]) -> None:
        self._files, self._encode = files, encode
        self.shape, self.dtype = files.shape, np.dtype(np.float32)
        self.edges = files.windows(self.shape[1] * self.dtype.itemsize)
        self.kept_bytes = KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[np.float32]:
        return np.concatenate([self._encode(table) for table in self._files.read_groups(start, stop)])


def parquet_files(path: Path) -> list[Path]:
    """Return the file, or the files in the folder and below it that are not hidden."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.rglob("*")) if file.suffix in PARQUET_SUFFIXES and file.name[0] not in "._"]
    if not files:
        raise ValueError(f"there is no Parquet file in the folder {str(path)!r}: expected {READABLE}")
    return files


def without_index(schema: Any) -> Any:
    """Return the columns without those in which pandas has stored the index of a frame."""
    for name in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(name, str):  # the index of a plain range is described, not stored
            schema = schema.remove(schema.get_field_index(name))
    return schema


def describe_columns(schema: Any) -> str:
    """Return the names and types of columns."""
    return ", ".join(f"{name} ({kind})" for name, kind in zip(schema.names, schema.types, strict=True))


def number_dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the NumPy type of an Arrow type of numbers or truth values, None for any other."""
    try:
        dtype = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):  # categories, and times with a zone
        return None
    return dtype if dtype.kind in "biuf" else None


def common_dtype(schema: Any, name: str) -> np.dtype[Any]:
    """Return the type that holds all columns."""
    kinds = [number_dtype(field.type) for field in schema]
    for field, kind in zip(schema, kinds, strict=True):
        if kind is None:
            raise ValueError(
                f"column {field.name!r} of {name} is of type {field.type}: expected numbers; leave it out of the file, "
                "or pass metric='gower', which compares mixed tables"
            )
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def is_path(X: Any) -> bool:
    """Tell whether X is the name of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def is_parquet(path: Path) -> bool:
    """Tell whether a path is that of a Parquet file, or of a folder, which should hold such files."""
    return path.suffix in PARQUET_SUFFIXES or path.is_dir()


def open_source(X: Any, name: str) -> Source:
    """Return what reads the numbers of a path or of an array that is not in memory."""
    if not is_path(X):
        return ArraySource(X)
    path = Path(X)
    if path.suffix == ".npy":
        return ArraySource(open_npy(path, name))
    if is_parquet(path):
        return ParquetSource(ParquetFiles(path, name), name)
    raise ValueError(f"{name} is the path {str(path)!r}: expected {READABLE}")


def open_npy(path: Path, name: str) -> NDArray[Any]:
    """Return the array in a file, mapped into memory."""
    if path.suffix != ".npy":
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file")
    array: NDArray[Any] = np.load(path, mmap_mode="r")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is the file {str(path)!r} of shape {array.shape} and type {array.dtype}: expected rows of numbers"
        )
    return array


def load_sparse(X: Any) -> Any:
    """Return the sparse matrix in a .npz file, which cannot be read in parts; anything else as it is."""
    return scipy.sparse.load_npz(X) if is_path(X) and Path(X).suffix == ".npz" else X


def read_strings(X: Any, name: str) -> NDArray[Any]:
    """Return the strings in a file: the only column of a Parquet file, or the elements of a .npy file."""
    path = Path(X)
    if path.suffix == ".npy":
        strings: NDArray[Any] = np.load(path)
        return strings.astype(object)
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
