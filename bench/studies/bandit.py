"""`python -m bench bandit`: our BanditPAM++ beside the package of its authors, by objective and by time.

The runs are those of bench/configs/bandit.toml; those that have a record are not made again. They are made in one
process, without the second run that measures memory, so that all of them take some twenty minutes. `--untimed` records
no seconds, for a machine that is busy with other work; without it, such runs are made again.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd

from bench.measure.config import find_config, read_config
from bench.measure.process import Limits
from bench.measure.records import Record, Run, Store, add_results_option
from bench.measure.runner import UNTIMED_SECONDS, Setting, execute
from bench.report.tables import draw_markdown

NAME = "bandit"
SWAPS = (0, 2, 5)


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print the comparison."""
    config, store = read_config(find_config(NAME)), Store(arguments.results, NAME)
    limits = Limits(config.time_limit, int(config.memory_limit * 2**30), UNTIMED_SECONDS)
    timed = not arguments.untimed
    execute(config, Setting(arguments.data, "paper", config.threads, limits, in_process=True, timed=timed), store)
    print(draw_markdown(tabulate(store.read())))


def tabulate(records: dict[Run, Record]) -> pd.DataFrame:
    """Return a row for each data set and number of swaps T, with both objectives and the ratio of the times."""
    columns = ["dataset", "method", "seed", "objective", "seconds"]
    runs = pd.DataFrame(
        [{**run.as_dict(), **record} for run, record in records.items() if record["status"] == "ok"]
    ).reindex(columns=columns)
    rows = {}
    for dataset in runs["dataset"].unique():
        for swaps in SWAPS:
            own = runs[runs["dataset"] == dataset]
            ours, theirs = own[own["method"] == f"BanditPAM++-{swaps}"], own[own["method"] == f"banditpam, T = {swaps}"]
            if ours.empty or theirs.empty:
                continue
            difference = 100 * (ours["objective"].mean() / theirs["objective"].mean() - 1)
            rows[f"{dataset}, T = {swaps}"] = {
                "objective, ours": show_spread(ours["objective"]),
                "objective, theirs": show_spread(theirs["objective"]),
                "difference": f"{difference:+.2f} %".replace("-", "−"),
                "seconds, ours": f"{ours['seconds'].median():.3g}",
                "seconds, theirs": f"{theirs['seconds'].median():.3g}",
                "times as fast": f"{theirs['seconds'].median() / ours['seconds'].median():.0f}",
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("data")


def show_spread(values: pd.Series) -> str:
    """Return the mean over seeds, the standard deviation, and the number of seeds."""
    spread = values.std() if len(values) > 1 else 0.0
    return f"{values.mean():,.6g} ± {spread:.2g} ({len(values)})"


def add_command(commands: Any) -> None:
    """Add `bandit` to the command line."""
    parser = commands.add_parser("bandit", help="our BanditPAM++ beside the package of its authors")
    parser.add_argument("--untimed", action="store_true", help="record no seconds, as the machine is busy")
    add_results_option(parser)
    parser.set_defaults(run=run_all)
