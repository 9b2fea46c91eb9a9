"""What can be read from disk: .npy files, Parquet files and folders of them, arrays of Zarr and h5py."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]

READ_BYTES = 2**24  # about a window: long for a disk, short beside the block

LARGEST_READ_BYTES = 2**28  # a window of an array whose chunks are larger than this is less than a chunk

KEPT_BYTES = 2**28  # what had to be decoded is kept as long as it is no more than this

NEIGHBOUR_BYTES = 2**16  # rows as close as this in a file are read at once, with those between

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


WHAT_IS_READ = (
    "a .npy file, a Parquet file or a folder of them; arrays of Zarr and HDF5 are passed open, as "
    "zarr.open_array(path) or h5py.File(path)[name]"
)


def is_path(X: Any) -> bool:
    """Say whether X is the name of a file or folder."""
    return isinstance(X, (str, os.PathLike))


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
