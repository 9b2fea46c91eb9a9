"""`python -m bench optimality`: how far solutions are from the optimum, and in what time.

Three families of problems: the p-median graphs of the OR-Library and points of TSPLIB, whose optima are known, and the
paper's small data sets, of which the best solution found is certified by a lower bound. All methods solve a problem
one after the other, so that their times, relative to that of our FasterPAM, can be compared on a machine with other
work to do as well. Records are kept; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load
from bench.measure.machine import describe_machine
from bench.measure.objective import compute_objective
from bench.measure.records import Record, Run, Store, add_results_option
from bench.methods.contestant import Contestant, Problem
from bench.methods.ours import solve_by
from bench.methods.peers import solve_kmedoids
from bench.report import palette
from bench.studies.orlib import load_graph, load_optima
from onebatchpam import lower_bound

NAME = "optimality"
PICTURE = Path(__file__).parents[2] / "docs" / "optimality.png"
REFERENCE, BOUND = "FasterPAM", "lower bound"
CONTESTANTS = (
    Contestant(REFERENCE, solve_by("FasterPAM"), "ours"),
    Contestant("kmedoids", solve_kmedoids, "peer", "kmedoids"),
    *(
        Contestant(f"OneBatchPAM, {effort}", solve_by("OneBatchPAM", effort=effort), "ours")
        for effort in ("fast", "auto", "balanced", "best")
    ),
    Contestant("OneBatchPAM, n_init=10", solve_by("OneBatchPAM", n_init=10), "ours"),
)
PAPER_SETS, PAPER_KS = ("abalone", "bankruptcy", "mapping", "drybean", "letter"), (10, 50, 100)


@dataclass(frozen=True)
class Case:
    """A problem, and the smallest objective that is known; None if a lower bound takes its place."""

    family: str
    name: str
    k: int
    metric: str
    best_known: float | None
    load: Callable[[], NDArray[Any]]

    def run(self, method: str, seed: int) -> Run:
        return Run(self.name, None, self.k, self.metric, method, seed)


def list_graphs(folder: Path) -> Iterator[Case]:
    """Yield the 40 graphs of the OR-Library."""
    for name, optimum in load_optima(folder).items():
        path = folder / f"{name}.txt"
        k = int(path.read_text().split(maxsplit=3)[2])
        yield Case("OR-Library", name, k, "precomputed", optimum, partial(load_lengths, path))


def load_lengths(path: Path) -> NDArray[np.float32]:
    """Return the lengths of the shortest paths of a graph, which float32 holds exactly."""
    return load_graph(path)[0].astype(np.float32)


def list_points(folder: Path) -> Iterator[Case]:
    """Yield the problems on points of TSPLIB."""
    path = folder / "best_known.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: name the folder above it by --data")
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            load_matrix = partial(load_floors, folder / row["data_file"])
            yield Case("TSPLIB", row["instance"], int(row["p"]), "precomputed", float(row["best_known"]), load_matrix)


def load_floors(path: Path) -> NDArray[np.float32]:
    """Return the Euclidean distances between the points of a file, rounded down, as the optima are defined."""
    points = read_points(path.read_text())
    differences = points[:, None] - points
    return np.floor(np.sqrt((differences**2).sum(axis=2))).astype(np.float32)


def read_points(text: str) -> NDArray[np.float64]:
    """Return the coordinates in a TSPLIB file."""
    lines = text.split("NODE_COORD_SECTION")[1].split("EOF")[0].splitlines()
    return np.array([line.split()[1:3] for line in lines if line.strip()], dtype=np.float64)


def list_paper_sets(folder: Path) -> Iterator[Case]:
    """Yield the paper's five small data sets, each with three numbers of medoids."""
    for name in PAPER_SETS:
        for k in PAPER_KS:
            yield Case("the paper's sets", name, k, "manhattan", None, partial(load, name, folder))


