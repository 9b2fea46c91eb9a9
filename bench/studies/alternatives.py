"""`python -m bench alternatives`: what one could take instead, by time, memory and objective.

The rows are generated: a hundred overlapping groups in 16, 128 or 768 features, in float32. Each package is called
with its defaults. Centres of k-means are moved to rows, which is part of the time. This package is run with Euclidean
and with Manhattan distances; other packages that take a metric are run with Manhattan distances only for k = 100,
which says enough about their time. k-means is Euclidean, and its rows are judged by both. Objectives are mean
distances to the nearest chosen row, computed here in float64 over 10,000 rows, the same for all methods. Memory is
the largest growth during the call, beyond X. One more case has few features and medoids: 300,000 rows of 10, k = 8.

A method gets more and more rows, until a run exceeds the limit on time or memory. Other packages are not tried where
they would exceed it even if their time grew no faster than the rows, and no method is where it was too slow with
fewer medoids. `onebatchpam, fast` is run up to 100,000 rows: with more, the default makes one start as well. A method
whose package is missing is left out; `limits.py` says how scikit-learn-extra is installed. Ten million rows of 768
features do not fit in memory and are not tried.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.data.sets import store_generated
from bench.data.synthetic import make_mixture_pieces
from bench.measure.call import Trial, measure_call
from bench.measure.growth import FAILED, Load, measure_growth
from bench.measure.machine import name_processors
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
SECONDS, GIGABYTES = 100.0, 20  # the limits unless others are given
FEW_ROWS, FEW_FEATURES, FEW_MEDOIDS = 300_000, 10, 8  # the case of few features and medoids
K_OF_PEERS = 100  # the number of medoids with which other packages are run with Manhattan distances
MOST_FAST = 100_000  # rows up to which the default makes more starts than `effort="fast"`

OURS, FAST = "onebatchpam", "onebatchpam, fast"
EUCLIDEAN: dict[str, Any] = {"metrics": METRICS[:1]}
METHODS = {
    contestant.name: contestant
    for contestant in (
        Contestant(OURS, solve_by("OneBatchPAM"), "ours"),
        Contestant(FAST, solve_by("OneBatchPAM", effort="fast"), "ours"),
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
FEW = Run(f"mixture{FEW_FEATURES}", FEW_ROWS, FEW_MEDOIDS, METRICS[0], OURS, 0)
FEW_METHODS = (OURS, FAST, "KMeans", "MiniBatchKMeans", "faiss")
WORDS = {"timeout": "time"}


@dataclass(frozen=True)
class Measure:
    """A figure of the records, and the metric of the runs that it is taken from."""

    what: str
    metric: str
    name: str
    unit: float = 1
    is_objective: bool = False  # shown in percent above ours; k-means has it for both metrics, from its Euclidean runs

    @property
    def title(self) -> str:
        return f"{self.what}, {self.metric.title()} distances"


SECONDS_TAKEN, ABOVE_OURS = "Seconds", "Mean distance to the nearest chosen row, above ours"
MEASURES = {
    "seconds": Measure(SECONDS_TAKEN, "euclidean", "seconds"),
    "seconds manhattan": Measure(SECONDS_TAKEN, "manhattan", "seconds"),
    "processor": Measure("Seconds of all processors", "euclidean", "cpu_seconds"),
    "memory": Measure("GB beyond X", "euclidean", "peak_bytes", 1e9),
    **{metric: Measure(ABOVE_OURS, metric, metric, is_objective=True) for metric in METRICS},
}
# Tables beside those of one measure: the seconds and the objective of the cases with as many medoids as other packages
# have with both metrics, and all measures of the case of few medoids.
BOTH, FEW_NAME = "both", "few"
TABLES = (BOTH, *MEASURES, FEW_NAME)


def measure(announce: Announce, trial: Trial) -> Record:
    """Measure times and memory of a call, and judge the chosen rows by both metrics."""
    problem, call, peak = measure_call(announce, trial)
    medoids = check_medoids(call.answer.medoids, problem.k, problem.n)
    judged = np.random.RandomState(0).choice(problem.n, min(problem.n, N_JUDGED), replace=False)
    means = {metric: compute_objective(problem.X, medoids, metric, judged) / len(judged) for metric in METRICS}
    times = {"seconds": call.seconds, "cpu_seconds": call.cpu_seconds}
    return {**times, "peak_bytes": peak, **means, "n_distinct": len(np.unique(medoids))}


def load_rows(file: Path, n: int) -> NDArray[np.float32]:
    """Return the first rows of a file, in memory."""
    return np.array(np.load(file, mmap_mode="r")[:n])


def list_sizes(method: str, p: int, k: int, metric: str, most: int) -> list[int]:
    """Return the numbers of rows of p features, at most so many, for which a method is run."""
    contestant = METHODS[method]
    is_peer_of_other_k = contestant.kind == "peer" and metric != METRICS[0] and k != K_OF_PEERS
    if metric not in (contestant.metrics or METRICS) or is_peer_of_other_k:
        return []
    most = min(most, MOST_FAST) if method == FAST else most
    return [n for n in ROWS if n <= most and 4 * n * p <= MOST_BYTES]


def list_runs(method: str, p: int, k: int, metric: str, sizes: list[int], stored: int) -> Iterator[tuple[Run, Load]]:
    """Yield the runs of a method with more and more rows, each with the function that loads its rows.

    All are among the first rows of a file that has `stored` of them.
    """
    file = store_generated(f"mixture{p}-{stored}", (stored, p), make_mixture_pieces)
    for n in sizes:
        yield Run(f"mixture{p}", n, k, metric, method, 0), partial(load_rows, file, n)


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the tables."""
    store = Store(arguments.results, "alternatives")
    limits = Limits(arguments.seconds, arguments.memory * 10**9)
    methods = arguments.method or tuple(METHODS)

    def measure_sizes(method: str, p: int, k: int, metric: str, sizes: list[int], stored: int) -> None:
        runs = list_runs(method, p, k, metric, sizes, stored)
        measure_growth(measure, METHODS[method], runs, store, limits, again=arguments.again)

    if arguments.rows >= FEW_ROWS:
        for method in filter(methods.__contains__, FEW_METHODS):
            measure_sizes(method, FEW_FEATURES, FEW_MEDOIDS, METRICS[0], [FEW_ROWS], FEW_ROWS)
    for p, k, metric in product(arguments.features or FEATURES, arguments.k or KS, METRICS):
        stored = max(list_sizes(OURS, p, k, metric, arguments.rows))
        for method in methods:
            sizes = list_sizes(method, p, k, metric, arguments.rows)
            if sizes:
                measure_sizes(method, p, k, metric, sizes, stored)
    records = store.read()
    for name in TABLES:
        print(f"\n{draw_table(records, name)}")


