"""`python -m bench complexity`: how dissimilarities and seconds grow with n, k and p, beside Table 1 of the paper.

The rows are the generated mixture of `python -m bench scale`. One of n, k and p varies, the other two stay; the
exponent is the slope of a line through the logarithms, with its confidence interval. Table 1 has logarithms and sums,
so its exponent is that of the same line through the values of its formula, with the number of swaps that were made.
The labels of all rows, n·k dissimilarities, are not part of Table 1 and are subtracted; FasterCLARA has them from its
judgement of the samples.

Counts are exact, so that it does not matter what else the machine does. `--time` also measures seconds, in one thread,
for a machine that does nothing else: the least of up to three fits. A record with seconds takes the place of one
without.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bench.data.synthetic import make_mixture_pieces
from bench.measure.machine import describe_machine
from bench.measure.memory import keep_memory, touch_memory
from bench.measure.process import Announce, open_process
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Answer, Problem
from bench.methods.table import CONTESTANTS
from bench.report.scores import ASSIGNMENT
from bench.report.tables import MISSING, draw_markdown

METRIC = "manhattan"
N_FITS, ENOUGH_SECONDS = 3, 2.0  # no more fits are timed than this, and none after so many seconds
CONFIDENCE = 0.95
MIDDLE = {"n": 10_000, "k": 10, "p": 32}
SIZES = {"n": (5_000, 7_000, 10_000, 14_000, 20_000), "k": (5, 10, 20, 50, 100), "p": (8, 32, 128, 512)}
BANDIT = "BanditPAM++-2"
N_SAMPLES, CLARA = 5, "FasterCLARA-5"
CHAIN, PROPOSALS = 20, 10

Count = Callable[[float, float, float], float]  # takes n, k and the number of swaps, T


@dataclass(frozen=True)
class Formula:
    """A row of Table 1, up to a constant factor, with the settings of the paper's experiments.

    Its operations are p for each dissimilarity, and some more for each swap.
    """

    distances: Count
    distances_in_words: str
    operations_in_words: str
    swaps: Count = lambda n, k, T: 0.0  # the operations of all swaps beside dissimilarities
    more_rows: int = 5  # times the rows of methods that compare all pairs, so that fits are long enough to be timed

    def evaluate(self, runs: pd.DataFrame, measure: str) -> list[float]:
        """Return the dissimilarities or the operations of runs, given their n, k, p and number of swaps."""
        known = runs.fillna({"n_swaps": 0})
        places = list(zip(known["n"], known["k"], known["n_swaps"], strict=True))
        if measure == "n_distances":
            return [self.distances(*place) for place in places]
        return [p * self.distances(*place) + self.swaps(*place) for p, place in zip(known["p"], places, strict=True)]

    def in_words(self, measure: str) -> str:
        return self.distances_in_words if measure == "n_distances" else self.operations_in_words


def count_block(n: float, k: float) -> float:
    return n * math.log(k * n)


def count_sample_pairs(k: float) -> float:
    return (80 + 4 * k) ** 2


ONE_BATCH = Formula(
    lambda n, k, T: count_block(n, k), "n log n", "(p + T) n log n", lambda n, k, T: T * count_block(n, k)
)
FORMULAS = {
    "FasterPAM": Formula(lambda n, k, T: n**2, "n²", "(p + T) n²", lambda n, k, T: T * n**2, more_rows=1),
    BANDIT: Formula(lambda n, k, T: (T + k) * n * math.log(n), "(T + k) n log n", "p (T + k) n log n", more_rows=1),
    "OneBatchPAM-nniw": ONE_BATCH,
    "OneBatchPAM (default)": ONE_BATCH,
    CLARA: Formula(
        lambda n, k, T: N_SAMPLES * (count_sample_pairs(k) + k * n),
        "I (k² + k n)",
        "I ((p + T) k² + p k n)",
        lambda n, k, T: T * count_sample_pairs(k),  # the swaps that are recorded are those of all samples
    ),
    "k-means++": Formula(lambda n, k, T: k * n, "k n", "p k n"),
    f"kmc2-{CHAIN}": Formula(lambda n, k, T: CHAIN * k**2, "L k²", "p L k²"),
    f"LS-k-means++-{PROPOSALS}": Formula(
        lambda n, k, T: (PROPOSALS + k) * n, "(Z + k) n", "p (Z + k) n + Z k n", lambda n, k, T: PROPOSALS * k * n
    ),
}


# Runs


def list_places(axis: str, method: str) -> list[dict[str, int]]:
    """Return n, k and p of the runs of a method along one of "n", "k" and "p"."""
    more_rows = FORMULAS[method].more_rows
    places = [{**MIDDLE, axis: size} for size in SIZES[axis]]
    return [{**place, "n": more_rows * place["n"]} for place in places]


def list_runs(axis: str, method: str, seeds: int) -> list[Run]:
    """Return the runs of a method along one of "n", "k" and "p"."""
    return [
        Run(f"mixture{place['p']}", place["n"], place["k"], METRIC, method, seed)
        for place in list_places(axis, method)
        for seed in range(seeds)
    ]


def find_place(run: Run) -> dict[str, int]:
    """Return n, k and p of a run."""
    return {"n": run.n or 0, "k": run.k, "p": int(run.dataset.removeprefix("mixture"))}


def make_rows(run: Run) -> NDArray[np.float32]:
    place = find_place(run)
    return np.concatenate([piece for _, piece in make_mixture_pieces(place["n"], place["p"])])


def measure(announce: Announce, run: Run, timed: bool) -> Record:
    """Count the dissimilarities and swaps of a fit, and measure its time if wanted."""
    problem = Problem(make_rows(run), run.k, run.metric, run.seed, threads=1)
    if timed:  # The first use of memory may take as long as the fit.
        keep_memory()
        touch_memory(CONTESTANTS[run.method].estimate_memory(problem))
    answer = solve(run.method, problem)
    labels = problem.n * problem.k if CONTESTANTS[run.method].labels_last else 0
    record: Record = {"n_distances": (answer.n_distances or 0) - labels, "n_swaps": answer.facts.get("n_swaps")}
    if timed:
        seconds = [find_seconds(run.method, answer)]
        while len(seconds) < N_FITS and sum(seconds) < ENOUGH_SECONDS:
            seconds.append(find_seconds(run.method, solve(run.method, problem)))
        record["seconds"] = min(seconds)
    return {**record, "machine": describe_machine()}


def solve(method: str, problem: Problem) -> Answer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # BanditPAM++ is to make few swaps
        return CONTESTANTS[method].solve(problem)


def find_seconds(method: str, answer: Answer) -> float:
    """Return the seconds of all stages, but for labels that come after the choice."""
    labels = answer.stages.get(ASSIGNMENT, 0.0) if CONTESTANTS[method].labels_last else 0.0
    return sum(answer.stages.values()) - labels


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, all in one process of their own, and print the tables."""
    store = Store(arguments.results, "complexity")
    known = store.read()
    runs = [run for axis in SIZES for method in FORMULAS for run in list_runs(axis, method, arguments.seeds)]
    with open_process() as call:
        for run in dict.fromkeys(runs):  # the middle is on each axis
            done = run in known and (not arguments.time or "seconds" in known[run])
            if done and not arguments.again:
                continue
            print(run, flush=True)
            store.append({**run.as_dict(), **call(measure, run, arguments.time)})
    print(f"\n{make_page(store.read())}")