def list_cases(folder: Path) -> list[Case]:
    """Return the problems of all families."""
    return [*list_graphs(folder / "orlib"), *list_points(folder / "tsplib"), *list_paper_sets(folder)]


def takes(contestant: Contestant, case: Case) -> bool:
    """Tell whether a contestant runs: kmedoids only on matrices, because it computes none with all threads."""
    return contestant.explain_absence() is None and (contestant.name != "kmedoids" or case.metric == "precomputed")


def measure_case(case: Case, n_seeds: int, threads: int, store: Store, known: dict[Run, Record]) -> None:
    """Run all methods on a problem, and bound its optimum if it is not known; only what is not in the records."""
    contestants = [each for each in CONTESTANTS if takes(each, case)]
    runs = [(case.run(each.name, seed), each) for seed in range(n_seeds) for each in contestants]
    missing = [(run, each) for run, each in runs if run not in known]
    needs_bound = case.best_known is None and case.run(BOUND, 0) not in known
    if not missing and not needs_bound:
        return
    X, best = case.load(), (np.inf, np.empty(0, np.int64))
    for run, contestant in missing:
        problem = Problem(X, case.k, case.metric, run.seed, threads)
        began = time.perf_counter()
        medoids = contestant.solve(problem).medoids
        seconds = time.perf_counter() - began
        objective = measure_objective(X, medoids, case.metric)
        keep(run, objective, seconds, store, known)
        best = min(best, (objective, medoids), key=lambda each: each[0])
    if needs_bound:
        if not len(best[1]):  # all solutions are in the records, which hold no medoids
            problem = Problem(X, case.k, case.metric, 0, threads)
            best = 0.0, solve_by("OneBatchPAM", effort="best")(problem).medoids
        bound = lower_bound(X, best[1], metric=case.metric, n_jobs=threads)
        keep(case.run(BOUND, 0), bound.bound, bound.seconds, store, known)


def measure_objective(X: NDArray[Any], medoids: NDArray[Any], metric: str) -> float:
    """Return the objective of medoids over all rows."""
    if metric == "precomputed":
        return float(X[medoids.astype(np.int64)].min(axis=0).sum(dtype=np.float64))
    return compute_objective(X, medoids, metric)


def keep(run: Run, objective: float, seconds: float, store: Store, known: dict[Run, Record]) -> None:
    """Write the record of a run."""
    known[run] = {**run.as_dict(), "status": "ok", "objective": objective, "seconds": seconds}
    store.append(known[run] | {"machine": describe_once()})


@cache
def describe_once() -> Record:
    """Return the machine, which does not change between runs."""
    return describe_machine()


@dataclass(frozen=True)
class Outcome:
    """What a method reached on one problem: over seeds, the mean and the worst excess, and the time."""

    family: str
    method: str
    excess: float  # over the best known objective, or over the bound
    worst: float
    is_optimal: bool  # the best seed reached the best known objective
    against_reference: float  # mean objective relative to that of FasterPAM, minus 1
    seconds: float  # median, relative to that of FasterPAM


def sum_up(cases: list[Case], known: dict[Run, Record]) -> list[Outcome]:
    """Return the outcomes of all problems that have records of FasterPAM and a best known objective or a bound."""
    by_case = defaultdict(list)
    for run, record in known.items():
        by_case[run.dataset, run.k, run.method].append(record)
    outcomes = []
    for case in cases:
        bounds, references = (by_case[case.name, case.k, method] for method in (BOUND, REFERENCE))
        floor = case.best_known if case.best_known is not None else bounds and bounds[0]["objective"]
        for contestant in CONTESTANTS:
            records = by_case[case.name, case.k, contestant.name]
            if not records or not references or not floor:
                continue
            objectives = [record["objective"] for record in records]
            outcomes.append(
                Outcome(
                    case.family,
                    contestant.name,
                    statistics.mean(objectives) / floor - 1,
                    max(objectives) / floor - 1,
                    min(objectives) <= floor,
                    statistics.mean(objectives) / statistics.mean(each["objective"] for each in references) - 1,
                    median_seconds(records) / median_seconds(references),
                )
            )
    return outcomes


