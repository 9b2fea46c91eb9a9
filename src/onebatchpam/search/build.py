"""PAM's BUILD: choose medoids one after the other, each time the row that lowers the loss most.

BUILD draws nothing, and the swap search that follows it tries the most central candidates first. So the result depends
neither on the random state nor on the order of the rows, and a row that occurs twice counts like a row of weight two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block


@dataclass(frozen=True)
class Build:
    """A start that is still to be chosen: BUILD chooses k medoids, the fixed ones included, once there is a block."""

    k: int
    fixed: Indices  # places of the fixed medoids among the candidates, which are the rows of the block

    def choose(self, block: Block, order: Indices, weights: NDArray[np.float64], run: Run) -> Indices:
        """Choose k rows of a block, the fixed ones first; of rows that lower the loss equally, the most central one.

        `order` has all rows of the block, the most central ones first.
        """
        # The best single medoid is the most central row.
        first = self.fixed if len(self.fixed) else order[:1]
        medoids = np.concatenate([first, np.empty(self.k - len(first), np.int64)])
        nearest = block.rows(first).min(axis=0)
        with run.stages.stage("initial medoids", total=self.k - len(first), unit=" medoids") as bar:
            for slot in range(len(first), self.k):
                losses = block.weighted_sums(weights, run.n_jobs, nearest)
                losses[medoids[:slot]] = np.inf
                medoids[slot] = order[np.argmin(losses[order])]
                np.minimum(nearest, block.rows(medoids[slot : slot + 1])[0], out=nearest)
                bar.update(1)
        return medoids


def most_central_first(block: Block, weights: NDArray[np.float64], n_jobs: int) -> Indices:
    """Return the row indices of a block, those with the smallest weighted sums first."""
    return np.argsort(block.weighted_sums(weights, n_jobs), kind="stable")
