"""`python -m bench sizes`: what a minimum size of clusters costs, and how near the heuristic comes to the best.

- small: random cases so small that all sets of medoids can be tried; how often the swaps end without clusters that are
  too small, how often at the best of these sets, and by how much above it otherwise;
- data: generated sets, fitted without and with `min_cluster_size`, a share of the mean size.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.synthetic import generate
from bench.measure.machine import describe_machine
from onebatchpam import FasterPAM, OneBatchPAM, distance_block

PARTS = ("small", "data")
SETS, SHARES = ("far_groups", "heavy_tails", "mixture"), (0.1, 0.25, 0.5, 0.75)
KS = (10, 50)


def draw_small_case(seed: int) -> tuple[NDArray[np.float64], int, int]:
    """Return a matrix of distances, the number of medoids, and a minimum size."""
    rng = np.random.RandomState(seed)
    n, k = rng.randint(8, 15), rng.randint(2, 5)
    X = rng.standard_normal((n, 2)) * np.exp(0.7 * rng.standard_normal((n, 1)))
    return distance_block(X, X, "manhattan"), k, rng.randint(2, n // k + 1)


def find_best(matrix: NDArray[np.float64], k: int, least: int) -> float:
    """Return the smallest objective of all medoids whose clusters have the minimum size; infinity if there are none."""
    best = np.inf
    for medoids in map(list, itertools.combinations(range(len(matrix)), k)):
        sizes = np.bincount(matrix[medoids].argmin(axis=0), minlength=k)
        if sizes.min() >= least:
            best = min(best, matrix[medoids].min(axis=0).sum())
    return float(best)


def run_small(n_cases: int) -> None:
    """Compare with all sets of medoids, and print a sentence."""
    gaps, n_missed = [], 0
    for seed in range(n_cases):
        matrix, k, least = draw_small_case(seed)
        best = find_best(matrix, k, least)
        if best == np.inf:
            continue
        model = FasterPAM(k, metric="precomputed", random_state=seed, min_cluster_size=least).fit(matrix)
        if np.bincount(model.labels_, minlength=k).min() < least:
            n_missed += 1
        else:
            gaps.append(model.inertia_ / best - 1)
    is_best = np.array(gaps) < 1e-9
    print(
        f"{len(gaps) + n_missed} cases with medoids whose clusters are large enough: {n_missed} missed, "
        f"{is_best.mean():.0%} solved to the best; mean gap {np.mean(gaps):.2%}, "
        f"nine of ten within {np.quantile(gaps, 0.9):.2%}, largest {np.max(gaps):.0%}"
    )


def run_data(seeds: int) -> None:
    """Fit the generated sets with and without a minimum size, and print a table of means over seeds."""
    print(
        "| data | k | minimum size / mean size | smallest cluster without | with | objective | seconds without | with |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, k in itertools.product(SETS, KS):
        X = generate(name)
        plain = [fit(X, k, seed, None) for seed in range(seeds)]
        for share in SHARES:
            sized = [fit(X, k, seed, share * len(X) / k) for seed in range(seeds)]
            ratio = np.mean([one[1] / other[1] for one, other in zip(sized, plain, strict=True)])
            cells = [np.mean([run[column] for run in runs]) for column in (0, 2) for runs in (plain, sized)]
            print(
                f"| {name} | {k} | {share:g} | {cells[0]:.0f} | {cells[1]:.0f} | {ratio - 1:+.2%} | {cells[2]:.1f} "
                f"| {cells[3]:.1f} |",
                flush=True,
            )


def fit(X: NDArray[Any], k: int, seed: int, least: float | None) -> tuple[int, float, float]:
    """Return the size of the smallest cluster, the objective and the seconds of a fit."""
    start = time.perf_counter()
    model = OneBatchPAM(k, random_state=seed, min_cluster_size=least).fit(X)
    return np.bincount(model.labels_, minlength=k).min(), model.inertia_, time.perf_counter() - start


def run_parts(arguments: argparse.Namespace) -> None:
    """Run the parts that were asked for."""
    print(describe_machine())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sizes that were not reached are in the tables
        if arguments.part in (None, "small"):
            run_small(arguments.cases)
        if arguments.part in (None, "data"):
            run_data(arguments.seeds)


def add_command(commands: Any) -> None:
    """Add `sizes` to the command line."""
    parser = commands.add_parser("sizes", help="what a minimum size of clusters costs")
    parser.add_argument("--part", choices=PARTS, help="only this part (all)")
    parser.add_argument("--cases", type=int, default=500, help="small cases (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="fits of each data set (%(default)s)")
    parser.set_defaults(run=run_parts)
