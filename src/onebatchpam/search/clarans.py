"""The search of CLARANS: rows drawn at random are swapped in if that lowers the loss, until many in a row do not.

No block is held. A row that is drawn is compared with all rows, and all swaps of it with a medoid are evaluated
together, as in FastCLARANS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.search.first_medoids import draw_with_replacement
from onebatchpam.search.two_nearest import TwoNearest, compare_with_all
from onebatchpam.space import Space


@dataclass(frozen=True)
class Wandered:
    """The medoids at which a random search ended, their loss, and how many rows it tried and swapped in."""

    medoids: Indices
    loss: float
    n_tried: int
    n_swaps: int


def wander(space: Space, start: Indices, n_failures: int, tol: float, run: Run) -> Wandered:
    """Try random rows until `n_failures` in a row bring no swap that lowers the loss by more than a fraction `tol`.

    No row is tried twice for the same medoids, so that the search also ends when all rows have failed.
    """
    medoids, k, n_fixed = start.copy(), len(start), len(space.fixed)
    two_nearest = TwoNearest(space.n)
    for slot in range(k):
        two_nearest.add(slot, compare_with_all(space, medoids[slot]))
    loss = float(space.weights @ two_nearest.distances[0])
    n_tried = n_swaps = 0
    n_failures = 0 if n_fixed == k else min(n_failures, count_others(space, medoids))
    failed: list[np.int64] = []
    with run.stages.stage("swap search", unit=" candidates") as bar:
        while len(failed) < n_failures and loss > 0:
            n_tried += 1
            candidate = draw_with_replacement(space, 1, np.concatenate([medoids, failed]).astype(np.int64), run.rng)[0]
            row = compare_with_all(space, candidate)
            slot = n_fixed + int(np.argmin(two_nearest.changes(row, space.weights, k)[n_fixed:]))
            loss_after = two_nearest.loss_after(slot, row, space.weights)
            if loss_after < (1 - tol) * loss:  # each swap lowers the loss, so that the search ends
                medoids[slot] = candidate
                two_nearest.replace(slot, row, space, medoids)
                n_swaps, failed, loss = n_swaps + 1, [], loss_after
            else:
                failed.append(candidate)
            bar.set_postfix(swaps=n_swaps, refresh=False)
            bar.update(1)
    return Wandered(medoids, loss, n_tried, n_swaps)


def count_others(space: Space, medoids: Indices) -> int:
    """Return how many candidates are not medoids."""
    return int(np.count_nonzero(~np.isin(space.candidates.rows(), medoids)))
