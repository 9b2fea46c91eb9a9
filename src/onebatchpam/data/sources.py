"""Sources: rows of numbers on disk, read in windows of consecutive rows: .npy files, and arrays of Zarr and h5py."""

from __future__ import annotations

import io
import os
import threading
import weakref
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onebatchpam._parameters import refuse_masked
from onebatchpam._tiles import Indices

READ_BYTES = 2**24  # approximate size of a window: large enough to read quickly, small beside a block
LARGEST_READ_BYTES = 2**28  # chunks of an array that are larger than this are read in parts
KEPT_BYTES = 2**28  # total size of the windows that are kept in memory, because reading them again takes time
NEIGHBOUR_BYTES = 2**16  # wanted rows this close in a file are read together, with the rows between them


class Source(ABC):
    """A table of numbers on disk, read in windows of consecutive rows."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    edges: Indices  # the first row of each window, then the number of all rows
    neighbours: int | None  # wanted rows among this many consecutive rows are read together; None: by whole windows
    can_read_ahead: bool  # whether another thread may read while this one does
    is_encoded = False  # whether a metric has checked the values and made these numbers of them
    kept_bytes: int  # at most this much of windows is kept in memory, and as much again of single rows

    @property
    def header(self) -> Any:
        """The object in which scikit-learn finds the number and the names of the features."""
        return self

    def show(self, indices: Indices) -> Any:
        """Return the rows of these indices as the user knows them; None if they are nothing but numbers."""
        return None

    @abstractmethod
    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the rows from `start` up to `stop` in a new array."""


class ArraySource(Source):
    """An object with a shape, a type and slices of rows: a memory-mapped array, a Zarr array or a dataset of h5py."""

    neighbours: int

    def __init__(self, array: Any, name: str) -> None:
        self._name = name
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), np.dtype(array.dtype)
        self._array = array
        self.can_read_ahead = is_safe_in_threads(array)
        row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        self.neighbours = chunk_rows(array) or max(1, NEIGHBOUR_BYTES // row_bytes)
        if self.neighbours * row_bytes > LARGEST_READ_BYTES:
            self.neighbours = max(1, READ_BYTES // row_bytes)
        window = -(-READ_BYTES // (self.neighbours * row_bytes)) * self.neighbours
        self.edges = np.append(np.arange(0, self.shape[0], window), self.shape[0])
        self.kept_bytes = KEPT_BYTES

    def read(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._array[start:stop]
        refuse_masked(rows, f"{self._name}[{start}:{stop}]")
        rows = np.array(rows, order="C", subok=False)
        shape = (stop - start, self.shape[1])
        if rows.shape != shape or not np.can_cast(rows.dtype, self.dtype, "same_kind"):
            raise ValueError(
                f"{self._name}[{start}:{stop}] has shape {rows.shape} and type {rows.dtype}: expected {shape} and "
                f"{self.dtype}, as {self._name} declares"
            )
        return rows


def is_safe_in_threads(array: Any) -> bool:
    """Tell whether several threads may read an array at once; nothing is known of a reader that the user wrote."""
    return isinstance(array, np.memmap) or type(array).__module__.partition(".")[0] in ("zarr", "h5py")


class NpySource(ArraySource):
    """The rows of a .npy file, read and not mapped: so a file that shrinks is an error, not a crash.

    The file stays open, so that a file of the same name that takes its place is not read. A file that is written to
    while it is read is an error, because some rows would be old and others new.
    """

    def __init__(self, path: Path, array: np.memmap[Any, Any]) -> None:
        super().__init__(array, str(path))
        self._array = None
        self._by_columns = not array.flags.c_contiguous
        self._path, self._offset, self._lock = path, array.offset, threading.Lock()
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, descriptor)
        self._file = io.FileIO(descriptor, closefd=False)
        self._state = read_state(descriptor)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        n, n_features = self.shape
        if not self._by_columns:
            rows = np.empty((stop - start, n_features), self.dtype)
            self._read_into(rows, start * n_features)
            return rows
        columns = np.empty((n_features, stop - start), self.dtype)
        for column, values in enumerate(columns):
            self._read_into(values, column * n + start)
        return np.ascontiguousarray(columns.T)

    def _read_into(self, out: NDArray[Any], first: int) -> None:
        """Fill `out` with consecutive numbers of the file, from its number `first` on."""
        with self._lock:
            self._file.seek(self._offset + first * self.dtype.itemsize)
            n_bytes = self._file.readinto(out.view(np.uint8).data)
        if n_bytes != out.nbytes or read_state(self._file.fileno()) != self._state:
            refuse_changed(self._path)


def refuse_special(path: Path, name: str) -> None:
    """Raise if a path is that of a device or a pipe, which might never end; it must be opened only after this check."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{name} is the path {str(path)!r} of a device or a pipe: expected a file on a disk")


def read_state(file: Path | int) -> tuple[int, int, int]:
    """Return numbers that change if a file, or an open descriptor, is replaced or written to."""
    status = os.stat(file)
    return status.st_ino, status.st_size, status.st_mtime_ns


def refuse_changed(path: Path) -> NoReturn:
    """Raise the error for a file that another program has changed meanwhile."""
    raise OSError(f"the file {str(path)!r} was changed while it was read: leave it as it is until the end, or copy it")


def chunk_rows(array: Any) -> int | None:
    """Return the number of rows in a chunk; None if the array is not stored in chunks of equal size."""
    chunks = getattr(array, "chunks", None)
    return int(chunks[0]) if chunks and isinstance(chunks[0], (int, np.integer)) else None


def check_not_empty(shape: tuple[int, ...], name: str) -> None:
    """Raise if a table has no rows or no features."""
    if any(size < 1 for size in shape):
        raise ValueError(f"{name} has shape {shape}: a minimum of 1 row and 1 feature is required")


def open_npy(path: Path, name: str) -> np.memmap[Any, Any]:
    """Return the array in a .npy file, mapped into memory."""
    if path.suffix != ".npy":
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file")
    array = read_npy_header(path, name)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        may_be_bfloat16 = array.dtype.kind == "V" and array.dtype.itemsize == 2
        advice = "; if they are of type bfloat16, pass numpy.load(path, mmap_mode='r').view(ml_dtypes.bfloat16)"
        raise ValueError(
            f"{name} is the file {str(path)!r} of shape {array.shape} and type {array.dtype}: expected rows of "
            f"numbers, in two dimensions{advice if may_be_bfloat16 else ''}"
        )
    check_not_empty(array.shape, name)
    return array


def read_npy_header(path: Path, name: str) -> np.memmap[Any, Any]:
    """Return the array in a .npy file, mapped; errors name the file. No file with pickled objects is opened.

    A header that claims more bytes than the file has is refused, because the file could not be mapped. A MemoryError is
    the fault of the header, too: Python's parser raises it for brackets that are nested too deeply.
    """
    refuse_special(path, name)
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise  # an OSError names the file
    except Exception as error:  # a damaged header may lead NumPy to any error, and none of them names the file
        raise ValueError(
            f"{name} is the file {str(path)!r}, which cannot be read as .npy: {error}; expected one array, as "
            "numpy.save writes it"
        ) from error