def median_seconds(records: list[Record]) -> float:
    """Return the median time of some runs."""
    return statistics.median(record["seconds"] for record in records)


def make_table(outcomes: list[Outcome]) -> str:
    """Return one line for each family and method, as Markdown."""
    lines = [
        "| | method | problems | excess, mean | worst seed | optimum found | against FasterPAM | time / FasterPAM's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family in dict.fromkeys(each.family for each in outcomes):
        for method in [each.name for each in CONTESTANTS]:
            chosen = [each for each in outcomes if (each.family, each.method) == (family, method)]
            if chosen:
                means = [statistics.mean(getattr(each, name) for each in chosen) for name in ("excess", "worst")]
                against = statistics.mean(each.against_reference for each in chosen)
                cells = [f"{value:.3%}" for value in means]
                cells += [str(sum(each.is_optimal for each in chosen)), f"{against:+.3%}"]
                cells.append(f"{statistics.median(each.seconds for each in chosen):.2g}")
                lines.append(f"| {family} | {method} | {len(chosen)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Draw the mean excess against the time, a panel for each family."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    families = list(dict.fromkeys(each.family for each in outcomes))
    figure = Figure(figsize=(3.9 * len(families), 4.4), layout="constrained")
    for axes, family in zip(np.atleast_1d(figure.subplots(1, len(families))), families, strict=True):
        for contestant in CONTESTANTS:
            chosen = [each for each in outcomes if (each.family, each.method) == (family, contestant.name)]
            if chosen:
                seconds = statistics.median(each.seconds for each in chosen)
                excess = 100 * statistics.mean(each.excess for each in chosen)
                axes.plot(seconds, excess, label=contestant.name, **style_point(contestant.name))
        what = "the lower bound" if family == "the paper's sets" else "the optimum"
        axes.set(title=family, xscale="log", xlabel=f"time / {REFERENCE}'s", ylabel=f"mean excess over {what}, %")
        axes.margins(x=0.1)
        axes.set_ylim(-0.02 * axes.get_ylim()[1], 1.03 * axes.get_ylim()[1])
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    named = {label: line for axes in figure.axes for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    shown = [contestant.name for contestant in CONTESTANTS if contestant.name in named]
    labels = [name.replace(", auto", " (default)") for name in shown]
    figure.legend([named[name] for name in shown], labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)


def style_point(method: str) -> dict[str, Any]:
    """Return how a method is drawn: a large open triangle for the quickest effort, which the default often covers."""
    style = {"ls": "", "ms": 8, "mew": 1.5, **palette.style_of(method)}
    if method.endswith(", fast"):
        return {**style, "ms": 14, "mfc": "none"}
    return {**style, "ms": 13} if style["marker"] == "*" else style


def run_study(arguments: argparse.Namespace) -> None:
    """Measure what is missing, print the table, and draw the picture."""
    cases = [case for case in list_cases(arguments.data) if arguments.only in f"{case.family} {case.name} k={case.k}"]
    store = Store(arguments.results / NAME, NAME)  # in a folder of its own, because no experiment has this name
    known = store.read()
    for number, case in enumerate(cases, 1):
        print(f"{number}/{len(cases)} {case.name} k={case.k}", end="\r", flush=True)
        measure_case(case, arguments.seeds, arguments.threads, store, known)
    outcomes = sum_up(list_cases(arguments.data), known)
    print(make_table(outcomes))
    if outcomes:
        draw(outcomes, arguments.picture)
        print(f"\n{arguments.picture}")


def add_command(commands: Any) -> None:
    """Add `optimality` to the command line."""
    parser = commands.add_parser("optimality", help="the gap to the optimum against time")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each method (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each method (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure only problems whose name contains this")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw it (%(default)s)")
    add_results_option(parser)
    parser.set_defaults(run=run_study)