def draw_table(records: dict[Run, Record], name: str) -> str:
    """Return a table in Markdown, under its title and the processors that it was measured on."""
    titles = {
        BOTH: f"{SECONDS_TAKEN}, and mean distance above ours, k = {K_OF_PEERS}, {METRICS[0].title()} distances",
        FEW_NAME: name_case(FEW),
    }
    title = titles[name] if name in titles else MEASURES[name].title
    processors = "; ".join(dict.fromkeys(name_processors(record["machine"]) for record in records.values()))
    return f"{title} ({processors}):\n\n{draw_markdown(tabulate(records, name))}"


def tabulate(records: dict[Run, Record], name: str) -> pd.DataFrame:
    """Return one of the tables by its name."""
    if name == FEW_NAME:
        return make_few_table(records)
    if name == BOTH:
        return make_table(records, [MEASURES["seconds"], MEASURES[METRICS[0]]], K_OF_PEERS)
    return make_table(records, [MEASURES[name]])


def make_table(records: dict[Run, Record], measures: list[Measure], k: int | None = None) -> pd.DataFrame:
    """Return measures of all methods, a row for each number of features, of medoids, unless it is given, and of rows.

    The limit that ended a method stands with all larger numbers of rows as well.
    """
    cases = sorted({replace(run, metric=measures[0].metric, method=OURS) for run in records}, key=order)
    cases = [case for case in cases if count_features(case) in FEATURES and k in (None, case.k)]
    name = name_case if k is None else name_size
    table = {name(case): {each: show_all(records, case, each, measures) for each in METHODS} for case in cases}
    frame = pd.DataFrame.from_dict(table, orient="index").rename_axis("rows × features")
    return frame.loc[(frame != "").any(axis=1), (frame != "").any()]


def make_few_table(records: dict[Run, Record]) -> pd.DataFrame:
    """Return all Euclidean measures of the case of few features and medoids, a row for each method."""
    shown = [measure for measure in MEASURES.values() if measure.metric == FEW.metric]
    methods = [method for method in FEW_METHODS if replace(FEW, method=method) in records]
    table = {method: {each.what: show_all(records, FEW, method, [each]) for each in shown} for method in methods}
    return pd.DataFrame.from_dict(table, orient="index").rename_axis("")


def name_case(run: Run) -> str:
    """Return the number of rows, features and medoids of a run."""
    return f"{name_size(run)}, k = {run.k:,}"


def name_size(run: Run) -> str:
    """Return the number of rows and features of a run."""
    return f"{run.n:,} × {count_features(run)}"


def order(run: Run) -> tuple[int, int, int]:
    """Return the key by which rows of a table are sorted."""
    return count_features(run), run.k, run.n or 0


def count_features(run: Run) -> int:
    return int(run.dataset.removeprefix("mixture"))


def choose_metric(method: str, measure: Measure) -> str:
    """Return the metric of the runs of a method that a measure is taken from."""
    metrics = METHODS[method].metrics
    return metrics[0] if metrics is not None and measure.is_objective else measure.metric


def show_all(records: dict[Run, Record], case: Run, method: str, measures: list[Measure]) -> str:
    """Return measures of a method in a case as text, or which limit it exceeded with these rows or with fewer."""
    run = replace(case, method=method, metric=choose_metric(method, measures[0]))
    fewer = [records[each] for each in (replace(run, n=n) for n in ROWS if n <= (run.n or 0)) if each in records]
    failed = [record[FAILED] for record in fewer if FAILED in record]
    if failed:
        return str(WORDS.get(failed[0], failed[0]))
    if run not in records:
        return ""
    found = (show(records[run], records.get(replace(case, metric=each.metric), {}), each, method) for each in measures)
    return ", ".join(filter(None, found))


def show(record: Record, ours: Record, measure: Measure, method: str) -> str:
    """Return a figure of a record as text; the objective of this package has nothing to be compared with."""
    if not measure.is_objective:
        return show_figure(record[measure.name] / measure.unit) if measure.name in record else ""
    if method == OURS or measure.name not in ours:
        return ""
    text = f"{record[measure.name] / ours[measure.name] - 1:+.1%}".replace("-", "−").replace("%", " %")
    return "0.0 %" if text[1:] == "0.0 %" else text


def show_figure(value: float) -> str:
    """Return a number with as many digits as mean something."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


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
