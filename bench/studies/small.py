"""`python -m bench small`: small fits beside the package kmedoids and beside a plain loop in C.

A table has milliseconds of processor time, with one thread. Contestants take turns, each with a start by the seed, and
medians count. Each has a matrix that is made before the clock starts, or rows; from rows, kmedoids takes scipy's
distances. The loop, `plain_loop.c`, is FasterPAM without checks and answers: what is above its time is overhead. It is
left out if there is no compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bench.data.synthetic import make_mixture
from bench.measure.machine import describe_machine, summarise_machine
from onebatchpam import FasterPAM, OneBatchPAM

SIZES, KS, N_FEATURES = (300, 1000, 2000, 5000), (5, 10), 10
Floats = NDArray[np.float32]


class PlainLoop:
    """The functions of `plain_loop.c`, compiled for this machine."""

    def __init__(self, compiler: str) -> None:
        source = Path(__file__).with_name("plain_loop.c")
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            library = Path(folder) / "plain_loop.so"
            options = ["-O3", "-march=native", "-shared", "-fPIC"]
            subprocess.run([compiler, *options, str(source), "-o", str(library), "-lm"], check=True)
            self._functions = ctypes.CDLL(str(library))
        rows = np.ctypeslib.ndpointer(np.float32, 2, flags="C")
        medoids, labels = np.ctypeslib.ndpointer(ctypes.c_long, 1), np.ctypeslib.ndpointer(ctypes.c_int, 1)
        self._functions.fill_distances.argtypes = [rows, ctypes.c_long, ctypes.c_long, rows]
        self._functions.fill_distances.restype = None
        self._functions.search.argtypes = [rows, ctypes.c_long, ctypes.c_long, medoids, labels]
        self._functions.search.restype = ctypes.c_double

    def measure_distances(self, X: Floats) -> Floats:
        """Return the Euclidean distances of all pairs of rows."""
        distances = np.empty((len(X), len(X)), np.float32)
        self._functions.fill_distances(X, *X.shape, distances)
        return distances

    def search(self, distances: Floats, k: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Return medoids, labels and the objective, from a start by the seed."""
        n = len(distances)
        medoids = draw_medoids(n, k, seed).astype(ctypes.c_long)
        labels = np.empty(n, ctypes.c_int)
        return medoids, labels, self._functions.search(distances, n, k, medoids, labels)


def draw_medoids(n: int, k: int, seed: int) -> NDArray[Any]:
    """Return k of n indices, at random."""
    return np.random.RandomState(seed).choice(n, k, replace=False)


def list_contestants(X: Floats, matrix: Floats, k: int, loop: PlainLoop | None) -> dict[str, Callable[[int], Any]]:
    """Return the fits of all contestants, as functions of the seed."""
    import kmedoids

    def fit(estimator: Any, data: Any, metric: str, seed: int) -> None:
        estimator(k, metric=metric, random_state=seed, n_jobs=1).fit(data)

    ours_and_peer: dict[str, Callable[[int], Any]] = {
        "`kmedoids`, matrix": lambda seed: kmedoids.fasterpam(matrix, k, random_state=seed, n_cpu=1),
        "`FasterPAM`, matrix": lambda seed: fit(FasterPAM, matrix, "precomputed", seed),
        "`kmedoids`, rows": lambda seed: kmedoids.fasterpam(cdist(X, X), k, random_state=seed, n_cpu=1),
        "`FasterPAM`, rows": lambda seed: fit(FasterPAM, X, "euclidean", seed),
        "`OneBatchPAM`, rows": lambda seed: fit(OneBatchPAM, X, "euclidean", seed),
    }
    if loop is None:
        return ours_and_peer
    return {
        "loop in C, matrix": lambda seed: loop.search(matrix, k, seed),
        "loop in C, rows": lambda seed: loop.search(loop.measure_distances(X), k, seed),
        **ours_and_peer,
    }


def measure_case(n: int, k: int, loop: PlainLoop | None, n_seeds: int) -> dict[str, float]:
    """Return the median milliseconds of each contestant."""
    X = make_mixture(np.random.RandomState(0), n, N_FEATURES).astype(np.float32)
    calls = list_contestants(X, cdist(X, X).astype(np.float32), k, loop)
    turns = [{name: time_call(call, seed) for name, call in calls.items()} for seed in range(n_seeds + 1)]
    return {name: 1000 * statistics.median(turn[name] for turn in turns[1:]) for name in calls}


def time_call(call: Callable[[int], Any], seed: int) -> float:
    """Return the processor seconds of a fit."""
    began = time.process_time()
    call(seed)
    return time.process_time() - began


def run_turns(arguments: argparse.Namespace) -> None:
    """Measure all sizes, and print the table."""
    compiler = shutil.which("cc")
    loop = PlainLoop(compiler) if compiler is not None else None
    print(summarise_machine(describe_machine(), threads=1))
    for number, (n, k) in enumerate(product(SIZES, KS)):
        medians = measure_case(n, k, loop, arguments.seeds)
        if number == 0:
            print(f"| n | k | {' | '.join(medians)} |\n|---|---|{'---|' * len(medians)}")
        print(f"| {n:,} | {k} | {' | '.join(f'{median:.1f}' for median in medians.values())} |", flush=True)


def add_command(commands: Any) -> None:
    """Add `small` to the command line."""
    parser = commands.add_parser("small", help="small fits beside the package kmedoids and a plain loop in C")
    parser.add_argument("--seeds", type=int, default=9, help="turns, after one that does not count (%(default)s)")
    parser.set_defaults(run=run_turns)
