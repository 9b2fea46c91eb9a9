"""`python -m bench threads`: what a second thread brings to each stage of a fit, and what nested parallelism costs.

The first table has the seconds of each stage, and of `predict` for the same rows, with one thread and with all of them,
and how many times faster all are. A pair function is also shared among processes instead of threads. The case of a
compiled function is left out if numba is not installed.
The second table has the time of scikit-learn's GridSearchCV with one process, whose fits use all processors, and with
a process for each processor, whose fits share them; last, with fits that ask for all processors in each process.
Runs take turns, and the tables have medians.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import parallel_config
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV

from bench.data.synthetic import make_directions, make_mixture
from bench.measure.machine import count_processors, describe_machine, summarise_machine
from onebatchpam import (
    Alternate,
    BanditPAM,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    OneBatchPAM,
    block_metric,
    native_metric,
    pair_metric,
)

ALL_STAGES, PREDICT = "the whole fit", "predict"


@dataclass(frozen=True)
class Case:
    """A fit whose stages are timed."""

    name: str
    make_rows: Callable[[], Any]
    model: Any
    in_processes: bool = False  # whether joblib shares the calls of a Python function among processes

    def describe(self, X: Any) -> str:
        """Return the name of the fit to these rows."""
        sizes = " x ".join(f"{size:,}" for size in np.shape(X))
        return f"{self.name}, {sizes}, k = {self.model.n_clusters}"


def rows_of(make: Callable[..., Any], n: int, p: int) -> Callable[[], Any]:
    """Return a function that makes n rows of p numbers in float32."""
    return lambda: make(np.random.RandomState(0), n, p).astype(np.float32)


def make_words(n: int) -> list[str]:
    """Return n strings of 4 to 30 letters."""
    rng = np.random.RandomState(0)
    return ["".join(rng.choice(list("abcdefgh"), length)) for length in rng.randint(4, 31, n)]


def compare_pair(a: Any, b: Any) -> float:
    """Return the Manhattan distance of two rows."""
    return float(np.abs(a - b).sum())


def compare_blocks(A: Any, B: Any) -> Any:
    """Return the Manhattan distances of two blocks of rows."""
    return cdist(A, B, "cityblock")


def compile_pair() -> Any:
    """Return the Manhattan distance of two rows, compiled by numba."""
    import numba

    types: Any = numba.types

    @numba.cfunc(types.float64(types.CPointer(types.float64), types.CPointer(types.float64), types.intp))
    def manhattan(a: Any, b: Any, n: Any) -> Any:
        total = 0.0
        for i in range(n):
            total += abs(a[i] - b[i])
        return total

    return native_metric(manhattan)


def list_function_cases(n: int, n_for_pairs: int, k: int) -> list[Case]:
    """Return fits with functions as metrics, to n rows; pair functions take long, and get fewer rows."""
    rows, few = rows_of(make_mixture, n, 16), rows_of(make_mixture, n_for_pairs, 16)
    pairs = OneBatchPAM(min(k, 10), metric=pair_metric(compare_pair))
    cases = [
        Case("OneBatchPAM, pair function in threads", few, pairs),
        Case("OneBatchPAM, pair function in processes", few, pairs, in_processes=True),
        Case("OneBatchPAM, block function", rows, OneBatchPAM(k, metric=block_metric(compare_blocks))),
    ]
    if find_spec("numba") is not None:
        cases.append(Case("OneBatchPAM, compiled function", rows, OneBatchPAM(k, metric=compile_pair())))
    return cases


def list_cases(scale: float) -> list[Case]:
    """Return the cases, with this fraction of their rows."""

    def count(n: int) -> int:
        return max(200, int(scale * n))

    k = 100 if scale == 1 else 5
    numbers, vectors = rows_of(make_mixture, count(50_000), 16), rows_of(make_directions, count(20_000), 384)
    pairs, many = rows_of(make_mixture, count(8_000), 16), rows_of(make_mixture, count(300_000), 16)

    def words() -> list[str]:
        return make_words(count(20_000))

    return [
        Case("OneBatchPAM, manhattan", numbers, OneBatchPAM(k, metric="manhattan")),
        Case("OneBatchPAM, cosine", vectors, OneBatchPAM(k, metric="cosine")),
        Case("OneBatchPAM, manhattan", many, OneBatchPAM(k, metric="manhattan")),
        Case("OneBatchPAM, effort best", pairs, OneBatchPAM(k, metric="manhattan", effort="best")),
        Case("OneBatchPAM, gower", numbers, OneBatchPAM(k, metric="gower")),
        Case("OneBatchPAM, levenshtein", words, OneBatchPAM(k, metric="levenshtein")),
        Case("OneBatchPAM, jaro", words, OneBatchPAM(k, metric="jaro")),
        *list_function_cases(count(20_000), count(2_000), k),
        Case("FasterPAM", pairs, FasterPAM(k)),
        Case("FasterCLARA", numbers, FasterCLARA(k)),
        Case("Alternate", pairs, Alternate(k)),
        Case("BanditPAM", pairs, BanditPAM(5)),
        Case("KMeansPlusPlus", numbers, KMeansPlusPlus(k)),
    ]


def time_call(call: Callable[[Any], Any], X: Any) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    began = time.perf_counter()
    result = call(X)
    return result, time.perf_counter() - began


def time_stages(case: Case, X: Any, repeats: int) -> dict[str, dict[int, float]]:
    """Return the median seconds of each stage, of the whole fit and of `predict`, for each number of threads."""
    seen: defaultdict[str, Any] = defaultdict(lambda: defaultdict(list))
    for _ in range(repeats):
        for n_jobs in (1, count_processors()):
            with parallel_config("loky") if case.in_processes else nullcontext():
                fitted, seconds = time_call(case.model.set_params(n_jobs=n_jobs, random_state=0).fit, X)
                seen[ALL_STAGES][n_jobs].append(seconds)
                seen[PREDICT][n_jobs].append(time_call(fitted.predict, X)[1])
            for stage, seconds in fitted.fit_seconds_.items():
                seen[stage][n_jobs].append(seconds)
    return {
        stage: {n_jobs: float(np.median(seconds)) for n_jobs, seconds in of_stage.items()}
        for stage, of_stage in seen.items()
    }


def time_searches(n: int, repeats: int) -> dict[str, float]:
    """Return the median seconds of a GridSearchCV with one process, with all, and with too many threads."""
    X = rows_of(make_mixture, n, 16)()
    ways = {
        "one process, each fit with all processors": (1, None),
        "a process for each processor, fits share them": (-1, None),
        "a process for each processor, each fit with all processors": (-1, count_processors()),
    }
    seen = defaultdict(list)
    for _ in range(repeats + 1):
        for way, (n_processes, n_jobs) in ways.items():
            model = OneBatchPAM(random_state=0, n_jobs=n_jobs)
            search = GridSearchCV(model, {"n_clusters": [5, 10, 20, 50]}, cv=3, n_jobs=n_processes)
            began = time.perf_counter()
            search.fit(X)
            seen[way].append(time.perf_counter() - began)
    return {way: float(np.median(seconds[1:])) for way, seconds in seen.items()}  # the first run starts the processes


def run_all(arguments: argparse.Namespace) -> None:
    """Print both tables."""
    n_threads = count_processors()
    print(summarise_machine(describe_machine(), n_threads), end="\n\n")
    print(f"| fit | stage | 1 thread | {n_threads} threads | times faster |\n|---|---|---|---|---|", flush=True)
    for case in list_cases(arguments.scale):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that are smaller than those of the study
            X = case.make_rows()
            stages = time_stages(case, X, arguments.repeats)
        for stage, seconds in stages.items():
            one, several = seconds[1], seconds[n_threads]
            print(
                f"| {case.describe(X)} | {stage} | {one:.3f} s | {several:.3f} s | {one / max(several, 1e-9):.2f} |",
                flush=True,
            )
    print("\n| GridSearchCV of twelve fits | seconds |\n|---|---|")
    for way, median in time_searches(max(300, int(arguments.scale * 20_000)), arguments.repeats).items():
        print(f"| {way} | {median:.2f} |")


def add_command(commands: Any) -> None:
    """Add `threads` to the command line."""
    parser = commands.add_parser("threads", help="what a second thread brings, and what nested parallelism costs")
    parser.add_argument("--repeats", type=int, default=2, help="fits of each kind (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the rows, to try it out (%(default)s)")
    parser.set_defaults(run=run_all)
