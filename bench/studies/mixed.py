"""`python -m bench mixed`: what a large table of numbers, text, categories and truth values costs under "gower".

A table has, for each library that holds the table, the processor seconds of its encoding as numbers, and those of a
whole fit by one thread, in which the table is encoded as well. The libraries take turns, and medians count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from bench.measure.machine import describe_machine, summarise_machine
from onebatchpam import OneBatchPAM
from onebatchpam.metrics.gower import Gower

MISSING_SHARE = 0.03
LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: nw.from_native(frame).to_polars(),
    "pyarrow": lambda frame: nw.from_native(frame).to_arrow(),
}


def make_table(n: int) -> pd.DataFrame:
    """Return n rows of ten columns of numbers, five of text, three of categories and two of truth values."""
    rng = np.random.default_rng(0)

    def draw_levels(name: str, n_levels: int) -> Any:
        codes = np.where(rng.random(n) < MISSING_SHARE, -1, rng.integers(n_levels, size=n))
        return pd.Categorical.from_codes(codes, [f"{name} {level}" for level in range(n_levels)])

    def draw_numbers() -> Any:
        return np.where(rng.random(n) < MISSING_SHARE, np.nan, rng.standard_normal(n))

    numbers = {f"number {i}": draw_numbers() for i in range(8)}
    counts = {f"count {i}": rng.poisson(5, n) for i in range(2)}
    text = {f"text {i}": pd.Series(draw_levels("word", 5 + 10 * i)).astype("str") for i in range(5)}
    categories = {f"category {i}": draw_levels("level", 10) for i in range(3)}
    truths = {f"truth {i}": rng.random(n) < 0.3 for i in range(2)}
    return pd.DataFrame(numbers | counts | text | categories | truths)


def encode(table: Any, k: int) -> None:
    """Encode a table as numbers."""
    metric = Gower.with_params({})
    rows = metric.check(table, "X")
    metric.fit(rows).encode(rows)


def fit(table: Any, k: int) -> None:
    """Fit a table."""
    OneBatchPAM(k, metric="gower", random_state=0, n_jobs=1).fit(table)


def run_turns(arguments: argparse.Namespace) -> None:
    """Measure the libraries in turns, and print the table."""
    frame = make_table(arguments.rows)
    tables = {name: convert(frame) for name, convert in LIBRARIES.items()}
    seen: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in range(arguments.repeats):
        for name, table in tables.items():
            for call in (encode, fit):
                began = time.process_time()
                call(table, arguments.k)
                seen[name, call.__name__].append(time.process_time() - began)
    print(summarise_machine(describe_machine(), threads=1))
    print(f"{arguments.rows:,} rows of {frame.shape[1]} columns, k = {arguments.k}, processor time")
    print("| library | encoding | whole fit |\n|---|---|---|")
    for name in tables:
        seconds = [statistics.median(seen[name, call.__name__]) for call in (encode, fit)]
        print(f"| {name} | {seconds[0]:.2f} s | {seconds[1]:.2f} s |")


def add_command(commands: Any) -> None:
    """Add `mixed` to the command line."""
    parser = commands.add_parser("mixed", help="what a large table of columns of several kinds costs")
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (%(default)s)")
    parser.add_argument("--k", type=int, default=10, help="number of medoids (%(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each library (%(default)s)")
    parser.set_defaults(run=run_turns)
