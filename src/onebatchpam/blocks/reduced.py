"""Reduced rows: rows of a block of which only the entries below the threshold of their column are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam.blocks.block import Entries


@dataclass(frozen=True)
class ReducedRows:
    """The entries of some rows that are below the thresholds of their columns, row after row (CSR format)."""

    thresholds: Entries
    starts: NDArray[np.int64]
    columns: NDArray[Any]
    values: Entries

    @classmethod
    def of(cls, tile: Entries, thresholds: Entries, bytes_left: int, n_jobs: int) -> ReducedRows | None:
        """Reduce the rows of a tile; return None if the reduced rows take more bytes than are left."""
        starts = np.zeros(len(tile) + 1, np.int64)
        _core.count_below(tile, thresholds, starts[1:], n_jobs)
        np.cumsum(starts, out=starts)
        dtype = column_dtype(tile.shape[1])
        if thresholds.nbytes + starts.nbytes + starts[-1] * (4 + dtype.itemsize) > bytes_left:
            return None
        columns, values = np.empty(starts[-1], dtype), np.empty(starts[-1], np.float32)
        _core.reduce_rows(tile, thresholds, starts, columns, values, n_jobs)
        return cls(thresholds, starts, columns, values)

    @classmethod
    def join(cls, parts: list[ReducedRows]) -> ReducedRows:
        """Return the rows of all parts, one part after the other; all parts have the same thresholds."""
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        return cls(
            parts[0].thresholds,
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    @property
    def n_bytes(self) -> int:
        return self.thresholds.nbytes + self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def expand(self, out: Entries, n_jobs: int) -> Entries:
        """Write the rows to `out`, infinite where an entry was not kept."""
        _core.expand_rows(self.starts, self.columns, self.values, out, n_jobs)
        return out


def column_dtype(m: int) -> np.dtype[Any]:
    """Return the smallest type that holds the index of each of m columns."""
    return np.dtype(np.uint16 if m <= 2**16 else np.uint32)
