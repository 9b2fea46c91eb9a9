"""The metrics of the native core. Numbers that are bytes are compared as bytes, which is faster and exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import tile_bounds
from onebatchpam.metrics.base import Columns, Metric, Rows, compute_dtype, output_dtype

CHEAP_FEATURES = 16  # so many are compared while a dissimilarity that was kept would be fetched from memory


@dataclass(frozen=True)
class NativeMetric(Metric):
    """One of the kernels in `src/core`."""

    name: str
    steps: int = 0  # if not zero, all values are byte / steps, and compared as bytes

    def fitted(self, X: Rows, weights: NDArray[np.float64] | None = None) -> NativeMetric:
        return replace(self, steps=steps_of_bytes(X) if self.name in BYTE_METRICS else 0)

    def comparing(self, X: Rows) -> NativeMetric:
        return self if self.steps and are_bytes(X, self.steps) else replace(self, steps=0)

    def to(self, points: NDArray[Any], X: Rows, n_jobs: int) -> Columns:
        return _NativeColumns(self, points, X, n_jobs)


class _NativeColumns(Columns):
    def __init__(self, metric: NativeMetric, points: NDArray[Any], X: Rows, n_jobs: int) -> None:
        self.n_rows, self.n_columns = X.shape[0], len(points)
        self._row_dtype = compute_dtype(points.dtype, X.dtype)
        self.dtype = output_dtype(self._row_dtype)
        self.tile_rows = min(_tiles.NATIVE_TILE_WORK // points.size, _tiles.TILE_ENTRIES // max(points.shape))
        self.is_cheap = points.shape[1] <= CHEAP_FEATURES
        # Points need not be rows of X: their mean is seldom made of bytes.
        steps = metric.steps if metric.steps and are_bytes(points, metric.steps) else 0
        self._packed = _core.PackedColumns(np.ascontiguousarray(points, dtype=self._row_dtype), metric.name, steps)
        self._X = X
        self._n_jobs = n_jobs

    def fill(self, rows: slice, out: NDArray[Any]) -> None:
        self._packed.fill(self._converted(rows), out, self._n_jobs)

    def fill_viewed(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        self._packed.fill(self._converted(rows), out, viewer)

    def _converted(self, rows: slice) -> NDArray[Any]:
        # Only this tile is converted when X is of another type or memory order.
        return np.ascontiguousarray(self._X[rows], dtype=self._row_dtype)


NATIVE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "chebyshev", "cosine")

BYTE_METRICS = ("manhattan", "euclidean", "sqeuclidean")  # of which those of bytes have kernels of their own

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
