"""Filling a block: every tile is checked and scanned for the nearest column of each row while it is in the cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._memory import available_bytes
from onebatchpam._progress import Stages
from onebatchpam._tiles import Room, tile_bounds
from onebatchpam.metrics import Columns, raise_for_bad_entry
from onebatchpam.space import MatrixSpace, Space


class BlockScan:
    """What sampling and weights need to know of the block, gathered tile by tile while it is computed."""

    def __init__(self, n_rows: int, n_jobs: int) -> None:
        self.nearest = np.zeros(n_rows, dtype=np.int32)  # the batch point nearest to each row ...
        self.distances = np.full(n_rows, np.inf, dtype=np.float32)  # ... and the distance to it
        self.largest = 0.0
        self._n_jobs = n_jobs

    def fill(self, columns: Columns, rows: slice, tile: NDArray[np.float32], first_column: int) -> None:
        """Compute a tile of some columns of the block, which begin with this one, and take it in."""
        found = TileScan(len(tile), self._n_jobs)
        columns.fill_viewed(rows, tile, found.viewer)
        self._take_in(found, tile, rows.start, first_column)

    def see(self, tile: NDArray[np.float32], first_row: int, first_column: int = 0) -> None:
        """Take in some rows and columns of the block."""
        found = TileScan(len(tile), self._n_jobs)
        found.viewer.see(tile)
        self._take_in(found, tile, first_row, first_column)

    def _take_in(self, found: TileScan, tile: NDArray[np.float32], first_row: int, first_column: int) -> None:
        """Raise unless all entries are dissimilarities; of equally near batch points the one that came first counts."""
        found.check(tile, first_row, first_column)
        self.largest = max(self.largest, found.viewer.largest)
        nearer = np.flatnonzero(found.distances < self.distances[first_row : first_row + len(tile)])
        self.nearest[first_row + nearer] = found.nearest[nearer] + first_column
        self.distances[first_row + nearer] = found.distances[nearer]


class TileScan:
    """The nearest column of each row of a tile, once its viewer has seen that."""

    def __init__(self, n_rows: int, n_jobs: int) -> None:
        self.nearest, self.distances = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.float32)
        self.viewer = _core.RowScanner(self.nearest, self.distances, n_jobs)

    def check(self, tile: NDArray[np.float32], first_row: int, first_column: int) -> None:
        """Raise unless all entries are dissimilarities."""
        if not self.viewer.valid:
            raise_for_bad_entry(tile, first_row, first_column)


def fill_scanned(
    columns: Columns, out: NDArray[np.float32] | None, scan: BlockScan, stages: Stages, first_column: int = 0
) -> None:
    """Compute some columns of the block, which begin with this one; without `out` they are looked at only."""
    room = Room(columns.n_columns)
    with stages.stage("distances", total=columns.n_rows) as bar:
        for rows in columns.tiles():
            scan.fill(columns, rows, room.of(rows) if out is None else out[rows], first_column)
            bar.update(rows.stop - rows.start)


def check_tile(tile: NDArray[np.float32], first_row: int = 0, first_column: int = 0, n_jobs: int = 1) -> None:
    """Raise unless all entries of a part of the block are dissimilarities."""
    found = TileScan(len(tile), n_jobs)
    found.viewer.see(tile)
    found.check(tile, first_row, first_column)


def square_block(space: Space, n_jobs: int, stages: Stages) -> NDArray[np.float32]:
    """Return the dissimilarities of all pairs of rows: the precomputed matrix itself if it can be searched as it is."""
    scan = BlockScan(space.n, n_jobs)
    if isinstance(space, MatrixSpace) and space.matrix.dtype == np.float32 and space.matrix.flags.c_contiguous:
        with stages.stage("distances", total=space.n) as bar:
            for rows in tile_bounds(space.n, _tiles.TILE_ENTRIES // space.n):
                scan.see(space.matrix[rows], rows.start)
                bar.update(rows.stop - rows.start)
        space.n_distances += space.matrix.size
        return space.matrix
    require_memory(space.n)
    block = np.empty((space.n, space.n), np.float32)
    fill_scanned(space.to_points(np.arange(space.n)), block, scan, stages)
    return block


def require_memory(n: int) -> None:
    """Refuse a block that would not fit, before the system runs out of memory for everybody."""
    needed, available = 4 * n * n, available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"the dissimilarities of all pairs of {n:,} rows need {needed / 1e9:.1f} GB, and {available / 1e9:.1f} GB "
            "of memory are available: use OneBatchPAM, which needs only those to a batch, or fewer rows"
        )
