"""`python -m bench counts`: three statements of the paper that counts can tell about, on letter.

How many medoids are batch points, with and without the correction that is to keep them from being favoured; how many
dissimilarities BanditPAM++ computes for T swaps, where OneBatchPAM computes its block once; and how many passes over
all pairs PAM and FasterPAM make. Counts are exact, so that it does not matter what else the machine does.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bench.data.sets import load
from bench.measure.machine import count_processors, describe_machine
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Problem
from onebatchpam import PAM, BanditPAM, FasterPAM, OneBatchPAM

DATASET, METRIC = "letter", "manhattan"
VARIANTS, KS = ("unif", "debias", "nniw", "lwcs"), (10, 50, 100)
SWAPS, SWAPPED_K = (0, 1, 2, 5, 10), 10
ALL_PAIRS = {"PAM": PAM, "FasterPAM": FasterPAM}


# Runs


def list_runs(seeds: int) -> list[Run]:
    """Return all runs; `PAM` draws nothing, so that a single seed tells all."""
    cases = [(k, variant) for k in KS for variant in VARIANTS] + [(SWAPPED_K, f"T = {most}") for most in SWAPS]
    cases += [(k, "FasterPAM") for k in KS]
    runs = [Run(DATASET, None, k, METRIC, method, seed) for k, method in cases for seed in range(seeds)]
    return runs + [Run(DATASET, None, k, METRIC, "PAM", 0) for k in KS]


def measure(run: Run, X: NDArray[Any]) -> Record:
    """Count the medoids that are batch points, the dissimilarities of BanditPAM++ without the labels, or passes."""
    problem = Problem(X, run.k, run.metric, run.seed, count_processors())
    settings: dict[str, Any] = {"metric": run.metric, "random_state": run.seed, "n_jobs": problem.threads}
    if run.method in VARIANTS:
        model = OneBatchPAM(
            run.k, variant=run.method, refine=0, init="random", batch_size=problem.paper_batch_size(), **settings
        ).fit(X)
        in_batch = np.isin(model.medoid_indices_, model.batch_indices_)
        return {"share": float(in_batch.mean()), "m": len(model.batch_indices_), "n_rows": problem.n}
    if run.method in ALL_PAIRS:
        model = ALL_PAIRS[run.method](run.k, **settings).fit(X)
        found = {"n_passes": int(model.n_iter_), "n_swaps": int(model.n_swaps_), "objective": float(model.inertia_)}
        return {**found, "n_rows": problem.n}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is to make few swaps
        model = BanditPAM(run.k, max_iter=int(run.method.removeprefix("T = ")), **settings).fit(X)
    computed = int(model.n_distances_) - problem.n * run.k
    return {"n_distances": computed, "n_swaps": int(model.n_swaps_), "n_rows": problem.n}


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the tables."""
    store = Store(arguments.results, "counts")
    known, X = store.read(), load(DATASET, arguments.data)
    for run in list_runs(arguments.seeds):
        if run not in known:
            print(run, flush=True)
            store.append({**run.as_dict(), **measure(run, X), "machine": describe_machine()})
    for tabulate in (tabulate_batch, tabulate_swaps, tabulate_passes):
        print(f"\n{tabulate(store.read()).to_string()}")


# What the records say


def make_frame(records: dict[Run, Record]) -> pd.DataFrame:
    return pd.DataFrame([{**run.as_dict(), **record} for run, record in records.items()])


def tabulate_batch(records: dict[Run, Record]) -> pd.DataFrame:
    """Return which share of the medoids is in the batch: the mean over the seeds, the least and the largest."""
    runs = make_frame(records)
    rows = {}
    for variant in VARIANTS:
        own = runs[runs["method"] == variant]
        shares = (100 * own.set_index("k")["share"]).groupby("k").agg(["mean", "min", "max"])
        rows[variant] = {
            f"k = {k}": f"{mean:.0f} % ({low:.0f} to {high:.0f})" for k, (mean, low, high) in shares.iterrows()
        }
    by_k = runs[runs["method"] == VARIANTS[0]].groupby("k")
    sizes = 100 * by_k["m"].first() / by_k["n_rows"].first()
    rows["share of the rows that are in the batch"] = {f"k = {k}": f"{size:.1f} %" for k, size in sizes.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("medoids in the batch")


def tabulate_swaps(records: dict[Run, Record]) -> pd.DataFrame:
    """Return the dissimilarities of BanditPAM++ for each number of swaps, means over the seeds."""
    runs = make_frame(records)
    runs = runs[runs["method"].str.startswith("T = ")].set_index(["method", "seed"])
    base = runs.loc["T = 0", "n_distances"]
    rows = {}
    for most in SWAPS:
        own = runs.loc[f"T = {most}"]
        rows[f"T = {most}"] = {
            "swaps": f"{own['n_swaps'].mean():.1f}",
            "dissimilarities, millions": f"{own['n_distances'].mean() / 1e6:.0f}",
            "of n²": f"{100 * (own['n_distances'] / own['n_rows'] ** 2).mean():.0f} %",
            "more than BUILD, millions": f"{(own['n_distances'] - base).mean() / 1e6:.0f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("BanditPAM++")


def tabulate_passes(records: dict[Run, Record]) -> pd.DataFrame:
    """Return the passes and swaps of PAM and FasterPAM, means over the seeds; BUILD makes a pass for each medoid."""
    runs = make_frame(records)
    means = runs[runs["method"].isin(ALL_PAIRS)].groupby(["method", "k"])[["n_passes", "n_swaps"]].mean()
    rows = {"BUILD, passes": {f"k = {k}": str(k) for k in KS}}
    for method, label in (("PAM", "PAM after BUILD"), ("FasterPAM", "FasterPAM")):
        for what in ("passes", "swaps"):
            rows[f"{label}, {what}"] = {f"k = {k}": f"{means.loc[(method, k), f'n_{what}']:.3g}" for k in KS}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("over all pairs of letter")


def add_command(commands: Any) -> None:
    """Add `counts` to the command line."""
    parser = commands.add_parser(
        "counts", help="medoids in the batch, dissimilarities of BanditPAM++ for T swaps, passes over all pairs"
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each case (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS / "counts", help="folder of the records")
    parser.set_defaults(run=run_all)
