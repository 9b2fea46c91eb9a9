"""Enlarging clusters: medoids with which every cluster of all rows has at least a given weight.

The swaps of `sizes.py` need the dissimilarities of candidates to points. If those of all candidates to all rows are too
many, each round takes some candidates, drawn at random and among the best members of the clusters, and a sample of
points. The weight of a cluster is then an estimate, so that every round ends with the weights over all rows: if a
cluster is still too small, the next round asks for more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch
from onebatchpam._parameters import WEIGHT_ROUNDING
from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, WholeBlock
from onebatchpam.search.candidates import CANDIDATES_PER_MEDOID, draw_judges
from onebatchpam.search.first_medoids import draw_with_replacement
from onebatchpam.search.refinable import Refinable
from onebatchpam.search.refine import LEAST_PROGRESS, MOST_ENTRIES
from onebatchpam.search.sizes import swap_for_sizes
from onebatchpam.search.swaps import SwapOptions
from onebatchpam.space import TransposedDistances

MOST_ROUNDS = 10
# The weights of clusters are estimated on at most this many points, but on at least so many for each cluster.
MOST_POINTS, POINTS_PER_CLUSTER = 2**16, 100


@dataclass(frozen=True)
class Measured:
    """A set of medoids with the weights of its clusters and its objective, both over all rows."""

    medoids: Indices
    weights: NDArray[np.float64]
    objective: float

    def lacks(self, least: float) -> NDArray[np.float64]:
        """Return the weight that each cluster lacks."""
        return np.maximum(0.0, least * (1 - WEIGHT_ROUNDING) - self.weights)

    def is_feasible(self, least: float) -> bool:
        """Tell whether no cluster lacks anything."""
        return not self.lacks(least).any()

    def is_better(self, other: Measured, least: float) -> bool:
        """Tell whether the clusters lack less than those of other medoids, or as little with a lower objective."""
        return (self.lacks(least).sum(), self.objective) < (other.lacks(least).sum(), other.objective)


class Measurable(Refinable, Protocol):
    """All n rows of a data set, whose clusters can be weighed; `measure` moves duplicate medoids apart first."""

    total_weight: float

    def measure(self, medoids: Indices) -> Measured: ...


@dataclass(frozen=True)
class Contest:
    """Candidates for medoids, and the block of their dissimilarities to points, whose weights are those of all rows."""

    candidates: Indices
    block: Block
    weights: NDArray[np.float64]
    is_complete: bool  # whether these are all candidates and all rows

    def places(self, medoids: Indices) -> Indices:
        """Return the positions of medoids among the candidates."""
        order = np.argsort(self.candidates)
        return order[np.searchsorted(self.candidates, medoids, sorter=order)]


@dataclass(frozen=True)
class Enlarged:
    """Medoids after their clusters were enlarged, and the number of swaps that this took."""

    medoids: Indices
    n_swaps: int = 0


def enlarge_clusters(
    population: Measurable,
    medoids: Indices,
    least: float | None,
    options: SwapOptions,
    run: Run,
    contests: Contests,
) -> Enlarged:
    """Return medoids with which every cluster has at least the weight `least`, or lacks as little as was reached."""
    if least is None:
        return Enlarged(medoids)
    with run.stages.stage("cluster sizes", unit=" swaps") as bar:
        best = population.measure(medoids)
        if best.is_feasible(least) or options.n_fixed == len(medoids):
            return Enlarged(best.medoids)
        return _run_rounds(population, best, least, options, run, contests, bar)


def _run_rounds(
    population: Measurable,
    best: Measured,
    least: float,
    options: SwapOptions,
    run: Run,
    contests: Contests,
    bar: Progress,
) -> Enlarged:
    asked, k, n_swaps = least, len(best.medoids), 0
    for _ in range(MOST_ROUNDS):
        contest = contests.open(population, best.medoids, options, run)
        result = swap_for_sizes(contest.block, contest.places(best.medoids), contest.weights, asked, options, run, bar)
        found, n_swaps = population.measure(contest.candidates[result.medoids]), n_swaps + result.n_swaps
        before, is_better = best, found.is_better(best, least)
        best = found if is_better else best
        if result.shortfall > 0:  # other candidates may help, if there are any
            if contest.is_complete or not is_better:
                break
        elif not found.is_feasible(least):  # the sample, or rounding, makes some clusters look larger than they are
            asked = min(asked + found.lacks(least).max(), population.total_weight / k)
        elif contest.is_complete or is_slow(before, best, least):
            break
    return Enlarged(best.medoids, n_swaps)


def is_slow(before: Measured, after: Measured, least: float) -> bool:
    """Tell whether medoids whose clusters were large enough before a round have hardly become better in it."""
    return before.is_feasible(least) and after.objective > before.objective * (1 - LEAST_PROGRESS)


class Contests(Protocol):
    """Opens a contest for each round."""

    def open(self, population: Measurable, medoids: Indices, options: SwapOptions, run: Run) -> Contest: ...


@dataclass(frozen=True)
class WholeContest:
    """The contest of all candidates, if their dissimilarities to all rows are in memory already."""

    block: Block  # a row for each row of the space, or at least for each candidate
    weights: NDArray[np.float64]

    def open(self, population: Measurable, medoids: Indices, options: SwapOptions, run: Run) -> Contest:
        """Return the same contest in every round."""
        candidates = population.space.candidates
        block = self.block if candidates.indices is None else self.block.subset(candidates.indices)
        return Contest(candidates.rows(), block, self.weights, is_complete=True)


class DrawnContests:
    """Contests of all candidates and rows if these have few enough dissimilarities, otherwise of a sample of them."""

    def __init__(self, most_entries: int) -> None:
        self._most_entries = min(most_entries, MOST_ENTRIES)
        self._points: Batch | None = None  # they are drawn in the first round, and used in all

    def open(self, population: Measurable, medoids: Indices, options: SwapOptions, run: Run) -> Contest:
        """Return a contest of the medoids, their best members and other candidates that are drawn."""
        n_points, n_candidates = self._sizes(population.n, len(medoids))
        if self._points is None:
            self._points = population.draw_points(n_points)
        points, candidates = self._points, population.space.candidates
        is_complete = candidates.n <= n_candidates and len(points.indices) == population.n
        if candidates.n <= n_candidates:
            contenders = candidates.rows()
        else:
            members = best_members(population, medoids, points, options, run)
            drawn = draw_with_replacement(population.space, n_candidates, medoids, run.rng)
            contenders = np.concatenate([medoids, np.setdiff1d(np.concatenate([members, drawn]), medoids)])
        weights = points.weights * (population.total_weight / points.weights.sum())
        block = WholeBlock(compare(population, contenders, points, run))
        return Contest(contenders, block, weights, is_complete)

    def _sizes(self, n: int, k: int) -> tuple[int, int]:
        """Return the number of points and of candidates."""
        affordable = min(MOST_POINTS, self._most_entries // (k * CANDIDATES_PER_MEDOID))
        n_points = min(n, max(affordable, POINTS_PER_CLUSTER * k))
        return n_points, max(self._most_entries // n_points, k * CANDIDATES_PER_MEDOID)


def best_members(population: Measurable, medoids: Indices, points: Batch, options: SwapOptions, run: Run) -> Indices:
    """Return, for each cluster, the few members with the smallest mean loss over some of its points."""
    k = len(medoids)
    rows = compare(population, medoids, points, run)
    state = _core.SwapSearch(k, np.arange(k), rows, points.weights, options.tol)
    judges = draw_judges(points, state, np.arange(k) >= options.n_fixed, run.rng)
    return population.best_members(medoids, judges, medoids)


def compare(population: Measurable, candidates: Indices, points: Batch, run: Run) -> NDArray[np.float32]:
    """Return the dissimilarities of candidates to points, a row for each candidate."""
    entries = np.empty((len(candidates), len(points.indices)), np.float32)
    distances = TransposedDistances(population.space, points.indices, candidates, run.n_jobs)
    distances.fill(slice(0, len(candidates)), entries)
    return entries
