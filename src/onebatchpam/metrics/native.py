"""The metrics of the native core.

Pixels and counts often come as floats, but the kernels compare bytes several times faster, and exactly. Therefore data
are recognised if all values are whole numbers from 0 to 255, or such numbers divided by 255, as in many images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import as_kernels_read, rows_per_tile
from onebatchpam.data import ArrayRows, Rows
from onebatchpam.metrics.base import Metric, Points, compute_dtype, output_dtype

NATIVE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "chebyshev", "cosine")
ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "chebychev": "chebyshev"}
BYTE_METRICS = ("manhattan", "euclidean", "sqeuclidean")  # metrics that have kernels for bytes
# Comparing this many features takes about as long as fetching a dissimilarity from memory.
CHEAP_FEATURES = 16
# Values divided by 255 are rounded, so the difference of two of them has a relative error of about 1e-5. Such errors
# even out in a sum of at least this many differences.
FEWEST_FEATURES_DIVIDED = 32


@dataclass(frozen=True)
class NativeMetric(Metric):
    """A metric computed by the kernels in `src/core`."""

    name: str
    byte_divisor: int | None = None  # every value of the fitted data is a byte divided by it, unless None

    @property
    def has_scale_of_data(self) -> bool:
        return self.name != "cosine"

    @property
    def separates_rows(self) -> bool:
        return self.name != "cosine"

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> NativeMetric:
        return replace(self, byte_divisor=find_byte_divisor(rows) if self.name in BYTE_METRICS else None)

    def fit_parts(self, summaries: list[Any]) -> NativeMetric:
        return self  # the summaries, one row of each part, do not tell whether all values are bytes

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return (NativePoints if points.n > 1 else NativePoint)(self, points, rows, n_jobs)

    def pack_exactly(self, rows: Rows) -> Points:
        return WidePoints(self.name, rows.tile(slice(0, rows.n)))


class WidePoints(Points):
    """Points that are compared in float64, whatever the type of the rows is."""

    def __init__(self, name: str, values: NDArray[Any]) -> None:
        self.n, self.dtype, self.n_jobs, self.tile_rows = len(values), np.dtype(np.float64), 1, len(values)
        self._packed = _core.PackedColumns(as_kernels_read(values, np.float64), name)

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        self._packed.fill(as_kernels_read(tile, np.float64), out, self.n_jobs)


class NativePoints(Points):
    """Points packed into the panels that the kernels read."""

    def __init__(self, metric: NativeMetric, points: Rows, rows: Rows, n_jobs: int) -> None:
        self.n = points.n
        self._row_dtype = compute_dtype(points.dtype, rows.dtype)
        self.dtype = output_dtype(self._row_dtype)
        self.tile_rows = rows_per_tile(points.n, points.row_size, _tiles.NATIVE_TILE_WORK)
        self.is_cheap = points.row_size <= CHEAP_FEATURES
        values = as_kernels_read(points.tile(slice(0, points.n)), self._row_dtype)
        self._metric, self._values = metric, values
        self._packed = _core.PackedColumns(values, metric.name, shared_divisor(metric, points, rows) or 0)
        self.n_jobs = n_jobs

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        if out.dtype == np.float64:
            self._packed.fill(self._converted(tile), out, self.n_jobs)
            return
        scanner = _core.RowScanner(np.empty(len(out), np.int32), np.empty(len(out), np.float32), self.n_jobs)
        self._packed.fill(self._converted(tile), out, scanner)
        if not scanner.valid:
            self.mend(tile, out)

    def fill_viewed(self, tile: NDArray[Any], out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        self._packed.fill(self._converted(tile), out, viewer)

    def mend(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        # A sum of squares may overflow in float32 although the distance fits; in float64 it does not.
        bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
        exact = np.empty((len(bad), self.n))
        WidePoints(self._metric.name, self._values).fill(tile[bad], exact)
        with np.errstate(over="ignore"):  # a distance too large for float32 stays infinite
            out[bad] = np.where(np.isfinite(out[bad]), out[bad], exact)

    def _converted(self, tile: NDArray[Any]) -> NDArray[Any]:
        """Return a tile in the type and memory order of the kernels; only one tile at a time is converted."""
        return as_kernels_read(tile, self._row_dtype, self.n_jobs)


class NativePoint(NativePoints):
    """A single point, which is compared with the rows as they are."""

    def __init__(self, metric: NativeMetric, points: Rows, rows: Rows, n_jobs: int) -> None:
        super().__init__(metric, points, rows, n_jobs)
        # Many rows at a time, if none must be read or converted, because each call starts threads of its own.
        is_copied = not isinstance(rows, ArrayRows) or rows.dtype != self._row_dtype
        most_values = _tiles.TILE_ENTRIES if is_copied else _tiles.COLUMN_VALUES
        self.tile_rows = max(1, most_values // points.row_size)

    def fill(self, tile: NDArray[Any], out: NDArray[Any]) -> None:
        _core.fill_column(self._metric.name, self._converted(tile), self._values[0], out, self.n_jobs)
        if out.dtype != np.float64 and not np.isfinite(out).all():
            self.mend(tile, out)

    def fill_viewed(self, tile: NDArray[Any], out: NDArray[np.float32], viewer: _core.Viewer) -> None:
        _core.fill_column(self._metric.name, self._converted(tile), self._values[0], out, self.n_jobs)
        viewer.see(out)


def find_byte_divisor(rows: Rows) -> int | None:
    """Return 1 or 255 if every value is a byte divided by it; None otherwise, and if the rows are uint8 already."""
    if rows.dtype == np.uint8:
        return None
    choices = (1, 255) if rows.row_size >= FEWEST_FEATURES_DIVIDED else (1,)
    return next((divisor for divisor in choices if rows.are_bytes(divisor)), None)


def shared_divisor(metric: NativeMetric, points: Rows, rows: Rows) -> int | None:
    """Return the divisor if both points and rows are bytes divided by it; new rows or the mean of rows may not be."""
    divisor = metric.byte_divisor
    if divisor is None or not rows.are_bytes(divisor) or not points.are_bytes(divisor):
        return None
    return divisor
