"""`python -m bench small`: small fits beside the package kmedoids, on a matrix that is given and from rows.

A table has milliseconds of processor time, with one thread. Contestants take turns, each with a start by the seed, and
medians count. The matrix that is given is made before the clock starts; from rows, kmedoids takes scipy's distances.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from bench.data.synthetic import make_mixture
from bench.measure.machine import describe_machine, summarise_machine
from onebatchpam import FasterPAM, OneBatchPAM

SIZES, KS, N_FEATURES = (300, 1000, 2000, 5000), (5, 10), 10
COLUMNS = ("kmedoids, matrix", "FasterPAM, matrix", "kmedoids, rows", "FasterPAM, rows", "OneBatchPAM, rows")


def fit_all(X: Any, matrix: Any, k: int, seed: int) -> list[float]:
    """Return the processor seconds of each contestant."""
    import kmedoids

    def fit(estimator: Any, data: Any, metric: str) -> None:
        estimator(k, metric=metric, random_state=seed, n_jobs=1).fit(data)

    calls = (
        lambda: kmedoids.fasterpam(matrix, k, random_state=seed, n_cpu=1),
        lambda: fit(FasterPAM, matrix, "precomputed"),
        lambda: kmedoids.fasterpam(cdist(X, X), k, random_state=seed, n_cpu=1),
        lambda: fit(FasterPAM, X, "euclidean"),
        lambda: fit(OneBatchPAM, X, "euclidean"),
    )
    seconds = []
    for call in calls:
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return seconds


def run_turns(arguments: argparse.Namespace) -> None:
    """Measure all sizes, and print the table."""
    print(summarise_machine(describe_machine(), threads=1))
    print(f"| n | k | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}", flush=True)
    for n in SIZES:
        X = make_mixture(np.random.RandomState(0), n, N_FEATURES).astype(np.float32)
        matrix = cdist(X, X).astype(np.float32)
        for k in KS:
            turns = [fit_all(X, matrix, k, seed) for seed in range(arguments.seeds + 1)]
            medians = [1000 * statistics.median(column) for column in zip(*turns[1:], strict=True)]
            print(f"| {n:,} | {k} | {' | '.join(f'{median:.1f}' for median in medians)} |", flush=True)


def add_command(commands: Any) -> None:
    """Add `small` to the command line."""
    parser = commands.add_parser("small", help="small fits beside the package kmedoids")
    parser.add_argument("--seeds", type=int, default=15, help="turns, after one that does not count (%(default)s)")
    parser.set_defaults(run=run_turns)
