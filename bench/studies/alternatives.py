"""`python -m bench alternatives`: what one could take instead, by time, memory and objective.

The rows are generated: a hundred overlapping groups in 16, 128 or 768 features, in float32. Each package is called with
its defaults. Centres of k-means are moved to rows, which is part of the time. Methods that take a metric are run with
both; k-means is Euclidean, and its rows are judged by both. Objectives are mean distances to the nearest chosen row,
computed here in float64 over 10,000 rows, the same for all methods. Memory is the largest growth during the call,
beyond X.

A method gets more and more rows, until a run exceeds the limit on time or memory, or would do so even if its time grew
no faster than its rows. One whose package is missing is left out; `bench/studies/limits.py` says how scikit-learn-extra
is installed. Ten million rows of 768 features do not fit in memory and are not tried.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.data.sets import store_generated
from bench.data.synthetic import make_mixture_pieces
from bench.measure.call import Trial, measure_call
from bench.measure.growth import FAILED, Load, measure_growth
from bench.measure.objective import check_medoids, compute_objective
from bench.measure.process import Announce, Limits
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods import peers
from bench.methods.contestant import Contestant
from bench.methods.ours import solve_by
from bench.report.tables import draw_markdown

ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
FEATURES = (16, 128, 768)
KS = (10, 100, 1000)
METRICS = ("euclidean", "manhattan")
MOST_BYTES = 6e9  # of X
N_JUDGED = 10_000
SECONDS, GIGABYTES = 300.0, 20  # the limits unless others are given

OURS = "onebatchpam"
EUCLIDEAN: dict[str, Any] = {"metrics": METRICS[:1]}
METHODS = {
    contestant.name: contestant
    for contestant in (
        Contestant(OURS, solve_by("OneBatchPAM"), "ours"),
        Contestant("onebatchpam, fast", solve_by("OneBatchPAM", effort="fast"), "ours"),
        Contestant("KMeans", partial(peers.solve_k_means, "KMeans"), "peer", "sklearn", **EUCLIDEAN),
        Contestant("MiniBatchKMeans", partial(peers.solve_k_means, "MiniBatchKMeans"), "peer", "sklearn", **EUCLIDEAN),
        Contestant("faiss", peers.solve_faiss, "peer", "faiss", **EUCLIDEAN),
        Contestant("onebatch", peers.solve_onebatch, "peer", "onebatch"),
        Contestant("kmedoids", peers.solve_kmedoids_from_start, "peer", "kmedoids"),
        Contestant("banditpam", peers.solve_banditpam, "peer", "banditpam"),
        Contestant("CLARA", peers.solve_clara, "peer", "sklearn_extra"),
        Contestant("apricot", peers.solve_apricot, "peer", "apricot"),
    )
}
MEASURES = {
    "seconds": "seconds, with the Euclidean distance",
    "gigabytes": "GB beyond X, with the Euclidean distance",
    "euclidean": "mean Euclidean distance to the nearest chosen row",
    "manhattan": "mean Manhattan distance to the nearest chosen row",
}
DIGITS = {"seconds": "{:.3g}", "gigabytes": "{:.2g}"}
WORDS = {"timeout": "time"}


def measure(announce: Announce, trial: Trial) -> Record:
    """Measure time and memory of a call, and judge the chosen rows by both metrics."""
    problem, call, peak = measure_call(announce, trial)
    medoids = check_medoids(call.answer.medoids, problem.k, problem.n)
    judged = np.random.RandomState(0).choice(problem.n, min(problem.n, N_JUDGED), replace=False)
    means = {metric: compute_objective(problem.X, medoids, metric, judged) / len(judged) for metric in METRICS}
    return {"seconds": call.seconds, "peak_bytes": peak, **means, "n_distinct": len(np.unique(medoids))}


def load_rows(file: Path, n: int) -> NDArray[np.float32]:
    """Return the first rows of a file, in memory."""
    return np.array(np.load(file, mmap_mode="r")[:n])


def list_runs(method: str, p: int, k: int, metric: str, most: int) -> Iterator[tuple[Run, Load]]:
    """Yield the runs of a method with more and more rows, each with the function that loads its rows."""
    sizes = [n for n in ROWS if n <= most and 4 * n * p <= MOST_BYTES]
    file = store_generated(f"mixture{p}-{max(sizes)}", (max(sizes), p), make_mixture_pieces)
    for n in sizes:
        yield Run(f"mixture{p}", n, k, metric, method, 0), partial(load_rows, file, n)


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the tables."""
    store = Store(arguments.results, "alternatives")
    limits = Limits(arguments.seconds, arguments.memory * 10**9)
    for p in arguments.features or FEATURES:
        for k in arguments.k or KS:
            for metric in METRICS:
                for method in arguments.method or METHODS:
                    if metric in (METHODS[method].metrics or METRICS):
                        runs = list_runs(method, p, k, metric, arguments.rows)
                        measure_growth(measure, METHODS[method], runs, store, limits, again=arguments.again)
    for name, title in MEASURES.items():
        print(f"\n{title}\n\n{draw_markdown(make_table(store.read(), name))}")


def make_table(records: dict[Run, Record], measure: str) -> pd.DataFrame:
    """Return one measure of all methods, a row for each number of features, of medoids and of rows."""
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for run, record in sorted(records.items(), key=lambda item: order(item[0])):
        if run.metric == choose_metric(run.method, measure):
            case = run.dataset.removeprefix("mixture"), str(run.k), f"{run.n:,}"
            row = cells.setdefault(case, dict.fromkeys(METHODS, ""))
            row[run.method] = show(record, measure)
    table = pd.DataFrame.from_dict(cells, orient="index")
    table.index = pd.Index([" × ".join((n, p)) + f", k = {k}" for p, k, n in cells], name="rows × features")
    return table


def order(run: Run) -> tuple[int, int, int]:
    """Return the key by which rows of a table are sorted."""
    return int(run.dataset.removeprefix("mixture")), run.k, run.n or 0


def choose_metric(method: str, measure: str) -> str:
    """Return the metric of the runs that a measure is taken from: k-means has Euclidean ones only."""
    return measure if measure in METRICS and METHODS[method].metrics is None else METRICS[0]


def show(record: Record, measure: str) -> str:
    """Return a figure of a record as text, or which limit the run exceeded."""
    if FAILED in record:
        return str(WORDS.get(record[FAILED], record[FAILED]))
    value = record["peak_bytes"] / 1e9 if measure == "gigabytes" else record[measure]
    return DIGITS.get(measure, "{:.4g}").format(value)


def add_command(commands: Any) -> None:
    """Add `alternatives` to the command line."""
    parser = commands.add_parser("alternatives", help="time, memory and objective beside what one could take instead")
    parser.add_argument("--rows", type=int, default=ROWS[-1], help="the largest number of rows (%(default)s)")
    parser.add_argument("--features", type=int, action="append", choices=FEATURES, help="may be repeated (all)")
    parser.add_argument("--k", type=int, action="append", choices=KS, help="may be repeated (all)")
    parser.add_argument("--method", action="append", choices=METHODS, help="only this method; may be repeated (all)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit on the time of a run (%(default)s)")
    parser.add_argument("--memory", type=int, default=GIGABYTES, help="limit on its memory, in GB (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    folder = RESULTS / "alternatives"
    parser.add_argument("--results", type=Path, default=folder, help="folder of the records (%(default)s)")
    parser.set_defaults(run=run_all)
