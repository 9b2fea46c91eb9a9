"""Dual ascent: better multipliers, found on a core of few candidates.

Each step moves the multipliers along a deflected subgradient. A point that no chosen candidate serves raises its
multiplier, and one that several serve lowers it, so that in the end every point is served about once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, ReducedRows

# The share of the direction of the last step in that of the next step.
MOMENTUM = 0.7
# The step length is reduced by this factor after so many steps that did not raise the bound by the least progress.
SHRINKING, PATIENCE, LEAST_PROGRESS = 0.7, 10, 1e-5
# Between two rounds, a multiplier rises by at most this fraction of its scale, because a core keeps no larger entries.
LARGEST_RISE = 0.2

Multipliers = NDArray[np.float32]


@dataclass(frozen=True)
class Core:
    """Candidates with the entries that can matter in this round; fixed medoids come first."""

    candidates: Indices
    entries: ReducedRows
    n_fixed: int
    n_free: int

    @classmethod
    def of(
        cls,
        block: Block,
        candidates: Indices,
        ceilings: Multipliers,
        split: tuple[int, int],
        max_bytes: int,
        n_jobs: int,
    ) -> Core:
        """Reduce candidates to entries below the ceilings; leave out the last ones if they do not fit in memory.

        `block` has a row for each of the candidates. `split` holds the numbers of fixed and of free medoids.
        """
        parts: list[ReducedRows] = []
        bytes_left, n_kept = max_bytes, 0
        for rows, tile in block.tiles():
            is_needed = rows.start < sum(split)  # the core has at least as many candidates as there are medoids
            part = ReducedRows.of(tile, ceilings, sys.maxsize if is_needed else bytes_left, n_jobs)
            if part is None:
                break
            parts.append(part)
            bytes_left, n_kept = bytes_left - part.n_bytes, rows.stop
        return cls(candidates[:n_kept], ReducedRows.join(parts), *split)

    def costs(self, multipliers: Multipliers, weights: NDArray[np.float64], n_jobs: int) -> NDArray[np.float64]:
        """Return the reduced cost of each candidate."""
        costs = np.empty(len(self.candidates))
        entries = self.entries
        _core.reduced_costs(entries.starts, entries.columns, entries.values, multipliers, weights, costs, n_jobs)
        return costs

    def count_serving(self, chosen: Indices, multipliers: Multipliers) -> NDArray[np.int32]:
        """Return for each point the number of chosen candidates that are nearer than its multiplier."""
        counts = np.empty(len(multipliers), np.int32)
        entries = self.entries
        _core.count_serving(chosen, entries.starts, entries.columns, entries.values, multipliers, counts)
        return counts


def choose_smallest(costs: NDArray[np.float64], n_fixed: int, n_free: int) -> Indices:
    """Return the first `n_fixed` indices, and those of the `n_free` smallest of the other costs."""
    others = n_fixed + np.argpartition(costs[n_fixed:], n_free - 1)[:n_free]
    return np.concatenate([np.arange(n_fixed), others])


def weighted_sum(weights: NDArray[np.float64], values: NDArray[Any]) -> float:
    """Return the sum of weights times values; not by BLAS, whose threads may change the last digits."""
    return float(np.sum(weights * values))


class Ascent:
    """Multipliers on their way up; a climb on one core goes on where the climb on the last core ended."""

    def __init__(
        self,
        start: Multipliers,
        ceilings: NDArray[np.float64],
        scales: NDArray[np.float64],
        weights: NDArray[np.float64],
        objective: float,
        n_jobs: int,
    ) -> None:
        self.multipliers = start  # the best ones on the last core
        self.bound = -np.inf  # the bound of these multipliers, valid if the core held all candidates
        self.n_steps = 0
        self._ceilings, self._scales, self._weights = ceilings, scales, weights
        self._objective, self._n_jobs = objective, n_jobs
        self._direction = np.zeros(len(start))
        self._step_length, self._n_idle = 1.0, 0

    def ceilings(self) -> Multipliers:
        """Return the largest multipliers that the next climb may reach."""
        return np.minimum(self._ceilings, self.multipliers + LARGEST_RISE * self._scales).astype(np.float32)

    def climb(self, core: Core, n_steps: int, go_on: Callable[[], bool]) -> None:
        """Take up to `n_steps` steps on a core; `go_on` is asked before each, and ends the climb if it is False."""
        multipliers, self.bound = self.multipliers, -np.inf
        for _ in range(n_steps):
            if not go_on():
                return
            self.n_steps += 1
            costs = core.costs(multipliers, self._weights, self._n_jobs)
            chosen = choose_smallest(costs, core.n_fixed, core.n_free)
            bound = weighted_sum(self._weights, multipliers) + float(costs[chosen].sum())
            if self._take_in(multipliers, bound):
                multipliers = self.multipliers
                continue
            served = core.count_serving(chosen, multipliers)
            if (served == 1).all():  # no multipliers are better on this core
                return
            multipliers = self._step(multipliers, bound, served, core.entries.thresholds)

    def _take_in(self, multipliers: Multipliers, bound: float) -> bool:
        """Note a bound; tell whether to go back to the best multipliers, with shorter steps."""
        improves = bound - self.bound > LEAST_PROGRESS * abs(bound)
        self._n_idle = 0 if improves else self._n_idle + 1
        if bound > self.bound:
            self.multipliers, self.bound = multipliers, bound
        if self._n_idle < PATIENCE:
            return False
        self._step_length, self._n_idle = SHRINKING * self._step_length, 0
        return True

    def _step(
        self, multipliers: Multipliers, bound: float, served: NDArray[np.int32], ceilings: Multipliers
    ) -> Multipliers:
        """Return the next multipliers: Polyak's step, towards the objective of the solution as an estimate."""
        # Far points need larger steps than near ones, so lengths are measured in units of the scales.
        self._direction = self._scales * (1.0 - served) + MOMENTUM * self._direction
        length = weighted_sum(self._weights, self._direction**2 / self._scales)
        if length == 0:
            return multipliers
        step = self._step_length * (self._objective - bound) / length
        return np.clip(multipliers + step * self._direction, 0, ceilings).astype(np.float32)
