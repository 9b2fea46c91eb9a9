"""Weights of the batch points, and the correction of their own distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._draws import Batch
from onebatchpam._tiles import tile_bounds
from onebatchpam.blocks import Block, BlockScan
from onebatchpam.space import Space

NEAREST_NEIGHBOUR_WEIGHTED = ("nniw", "progressive")

DEBIASED = ("debias", "nniw", "lwcs", "progressive")


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
