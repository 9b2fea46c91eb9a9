"""`python -m bench threads`: what a second thread brings to each stage of a fit, and what nested parallelism costs.

The first table has the seconds of each stage with one thread and with all of them, and how many times faster all are.
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
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from bench.data.synthetic import make_directions, make_mixture
from bench.measure.machine import count_processors, describe_machine, summarise_machine
from onebatchpam import Alternate, BanditPAM, FasterCLARA, FasterPAM, KMeansPlusPlus, OneBatchPAM

ALL_STAGES = "the whole fit"


@dataclass(frozen=True)
class Case:
    """A fit whose stages are timed."""

    name: str
    make_rows: Callable[[], Any]
    model: Any

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


def list_cases(scale: float) -> list[Case]:
    """Return the cases, with this fraction of their rows."""

    def count(n: int) -> int:
        return max(200, int(scale * n))

    k = 100 if scale == 1 else 5
    numbers, vectors = rows_of(make_mixture, count(50_000), 16), rows_of(make_directions, count(20_000), 384)
    pairs, many = rows_of(make_mixture, count(8_000), 16), rows_of(make_mixture, count(300_000), 16)
    return [
        Case("OneBatchPAM, manhattan", numbers, OneBatchPAM(k, metric="manhattan")),
        Case("OneBatchPAM, cosine", vectors, OneBatchPAM(k, metric="cosine")),
        Case("OneBatchPAM, manhattan", many, OneBatchPAM(k, metric="manhattan")),
        Case("OneBatchPAM, effort best", pairs, OneBatchPAM(k, metric="manhattan", effort="best")),
        Case("OneBatchPAM, gower", numbers, OneBatchPAM(k, metric="gower")),
        Case("OneBatchPAM, levenshtein", lambda: make_words(count(20_000)), OneBatchPAM(k, metric="levenshtein")),
        Case("FasterPAM", pairs, FasterPAM(k)),
        Case("FasterCLARA", numbers, FasterCLARA(k)),
        Case("Alternate", pairs, Alternate(k)),
        Case("BanditPAM", pairs, BanditPAM(5)),
        Case("KMeansPlusPlus", numbers, KMeansPlusPlus(k)),
    ]


def time_stages(model: Any, X: Any, repeats: int) -> dict[str, dict[int, float]]:
    """Return the median seconds of each stage, and of the whole fit, for each number of threads."""
    seen: defaultdict[str, Any] = defaultdict(lambda: defaultdict(list))
    for _ in range(repeats):
        for n_jobs in (1, count_processors()):
            began = time.perf_counter()
            fitted = model.set_params(n_jobs=n_jobs, random_state=0).fit(X)
            seen[ALL_STAGES][n_jobs].append(time.perf_counter() - began)
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
            stages = time_stages(case.model, X, arguments.repeats)
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
