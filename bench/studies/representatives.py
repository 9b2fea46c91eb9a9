"""`python -m bench representatives`: rows chosen by several methods, judged by the models that are trained on them.

For every data set and seed, the rows are split. Methods choose k rows of one part, the pool, without seeing labels.
Then the labels of the chosen rows are looked up, and two classifiers learn from these rows alone and predict the other
part. The split depends on the seed, and is the same for all methods, so that differences between methods are paired.
The objective is the mean distance of the rows of the pool to the nearest chosen row.

`prefix` is the beginning of the longest selection of `onebatchpam`: the table of objectives shows what it costs to
take a prefix instead of choosing k rows afresh.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from bench.data.labelled import SETS, Labelled, load_labelled
from bench.data.sets import add_options
from bench.measure.machine import count_processors, describe_machine, summarise_machine
from bench.measure.objective import check_medoids, compute_objective
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Contestant, Problem
from bench.methods.selectors import CHOOSE_ONCE, OURS, SELECTORS
from bench.report.intervals import half_width

KS = (10, 20, 50, 100, 200)
LEAST_ROWS_PER_CHOICE = 4  # of a pool with fewer rows for each chosen one, no rows are chosen
SHARE_OF_TEST = 0.3
METRIC = "euclidean"
MODELS = {"nearest": "1-NN", "logistic": "logistic regression"}

Values = dict[tuple[str, int, str], dict[int, float]]  # by data set, k and method: a value for each seed


def run_study(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print all tables."""
    store = Store(arguments.results, "representatives")
    done = {} if arguments.again else store.read()
    for name in arguments.sets:
        try:
            rows = load_labelled(name, arguments.data)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}\n")
            continue
        for record in measure_set(name, rows, arguments.ks, range(arguments.seeds), done):
            store.append(record)
            print(f"{Run.from_record(record)}: {record['nearest']:.3f} in {record['seconds']:.2f} s", flush=True)
    print(make_page(list(store.read().values())))
    print(f"\n{summarise_machine(describe_machine(), count_processors())}")


def measure_set(
    name: str, rows: Labelled, ks: Sequence[int], seeds: Sequence[int], done: dict[Run, Record]
) -> Iterator[Record]:
    """Yield a record for each run on a data set that is not done and that its rows and the memory allow."""
    X, y = rows
    for seed in seeds:
        split = train_test_split(X, y, test_size=SHARE_OF_TEST, stratify=y, random_state=seed)
        pool, test, pool_labels, test_labels = split
        possible = [k for k in ks if k * LEAST_ROWS_PER_CHOICE <= len(pool)]
        for contestant in SELECTORS:
            runs = [Run(name, None, k, METRIC, contestant.name, seed) for k in possible]
            missing = [run for run in runs if run not in done]
            if missing and can_run(contestant, len(pool)):
                longest = max(possible) if contestant.name in CHOOSE_ONCE else None
                for run, chosen, seconds in choose(contestant, missing, pool, longest):
                    facts = {"n_pool": len(pool), "seconds": seconds, "finished": datetime.now(UTC).date().isoformat()}
                    facts["objective"] = compute_objective(pool, chosen, METRIC) / len(pool)
                    yield run.as_dict() | facts | judge_models(pool[chosen], pool_labels[chosen], test, test_labels)


def choose(
    contestant: Contestant, runs: list[Run], pool: NDArray[Any], longest: int | None
) -> Iterator[tuple[Run, NDArray[np.int64], float]]:
    """Yield the rows that a contestant chooses in each run, and the seconds; with `longest`, it chooses only once."""
    contestant.solve(Problem(pool[:50], 2, METRIC, 0, count_processors()))  # so that no import and compilation is timed
    answers: dict[int, tuple[NDArray[np.int64], float]] = {}
    for run in runs:
        k = run.k if longest is None else longest
        if k not in answers:
            began = time.perf_counter()
            answer = contestant.solve(Problem(pool, k, METRIC, run.seed, count_processors()))
            seconds = time.perf_counter() - began
            answers[k] = check_medoids(answer.medoids, k, len(pool)), seconds
        medoids, seconds = answers[k]
        yield run, medoids[: run.k], seconds


def can_run(contestant: Contestant, n: int) -> bool:
    """Tell whether a contestant is installed, and has the memory for its matrix of n x n distances."""
    fits = contestant.matrix_bytes * n**2 < psutil.virtual_memory().available
    return fits and contestant.explain_absence() is None


