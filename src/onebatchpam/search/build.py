"""PAM's BUILD: choose medoids one after the other, each time the row that lowers the loss most.

BUILD draws nothing, and the swap search that follows it tries the most central candidates first. So the result depends
neither on the random state nor on the order of the rows, and a row that occurs twice counts like a row of weight two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices
from onebatchpam.blocks import WholeBlock


@dataclass(frozen=True)
class Build:
    """A start that is still to be chosen: BUILD chooses k medoids, the fixed ones included, once there is a block."""

    k: int
    fixed: Indices  # places of the fixed medoids among the candidates, which are the rows of the block

    def choose(self, block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> Indices:
        """Choose k rows of a block, the fixed ones first; of rows that lower the loss equally, the most central one."""
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
    """Return the row indices of a block, those with the smallest weighted sums first."""
    return np.argsort(weighted_sums(block, weights, n_jobs), kind="stable")


def weighted_sums(block: NDArray[np.float32], weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
    """Return the weighted sum of every row of a block."""
    return WholeBlock(block).weighted_sums(weights, n_jobs)
