"""Maximising the Lagrangian dual: rounds of climbing on a core of candidates, and of pricing all candidates.

Only candidates with a small reduced cost matter. Each round climbs on a core of such candidates. Then one pass over the
whole block prices all candidates, which gives a valid bound and shows which candidates the core lacks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block
from onebatchpam.bounds.ascent import Ascent, Core, Multipliers, weighted_sum
from onebatchpam.bounds.solution import Solution
from onebatchpam.search import smallest_of_each

# After each round, the core gets the candidates with the smallest costs: so many of each cluster, so that the core
# covers all of the data, and so many more for each medoid among all candidates.
ADDED_PER_CLUSTER, ADDED_PER_MEDOID = 15, 5
# Each round has more steps than the one before, by this factor, up to so many.
STEP_GROWTH, MOST_STEPS = 1.5, 200
# The rounds end when the last one raised the bound by less than this fraction of it, and of the gap that is left.
LEAST_GAIN, LEAST_SHARE = 2e-4, 0.1
# A gap, as a fraction of the bound, at which multipliers are good enough to choose candidates by them.
SMALL_GAP = 0.01
# Dissimilarities are rounded to float32, which changes each of them, and so any objective, by at most this fraction.
FLOAT32_ROUNDING = 2.0**-23


class Deadline:
    """The time at which a computation has to end; with None, it never has to."""

    def __init__(self, seconds: float | None) -> None:
        self._began, self._seconds = time.perf_counter(), np.inf if seconds is None else seconds

    @property
    def elapsed(self) -> float:
        """The seconds since the beginning."""
        return time.perf_counter() - self._began

    def leaves(self, seconds: float) -> bool:
        """Tell whether there is this much time left."""
        return self.elapsed + seconds < self._seconds


@dataclass(frozen=True)
class Schedule:
    """How many rounds there are at most, and how many steps the first of them has."""

    most_rounds: int = 12
    most_if_close: int = 12  # the most rounds if the gap is small after them
    first_steps: int = 20

    def is_over(self, n_rounds: int, gap: float) -> bool:
        """Tell whether these were all rounds, given the gap as a fraction of the bound."""
        return n_rounds >= (self.most_if_close if gap < SMALL_GAP else self.most_rounds)

    def count_steps(self, n_rounds: int) -> int:
        """Return the number of steps of the round after so many others."""
        return min(MOST_STEPS, int(self.first_steps * STEP_GROWTH**n_rounds))


UNTIL_IDLE = Schedule()  # rounds until they bring little


@dataclass(frozen=True)
class Served:
    """The points, which candidates serve: for each of them its weight, and its distances to the medoids in question."""

    weights: NDArray[np.float64]
    ceilings: NDArray[np.float64]  # the largest multipliers that a point may have
    nearest: NDArray[Any]
    second: NDArray[Any]  # distance to the second nearest medoid
    to_fixed: NDArray[Any]  # distance to the nearest fixed medoid


@dataclass(frozen=True)
class Priced:
    """What a pass over all candidates has found."""

    bound: float
    wanted: Indices  # the candidates that the core should have, in ascending order of their sums
    sums: NDArray[np.float64]  # see `Problem.price`; empty if they are not all at hand


class Priceable(Protocol):
    """Points, and candidates of which k are to be chosen. Candidates have indices, which never change."""

    @property
    def served(self) -> Served: ...

    @property
    def medoids(self) -> Indices:
        """The candidates of the solution from which the ascent starts; those that are fixed come first."""

    @property
    def n_fixed(self) -> int: ...

    def price(self, multipliers: Multipliers, run: Run) -> Priced:
        """Price all candidates: find a valid bound, and the candidates that the core should have."""

    def block_of(self, candidates: Indices) -> Block:
        """Return the block of these candidates x all points."""


@dataclass(frozen=True)
class Problem:
    """Points with their weights, and the block of all candidates x points, of whose candidates k are to be chosen."""

    block: Block
    points: Indices  # the points, as rows of the space
    weights: NDArray[np.float64]
    solution: Solution  # medoids of the whole space, with the distances of all its rows to them
    ceilings: NDArray[np.float64]  # the largest multipliers that a point may have

    @property
    def served(self) -> Served:
        solution, points = self.solution, self.points
        of_points = (values[points] for values in (solution.nearest, solution.second, solution.to_fixed))
        return Served(self.weights, self.ceilings, *of_points)

    @property
    def medoids(self) -> Indices:
        return self.solution.medoids

    @property
    def n_fixed(self) -> int:
        return self.solution.n_fixed

    def block_of(self, candidates: Indices) -> Block:
        return self.block.subset(candidates)

    def price(self, multipliers: Multipliers, run: Run) -> Priced:
        """Find the weighted sum of min(d, multiplier) for every candidate, and what follows.

        A sum is the reduced cost of the candidate plus the weighted sum of all multipliers.
        """
        sums = np.empty(self.block.n)
        with run.stages.stage("pricing", total=self.block.n) as bar:
            for rows, tile in self.block.tiles():
                _core.RowSummer(self.weights, sums[rows], run.n_jobs, multipliers).see(tile)
                bar.update(len(tile))
        fixed = self.medoids[: self.n_fixed]
        smallest = sums_of_chosen(sums[fixed], np.delete(sums, fixed), self.solution.n_free)
        wanted = find_wanted(self.solution.labels, sums, len(self.medoids))
        return Priced(bound_from(smallest, self.weights, multipliers), wanted, sums)


def sums_of_chosen(fixed: NDArray[np.float64], others: NDArray[np.float64], n_free: int) -> NDArray[np.float64]:
    """Return the sums of the fixed medoids, and the `n_free` smallest ones of the other candidates."""
    return np.concatenate([fixed, np.partition(others, n_free - 1)[:n_free] if n_free else []])


def bound_from(smallest: NDArray[np.float64], weights: NDArray[np.float64], multipliers: Multipliers) -> float:
    """Return the bound, given the sums of the k candidates that the dual chooses.

    It holds in exact arithmetic: all roundings are allowed for.
    """
    k = len(smallest)
    if k == 1:
        bound, total = float(smallest[0]), float(smallest[0])
    else:
        total = weighted_sum(weights, multipliers)
        bound = float(smallest.sum()) - (k - 1) * total
    # Each of the k + 1 sums has a relative error of at most (number of terms + 2) 2^-53, and is at most the total.
    allowance = 4 * k * (len(weights) + k + 2) * 2.0**-53 * total
    return max(0.0, (bound - allowance) * (1 - FLOAT32_ROUNDING))


def find_wanted(labels: NDArray[Any], sums: NDArray[np.float64], k: int) -> Indices:
    """Return the candidates with the smallest sums, of each cluster and of all, in ascending order of the sums.

    The n smallest of all are among them for any n up to `ADDED_PER_MEDOID` times k.
    """
    by_cluster = smallest_of_each(labels, sums, ADDED_PER_CLUSTER)
    n_added = min(len(sums), ADDED_PER_MEDOID * k)
    wanted = np.union1d(by_cluster, np.argpartition(sums, n_added - 1)[:n_added])
    return wanted[np.argsort(sums[wanted], kind="stable")]


@dataclass(frozen=True)
class Maximum:
    """The best bound that was found, and by which sums of the candidates; see `Problem.price`."""

    bound: float
    n_rounds: int
    n_iter: int
    stopped_by: str | None
    sums: NDArray[np.float64]


def maximise(
    problem: Priceable, deadline: Deadline, max_bytes: int, run: Run, schedule: Schedule = UNTIL_IDLE
) -> Maximum:
    """Return the best bound that the dual gives within the deadline; the first pass is made in any case."""
    if len(problem.medoids) - problem.n_fixed <= 1:
        # With at most one medoid to choose, the best multipliers are known: the distances to the fixed medoids.
        served = problem.served
        priced = problem.price(np.minimum(served.to_fixed, served.ceilings).astype(np.float32), run)
        return Maximum(priced.bound, 1, 0, None, priced.sums)
    climber = _Climber(problem, deadline, max_bytes, run, schedule)
    stopped_by = None
    climber.price()
    try:
        while not climber.is_done:
            if not deadline.leaves(climber.seconds_per_pass):
                stopped_by = "time_limit"
                break
            climber.climb()
            climber.price()
    except KeyboardInterrupt:
        stopped_by = "Ctrl-C"
    return Maximum(climber.bound, climber.n_rounds, climber.ascent.n_steps, stopped_by, climber.sums)


class _Climber:
    """The rounds of one maximisation."""

    def __init__(self, problem: Priceable, deadline: Deadline, max_bytes: int, run: Run, schedule: Schedule) -> None:
        self._problem, self._deadline, self._max_bytes, self._run = problem, deadline, max_bytes, run
        self._schedule = schedule
        served = problem.served
        nearest, second = served.nearest.astype(np.float64), served.second.astype(np.float64)
        scales = second + 1e-3 * second.mean() + np.finfo(np.float32).tiny
        start = np.minimum((nearest + second) / 2, served.ceilings).astype(np.float32)
        weighted_objective = weighted_sum(served.weights, nearest)
        self.ascent = Ascent(start, served.ceilings, scales, served.weights, weighted_objective, run.n_jobs)
        self.bound, self.n_rounds, self.is_done, self.seconds_per_pass = 0.0, 0, False, 0.0
        self.sums = np.empty(0)  # the sums of the pass that found the best bound
        self._objective = weighted_objective
        self._candidates = problem.medoids
        self._wanted = np.empty(0, np.int64)

    def price(self) -> None:
        """Price all candidates: find the bound, and the candidates that the core should get."""
        began = self._deadline.elapsed
        priced = self._problem.price(self.ascent.multipliers, self._run)
        self.seconds_per_pass = self._deadline.elapsed - began
        if priced.bound >= self.bound:
            self.sums = priced.sums
        self._take_in(priced.bound)
        self._wanted = priced.wanted

    def _take_in(self, bound: float) -> None:
        """Note the bound of the last round, and whether it was the last that is worth its time."""
        gap = self._objective - bound
        # The bound may rise by the last gain once more, and by as much as the core, which lacks candidates, promised.
        possible_gain = max(bound - self.bound, self.ascent.bound - bound)
        is_idle = self.n_rounds > 0 and possible_gain < min(LEAST_GAIN * bound, LEAST_SHARE * gap)
        is_close = gap <= 4 * FLOAT32_ROUNDING * self._objective
        self.bound, self.n_rounds = max(self.bound, bound), self.n_rounds + 1
        is_over = self._schedule.is_over(self.n_rounds - 1, gap / self.bound if self.bound > 0 else np.inf)
        self.is_done = is_close or is_idle or is_over

    def climb(self) -> None:
        """Extend the core by the candidates that the last pass found, and climb on it."""
        problem, run = self._problem, self._run
        new = self._wanted[~np.isin(self._wanted, self._candidates)]
        self._candidates = np.concatenate([self._candidates, new])
        split = problem.n_fixed, len(problem.medoids) - problem.n_fixed
        block, ceilings = problem.block_of(self._candidates), self.ascent.ceilings()
        core = Core.of(block, self._candidates, ceilings, split, self._max_bytes, run.n_jobs)
        n_steps = self._schedule.count_steps(self.n_rounds - 1)
        with run.stages.stage("dual ascent", total=n_steps, unit=" steps") as bar:

            def go_on() -> bool:
                bar.update(1)
                return self._deadline.leaves(self.seconds_per_pass)

            self.ascent.climb(core, n_steps, go_on)
