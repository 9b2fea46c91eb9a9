"""PAM's BUILD: medoids chosen one after the other, each the row that lowers the loss most.

It draws nothing, and the search that follows looks at the candidates in the order of their sums, the most central one
first. So neither a random state nor the order of the rows enters, and a row that comes twice is the same as a row of
weight two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices
from onebatchpam.blocks import WholeBlock


@dataclass(frozen=True)
class Build:
    """The start of a search for k medoids that BUILD will choose once there is a block."""

    k: int
    fixed: Indices

    def choose(self, block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> Indices:
        """Return k rows of a block; of rows that lower the loss equally, the most central one is chosen."""
        order = most_central_first(block, weights, n_jobs)
        n_fixed = len(self.fixed)
        medoids = np.concatenate([self.fixed, np.empty(self.k - n_fixed, np.int64)])
        nearest = np.min(block[self.fixed], axis=0, initial=np.inf)
        for slot in range(n_fixed, self.k):
            losses = weighted_sums(np.minimum(block, nearest), weights, n_jobs)
            losses[medoids[:slot]] = np.inf
            medoids[slot] = order[np.argmin(losses[order])]
            np.minimum(nearest, block[medoids[slot]], out=nearest)
        return medoids


def most_central_first(block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> Indices:
    """Return the rows in the order of their weighted sums."""
    return np.argsort(weighted_sums(block, weights, n_jobs), kind="stable")


def weighted_sums(block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
    """Return the weighted sum of every row."""
    return WholeBlock(block).weighted_sums(weights, n_jobs)
