"""Rows of numbers in bfloat16, which NumPy does not know: the upper halves of numbers in float32.

They come as arrays whose type the package ml_dtypes has added to NumPy, and as tensors of torch. Their memory is read
as it is; only the rows that are compared at a time become float32.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.data.rows import ArrayRows, Rows

EXPONENT, SIGN = np.uint16(0x7F80), np.uint16(0x8000)  # the bits of a number that hold these


class Bfloat16Rows(Rows):
    """Rows in bfloat16, given by their bits; metrics and users see them in float32."""

    def __init__(self, bits: NDArray[np.uint16]) -> None:
        self.n, self.n_features = bits.shape
        self.row_size, self.dtype, self.header = bits.shape[1], np.dtype(np.float32), bits
        self._bits = bits

    def tile(self, rows: slice) -> NDArray[np.float32]:
        return widen(self._bits[rows])

    def take(self, indices: Indices) -> ArrayRows:
        return ArrayRows(self.given(indices))

    def given(self, indices: Indices) -> NDArray[np.float32]:
        return widen(self._bits[indices])

    def find_bad_entry(self, *, allow_nan: bool) -> tuple[int, int] | None:
        """Return the row and the column of the first number that is infinite, or NaN if that is not allowed."""
        for rows in tile_bounds(self.n, _tiles.TILE_ENTRIES // self.row_size):
            size = self._bits[rows] & ~SIGN
            bad = size == EXPONENT if allow_nan else size >= EXPONENT
            if bad.any():
                row, column = divmod(int(np.argmax(bad)), self.row_size)
                return rows.start + row, column
        return None


def widen(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Return the numbers of these bits in float32."""
    wide = bits.astype(np.uint32, order="C", subok=False)
    wide <<= np.uint32(16)
    return wide.view(np.float32)


def is_bfloat16(X: Any) -> bool:
    """Tell whether X is an array or a tensor of numbers in bfloat16."""
    dtype = getattr(X, "dtype", None)
    return str(dtype) in ("bfloat16", "torch.bfloat16") and len(getattr(X, "shape", ())) == 2


def read_bits(X: Any) -> NDArray[np.uint16]:
    """Return the bits of an array or a tensor in bfloat16, without a copy if NumPy can read its memory."""
    if str(X.dtype) == "torch.bfloat16":
        X = X.detach().view(sys.modules["torch"].int16)  # torch is imported: X is one of its tensors
    bits: NDArray[np.uint16] = np.asarray(X).view(np.uint16)
    return bits
