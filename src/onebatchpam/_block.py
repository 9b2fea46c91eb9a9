"""The block: the batch is drawn and its columns are filled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam._distances import Space
from onebatchpam._progress import Stages
from onebatchpam._sampling import Batch, sample_batch
from onebatchpam._tiles import fill_all
from onebatchpam._weights import BlockScan


def sample_block(
    space: Space, m: int, variant: str, rng: np.random.RandomState, n_jobs: int, stages: Stages
) -> tuple[Batch, NDArray[np.float32], BlockScan]:
    """Draw m batch points; return them with the dissimilarities of all rows to them."""
    batch = sample_batch(space, m, variant, rng, stages)
    columns = space.to_points(batch.indices)
    block = np.empty((space.n, columns.n_columns), np.float32)
    scan = BlockScan(columns.n_columns, n_jobs)
    fill_all(columns, block, stages, "distances", see=scan.see)
    return batch, block, scan
