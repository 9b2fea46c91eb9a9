"""Weights of the batch points, and the correction of their own distances."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._block import Block
from onebatchpam._distances import Space
from onebatchpam._progress import Stages
from onebatchpam._sampling import Batch
from onebatchpam._tiles import Columns, Room, tile_bounds

NEAREST_NEIGHBOUR_WEIGHTED = ("nniw", "progressive")
DEBIASED = ("debias", "nniw", "lwcs", "progressive")


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


def raise_for_bad_entry(tile: NDArray[np.float32], first_row: int, first_column: int) -> NoReturn:
    """Name the first entry that is no dissimilarity."""
    i, j = np.unravel_index(np.argmin((tile >= 0) & (tile < np.inf)), tile.shape)
    raise ValueError(
        f"the dissimilarity in row {first_row + i}, column {first_column + j} of the block is {tile[i, j]}: expected "
        "finite values that are not negative and fit in float32; rescale the data if they are very large"
    )


def weigh(space: Space, block: Block, batch: Batch, variant: str, scan: BlockScan) -> NDArray[np.float64]:
    """Return the weights of the batch points under this variant; debias the block in place where it says so.

    Their mean is that of the weights of all rows.
    """
    if block.m == block.n:
        return batch.weights  # a batch of all rows estimates nothing: there is nothing to correct
    if variant in DEBIASED:
        debias(space, block, batch, scan.largest)
    if variant in NEAREST_NEIGHBOUR_WEIGHTED:
        return nearest_neighbour_weights(scan.nearest, len(batch.indices), space.weights)
    return batch.weights


def nearest_neighbour_weights(nearest: NDArray[np.int32], m: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight each of m batch points by the weight of the rows nearest to it, with the mean of all rows."""
    totals = np.zeros(m)
    for rows in tile_bounds(len(nearest), _tiles.ROWS_PER_SUM):
        totals += np.bincount(nearest[rows], weights[rows], minlength=m)
    return totals * (m / len(weights))


def debias(space: Space, block: Block, batch: Batch, largest: float) -> None:
    """Put a batch point at the largest distance from itself, in place.

    At distance 0 it would be preferred as a medoid for being in the batch. With weights a row may be so heavy that it
    is in the batch for its own sake: the more of its weight is its own, the nearer to itself it stays. A medoid that is
    fixed is not preferred to any other, and stays where it is.
    """
    own_distances = debiased_distances(space.weights[batch.indices], space.weights.sum(), block.n, largest)
    moved = np.flatnonzero(~np.isin(batch.indices, space.fixed))
    block.replace(batch.indices[moved], moved, own_distances[moved].astype(np.float32))


def debiased_distances(
    weights: NDArray[np.float64], total_weight: float, n: int, largest: float
) -> NDArray[np.float64]:
    """Return how far from itself to put each batch point, given its weight, and the weight and number of all rows."""
    m = len(weights)
    own_shares = np.minimum(1, weights * (m / total_weight))  # m / n if all weigh the same
    return largest * np.minimum(1, (1 - own_shares) / (1 - m / n))
