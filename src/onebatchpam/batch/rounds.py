"""Drawing the batch: in one round, or in several if it is progressive; then weighting and debiasing its points.

The rows may be in memory or in partitions: a `Drawable` population draws batch points, and its `Scan` compares all rows
with them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch
from onebatchpam._tiles import Indices
from onebatchpam.batch.weights import DEBIASED, WEIGHTED_BY_NEAREST, debiased_distances
from onebatchpam.blocks import Block
from onebatchpam.space import Space

VARIANTS = ("progressive", "nniw", "debias", "unif", "lwcs")
# Half of a progressive batch is drawn uniformly, the other half in this many rounds.
PROGRESSIVE_ROUNDS = 4


class Scan(Protocol):
    """Compares all rows with the batch points, as these are added.

    `largest` is the largest dissimilarity so far. `draw_far` draws rows with odds of weight times distance to the
    batch. `weights_of_nearest` returns, for each batch point, the weight of the rows to which it is the nearest.
    """

    @property
    def largest(self) -> float: ...
    def add(self, points: Indices) -> None: ...
    def draw_far(self, size: int) -> Indices: ...
    def weights_of_nearest(self) -> NDArray[np.float64]: ...
    def block(self) -> Block: ...


class Drawable(Protocol):
    """All n rows of a data set that have a positive weight. `space` holds the rows at hand, and indices refer to it.

    `draw` draws rows by their weights, `draw_coreset` also by their distances to the mean. `scan` begins the comparison
    of all rows with m batch points.
    """

    n: int
    total_weight: float
    is_sample: bool  # whether these rows are a sample of others

    @property
    def space(self) -> Space: ...
    def draw(self, size: int) -> Batch: ...
    def draw_coreset(self, size: int) -> Batch: ...
    def scan(self, m: int) -> Scan: ...
    def weights_of(self, indices: Indices) -> NDArray[np.float64]: ...


def draw_batch(population: Drawable, m: int, variant: str) -> tuple[Batch, Block]:
    """Draw m batch points; return them with their weights under this variant, and the block of rows at hand x points.

    The batch is smaller if a coreset draws a row twice, or if too few rows differ from those in the batch.
    """
    first, *others = round_sizes(variant, m, population.n)
    is_coreset = variant == "lwcs" and m < population.n
    batch = population.draw_coreset(first) if is_coreset else population.draw(first)
    points, scan = batch.indices, population.scan(len(batch.indices) + sum(others))
    scan.add(points)
    for size in others:
        drawn = scan.draw_far(size)
        if len(drawn) == 0:
            break  # every other row is a duplicate of a batch point
        scan.add(drawn)
        points = np.concatenate([points, drawn])
    population.space.check_scale(scan.largest)
    if len(points) == population.n:  # a batch of all rows estimates nothing, so there is nothing to correct
        return batch, scan.block()
    block = scan.block()
    if variant in DEBIASED:
        stood_for = scan.weights_of_nearest() if population.is_sample else None
        debias(population, block, points, scan.largest, stood_for)
    if variant in WEIGHTED_BY_NEAREST:
        return Batch(points, scan.weights_of_nearest() * (len(points) / population.n)), block
    return batch, block


def round_sizes(variant: str, m: int, n: int) -> list[int]:
    """Return the number of batch points to draw in each round; only a progressive batch has several rounds."""
    if variant != "progressive" or m == n:
        return [m]
    first = m - m // 2
    cuts = first + np.arange(PROGRESSIVE_ROUNDS + 1) * (m - first) // PROGRESSIVE_ROUNDS
    return [first, *(size for size in np.diff(cuts).tolist() if size)]


def debias(
    population: Drawable,
    block: Block,
    points: Indices,
    largest: float,
    stood_for: NDArray[np.float64] | None = None,
) -> None:
    """Put every batch point that is a candidate far from itself in the block.

    Fixed medoids stay where they are, because they compete with no candidate.
    """
    weights = population.weights_of(points)
    own_distances = debiased_distances(weights, population.total_weight, population.n, largest, stood_for)
    space = population.space
    moved = np.flatnonzero(space.candidates.marked()[points] & ~np.isin(points, space.fixed))
    block.replace(points[moved], moved, own_distances[moved].astype(np.float32))
