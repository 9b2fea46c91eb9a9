"""Numbers that are bytes: pixels and counts often come as floats, but are compared several times faster as bytes.

Recognised are whole numbers from 0 to 255, and such numbers divided by 255, as images often are. Their dissimilarities
follow from exact sums of bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import tile_bounds

# A difference of values divided by 255 and rounded is off by some 1e-5 of it, which a sum of many such evens out.
FEWEST_FEATURES_DIVIDED = 32


def steps_of_bytes(X: Any) -> int:
    """Return 1 or 255 if all values are bytes divided by it, else 0."""
    if X.dtype == np.uint8:
        return 0
    choices = (1, 255) if X.shape[1] >= FEWEST_FEATURES_DIVIDED else (1,)
    return next((steps for steps in choices if are_bytes(X, steps)), 0)


def are_bytes(X: Any, steps: int) -> bool:
    """Say whether all values are bytes divided by this number; mostly the first row tells."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.memmap):
        return False  # a file is not read once more for this
    tiles = tile_bounds(len(X), _tiles.TILE_ENTRIES // X.shape[1])
    return all(_are_bytes(X[rows], steps) for rows in (slice(0, 1), *tiles))


def _are_bytes(tile: NDArray[Any], steps: int) -> bool:
    if tile.dtype.kind != "f":
        return steps == 1 and bool(tile.min() >= 0 and tile.max() <= 255)
    dtype = np.float32 if np.can_cast(tile.dtype, np.float32) else np.float64
    return _core.are_bytes(np.ascontiguousarray(tile, dtype=dtype), steps)
