"""The batch is drawn and the columns of its block are filled: in one round, or several if it is progressive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam._block import Block, WholeBlock
from onebatchpam._distances import Space
from onebatchpam._progress import Stages
from onebatchpam._sampling import Batch, extend_batch, round_sizes, sample_batch
from onebatchpam._tiles import fill_all
from onebatchpam._weights import BlockScan


def sample_block(
    space: Space, m: int, variant: str, rng: np.random.RandomState, n_jobs: int, stages: Stages
) -> tuple[Batch, Block, BlockScan]:
    """Draw m batch points; return them with the dissimilarities of all rows to them, each computed once."""
    first, *others = round_sizes(variant, m, space.n)
    batch = sample_batch(space, first, variant, rng, stages)
    block = np.empty((space.n, len(batch.indices) + sum(others)), np.float32)
    scan = BlockScan(space.n, n_jobs)
    fill_columns(space, batch, 0, block, scan, stages)
    for size in others:
        n_filled = len(batch.indices)
        batch = extend_batch(batch, size, scan.distances, space.weights, rng)
        fill_columns(space, batch, n_filled, block, scan, stages)
    return batch, WholeBlock(block), scan


def fill_columns(
    space: Space, batch: Batch, n_filled: int, block: NDArray[np.float32], scan: BlockScan, stages: Stages
) -> None:
    """Fill the columns of the batch points that are new."""

    def see(tile: NDArray[np.float32], first_row: int) -> None:
        scan.see(tile, first_row, n_filled)

    m = len(batch.indices)
    fill_all(space.to_points(batch.indices[n_filled:]), block[:, n_filled:m], stages, "distances", see)
