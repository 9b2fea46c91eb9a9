"""An order of the medoids of which every prefix is a good smaller selection, and the loss of each prefix.

The order is greedy: each medoid is the one that lowers the loss most, given those before it. So the first one is the
best that stands alone, and fixed medoids in front need no other rule. The reverse, to remove one medoid after
another, each time the one that is missed least, is no better on average: it is mostly worse for short prefixes, and a
little better for long ones.

The order is found on a sample of points. The losses of the prefixes are then summed over all rows, in one pass that
keeps nothing for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch
from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.blocks import WholeBlock, compute_checked
from onebatchpam.metrics import are_dissimilarities
from onebatchpam.space import Space, TransposedDistances


@dataclass(frozen=True)
class Ordered:
    """Medoids in their order, and the place among them of the one that is the best if it stands alone."""

    medoids: Indices
    best_alone: int


@dataclass(frozen=True)
class Prefixes:
    """What the first medoids of an order do for all rows.

    `losses` has the loss of the first 1, 2, ..., k medoids, and `loss_alone` is that of the medoid that is the best if
    it stands alone. `counts` is the weight of the rows to which each of the k medoids is the nearest.
    """

    losses: NDArray[np.float64]
    loss_alone: float
    counts: NDArray[np.float64]


def order_medoids(space: Space, medoids: Indices, points: Batch, run: Run) -> Ordered:
    """Order the medoids of a space by their gains over these points; fixed medoids stay in front, in their order."""
    n_fixed = len(space.fixed)
    medoids = np.concatenate([medoids[:n_fixed], np.sort(medoids[n_fixed:])])  # of equal gains, the lowest row wins
    distances = TransposedDistances(space, points.indices, medoids, run.n_jobs)
    block = compute_checked(distances, run.stages)
    with run.stages.stage("order", total=len(medoids), unit=" representatives") as bar:
        alone = WholeBlock(block).weighted_sums(points.weights, run.n_jobs)
        order = order_greedily(block, points.weights, alone, n_fixed, bar)
    return Ordered(medoids[order], int(np.argmin(alone[order])))


def order_greedily(
    block: NDArray[np.float32], weights: NDArray[np.float64], alone: NDArray[np.float64], n_fixed: int, bar: Progress
) -> Indices:
    """Return the rows of a block of medoids x points in a greedy order; the first `n_fixed` rows stay in front.

    `alone` are the weighted sums of the rows. A gain never grows as medoids are added, so that a gain of an earlier
    step is an upper bound: only the medoid with the largest one is evaluated again, until the largest is up to date.
    """
    order = list(range(n_fixed)) if n_fixed else [int(np.argmin(alone))]
    nearest = block[order[0]].copy()
    for place in order[1:]:  # one row after the other: a copy of many fixed rows would take seconds without an answer
        np.minimum(nearest, block[place], out=nearest)
    loss = evaluate(nearest[np.newaxis], weights, nearest)
    gains = np.full(len(block), np.inf)
    gains[order] = -np.inf
    step_of_gain = np.zeros(len(block), np.int64)
    bar.update(len(order))
    while len(order) < len(block):
        best = int(np.argmax(gains))
        if step_of_gain[best] < len(order):
            gains[best] = loss - evaluate(block[best : best + 1], weights, nearest)
            step_of_gain[best] = len(order)
            continue
        loss -= gains[best]
        np.minimum(nearest, block[best], out=nearest)
        gains[best] = -np.inf
        order.append(best)
        bar.update()
    return np.array(order)


def evaluate(distances: NDArray[np.float32], weights: NDArray[np.float64], nearest: NDArray[np.float32]) -> float:
    """Return the loss if a medoid is added, given its distances to the points and those of the nearest medoids."""
    sums = np.empty(1)
    _core.RowSummer(weights, sums, 1, nearest).see(distances)
    return float(sums[0])


def measure_prefixes(space: Space, ordered: Ordered, run: Run, labels: NDArray[np.int32] | None = None) -> Prefixes:
    """Compare all rows with the medoids; write the place of the nearest medoid of each row to `labels`, if given.

    Sums are added up over ranges of rows that do not depend on the size of the tiles.
    """
    k = len(ordered.medoids)
    losses, loss_alone, counts = np.zeros(k), 0.0, np.zeros(k)
    distances = space.distances_from(ordered.medoids)
    with run.stages.stage("coverage", total=space.n) as bar:
        for rows, tile in distances.each_tile():
            if not are_dissimilarities(tile).all():
                distances.mend(rows, tile)
            nearest, weights = tile.argmin(axis=1), space.weights[rows]
            np.add.at(counts, nearest, weights)
            if labels is not None:
                labels[rows] = nearest
            for part in tile_bounds(len(tile), _core.SWEEP_CHUNK):
                loss_alone += float(np.sum(weights[part] * tile[part, ordered.best_alone]))
                nearest_so_far = np.minimum.accumulate(tile[part], axis=1)
                losses += np.sum(weights[part, np.newaxis] * nearest_so_far, axis=0)
            bar.update(len(tile))
    return Prefixes(losses, loss_alone, counts)
