"""Swaps that keep clusters large: every cluster is to have at least a given weight.

Rows always belong to their nearest medoid, so that the constraint is one on sets of medoids. The shortfall of a set is
the weight that its clusters lack, added up. A swap is made if it lowers the shortfall; or if it lowers the loss and
does not raise the shortfall. So medoids that meet the constraint keep meeting it. Such a search may end with a
shortfall, even though other medoids have none; it then starts again from medoids that are drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._parameters import WEIGHT_ROUNDING
from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block
from onebatchpam.search.assignment import weigh_clusters
from onebatchpam.search.first_medoids import random_medoids
from onebatchpam.search.swaps import SwapOptions

# How often a search that ends with a shortfall starts again: most often with few candidates, among which a search gets
# stuck more easily.
MOST_RESTARTS, MOST_CANDIDATES_OF_RESTARTS = 10, 10_000


@dataclass(frozen=True)
class SizedResult:
    """Medoids as rows of a block, the weight that their clusters lack, and the swaps that led to them."""

    medoids: Indices
    shortfall: float
    n_swaps: int


def swap_for_sizes(
    block: Block,
    start: Indices,
    weights: NDArray[np.float64],
    least: float,
    options: SwapOptions,
    run: Run,
    bar: Progress,
) -> SizedResult:
    """Swap until all clusters have at least the weight `least`, and the loss cannot be lowered without losing that."""
    result = _swap_until_idle(block, start, weights, least, options, run, bar)
    for _ in range(min(MOST_RESTARTS, max(1, MOST_CANDIDATES_OF_RESTARTS // block.n))):
        if result.shortfall == 0:
            break
        drawn = random_medoids(block.n, len(start), run.rng, start[: options.n_fixed])
        other = _swap_until_idle(block, drawn, weights, least, options, run, bar)
        if other.shortfall < result.shortfall:
            result = other
    return result


def _swap_until_idle(
    block: Block,
    start: Indices,
    weights: NDArray[np.float64],
    least: float,
    options: SwapOptions,
    run: Run,
    bar: Progress,
) -> SizedResult:
    medoids, state = start.copy(), SizedState(block.rows(start), weights, least, options.n_fixed)
    n_swaps = 0
    for _ in range(options.max_iter):
        n_before = n_swaps
        for candidate, row in _promising(block, medoids, state, options, run):
            swap = state.best_swap(row)
            if candidate not in medoids and state.is_improved_by(swap, options.tol):
                medoids[swap.slot] = candidate
                state.make_swap(swap.slot, row)
                n_swaps += 1
                bar.set_postfix(shortfall=state.shortfall, loss=state.loss, refresh=False)
                bar.update()
        if n_swaps == n_before:
            break
    return SizedResult(medoids, state.shortfall, n_swaps)


def _promising(
    block: Block, medoids: Indices, state: SizedState, options: SwapOptions, run: Run
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the candidates that may improve the present medoids, with their rows; the most promising come first."""
    if state.shortfall == 0:
        search = _core.SwapSearch(block.n, medoids, block.rows(medoids), state.weights, options.tol, options.n_fixed)
        gains, _ = block.best_swaps(search, run.n_jobs)  # gains of swaps that may leave clusters too small
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > options.tol * state.loss]
    else:
        swaps = [state.best_swap(row) for _, tile in block.tiles() for row in tile]
        order = np.lexsort(([swap.change for swap in swaps], [swap.shortfall for swap in swaps]))
        order = order[[state.is_improved_by(swaps[place], options.tol) for place in order]]
    for candidate in order:
        yield int(candidate), block.rows(np.array([candidate]))[0]


@dataclass(frozen=True)
class SizedSwap:
    """The best swap of a candidate: the slot that it takes, the shortfall after it, and how it changes the loss."""

    slot: int
    shortfall: float
    change: float


