"""Stored rows: the rows of a source on disk, read a window at a time and kept in caches.

A metric asks for one tile after the other, so a thread reads the next window in the meantime. Rows that are asked for
by index are read in the order of the file, close ones together, and kept, because a search asks for its candidates and
samples again and again. The numbers are checked as they are read, which saves a pass over the data.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices
from onebatchpam.data.files import is_path, open_source
from onebatchpam.data.rows import ArrayRows, Rows
from onebatchpam.data.sources import Source

# Wanted rows are dense if they are at least one row in this many. Whole windows are read for dense rows.
DENSE = 16


class WindowCache:
    """The windows of a source that were used last; a thread reads the next window ahead, if the source allows it."""

    def __init__(self, source: Source, read: Callable[[int, int], NDArray[Any]]) -> None:
        self._edges, self._read = source.edges, read
        window_bytes = int(np.diff(source.edges).max()) * source.shape[1] * source.dtype.itemsize
        self._n_kept = max(1, source.kept_bytes // window_bytes)
        self.keeps_all = self._n_kept >= len(source.edges) - 1
        self._kept: OrderedDict[int, NDArray[Any]] = OrderedDict()  # windows by number, in the order of their last use
        self._ahead: dict[int, Reading] = {}  # the window that is being read ahead, if there is one
        self._can_read_ahead = source.can_read_ahead

    def find(self, rows: Any) -> Any:
        """Return the number of the window in which each row lies."""
        return np.searchsorted(self._edges, rows, side="right") - 1

    def first_row(self, number: int) -> int:
        """Return the first row of a window."""
        return int(self._edges[number])

    def holds(self, number: int) -> bool:
        """Tell whether a window is in memory."""
        return number in self._kept

    def window(self, number: int) -> NDArray[Any]:
        """Return the rows of a window, and begin to read the next one."""
        if number not in self._kept:
            ahead = self._ahead.pop(number, None)
            rows = self._read_window(number) if ahead is None else ahead.result()
            while len(self._kept) >= self._n_kept:
                self._kept.popitem(last=False)
            self._kept[number] = rows
        self._kept.move_to_end(number)
        self._read_ahead(number + 1)
        return self._kept[number]

    def _read_ahead(self, number: int) -> None:
        is_reading = any(window.is_alive() for window in self._ahead.values())
        if not self._can_read_ahead or is_reading or number in self._kept or number in self._ahead:
            return
        if number + 1 < len(self._edges):
            self._ahead = {number: Reading(self._read_window, number)}

    def _read_window(self, number: int) -> NDArray[Any]:
        start, stop = self._edges[number : number + 2]
        return self._read(int(start), int(stop))


class Reading(threading.Thread):
    """A window that is being read by a thread, which ends with it.

    The thread of an executor waits for more work. If Ctrl-C interrupts the executor while it starts the thread, nobody
    knows of that thread, and the interpreter, which waits for it, never exits.
    """

    def __init__(self, read: Callable[[int], NDArray[Any]], number: int) -> None:
        super().__init__(name="onebatchpam-read")
        self._read, self._number = read, number
        self._rows: NDArray[Any] | None = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._rows = self._read(self._number)
        except BaseException as error:
            self._error = error

    def result(self) -> NDArray[Any]:
        """Return the rows of the window when it is read, or raise the error of reading it."""
        self.join()
        if self._error is not None:
            raise self._error
        assert self._rows is not None
        return self._rows


class RowCache:
    """Single rows that were read, in the order of the file; they are all dropped when they become too many."""

    def __init__(self, most_rows: int, read: Callable[[Indices], NDArray[Any]]) -> None:
        self.most_rows, self._read = most_rows, read
        self._rows = np.empty(0, np.int64)
        self._values: NDArray[Any] = read(self._rows)

    def take(self, rows: Indices) -> NDArray[Any]:
        """Return the values of these rows, which are distinct, in order, and at most `most_rows`."""
        if len(self._rows) + len(rows) > self.most_rows:
            self._rows, self._values = self._rows[:0], self._values[:0]
        unknown = rows[~are_among(rows, self._rows)]
        if len(unknown):
            known = np.concatenate([self._rows, unknown])
            order = np.argsort(known, kind="stable")
            self._rows, self._values = known[order], np.concatenate([self._values, self._read(unknown)])[order]
        return self._values[np.searchsorted(self._rows, rows)]


class StoredRows(Rows):
    """The rows of a source, read through a cache of windows and a cache of single rows."""

    def __init__(self, source: Source, name: str, *, allow_nan: bool = False) -> None:
        self.n, self.n_features = source.shape
        self.row_size, self.dtype, self.header = source.shape[1], source.dtype, source.header
        self._source, self._name, self._allow_nan = source, name, allow_nan
        self._windows = WindowCache(source, self._read)
        most_rows = 0 if self._windows.keeps_all else source.kept_bytes // (self.n_features * self.dtype.itemsize)
        self._rows = RowCache(most_rows, self._collect)

    @property
    def n_at_hand(self) -> int:
        row_bytes = self.row_size * self.dtype.itemsize
        return max(1, self._source.kept_bytes // (2 * row_bytes))  # half of the cache: windows at both ends are cut

    def tile(self, rows: slice) -> NDArray[Any]:
        first, last = self._windows.find(rows.start), self._windows.find(rows.stop - 1)
        parts = []
        for number in range(first, last + 1):
            edge = self._windows.first_row(number)
            parts.append(self._windows.window(number)[max(rows.start - edge, 0) : rows.stop - edge])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def take(self, indices: Indices) -> ArrayRows:
        rows, places = np.unique(indices, return_inverse=True)
        # Dense rows, and rows of windows that are in memory, belong to a pass over the data: they are not kept in the
        # cache of single rows as well.
        is_pass = are_dense(rows) or all(map(self._windows.holds, np.unique(self._windows.find(rows))))
        is_kept = 0 < len(rows) <= self._rows.most_rows and not is_pass
        return ArrayRows((self._rows.take(rows) if is_kept else self._collect(rows))[places])

    def given(self, indices: Indices) -> NDArray[Any]:
        return self.take(indices).values

    def show(self, indices: Indices) -> Any:
        shown = self._source.show(indices)
        return self.given(indices) if shown is None else shown

    def in_memory(self) -> ArrayRows:
        return ArrayRows(self.tile(slice(0, self.n)))

    def _collect(self, rows: Indices) -> NDArray[Any]:
        """Return the values of these rows, which are in order, without the cache of single rows."""
        parts = [np.empty((0, self.row_size), self.dtype)]
        for in_window in split_by(rows, self._windows.find(rows)):
            parts.extend(self._take_from_window(in_window, by_window=are_dense(rows)))
        return np.concatenate(parts)

    def _take_from_window(self, rows: Indices, *, by_window: bool) -> Iterator[NDArray[Any]]:
        """Yield the values of rows of one window.

        They are taken from the window if it is in memory or worth reading, otherwise read from the source in runs of
        neighbours.
        """
        number, neighbours = int(self._windows.find(rows[0])), self._source.neighbours
        if self._windows.holds(number) or self._windows.keeps_all or neighbours is None or by_window:
            yield self._windows.window(number)[rows - self._windows.first_row(number)]
            return
        for near in split_by(rows, rows // neighbours):
            yield self._read(int(near[0]), int(near[-1]) + 1)[near - near[0]]

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        rows = self._source.read(start, stop)
        rows.flags.writeable = False
        self._check(rows, start)
        return rows

    def _check(self, rows: NDArray[Any], start: int) -> None:
        if rows.dtype.kind != "f" or self._source.is_encoded:
            return
        with np.errstate(all="ignore"):
            if np.isfinite(rows.sum()):  # the quickest test whether all numbers are finite
                return
        bad = np.isinf(rows) if self._allow_nan else ~np.isfinite(rows)
        if bad.any():
            row, column = np.unravel_index(np.argmax(bad), bad.shape)
            raise ValueError(
                f"{self._name}[{start + row}, {column}] is {rows[row, column]}: expected finite numbers"
                f"{' or NaN' if self._allow_nan else ''}"
            )


def are_among(rows: Indices, others: Indices) -> NDArray[np.bool_]:
    """Tell which of the rows are among the others; both are in order."""
    if len(others) == 0:
        return np.zeros(len(rows), dtype=bool)
    return others[np.minimum(np.searchsorted(others, rows), len(others) - 1)] == rows


def are_dense(rows: Indices) -> bool:
    """Tell whether rows are so many and so close together that the rows between them are worth reading as well."""
    return bool(len(rows) >= DENSE and rows[-1] - rows[0] <= len(rows) * DENSE)


def split_by(rows: Indices, keys: Indices) -> list[Indices]:
    """Split rows into runs with the same key."""
    return np.split(rows, np.flatnonzero(np.diff(keys)) + 1) if len(rows) else []


def is_stored(X: Any) -> bool:
    """Tell whether X is a path, or a table of numbers that is not in memory."""
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf"
    if is_path(X):
        return True
    # Frames and sparse matrices may also have a shape and a type, but are in memory.
    dtype, is_in_memory = getattr(X, "dtype", None), hasattr(X, "iloc") or hasattr(X, "tocsr")
    return (
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" and len(getattr(X, "shape", ())) == 2 and not is_in_memory
    )


def open_stored_rows(X: Any, name: str, *, allow_nan: bool = False) -> StoredRows:
    """Return the stored rows of a path, or of an array that is not in memory."""
    return StoredRows(open_source(X, name), name, allow_nan=allow_nan)
