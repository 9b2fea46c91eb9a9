"""Rows: a data set as metrics see it, whatever it is made of.

Rows are numbered from 0. A metric asks for a tile of consecutive rows or for chosen ones; it never asks whether they
come from an array, a sparse matrix, a table or a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import Indices, tile_bounds


class Rows(ABC):
    """A data set of n rows."""

    n: int
    n_features: int | None  # None for objects, which have no features
    row_size: int  # numbers that it takes to store a row
    dtype: np.dtype[Any]
    header: Any  # what scikit-learn looks at for the number and the names of the features

    @abstractmethod
    def tile(self, rows: slice) -> Any:
        """Return consecutive rows in the form in which the metric compares them."""

    @abstractmethod
    def take(self, indices: Indices) -> Rows:
        """Return chosen rows, in this order, in memory."""

    @abstractmethod
    def given(self, indices: Indices) -> Any:
        """Return chosen rows in the form in which the user gave them."""

    def choose(self, indices: Indices) -> Rows:
        """Return chosen rows, fetched at once if they are few, otherwise a tile at a time."""
        if len(indices) * self.row_size <= _tiles.TILE_ENTRIES:
            return self.take(indices)
        return ChosenRows(self, indices)

    def in_memory(self) -> Rows:
        """Return all rows in memory; for data sets that are small."""
        return self

    def are_bytes(self, divisor: int) -> bool:
        """Tell whether every value is a byte divided by this number, as far as is known without reading a file."""
        return False


class ArrayRows(Rows):
    """The rows of an array in memory; an array of one dimension holds objects."""

    def __init__(self, values: NDArray[Any], header: Any = None, byte_divisors: Collection[int] = ()) -> None:
        self.values = values
        self.n, self.dtype = len(values), values.dtype
        self.row_size = int(np.prod(values.shape[1:]))
        self.n_features = values.shape[1] if values.ndim == 2 else None
        self.header = values if header is None else header
        self._are_bytes = dict.fromkeys(byte_divisors, True)  # by divisor, where it is known

    def tile(self, rows: slice) -> NDArray[Any]:
        return self.values[rows]

    def take(self, indices: Indices) -> ArrayRows:
        divisors = [divisor for divisor, are_bytes in self._are_bytes.items() if are_bytes]
        return ArrayRows(self.values[indices], byte_divisors=divisors)

    def given(self, indices: Indices) -> NDArray[Any]:
        return self.values[indices]

    def are_bytes(self, divisor: int) -> bool:
        if divisor not in self._are_bytes:
            tiles = tile_bounds(self.n, _tiles.TILE_ENTRIES // self.row_size)
            # The first row alone tells that most data are not bytes.
            parts = (slice(0, 1), *tiles)
            self._are_bytes[divisor] = all(_are_bytes(self.values[rows], divisor) for rows in parts)
        return self._are_bytes[divisor]


def _are_bytes(tile: NDArray[Any], divisor: int) -> bool:
    if tile.dtype.kind != "f":
        return divisor == 1 and bool(tile.min() >= 0 and tile.max() <= 255)
    dtype = np.float32 if np.can_cast(tile.dtype, np.float32) else np.float64
    return _core.are_bytes(np.ascontiguousarray(tile, dtype=dtype), divisor)


class SparseRows(Rows):
    """The rows of a CSR matrix whose features are distinct and in order in each row."""

    def __init__(self, matrix: Any, header: Any = None) -> None:
        self.matrix = matrix
        self.n, self.n_features = matrix.shape
        self.dtype = matrix.dtype
        self.row_size = 1 + matrix.nnz // self.n
        self.header = matrix if header is None else header

    def tile(self, rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return where each row begins, the features and the values; only these rows are converted."""
        starts = self.matrix.indptr[rows.start : rows.stop + 1].astype(np.int64)
        stored = slice(int(starts[0]), int(starts[-1]))
        features = np.ascontiguousarray(self.matrix.indices[stored], dtype=np.int32)
        return starts - starts[0], features, np.ascontiguousarray(self.matrix.data[stored], dtype=np.float64)

    def take(self, indices: Indices) -> SparseRows:
        return SparseRows(self.matrix[indices])

    def given(self, indices: Indices) -> Any:
        return self.matrix[indices]


class ChosenRows(Rows):
    """Some rows of a data set in any order, fetched a tile at a time."""

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

    def in_memory(self) -> Rows:
        return self._rows.take(self._indices)

    def are_bytes(self, divisor: int) -> bool:
        return self._rows.are_bytes(divisor)


class EncodedRows(Rows):
    """A table whose values a metric has turned into numbers; users still see the table."""

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

    def in_memory(self) -> Rows:
        return self._values.in_memory()
