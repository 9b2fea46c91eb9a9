"""`python -m bench complexity`: how the number of dissimilarities grows, beside Table 1 of the paper.

The rows are the generated mixture of `python -m bench scale`. One of n, k and p varies, the other two stay; the
exponent is the slope of a line through the logarithms, with its confidence interval. Table 1 has logarithms and sums,
so its exponent is that of the same line through the values of its formula. The labels of all rows, n·k
dissimilarities, are not part of Table 1 and are subtracted; FasterCLARA has them from its judgement of the samples.

Counts are exact, so that it does not matter what else the machine does; `--time` also measures seconds, the least of
three fits, for a machine that does nothing else. A record with seconds takes the place of one without.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from bench.data.synthetic import make_mixture_pieces
from bench.measure.machine import count_processors, describe_machine
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Problem
from bench.methods.table import CONTESTANTS
from bench.report.tables import draw_markdown

METRIC = "manhattan"
N_FITS = 3
CONFIDENCE = 0.95
MIDDLE = {"n": 10_000, "k": 10, "p": 16}
SIZES = {"n": (5_000, 7_000, 10_000, 14_000, 20_000), "k": (5, 10, 20, 50, 100), "p": (4, 16, 64, 256)}
N_SWAPS, BANDIT = 2, "BanditPAM++-2"
N_SAMPLES, CLARA = 5, "FasterCLARA-5"


def count_by_log(n: float, k: float) -> float:
    return n * math.log(k * n)


# The dissimilarities of Table 1, up to a constant factor, with the settings of the paper's experiments.
FORMULAS: dict[str, Callable[[float, float], float]] = {
    "FasterPAM": lambda n, k: n**2,
    BANDIT: lambda n, k: (N_SWAPS + k) * n * math.log(n),
    "OneBatchPAM-nniw": count_by_log,
    "OneBatchPAM (default)": count_by_log,
    CLARA: lambda n, k: N_SAMPLES * ((80 + 4 * k) ** 2 + k * n),
    "k-means++": lambda n, k: k * n,
}
IN_WORDS = {
    "FasterPAM": "n²",
    BANDIT: "(T + k) n log n",
    "OneBatchPAM-nniw": "n log n",
    "OneBatchPAM (default)": "n log n",
    CLARA: "I (k² + k n)",
    "k-means++": "k n",
}


# Runs


def list_runs(axis: str, method: str, seeds: int) -> list[Run]:
    """Return the runs of a method along one of "n", "k" and "p"."""
    places = [{**MIDDLE, axis: size} for size in SIZES[axis]]
    return [
        Run(f"mixture{place['p']}", place["n"], place["k"], METRIC, method, seed)
        for place in places
        for seed in range(seeds)
    ]


def find_place(run: Run) -> dict[str, int]:
    """Return n, k and p of a run."""
    return {"n": run.n or 0, "k": run.k, "p": int(run.dataset.removeprefix("mixture"))}


def make_rows(run: Run) -> NDArray[np.float32]:
    place = find_place(run)
    return np.concatenate([piece for _, piece in make_mixture_pieces(place["n"], place["p"])])


def measure(run: Run, timed: bool) -> Record:
    """Count the dissimilarities and swaps of a fit, and measure its time if wanted."""
    problem = Problem(make_rows(run), run.k, run.metric, run.seed, count_processors())
    contestant = CONTESTANTS[run.method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # BanditPAM++ is to make few swaps
        fits = [contestant.solve(problem) for _ in range(N_FITS if timed else 1)]
    labels = 0 if run.method == CLARA else problem.n * problem.k
    record: Record = {"n_distances": (fits[0].n_distances or 0) - labels, "n_swaps": fits[0].facts.get("n_swaps")}
    if timed:
        record["seconds"] = min(sum(fit.stages.values()) - fit.stages.get("assignment", 0.0) for fit in fits)
    return {**record, "machine": describe_machine()}


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the tables."""
    store = Store(arguments.results, "complexity")
    known = store.read()
    for axis in SIZES:
        for method in FORMULAS:
            for run in list_runs(axis, method, arguments.seeds):
                done = run in known and (not arguments.time or "seconds" in known[run])
                if done and not arguments.again:
                    continue
                print(run, flush=True)
                known[run] = measure(run, arguments.time)
                store.append({**run.as_dict(), **known[run]})
    print(f"\n{make_page(store.read())}")


# What the records say


def make_frame(records: dict[Run, Record]) -> pd.DataFrame:
    """Return a row for each run, with its n, k and p."""
    columns = ["method", "seed", "n", "k", "p", "n_distances", "n_swaps", "seconds"]
    rows = [{**find_place(run), "method": run.method, "seed": run.seed, **record} for run, record in records.items()]
    return pd.DataFrame(rows, columns=columns)


def choose_line(frame: pd.DataFrame, axis: str, method: str) -> pd.DataFrame:
    """Return the runs of a method in which only one of n, k and p varies."""
    others = {name: size for name, size in MIDDLE.items() if name != axis}
    kept = (frame[list(others)] == pd.Series(others)).all(axis=1) & (frame["method"] == method)
    return frame[kept].sort_values(axis)


def fit_exponent(sizes: Any, values: Any) -> tuple[float, float]:
    """Return the slope of log values against log sizes, and half of its confidence interval."""
    line = scipy.stats.linregress(np.log(sizes), np.log(values))
    quantile = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(sizes) - 2)
    return float(line.slope), float(quantile * np.nan_to_num(line.stderr))  # equal values have no error


def show_exponent(line: pd.DataFrame, axis: str, measure: str) -> str:
    """Return an exponent with its confidence interval; a dash if nothing was measured."""
    known = line.dropna(subset=[measure])
    known = known[known[measure] > 0]
    if known[axis].nunique() < 3:
        return "–"
    slope, half = fit_exponent(known[axis], known[measure])
    return f"{slope:.2f} ± {half:.2f}".replace("-0.00", "0.00").replace("-", "−")


def expect_exponent(method: str, axis: str) -> str:
    """Return the exponent of Table 1's formula over the same sizes; seconds grow with p, dissimilarities do not."""
    if axis == "p":
        return "0.00"
    places = [{**MIDDLE, axis: size} for size in SIZES[axis]]
    values = [FORMULAS[method](place["n"], place["k"]) for place in places]
    return f"{fit_exponent(SIZES[axis], values)[0]:.2f}"


def tabulate(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the exponents of a measure for each method, beside those of Table 1."""
    rows = {}
    for method, formula in IN_WORDS.items():
        row = {"Table 1": formula}
        for axis in SIZES:
            row[f"{axis}: Table 1"] = expect_exponent(method, axis)
            row[f"{axis}: measured"] = show_exponent(choose_line(frame, axis, method), axis, measure)
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def tabulate_swaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how the number of swaps grows with n and k, and how many there are for each medoid."""
    rows = {}
    for method in ("FasterPAM", "OneBatchPAM-nniw", "OneBatchPAM (default)"):
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
        parts["Seconds (Table 1 has a factor p)"] = tabulate(frame, "seconds")
    return "\n\n".join(f"**{title}**\n\n{draw_markdown(table)}" for title, table in parts.items())


def add_command(commands: Any) -> None:
    """Add `complexity` to the command line."""
    parser = commands.add_parser(
        "complexity", help="how dissimilarities grow with n, k and p, beside the paper's Table 1"
    )
    parser.add_argument("--time", action="store_true", help="measure seconds as well, on a machine that is idle")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each size (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "complexity", help="folder of the records")
    parser.set_defaults(run=run_all)