def judge_models(rows: NDArray[Any], labels: NDArray[Any], test: NDArray[Any], test_labels: NDArray[Any]) -> Record:
    """Return the accuracies of models that learnt from some labelled rows only."""
    models = {
        "nearest": KNeighborsClassifier(1),
        # One class alone has no regression; its only label is then predicted for all rows.
        "logistic": LogisticRegression(max_iter=1000) if len(np.unique(labels)) > 1 else DummyClassifier(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that a plane separates let coefficients grow
        return {name: model.fit(rows, labels).score(test, test_labels) for name, model in models.items()}


def make_page(records: list[Record]) -> str:
    """Return all tables as Markdown."""
    methods = [each.name for each in SELECTORS if any(record["method"] == each.name for record in records)]
    parts = [
        make_table(f"Accuracy of {title}, in %", gather(records, name, 100), methods) for name, title in MODELS.items()
    ]
    parts += [
        make_summary(f"Accuracy of {title}, onebatchpam minus others, in points", gather(records, name, 100), methods)
        for name, title in MODELS.items()
    ]
    parts.append(make_table("Mean distance to the chosen rows, % above onebatchpam", compare(records), methods))
    once = ", ".join(method for method in methods if method in CHOOSE_ONCE)
    parts.append(make_table(f"Seconds ({once}: for the largest k)", gather_seconds(records), methods))
    return "\n\n".join(parts)


def gather(records: list[Record], name: str, factor: float = 1) -> Values:
    """Return a number of all records by data set, k, method and seed."""
    values: Values = {}
    for record in records:
        values.setdefault((record["dataset"], record["k"], record["method"]), {})[record["seed"]] = (
            factor * record[name]
        )
    return values


def gather_seconds(records: list[Record]) -> Values:
    """Return the seconds of the runs of the last day, because times of different days are not comparable."""
    last = max((record.get("finished", "") for record in records), default="")
    return gather([record for record in records if record.get("finished", "") == last], "seconds")


def compare(records: list[Record]) -> Values:
    """Return by how many percent the objectives exceed those of onebatchpam with the same seed."""
    objectives = gather(records, "objective")
    return {
        (dataset, k, method): {
            seed: 100 * (value / ours[seed] - 1)
            for ours in [objectives.get((dataset, k, OURS), {})]
            for seed, value in by_seed.items()
            if seed in ours
        }
        for (dataset, k, method), by_seed in objectives.items()
    }


def make_table(title: str, values: Values, methods: list[str]) -> str:
    """Return a table with a line for each data set and k: the mean over seeds, and half its confidence interval."""
    lines = [f"**{title}**", "", f"| data | k | {' | '.join(methods)} |", f"|---|---|{'---|' * len(methods)}"]
    for dataset, k in dict.fromkeys((dataset, k) for dataset, k, _ in sorted(values, key=sort_key)):
        cells = [show(list(values.get((dataset, k, method), {}).values())) for method in methods]
        lines.append(f"| {dataset} | {k} | {' | '.join(cells)} |")
    return "\n".join(lines)


def make_summary(title: str, values: Values, methods: list[str]) -> str:
    """Return a table with a line for each k: differences of the means over all data sets, paired by seed."""
    others = [method for method in methods if method != OURS]
    lines = [f"**{title}**", "", f"| k | data sets | {' | '.join(others)} |", f"|---|---|{'---|' * len(others)}"]
    for k in sorted({k for _, k, _ in values}):
        datasets = [name for name in SETS if (name, k, OURS) in values]
        cells = [show(average_differences(values, datasets, k, method), signed=True) for method in others]
        lines.append(f"| {k} | {len(datasets)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def average_differences(values: Values, datasets: list[str], k: int, method: str) -> list[float]:
    """Return, for each seed that all data sets have, the mean over data sets of onebatchpam minus another method."""
    pairs = [(values[name, k, OURS], values.get((name, k, method), {})) for name in datasets]
    seeds = set.intersection(*(ours.keys() & other.keys() for ours, other in pairs))
    return [float(np.mean([ours[seed] - other[seed] for ours, other in pairs])) for seed in sorted(seeds)]


def sort_key(key: tuple[str, int, str]) -> tuple[int, int]:
    """Return the place of a line in a table."""
    return list(SETS).index(key[0]), key[1]


def show(values: list[float], signed: bool = False) -> str:
    """Return the mean of values and half of its confidence interval by Student's t; nothing if there are none."""
    if not values:
        return ""
    mean, half = float(np.mean(values)), half_width(values)
    decimals = 1 if signed or abs(mean) >= 10 else 2
    return f"{mean:{'+' if signed else ''}.{decimals}f}" + ("" if np.isnan(half) else f" ± {half:.{decimals}f}")


def add_command(commands: Any) -> None:
    """Add `representatives` to the command line."""
    parser = commands.add_parser("representatives", help="models that learn from chosen rows only")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="data sets (all)")
    parser.add_argument("--ks", nargs="+", type=int, default=KS, help="numbers of chosen rows (%(default)s)")
    parser.add_argument("--seeds", type=int, default=5, help="splits of each data set (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make all runs anew")
    parser.add_argument("--results", type=Path, default=RESULTS / "representatives", help="folder of the records")
    add_options(parser)
    parser.set_defaults(run=run_study)
