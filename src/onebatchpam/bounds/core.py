"""The core: the few candidates among which good medoids are, to judge by the Lagrangian dual."""

from __future__ import annotations

from copy import copy

import numpy as np

from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block
from onebatchpam.bounds.certificate import open_all_candidates
from onebatchpam.bounds.dual import Deadline, Problem, Schedule, maximise
from onebatchpam.bounds.solution import compare_with_medoids
from onebatchpam.space import Candidates, Space

# Few rounds, each of many steps: which candidates are the cheapest is known before the bound has converged.
SCHEDULE_OF_CORE = Schedule(most_rounds=12, most_if_close=4, first_steps=40)


def find_core(
    space: Space, medoids: Indices, size: int, memory_limit: int, run: Run, block: Block | None = None
) -> Indices:
    """Return the fixed medoids and then the candidates with the smallest reduced costs, cheapest first; `size` in all.

    `medoids` are a good solution, from which the dual starts. `block` holds all rows x all rows, if there is one.
    """
    allowed, points = space.candidates.rows(), np.arange(space.n)
    space = copy(space)
    space.candidates = Candidates(space.n)  # the block of the dual has all rows
    if block is None:
        block = open_all_candidates(space, points, memory_limit, run)
    solution = compare_with_medoids(space, medoids, run.stages)
    problem = Problem(block, points, space.weights, solution, np.full(space.n, np.inf))
    found = maximise(problem, Deadline(None), memory_limit - block.n_bytes, run, SCHEDULE_OF_CORE)
    if found.stopped_by == "Ctrl-C":
        raise KeyboardInterrupt  # a fit ends, where a certificate would return what it has
    others = np.setdiff1d(allowed, space.fixed)
    cheapest = others[np.argsort(found.sums[others], kind="stable")]
    return np.concatenate([space.fixed, cheapest])[:size]
