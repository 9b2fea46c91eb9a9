"""The batch is drawn and the columns of its block are filled: in one round, or several if it is progressive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch
from onebatchpam._progress import Stages
from onebatchpam.batch.sampling import extend_batch, round_sizes, sample_batch
from onebatchpam.blocks import Block, BlockScan, WholeBlock, fill_scanned, open_block
from onebatchpam.space import Space


def sample_block(
    space: Space,
    m: int,
    variant: str,
    k: int,
    memory_limit: int,
    rng: np.random.RandomState,
    n_jobs: int,
    stages: Stages,
) -> tuple[Batch, Block, BlockScan]:
    """Draw m batch points; return them with the dissimilarities of all rows to them, each computed once.

    Where they do not fit in memory they are looked at only, and computed again for the search of k medoids.
    """
    first, *others = round_sizes(variant, m, space.n)
    batch = sample_batch(space, first, variant, rng, stages)
    shape = space.n, len(batch.indices) + sum(others)
    entries = np.empty(shape, np.float32) if 4 * shape[0] * shape[1] <= memory_limit else None
    scan = BlockScan(space.n, n_jobs)
    scan_columns(space, batch, 0, entries, scan, stages)
    for size in others:
        n_seen = len(batch.indices)
        batch = extend_batch(batch, size, scan.distances, space.weights, rng)
        scan_columns(space, batch, n_seen, entries, scan, stages)
    if entries is not None:
        return batch, WholeBlock(entries), scan
    return batch, open_block(space.to_points, batch.indices, None, k, memory_limit), scan


def scan_columns(
    space: Space, batch: Batch, n_seen: int, entries: NDArray[np.float32] | None, scan: BlockScan, stages: Stages
) -> None:
    """Compute the columns of the batch points that are new, and keep them if there is room for them."""
    new = batch.indices[n_seen:]
    out = None if entries is None else entries[:, n_seen : len(batch.indices)]
    fill_scanned(space.to_points(new), out, scan, stages, n_seen)