# What the records say


def make_frame(records: dict[Run, Record]) -> pd.DataFrame:
    """Return a row for each run, with its n, k and p."""
    columns = ["method", "seed", "n", "k", "p", "n_distances", "n_swaps", "seconds"]
    rows = [{**find_place(run), "method": run.method, "seed": run.seed, **record} for run, record in records.items()]
    return pd.DataFrame(rows, columns=columns)


def choose_line(frame: pd.DataFrame, axis: str, method: str) -> pd.DataFrame:
    """Return the runs of a method in which only one of n, k and p varies."""
    places = pd.DataFrame(list_places(axis, method))
    return frame[frame["method"] == method].merge(places, on=list(MIDDLE)).sort_values(axis)


def fit_exponent(sizes: Any, values: Any) -> tuple[float, float]:
    """Return the slope of log values against log sizes, and half of its confidence interval."""
    line = scipy.stats.linregress(np.log(sizes), np.log(values))
    quantile = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(sizes) - 2)
    return float(line.slope), float(quantile * np.nan_to_num(line.stderr))  # equal values have no error


def show_exponent(line: pd.DataFrame, axis: str, measure: str) -> str:
    """Return an exponent with its confidence interval; a dash if nothing was measured."""
    known = line[line[measure] > 0]
    if known[axis].nunique() < 3:
        return MISSING
    slope, half = fit_exponent(known[axis], known[measure])
    return show_numbers(f"{slope:.2f} ± {half:.2f}")


def expect_exponent(line: pd.DataFrame, axis: str, measure: str, formula: Formula) -> str:
    """Return the exponent of Table 1's formula over the same runs."""
    if line[axis].nunique() < 3:
        return MISSING
    return show_numbers(f"{fit_exponent(line[axis], formula.evaluate(line, measure))[0]:.2f}")


def show_numbers(text: str) -> str:
    """Return a text with minus signs, but none before a zero."""
    return text.replace("-0.00", "0.00").replace("-", "−")


def tabulate(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the exponents of "n_distances" or "seconds" for each method, beside those of Table 1."""
    rows = {}
    for method, formula in FORMULAS.items():
        row = {"Table 1": formula.in_words(measure)}
        for axis in SIZES:
            line = choose_line(frame, axis, method)
            row[f"{axis}: Table 1"] = expect_exponent(line, axis, measure, formula)
            row[f"{axis}: measured"] = show_exponent(line, axis, measure)
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def tabulate_swaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how the number of swaps grows with n and k, and how many there are for each medoid."""
    rows = {}
    for method in ("FasterPAM", "OneBatchPAM-nniw"):  # each makes one search, from a random start
        lines = {axis: choose_line(frame, axis, method) for axis in ("n", "k")}
        ratio = lines["k"]["n_swaps"] / lines["k"]["k"]
        rows[method] = {
            "swaps against n": show_exponent(lines["n"], "n", "n_swaps"),
            "swaps against k": show_exponent(lines["k"], "k", "n_swaps"),
            "swaps / k": f"{ratio.min():.1f} to {ratio.max():.1f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def make_page(records: dict[Run, Record]) -> str:
    """Return all tables as Markdown."""
    frame = make_frame(records)
    parts = {"Dissimilarities": tabulate(frame, "n_distances"), "Swaps": tabulate_swaps(frame)}
    if frame["seconds"].notna().any():
        parts["Seconds"] = tabulate(frame, "seconds")
    return "\n\n".join(f"**{title}**\n\n{draw_markdown(table)}" for title, table in parts.items())


def add_command(commands: Any) -> None:
    """Add `complexity` to the command line."""
    parser = commands.add_parser(
        "complexity", help="how dissimilarities and time grow with n, k and p, beside the paper's Table 1"
    )
    parser.add_argument("--time", action="store_true", help="measure seconds as well, on a machine that is idle")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each size (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "complexity", help="folder of the records")
    parser.set_defaults(run=run_all)
