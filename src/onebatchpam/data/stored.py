"""Rows that are not in memory: files and arrays on disk, which are read a window of rows at a time.

A `Source` knows how its rows are read, and where reading is best cut. `StoredRows` makes of it what a metric compares:
a slice gives a tile, an array of indices some rows. Tiles are asked for one after the other, so the next window is read
on a thread meanwhile; rows by index are read in the order of the file, neighbours at once. What is read is checked: no
pass over the data is made for that alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam.data.sources import Indices, Source, is_path, open_source

SPARSE = 16  # where fewer than one row in this many is wanted, a window is not read for them


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


def in_memory(rows: Any) -> Any:
    """Return checked rows in memory, wherever they are; for few."""
    return np.asarray(rows) if isinstance(rows, StoredRows) else rows


def header_of(X: Any, rows: Any) -> Any:
    """Return what scikit-learn may look at for the number and the names of the features of X, which is now `rows`."""
    if isinstance(rows, StoredRows):
        return rows.header
    return rows if is_path(X) else X
