"""`python -m bench beyond`: the algorithms that the paper does not have, beside FasterPAM.

Medoids are judged by the sum of distances, which PAM and CLARANS lower, and by the average medoid silhouette, which
FasterMSC raises. DynMSC chooses the number of medoids itself, from k downwards, by the search of FasterMSC; with fewer
medoids its sum of distances says nothing. A run whose record has no seconds, as the first ones, is made again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bench.data.sets import load
from bench.measure.machine import count_processors, describe_machine
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Problem
from bench.methods.table import CONTESTANTS
from bench.report.intervals import bound_mean
from bench.report.tables import MISSING, draw_markdown

METRIC = "manhattan"
DATASETS = ("bankruptcy", "mapping")  # of fewer rows, the one batch has all
KS = (10, 50, 100)
REFERENCE = "FasterPAM"
CHOOSING = "DynMSC"  # the method that chooses the number of medoids
METHODS = (REFERENCE, "PAM", "CLARANS", "FasterMSC", "FasterMSC, one batch", CHOOSING)


# Runs


def list_runs(seeds: int) -> list[Run]:
    return [
        Run(dataset, None, k, METRIC, method, seed)
        for dataset in DATASETS
        for k in KS
        for seed in range(seeds)
        for method in METHODS
    ]


def judge(X: NDArray[Any], medoids: NDArray[np.int64]) -> tuple[float, float]:
    """Return the sum of distances to the nearest medoid, and the average medoid silhouette, in float64."""
    nearest, second = np.sort(cdist(X, X[medoids], "cityblock"), axis=1)[:, :2].T
    silhouettes = np.ones(len(X))  # where a row is as good as a medoid
    apart = nearest > 0
    silhouettes[apart] -= nearest[apart] / second[apart]
    return float(nearest.sum()), float(silhouettes.mean())


def measure(run: Run, X: NDArray[Any]) -> Record:
    problem = Problem(X, run.k, run.metric, run.seed, count_processors())
    start = time.perf_counter()
    answer = CONTESTANTS[run.method].solve(problem)
    seconds = time.perf_counter() - start
    objective, silhouette = judge(X, answer.medoids)
    share = (answer.n_distances or 0) / len(X) ** 2
    found = {"objective": objective, "silhouette": silhouette, "share": share, "seconds": seconds}
    return {**found, "n_medoids": len(answer.medoids), "machine": describe_machine()}


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record with seconds yet, and print the table."""
    store = Store(arguments.results, "beyond")
    known = store.read()
    for run in list_runs(arguments.seeds):
        if "seconds" not in known.get(run, {}):
            print(run, flush=True)
            store.append({**run.as_dict(), **measure(run, load(run.dataset, arguments.data))})
    print(f"\n{draw_markdown(tabulate(store.read()))}")


# What the records say


def tabulate(records: dict[Run, Record]) -> pd.DataFrame:
    """Return the means over all cases; differences are to FasterPAM with the same seed, with 95 % intervals.

    The seconds are medians over all runs; the first records have none.
    """
    rows = [{"n_medoids": run.k, **run.as_dict(), **record} for run, record in records.items()]
    runs = pd.DataFrame(rows).set_index(["method", "dataset", "k", "seed"])
    reference = runs.loc[REFERENCE]
    table = {}
    for method in runs.index.unique("method").intersection(METHODS, sort=False):
        own = runs.loc[method]
        above = 100 * (own["objective"] / reference["objective"] - 1)
        gained = own["silhouette"] - reference["silhouette"]
        table[method] = {
            **({"medoids": show_numbers_of_medoids(own)} if CHOOSING in runs.index else {}),
            "ΔRO, in %": MISSING if method == CHOOSING else show_mean(above, 2),
            "medoid silhouette": f"{own['silhouette'].mean():.3f}",
            "gain": show_mean(gained, 3),
            "dissimilarities, in % of n²": f"{100 * own['share'].mean():.0f}",
            **({"seconds, median": f"{own['seconds'].median():.2g}"} if "seconds" in own else {}),
        }
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("method")


def show_numbers_of_medoids(runs: pd.DataFrame) -> str:
    """Return the numbers of medoids that a method has returned."""
    return ", ".join(map(str, sorted(set(runs["n_medoids"]))))


def show_mean(differences: pd.Series, decimals: int) -> str:
    """Return the mean over the cases, and the interval of Student's t over the seeds."""
    seeds = differences.groupby("seed").mean()
    low, high = bound_mean(seeds.to_numpy())
    return f"{seeds.mean():.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})".replace("-", "−")


def add_command(commands: Any) -> None:
    """Add `beyond` to the command line."""
    parser = commands.add_parser("beyond", help="PAM, CLARANS, FasterMSC, DynMSC beside FasterPAM, by both objectives")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each case (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS / "beyond", help="folder of the records")
    parser.set_defaults(run=run_all)
