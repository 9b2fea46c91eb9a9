"""`python -m bench theorem`: how often OneBatchPAM ends with the medoids of FasterPAM, against the batch size.

Theorem 1 of the paper says from which batch size on all swaps are the same with a given probability. Here both
algorithms start from the same rows, with uniform batches as in the theorem, and the share of runs that end with the
same medoids is counted. For the batch size of the theorem, the smallest difference Δ of objectives is taken over the
swaps that FasterPAM compares at its end; those before can only make it smaller, and the batch size larger. In
"corners", no other pair of medoids makes it smaller, and the batch size is below the number of rows.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bench.data import synthetic
from bench.measure.machine import describe_machine
from bench.measure.records import RESULTS, Record, Run, Store
from onebatchpam import FasterPAM, OneBatchPAM, required_batch_size

N_ROWS = 1000
CORNERS = (1500, 1000, 500)  # so many rows at each corner of a triangle with equal sides
SETS = {"corners": 2, "places": 5, "blobs": 12, "gaussian3": 5}  # with the number of medoids
SHARES = (0.05, 0.1, 0.25, 0.5, 0.9, 1.0)
DELTA = 0.05
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@cache
def make_rows(dataset: str) -> NDArray[np.float64]:
    """Return the rows of a data set.

    "corners" and "places" have few distinct rows, so that objectives differ by a lot or not at all.
    """
    if dataset == "corners":
        return np.repeat(np.eye(3), CORNERS, axis=0)
    if dataset == "places":
        rng = np.random.RandomState(0)
        return rng.uniform(-10, 10, size=(30, 2))[rng.randint(30, size=N_ROWS)]
    make, (_, p) = synthetic.SETS[dataset]
    return make(np.random.RandomState(0), N_ROWS, p)


def find_smallest_difference(D: NDArray[np.float64], medoids: NDArray[np.int64]) -> float:
    """Return the smallest change of the mean distance by a swap that changes it at all."""
    loss = D[:, medoids].min(axis=1).mean()
    changes = []
    for place in range(len(medoids)):
        others = D[:, np.delete(medoids, place)].min(axis=1)
        changes.append(np.abs(np.minimum(D, others[:, None]).mean(axis=0) - loss))
    differences = np.concatenate(changes)
    return float(differences[differences > 1e-12].min())


def have_same_rows(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Tell whether two sets of medoids are the same; copies of a row are."""
    return np.array_equal(np.unique(one, axis=0), np.unique(other, axis=0))


def measure(dataset: str, share: float, seed: int) -> Record:
    """Fit both algorithms from the same start; return whether they agree, and what the theorem asks for."""
    X, k = make_rows(dataset), SETS[dataset]
    start = np.random.RandomState(seed).choice(len(X), k, replace=False)
    settings: dict[str, Any] = {"metric": "euclidean", "init": start, "random_state": seed, "tol": 0.0}
    exact = FasterPAM(k, **settings).fit(X)
    m = round(share * len(X))
    model = OneBatchPAM(k, variant="unif", refine=0, batch_size=m, **settings).fit(X)
    D = cdist(X, X)
    gap = find_smallest_difference(D, exact.medoid_indices_)
    return {
        "m": m,
        "agrees": have_same_rows(model.cluster_centers_, exact.cluster_centers_),
        "excess": float(model.inertia_ / exact.inertia_ - 1),
        "required": required_batch_size(len(X), diameter=D.max(), gap=gap, n_swaps=max(1, exact.n_swaps_), delta=DELTA),
    }


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the table."""
    store = Store(arguments.results, "theorem")
    known = store.read()
    for dataset, k in SETS.items():
        for share in SHARES:
            for seed in range(arguments.seeds):
                run = Run(dataset, len(make_rows(dataset)), k, "euclidean", f"unif, {share:g} n", seed)
                if run not in known:
                    record = measure(dataset, share, seed)
                    store.append({**run.as_dict(), **record, "machine": describe_machine()})
    print(tabulate(store.read()).to_string())


def tabulate(records: dict[Run, Record]) -> pd.DataFrame:
    """Return by how much OneBatchPAM is above FasterPAM for each batch size, and in how many runs it is the same."""
    frame = pd.DataFrame([{**run.as_dict(), **record} for run, record in records.items()])
    rows = {}
    for (dataset, k), own in frame.groupby(["dataset", "k"], sort=False):
        n = int(own["n"].iloc[0])
        row = {"n": f"{n:,}", "k": str(k), "m of Theorem 1": show_required(own["required"], n)}
        for m, runs in own.groupby("m"):
            row[f"m = {100 * m / n:g} % of n"] = f"{100 * runs['excess'].mean():.2f} % ({runs['agrees'].sum()})"
        rows[dataset] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("data")


def show_required(sizes: pd.Series, n: int) -> str:
    """Return the batch size that is enough for all runs, or a power of ten that is too small for any of them."""
    if sizes.max() <= n:
        return f"{sizes.max():,}"
    return f"above 10{str(int(np.log10(sizes.min()))).translate(SUPERSCRIPTS)}"


def add_command(commands: Any) -> None:
    """Add `theorem` to the command line."""
    parser = commands.add_parser("theorem", help="how often OneBatchPAM ends with the medoids of FasterPAM")
    parser.add_argument("--seeds", type=int, default=30, help="runs of each batch size (%(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS / "theorem", help="folder of the records")
    parser.set_defaults(run=run_all)
