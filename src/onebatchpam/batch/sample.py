"""The sample: with very many rows, batch, weights and search run on some of them, which stand for all rows.

The error of a batch depends on its own size, not on the number of rows, and refinement tries candidates among all rows
afterwards. So a search among a sample is as good a start for refinement as a search among all rows. Most rows of the
sample are drawn by weight, the others by their distance to the first medoids, so that small groups far away are not
lost. The weights of the drawn rows make up for their odds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import sample_odds
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.batch.size import ALL_ROWS_BELOW
from onebatchpam.blocks import BlockScan
from onebatchpam.space import Space

# With more rows than this, a search that is refined afterwards runs on a sample.
MANY_ROWS = 100_000
# The sample has this many rows for each medoid, but not fewer than the next number, and not more than MANY_ROWS unless
# the batch needs more.
ROWS_PER_MEDOID, LEAST_ROWS = 1000, 20_000
# In each round of the refinement that follows, the batch screens as many rows as this share of the sample has.
SHARE_SCREENED = 0.4


def sample_size(n: int, m: int, k: int, rounds: int) -> int:
    """Return how many of n rows a search for k medoids with m batch points runs on; n if there is no refinement."""
    return n if n <= MANY_ROWS or rounds == 0 else min(n, count_sampled(m, k))


def count_sampled(m: int, k: int) -> int:
    """Return how many rows a sample has for a search for k medoids with m batch points."""
    return max(min(max(LEAST_ROWS, ROWS_PER_MEDOID * k), MANY_ROWS), ALL_ROWS_BELOW * m)


def most_searched() -> int:
    """Return the largest number of rows of which all are searched."""
    return MANY_ROWS


def count_screened(n: int, n_searched: int) -> int:
    """Return how many of n rows the batch screens at most in a round of refinement, given the size of the sample."""
    return n if n_searched == n else int(SHARE_SCREENED * n_searched)


def find_odds(space: Space, first: Indices, run: Run) -> NDArray[np.float64]:
    """Return the odds by which rows are drawn to stand for all: by weight, and by distance to the first medoids."""
    candidates, weights = space.candidates, space.weights
    far = measure_far(space, first, run)
    known = (weights, float(weights.sum()), far, float(far.sum()))
    if candidates.indices is None:
        return sample_odds(*known)
    return sample_odds(*known, candidates.marked(), float(candidates.of(weights).sum()))


def measure_far(space: Space, first: Indices, run: Run) -> NDArray[np.float64]:
    """Return the weight of each row times its distance to the nearest of the first medoids."""
    scan, distances = BlockScan(space.n, run.n_jobs), space.distances_from(first)
    buffer = TileBuffer(distances.n_columns)
    with run.stages.stage("sample", total=space.n) as bar:
        for rows in distances.tiles():
            scan.fill(distances, rows, buffer.for_rows(rows))
            bar.update(rows.stop - rows.start)
    return scan.distances * space.weights
