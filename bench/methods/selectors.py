"""Ways to choose rows that stand for all rows, or that are worth a label: those that people use, and ours."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.methods.contestant import Answer, Contestant, Problem
from bench.methods.peers import solve_apricot, solve_k_means
from onebatchpam import distance_block, select_representatives


def solve_random(problem: Problem) -> Answer:
    """Draw rows at random."""
    return Answer(problem.draw_start())


def solve_k_center(problem: Problem) -> Answer:
    """Begin with a random row, and add the row that is farthest from all chosen ones, again and again."""
    chosen = [int(problem.draw_start()[0])]
    nearest = np.full(problem.n, np.inf)
    for _ in range(problem.k - 1):
        column = distance_block(problem.X, problem.X[chosen[-1:]], problem.metric, n_jobs=problem.threads)[:, 0]
        np.minimum(nearest, column, out=nearest)
        chosen.append(int(nearest.argmax()))
    return Answer(np.array(chosen))


def solve_representatives(problem: Problem) -> Answer:
    """Select representatives, the most important first."""
    found = select_representatives(
        problem.X, problem.k, metric=problem.metric, random_state=problem.seed, n_jobs=problem.threads
    )
    return Answer(found.indices, found.seconds, found.n_distances)


OURS, PREFIX = "onebatchpam", "prefix"
SELECTORS = (
    Contestant("random", solve_random, "peer", "numpy"),
    Contestant("k-center", solve_k_center, "peer"),
    Contestant("k-means, snapped", partial(solve_k_means, "KMeans"), "peer", "sklearn"),
    Contestant("apricot", solve_apricot, "peer", "apricot", matrix_bytes=16),
    Contestant(OURS, solve_representatives, "ours"),
    Contestant(PREFIX, solve_representatives, "ours"),
)
# Contestants that choose once, as many rows as are ever wanted; fewer rows are the first of these. The first two add
# one row after the other in any case.
CHOOSE_ONCE = ("k-center", "apricot", PREFIX)
