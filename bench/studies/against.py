"""`python -m bench against`: is the default at least as good as FasterPAM, on average and in the worst of ten seeds?

The cases are hard in different ways: heavy tails, far groups, copies of rows, ties, groups of very different size, very
many medoids, and the paper's small sets. The methods run one after the other, seed by seed, on one thread; times are
those of the processor, which depend less on other work of the machine. Records are kept; the same command goes on where
it was stopped.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.data.sets import load
from bench.measure.records import Record, Run, Store, add_results_option
from bench.methods.contestant import Contestant, Problem
from bench.methods.ours import solve_by
from bench.report.intervals import half_width
from bench.studies.optimality import CONTESTANTS, REFERENCE, Case, describe_once, list_paper_sets, measure_objective

NAME = "against"
METHODS = (
    *(each for each in CONTESTANTS if each.name in (REFERENCE, "OneBatchPAM, fast")),
    Contestant("OneBatchPAM, default", solve_by("OneBatchPAM"), "ours"),
)
GENERATED = (
    ("heavy_tails", 10),
    ("heavy_tails", 100),
    ("far_groups", 10),
    ("far_groups", 100),
    ("copies", 100),
    ("integers", 10),
    ("integers", 100),
    ("unbalanced", 10),
    ("gaussian3", 100),
    ("mixture", 1000),
)


def list_cases(folder: Path) -> Iterator[Case]:
    """Yield the generated cases, and those of the paper's small sets."""
    for name, k in GENERATED:
        yield Case("generated", name, k, "manhattan", None, partial(load, name, folder))
    yield from list_paper_sets(folder)


def measure_seed(case: Case, seed: int, store: Store, known: dict[Run, Record]) -> None:
    """Run all methods on a case, one after the other; only what is not in the records."""
    missing = [each for each in METHODS if case.run(each.name, seed) not in known]
    if not missing:
        return
    X = case.load()
    for method in missing:
        run = case.run(method.name, seed)
        problem = Problem(X, case.k, case.metric, seed, 1)
        began = time.process_time()
        medoids = method.solve(problem).medoids
        seconds = time.process_time() - began
        objective = measure_objective(problem.X, medoids, case.metric)
        known[run] = {**run.as_dict(), "status": "ok", "objective": objective, "cpu_seconds": seconds}
        store.append(known[run] | {"machine": describe_once()})


def compare(case: Case, method: str, known: dict[Run, Record]) -> tuple[list[float], float, int]:
    """Return the objectives of a method relative to FasterPAM's mean, its relative time, and the number of seeds."""
    seeds = {run.seed for run in known if (run.dataset, run.k, run.method) == (case.name, case.k, METHODS[-1].name)}
    records, references = ([known[case.run(name, seed)] for seed in sorted(seeds)] for name in (method, REFERENCE))
    mean = statistics.mean(each["objective"] for each in references)
    seconds = [statistics.median(each["cpu_seconds"] for each in some) for some in (records, references)]
    return [each["objective"] / mean - 1 for each in records], seconds[0] / seconds[1], len(seeds)


def make_table(cases: list[Case], known: dict[Run, Record]) -> str:
    """Return a line for each case, as Markdown: mean with its interval, worst seed and time of each method."""
    heads = [f"{each.name}: mean | worst | time" for each in METHODS[1:]]
    lines = [f"| data | k | seeds | FasterPAM: worst | {' | '.join(heads)} |", "|---" * (4 + 3 * len(heads)) + "|"]
    found: dict[str, list[list[float]]] = {each.name: [] for each in METHODS[1:]}
    for case in cases:
        if case.run(METHODS[-1].name, 0) not in known:
            continue
        reference, _, n_seeds = compare(case, REFERENCE, known)
        cells = [case.name, str(case.k), str(n_seeds), f"{max(reference):+.2%}"]
        for method in METHODS[1:]:
            values, ratio, _ = compare(case, method.name, known)
            mean = statistics.mean(values)
            cells += [f"{mean:+.2%} ± {half_width(values):.2%}", f"{max(values):+.2%}", f"{ratio:.2f}"]
            found[method.name].append([mean, max(values) - max(reference), ratio])
        lines.append(f"| {' | '.join(cells)} |")
    for name, numbers in found.items():
        if numbers:
            means, worst, ratios = zip(*numbers, strict=True)
            lines.append(
                f"\n{name}: {statistics.mean(means):+.3%} on average; at or below FasterPAM's mean in "
                f"{sum(mean <= 0 for mean in means)}, and no worse in the worst seed in "
                f"{sum(value <= 0 for value in worst)}, of {len(numbers)} cases; median time "
                f"{statistics.median(ratios):.2f} of FasterPAM's"
            )
    return "\n".join(lines)


def run_study(arguments: argparse.Namespace) -> None:
    """Measure what is missing, all cases with one seed after the other, and print the table."""
    cases = [case for case in list_cases(arguments.data) if arguments.only in f"{case.family} {case.name} k={case.k}"]
    store = Store(arguments.results / "optimality", NAME)
    known = store.read()
    for seed in range(arguments.seeds):
        for case in cases:
            print(f"seed {seed}: {case.name} k={case.k}   ", end="\r", flush=True)
            measure_seed(case, seed, store, known)
    print(make_table(cases, known))


def add_command(commands: Any) -> None:
    """Add `against` to the command line."""
    parser = commands.add_parser("against", help="the default against FasterPAM, case by case")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each method (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure only cases whose name contains this")
    add_results_option(parser)
    parser.set_defaults(run=run_study)
