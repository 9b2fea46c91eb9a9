"""Filling a block: every tile is checked and scanned for the nearest column of each row while it is in the cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.metrics import PairError, raise_for_bad_entry
from onebatchpam.space import Distances, TiledDistances


class BlockScan:
    """The nearest batch point of every row, gathered tile by tile while the block is computed."""

    def __init__(self, n_rows: int, n_jobs: int) -> None:
        self.nearest = np.zeros(n_rows, dtype=np.int32)
        self.distances = np.full(n_rows, np.inf, dtype=np.float32)  # distance of every row to its nearest batch point
        self.largest = 0.0  # the largest dissimilarity so far
        self._n_jobs = n_jobs

    def fill(self, distances: Distances, rows: slice, tile: NDArray[np.float32], first_column: int = 0) -> None:
        """Compute, check and scan a tile; its first column is `first_column` of the block."""
        self._take_in(fill_checked(distances, rows, tile), rows, first_column)

    def see(self, tile: NDArray[np.float32], rows: slice) -> None:
        """Check and scan a tile that has been computed already."""
        scan = TileScan(len(tile), self._n_jobs)
        scan.viewer.see(tile)
        if not scan.viewer.valid:
            refuse_entry(tile, rows)
        self._take_in(scan, rows, 0)

    def _take_in(self, scan: TileScan, rows: slice, first_column: int) -> None:
        """Note the columns of a tile that are nearer than all columns before; of equally near ones the first counts."""
        self.largest = max(self.largest, scan.viewer.largest)
        nearer = np.flatnonzero(scan.distances < self.distances[rows])
        self.nearest[rows.start + nearer] = scan.nearest[nearer] + first_column
        self.distances[rows.start + nearer] = scan.distances[nearer]


class TileScan:
    """The nearest column of each row of a tile, once the viewer has seen the tile."""

    def __init__(self, n_rows: int, n_jobs: int) -> None:
        self.nearest, self.distances = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.float32)
        self.viewer = _core.RowScanner(self.nearest, self.distances, n_jobs)


def fill_checked(distances: TiledDistances, rows: slice, tile: NDArray[np.float32]) -> TileScan:
    """Compute a tile and return its scan; raise if an entry is not a dissimilarity."""
    scan = TileScan(len(tile), distances.n_jobs)
    distances.fill(rows, tile, scan.viewer)
    if scan.viewer.valid:
        return scan
    distances.mend(rows, tile)
    mended = TileScan(len(tile), distances.n_jobs)
    mended.viewer.see(tile)
    return mended


def refuse_entry(tile: NDArray[np.float32], rows: slice) -> None:
    """Raise for the first entry of a tile that is not a dissimilarity, in a block whose points have no names."""
    try:
        raise_for_bad_entry(tile)
    except PairError as error:
        place = f"row {rows.start + error.row}, column {error.column} of the block"
        raise ValueError(f"the dissimilarity in {place} {error.problem}") from None


def check_block(entries: NDArray[np.float32], n_jobs: int, stages: Stages | None = None) -> None:
    """Raise unless all entries of a block in memory are dissimilarities."""
    scan = BlockScan(len(entries), n_jobs)
    with (Stages() if stages is None else stages).stage("distances", total=len(entries)) as bar:
        for rows in tile_bounds(len(entries), _tiles.TILE_ENTRIES // entries.shape[1]):
            scan.see(entries[rows], rows)
            bar.update(rows.stop - rows.start)


def fill_scanned(
    distances: Distances,
    out: NDArray[np.float32] | None,
    scan: BlockScan,
    stages: Stages | None = None,
    first_column: int = 0,
    kept: Indices | None = None,
    n_columns: int | None = None,
) -> None:
    """Compute and scan columns of a block, from `first_column` on; keep them in `out`, or not at all if it is None.

    `kept` are the rows that are kept, in ascending order; None means all rows. `n_columns` is the number of all columns
    of the block; None means that these are the last.
    """
    n_rows, last_column = distances.n_rows, first_column + distances.n_columns
    total = n_rows * (last_column if n_columns is None else n_columns)
    part = slice(n_rows * first_column, n_rows * last_column)
    buffer = TileBuffer(distances.n_columns)
    with (Stages() if stages is None else stages).stage("distances", total, " distances", part) as bar:
        for rows in distances.tiles():
            tile = buffer.for_rows(rows) if out is None or kept is not None else out[rows]
            scan.fill(distances, rows, tile, first_column)
            if out is not None and kept is not None:
                first, last = np.searchsorted(kept, [rows.start, rows.stop])
                out[first:last] = tile[kept[first:last] - rows.start]
            bar.update(tile.size)


def compute_checked(distances: TiledDistances, stages: Stages | None = None) -> NDArray[np.float32]:
    """Return a whole block of dissimilarities; raise if an entry is not a dissimilarity."""
    block = np.empty((distances.n_rows, distances.n_columns), np.float32)
    with (Stages() if stages is None else stages).stage("distances", total=distances.n_rows) as bar:
        for rows in distances.tiles():
            fill_checked(distances, rows, block[rows])
            bar.update(rows.stop - rows.start)
    return block
