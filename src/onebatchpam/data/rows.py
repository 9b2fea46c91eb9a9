"""Rows: a data set as metrics see it, in whatever form the user gave it.

Rows are numbered from 0. A metric asks for a tile of consecutive rows or for rows by index; it need not know whether
they come from an array in memory, from a table or from a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import Indices, as_kernels_read, tile_bounds
from onebatchpam.data.frames import open_frame, take_rows


class Rows(ABC):
    """A data set of n rows."""

    n: int
    n_features: int | None  # None for objects, which have no features
    row_size: int  # how many numbers a row takes in memory, on average
    dtype: np.dtype[Any]
    header: Any  # the object in which scikit-learn finds the number and the names of the features
    held_bytes: int = 0  # the size of the rows that are held in memory, of a data set that is read in parts

    @abstractmethod
    def tile(self, rows: slice) -> Any:
        """Return consecutive rows in the form in which the metric compares them."""

    @abstractmethod
    def take(self, indices: Indices) -> Rows:
        """Return the rows of these indices, in this order, in memory."""

    @abstractmethod
    def given(self, indices: Indices) -> Any:
        """Return the rows of these indices in the form in which the user gave them."""

    def show(self, indices: Indices) -> Any:
        """Return the rows of these indices as the user knows them, with names and columns that are not compared."""
        return self.given(indices)

    def choose(self, indices: Indices) -> Rows:
        """Return the rows of these indices: in memory if they are few, otherwise fetched a tile at a time."""
        if len(indices) * self.row_size <= _tiles.TILE_ENTRIES:
            return self.take(indices)
        return ChosenRows(self, indices)

    @property
    def n_at_hand(self) -> int:
        """How many consecutive rows can be taken in any order, again and again, without being read again."""
        return self.n

    def in_memory(self) -> Rows:
        """Return all rows in memory; only for small data sets."""
        return self

    def hold(self, indices: Indices) -> Rows:
        """Return all rows, with those of these indices held in memory, unless all rows are at hand anyway."""
        return self if self.n_at_hand >= self.n or len(indices) == 0 else HeldRows(self, indices)

    def as_fitted(self) -> Rows:
        """Return rows that were read like new ones as the rows of the fit; only in a matrix do the two differ."""
        return self

    def are_bytes(self, divisor: int) -> bool:
        """Tell whether every value is a byte divided by `divisor`; False if a file must be read to find out."""
        return False


class ArrayRows(Rows):
    """The rows of an array in memory; an array of one dimension holds objects."""

    def __init__(self, values: NDArray[Any], header: Any = None, byte_divisors: Collection[int] = ()) -> None:
        self.values = values
        self.n, self.dtype = len(values), values.dtype
        self.row_size = int(np.prod(values.shape[1:]))
        self.n_features = values.shape[1] if values.ndim == 2 else None
        self.header = values if header is None else header
        self._are_bytes = dict.fromkeys(byte_divisors, True)  # the answers that are known, by divisor

    def tile(self, rows: slice) -> NDArray[Any]:
        return self.values[rows]

    def take(self, indices: Indices) -> ArrayRows:
        divisors = [divisor for divisor, are_bytes in self._are_bytes.items() if are_bytes]
        return ArrayRows(self.values[indices], byte_divisors=divisors)

    def given(self, indices: Indices) -> NDArray[Any]:
        return self.values[indices]

    def show(self, indices: Indices) -> Any:
        return _take_as_passed(self, indices)

    def are_bytes(self, divisor: int) -> bool:
        if divisor not in self._are_bytes:
            tiles = tile_bounds(self.n, _tiles.TILE_ENTRIES // self.row_size)
            # The first row comes first, because it suffices to show that most data are not bytes.
            parts = (slice(0, 1), *tiles)
            self._are_bytes[divisor] = all(_are_bytes(self.values[rows], divisor) for rows in parts)
        return self._are_bytes[divisor]


def _take_as_passed(rows: Rows, indices: Indices) -> Any:
    """Return rows of the frame that the user passed; of anything else, what is compared."""
    return rows.given(indices) if open_frame(rows.header, "X") is None else take_rows(rows.header, indices)


def _are_bytes(tile: NDArray[Any], divisor: int) -> bool:
    if tile.dtype.kind != "f":
        return divisor == 1 and bool(tile.min() >= 0 and tile.max() <= 255)
    dtype = np.float32 if np.can_cast(tile.dtype, np.float32) else np.float64
    return _core.are_bytes(as_kernels_read(tile, dtype), divisor)


class SparseRows(Rows):
    """The rows of a CSR matrix; the features of each row are distinct and ascend."""

    def __init__(self, matrix: Any, header: Any = None) -> None:
        self.matrix = matrix
        self.n, self.n_features = matrix.shape
        self.dtype = matrix.dtype
        self.row_size = 1 + matrix.nnz // max(1, self.n)
        self.header = matrix if header is None else header

    def tile(self, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return the starts, features and values of these rows in CSR format, in the types of the native core."""
        starts = self.matrix.indptr[rows.start : rows.stop + 1].astype(np.int64)
        stored = slice(int(starts[0]), int(starts[-1]))
        features = as_kernels_read(self.matrix.indices[stored], np.int32)
        return starts - starts[0], features, as_kernels_read(self.matrix.data[stored], np.float64)

    def take(self, indices: Indices) -> SparseRows:
        return SparseRows(self.matrix[indices])

    def given(self, indices: Indices) -> Any:
        return self.matrix[indices]

    def show(self, indices: Indices) -> Any:
        return _take_as_passed(self, indices)