class SizedState:
    """Which two medoids are nearest to each point, the weights of the clusters, and what they lack.

    In a tie, the medoid with the lower slot counts as nearer, as it does everywhere.
    """

    def __init__(
        self, medoid_rows: NDArray[np.float32], weights: NDArray[np.float64], least: float, n_fixed: int
    ) -> None:
        self.weights, self._least, self._n_fixed = weights, least, n_fixed
        self._rows = medoid_rows.copy()
        self._near, self._second = np.zeros((2, len(weights)), np.int64)
        self._find_nearest(np.arange(len(weights)))
        self._sum_up()

    def _find_nearest(self, points: Indices) -> None:
        """Find the two nearest medoids of these points."""
        rows, columns = self._rows[:, points], np.arange(len(points))
        self._near[points] = rows.argmin(axis=0)
        rows[self._near[points], columns] = np.inf
        self._second[points] = rows.argmin(axis=0)

    def _sum_up(self) -> None:
        k, columns = len(self._rows), np.arange(len(self.weights))
        self._nearest = self._rows[self._near, columns].astype(np.float64)
        self._next = self._rows[self._second, columns].astype(np.float64)
        self.loss = float(self.weights @ self._nearest)
        self.sizes = weigh_clusters(self._near, self.weights, k)
        self.shortfall = float(self._lacks(self.sizes).sum())
        # What the points of each cluster lose if its medoid leaves, and where they go: their weight by the nearest and
        # the second nearest medoid.
        self._losses = np.bincount(self._near, self.weights * (self._next - self._nearest), minlength=k)
        self._heirs = np.bincount(self._near * k + self._second, self.weights, minlength=k * k).reshape(k, k)

    def _lacks(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what clusters of these weights lack."""
        lacks = self._least - sizes
        return np.where(lacks > WEIGHT_ROUNDING * self._least, lacks, 0.0)

    def is_improved_by(self, swap: SizedSwap, tol: float) -> bool:
        """Tell whether a swap lowers the shortfall, or lowers the loss without raising the shortfall."""
        is_lower = swap.shortfall < self.shortfall - WEIGHT_ROUNDING * self._least
        return is_lower or (swap.shortfall <= self.shortfall and swap.change < -tol * self.loss)

    def best_swap(self, row: NDArray[np.float32]) -> SizedSwap:
        """Return the swap of a candidate, given its row, with the smallest shortfall; of several, the lowest loss."""
        points = np.flatnonzero(row <= self._next)  # to all other points, the candidate makes no difference
        changes, shortfalls = self._evaluate(points, row[points].astype(np.float64))
        limit = shortfalls[self._n_fixed :].min() + WEIGHT_ROUNDING * self._least
        slots = np.flatnonzero(shortfalls[self._n_fixed :] <= limit) + self._n_fixed
        slot = int(slots[np.argmin(changes[slots])])
        return SizedSwap(slot, float(shortfalls[slot]), float(changes[slot]))

    def _evaluate(
        self, points: Indices, distances: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the change of the loss and the shortfall after a swap of the candidate with each medoid."""
        k, weights = len(self._rows), self.weights[points]
        near, second = self._near[points], self._second[points]
        nearest, following = self._nearest[points], self._next[points]

        def add_up(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
            return weigh_clusters(near[chosen], values[chosen], k)

        is_nearer, is_tied = distances < nearest, distances == nearest
        gained = weights * np.minimum(distances - nearest, 0)
        kept = weights * (following - np.maximum(distances, nearest))  # what the candidate saves if the nearest leaves
        changes = gained.sum() + self._losses - np.bincount(near, kept, minlength=k)

        # A cluster loses `taken` to the candidate, and `tied` as well if the candidate takes a lower slot. If its own
        # medoid leaves, it loses all of its points: to the candidate, or to their second nearest medoid.
        taken, tied = add_up(weights, is_nearer), add_up(weights, is_tied)
        follows = (distances < following) | (near < second)
        tied_above = tied.sum() - np.cumsum(tied)  # the candidate wins ties with higher slots
        own = taken.sum() - taken + tied_above + add_up(weights, follows)

        # Only clusters that may get too small are looked at; most candidates touch few of them.
        critical = np.flatnonzero(self._lacks(self.sizes - taken - tied))
        lost = np.where(np.arange(k)[:, None] < critical, tied[critical], 0.0)
        columns = np.full(k, -1)
        columns[critical] = np.arange(len(critical))
        chosen = follows & (columns[second] >= 0)
        pairs = near[chosen] * len(critical) + columns[second[chosen]]
        followers = np.bincount(pairs, weights[chosen], minlength=k * len(critical)).reshape(k, len(critical))
        lacks = self._lacks(self.sizes[critical] - taken[critical] - lost + self._heirs[:, critical] - followers)
        lacks[critical, np.arange(len(critical))] = 0  # the medoid that leaves has no cluster any more
        return changes, self._lacks(own) + lacks.sum(axis=1)

    def make_swap(self, slot: int, row: NDArray[np.float32]) -> None:
        """Replace the medoid of a slot by a candidate, given its row."""
        touched = (self._near == slot) | (self._second == slot) | (row <= self._next)
        self._rows[slot] = row
        self._find_nearest(np.flatnonzero(touched))
        self._sum_up()
