"""The searches of BanditPAM: the best row to add to the medoids (BUILD) or to swap in (SWAP), by elimination.

Every candidate has arms: one for the gain of adding it to the medoids, or one for the gain of each of its swaps. The
mean gain of an arm over all rows is estimated on a sample of references, with a confidence interval. A candidate is
eliminated as soon as all its intervals lie below the interval of another arm; the others are compared on a larger
sample. All arms and all searches use the same references in the same order, so that no dissimilarity that is kept is
computed twice, and all swaps of a candidate share its dissimilarities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._draws import DrawOrder
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, mark, tile_bounds
from onebatchpam.blocks import Entries, GrowingBlock, compute_checked
from onebatchpam.search.swaps import SwapResult
from onebatchpam.space import Space

# An interval fails with a probability of one in this number times the number of arms.
CONFIDENCE = 1000

Numbers = NDArray[np.float64]


class Arms(ABC):
    """The gains that candidates would bring to the present medoids. References are in the order of their drawing."""

    n_slots: int  # number of medoids that a candidate can be swapped with; 0 if it is to be added to them
    n_fixed: int  # this many of them, the first ones, must stay

    @abstractmethod
    def add_moments(
        self, columns: slice, entries: Entries, rows: Indices, weights: Numbers, moments: Numbers, n_jobs: int
    ) -> None:
        """Add the gains at some references to the moments of candidates.

        The references are the columns of `entries`, with these weights; the candidates are the given rows of it.
        """

    @abstractmethod
    def removals(self, weights: Numbers) -> Numbers:
        """Return the moments of the gains of removing each medoid, at the first references, which have these weights.

        The shape is (1, n_slots, 2).
        """

    def count(self, n_candidates: int) -> int:
        """Return the number of arms of all candidates."""
        return n_candidates * max(1, self.n_slots - self.n_fixed)


class BuildArms(Arms):
    """One arm for each candidate: its gain as a further medoid, or as the first one."""

    n_slots = n_fixed = 0

    def __init__(self, references: Indices, nearest_distances: Entries | None) -> None:
        if nearest_distances is None:  # the first medoid: a gain is minus the dissimilarity
            self._distances, self._least_gain = np.zeros(len(references), np.float32), -np.inf
        else:
            self._distances, self._least_gain = nearest_distances[references], 0.0

    def add_moments(
        self, columns: slice, entries: Entries, rows: Indices, weights: Numbers, moments: Numbers, n_jobs: int
    ) -> None:
        distances = self._distances[columns]
        _core.add_build_moments(entries, rows, distances, weights, self._least_gain, moments, n_jobs)

    def removals(self, weights: Numbers) -> Numbers:
        return np.empty((1, 0, 2))


class SwapArms(Arms):
    """Arms for the swaps of each candidate with each medoid that is not fixed."""

    def __init__(self, references: Indices, search: _core.SwapSearch, n_fixed: int) -> None:
        self.n_slots, self.n_fixed = len(search.medoids), n_fixed
        self._nearest = search.nearest[references]
        self._distances = search.nearest_distances[references]
        self._second_distances = search.second_distances[references]

    def add_moments(
        self, columns: slice, entries: Entries, rows: Indices, weights: Numbers, moments: Numbers, n_jobs: int
    ) -> None:
        state = self._distances[columns], self._second_distances[columns], self._nearest[columns]
        _core.add_swap_moments(entries, rows, *state, weights, moments, n_jobs)

    def removals(self, weights: Numbers) -> Numbers:
        first = slice(0, len(weights))
        gains = weights * (self._distances[first].astype(np.float64) - self._second_distances[first])
        moments = np.zeros((1, self.n_slots, 2))
        for i, values in enumerate((gains, gains**2)):
            moments[0, :, i] = np.bincount(self._nearest[first], values, self.n_slots)
        return moments


class Bandit:
    """Searches for the best of the candidates of a space, on samples of references that grow."""

    def __init__(self, space: Space, memory_limit: int, run: Run) -> None:
        self.n, self.n_jobs = space.n, run.n_jobs
        self._is_candidate = space.candidates.marked()
        self.order = DrawOrder(space.weights, run.rng)
        self.block = GrowingBlock(space, self.order.rows, memory_limit)

    def find_best(self, arms: Arms, medoids: Indices) -> int:
        """Return the candidate, not a medoid, with the highest mean gain; almost certainly, and up to equal gains."""
        candidates = np.flatnonzero(self._is_candidate & ~mark(medoids, self.n))
        moments = np.zeros((len(candidates), arms.n_slots + 1, 2))
        log_odds = np.log(CONFIDENCE * arms.count(len(candidates)))
        size, (next_size, *larger_sizes) = 0, self.block.sample_sizes
        while True:
            self.add_moments(arms, candidates, size, next_size, moments)
            size = next_size
            highest, surest = self.bound_gains(arms, moments, size, np.sqrt(log_odds * self.order.variance(size)))
            are_left = highest >= surest.max()
            candidates, highest, surest = candidates[are_left], highest[are_left], surest[are_left]
            if len(candidates) == 1 or size == self.n:
                return int(candidates[np.argmax(highest)])
            moments = moments[are_left]
            if not self.is_sampling_cheaper(highest, surest, size, larger_sizes):
                larger_sizes = larger_sizes[-1:]
            next_size, *larger_sizes = larger_sizes

    def add_moments(self, arms: Arms, candidates: Indices, size: int, next_size: int, moments: Numbers) -> None:
        """Add the gains at the references of a larger sample to the moments, which are those of the first `size`.

        If rows have different weights, the weights of all references depend on the size of the sample, so that the
        moments are summed up anew.
        """
        if not self.order.is_uniform:
            moments[:], size = 0, 0
        weights = self.order.weights(next_size)
        widest = self.block.widest_part(size, next_size)
        for tile in tile_bounds(len(candidates), _tiles.TILE_ENTRIES // widest):
            for columns, entries, rows in self.block.parts(size, next_size, candidates[tile]):
                arms.add_moments(columns, entries, rows, weights[columns], moments[tile], self.n_jobs)

    def bound_gains(self, arms: Arms, moments: Numbers, size: int, width: float) -> tuple[Numbers, Numbers]:
        """Return the highest upper bound, and the highest lower bound, of the mean gains of each candidate's arms.

        The bounds are the mean over the first `size` references, plus and minus `width` standard deviations of the
        gains at these.
        """
        highest, surest = np.empty(len(moments)), np.empty(len(moments))
        removals = arms.removals(self.order.weights(size))
        _core.bound_gains(moments, removals, arms.n_fixed, size, width, highest, surest, self.n_jobs)
        return highest, surest

    def is_sampling_cheaper(self, highest: Numbers, surest: Numbers, size: int, larger_sizes: Sequence[int]) -> bool:
        """Tell whether larger samples would save more entries of exact sums than they read themselves.

        The last size is that of exact sums. The candidates that a sample leaves are predicted: estimates stay where
        they are, and intervals shrink.
        """
        middles, halves = (highest + surest) / 2, (highest - surest) / 2
        n_left, n_read, last_size = len(middles), 0, size
        for larger in larger_sizes[:-1]:
            n_read += n_left * (larger - last_size)
            shrunk = halves * np.sqrt(self.order.variance(larger) / self.order.variance(size))
            n_left = int(np.count_nonzero(middles + shrunk >= np.max(middles - shrunk)))
            if n_read + n_left * (self.n - larger) < len(middles) * (self.n - size):
                return True
            last_size = larger
        return False


def build_and_swap(space: Space, k: int, max_iter: int, memory_limit: int, run: Run) -> SwapResult:
    """Choose k medoids, the fixed ones included, by BUILD; then make the best swap, up to `max_iter` times."""
    bandit, n_fixed = Bandit(space, memory_limit, run), len(space.fixed)
    search = build(bandit, space, k, run)
    # BUILD has found the best single medoid; and there is no swap if all medoids are fixed, or all candidates medoids.
    converged = k in (1, n_fixed, space.candidates.n)
    n_iter = 0
    with run.stages.stage("SWAP", total=None if converged else max_iter, unit=" steps") as bar:
        while n_iter < max_iter and not converged:
            best = bandit.find_best(SwapArms(bandit.order.rows, search, n_fixed), np.array(search.medoids))
            converged = not search.try_candidates(np.array([best]), find_row(space, best))
            n_iter += 1
            bar.update()
    return SwapResult(np.array(search.medoids, np.int64), search.loss, n_iter, search.n_swaps, converged)


def build(bandit: Bandit, space: Space, k: int, run: Run) -> _core.SwapSearch:
    """Add one medoid after the other to the fixed ones, until there are k; return a search at these medoids."""
    medoids = np.concatenate([space.fixed, np.empty(k - len(space.fixed), np.int64)])
    medoid_rows = np.empty((k, space.n), np.float32)  # dissimilarities of the medoids to all rows
    nearest_distances = None
    with run.stages.stage("BUILD", total=k, unit=" medoids") as bar:
        for slot in range(k):
            if slot >= len(space.fixed):
                medoids[slot] = bandit.find_best(BuildArms(bandit.order.rows, nearest_distances), medoids[:slot])
            medoid_rows[slot] = row = find_row(space, medoids[slot])[0]
            nearest_distances = row if nearest_distances is None else np.minimum(nearest_distances, row)
            bar.update()
    space.check_scale(bandit.block.largest)
    weights = space.weights / space.weights.max()
    return _core.SwapSearch(space.n, medoids, medoid_rows, weights, 0.0, len(space.fixed))


def find_row(space: Space, medoid: int) -> Entries:
    """Return the dissimilarities of a medoid to all rows, of shape (1, n)."""
    return np.ascontiguousarray(compute_checked(space.distances_from(np.array([medoid]))).T)