class MatrixRows(Rows):
    """Rows that are known only by their indices in a matrix of dissimilarities.

    With `are_points`, the rows of the matrix are points and its columns candidates, as in a matrix of new rows x fitted
    rows; otherwise the rows are the candidates.
    """

    def __init__(self, matrix: NDArray[Any], indices: Indices | None = None, *, are_points: bool = False) -> None:
        self.matrix, self.indices, self.are_points = matrix, indices, are_points
        self.n = len(matrix) if indices is None else len(indices)
        self.n_features, self.row_size, self.dtype, self.header = matrix.shape[1], 1, matrix.dtype, matrix

    def tile(self, rows: slice) -> slice | Indices:
        return rows if self.indices is None else self.indices[rows]

    def take(self, indices: Indices) -> MatrixRows:
        chosen = indices if self.indices is None else self.indices[indices]
        return MatrixRows(self.matrix, chosen, are_points=self.are_points)

    choose = take  # needs no tiles, because it copies only indices

    def as_fitted(self) -> MatrixRows:
        return MatrixRows(self.matrix, self.indices)

    def given(self, indices: Indices) -> None:
        return None


class ChosenRows(Rows):
    """Rows of a data set, chosen by index and fetched a tile at a time."""

    def __init__(self, rows: Rows, indices: Indices) -> None:
        self.n, self.n_features, self.row_size = len(indices), rows.n_features, rows.row_size
        self.dtype, self.header = rows.dtype, rows.header
        self._rows, self._indices = rows, indices

    def tile(self, rows: slice) -> Any:
        chosen = self._rows.take(self._indices[rows])
        return chosen.tile(slice(0, chosen.n))

    def take(self, indices: Indices) -> Rows:
        return self._rows.take(self._indices[indices])

    def given(self, indices: Indices) -> Any:
        return self._rows.given(self._indices[indices])

    def show(self, indices: Indices) -> Any:
        return self._rows.show(self._indices[indices])

    @property
    def n_at_hand(self) -> int:
        return max(1, self._rows.n_at_hand * self.n // self._rows.n)

    def in_memory(self) -> Rows:
        return self._rows.take(self._indices)

    def are_bytes(self, divisor: int) -> bool:
        return self._rows.are_bytes(divisor)


class HeldRows(Rows):
    """The rows of a data set that is read in parts; some of them are held in memory, because they are often taken."""

    def __init__(self, rows: Rows, indices: Indices) -> None:
        self.n, self.n_features, self.row_size = rows.n, rows.n_features, rows.row_size
        self.dtype, self.header = rows.dtype, rows.header
        self._rows, self._indices = rows, np.unique(indices)
        self._held = rows.take(self._indices)
        self.held_bytes = len(self._indices) * rows.row_size * rows.dtype.itemsize

    def tile(self, rows: slice) -> Any:
        return self._rows.tile(rows)

    def take(self, indices: Indices) -> Rows:
        places = np.minimum(np.searchsorted(self._indices, indices), len(self._indices) - 1)
        are_held = np.array_equal(self._indices[places], indices)
        return self._held.take(places) if are_held else self._rows.take(indices)

    def given(self, indices: Indices) -> Any:
        return self._rows.given(indices)

    def show(self, indices: Indices) -> Any:
        return self._rows.show(indices)

    @property
    def n_at_hand(self) -> int:
        return self._rows.n_at_hand

    def are_bytes(self, divisor: int) -> bool:
        return self._rows.are_bytes(divisor)


class EncodedRows(Rows):
    """The rows of a table that a metric has encoded: it compares `values`, while users see `table`."""

    def __init__(self, table: Rows, values: Rows) -> None:
        self.n, self.n_features, self.row_size = table.n, table.n_features, values.row_size
        self.dtype, self.header = values.dtype, table.header
        self._table, self._values = table, values

    def tile(self, rows: slice) -> Any:
        return self._values.tile(rows)

    def take(self, indices: Indices) -> Rows:
        return self._values.take(indices)

    def given(self, indices: Indices) -> Any:
        return self._table.given(indices)

    def show(self, indices: Indices) -> Any:
        return self._table.show(indices)

    @property
    def n_at_hand(self) -> int:
        return self._values.n_at_hand

    def in_memory(self) -> Rows:
        return self._values.in_memory()
