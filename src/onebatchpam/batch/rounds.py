"""Drawing the batch: in one round, or in several if it is progressive; then weighing and debiasing its points.

The rows may be in memory or in partitions: a population that is `Drawable` draws some of them, and its `Scan` compares
all rows with these.
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
    """All rows compared with the batch points so far."""

    @property
    def largest(self) -> float: ...
    def add(self, points: Indices) -> None: ...
    def draw_far(self, size: int) -> Indices: ...
    def weights_of_nearest(self) -> NDArray[np.float64]: ...
    def block(self) -> Block: ...


class Drawable(Protocol):
    """All rows of a data set that have a weight. The indices of rows are those of `space`, the rows at hand."""

    n: int
    total_weight: float

    @property
    def space(self) -> Space: ...
    def draw(self, size: int) -> Batch: ...
    def draw_coreset(self, size: int) -> Batch: ...
    def scan(self, m: int) -> Scan: ...
    def weights_of(self, indices: Indices) -> NDArray[np.float64]: ...


def draw_batch(population: Drawable, m: int, variant: str) -> tuple[Batch, Block]:
    """Return m batch points with their weights under this variant, and the block of rows at hand x batch points."""
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
    if len(points) == population.n:  # a batch of all rows estimates nothing, so there is nothing to correct
        return batch, scan.block()
    block = scan.block()
    if variant in DEBIASED:
        debias(population, block, points, scan.largest)
    if variant in WEIGHTED_BY_NEAREST:
        return Batch(points, scan.weights_of_nearest() * (len(points) / population.n)), block
    return batch, block


def round_sizes(variant: str, m: int, n: int) -> list[int]:
    """Return how many batch points to draw in each round: all of them at once unless the batch is progressive."""
    if variant != "progressive" or m == n:
        return [m]
    first = m - m // 2
    cuts = first + np.arange(PROGRESSIVE_ROUNDS + 1) * (m - first) // PROGRESSIVE_ROUNDS
    return [first, *(size for size in np.diff(cuts).tolist() if size)]


def debias(population: Drawable, block: Block, points: Indices, largest: float) -> None:
    """Put every batch point far from itself in the block; a fixed medoid stays, because it competes with nobody."""
    weights = population.weights_of(points)
    own_distances = debiased_distances(weights, population.total_weight, population.n, largest)
    moved = np.flatnonzero(~np.isin(points, population.space.fixed))
    block.replace(points[moved], moved, own_distances[moved].astype(np.float32))
