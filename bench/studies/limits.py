"""`python -m bench limits`: where n² ends, by time and memory against n for this package and for what holds all pairs.

The rows are those of `python -m bench scale`: a generated mixture of 16 features in float32, k = 100, Manhattan
distances. Each method gets more and more rows, until a run exceeds the limit on time or memory, or would do so even if
its time grew no faster than its rows; with more rows it is not tried again. All of it takes about ten minutes, and can
be stopped with Ctrl-C: the same command continues. A method whose package is missing or broken is left out. The wheels
of scikit-learn-extra do not load beside NumPy 2; `pip install -U "cython>=3" setuptools wheel` and then `pip install
--no-build-isolation --no-binary scikit-learn-extra scikit-learn-extra` build it. `python -m bench pictures` draws the
picture into docs/.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.measure.growth import FAILED, Load, measure_growth
from bench.measure.process import Limits
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Contestant
from bench.methods.ours import solve_by
from bench.methods.peers import solve_agglomerative, solve_apricot, solve_kmedoids_from_start, solve_sklearn_extra
from bench.report import palette
from bench.report.tables import draw_markdown
from bench.studies import scale
from onebatchpam.batch import most_searched

OURS = "onebatchpam"
METHODS = {
    contestant.name: contestant
    for contestant in (
        Contestant(OURS, solve_by("OneBatchPAM"), "ours"),
        Contestant("kmedoids", solve_kmedoids_from_start, "peer", "kmedoids"),
        Contestant("scikit-learn-extra", solve_sklearn_extra, "peer", "sklearn_extra"),
        Contestant("average linkage", solve_agglomerative, "peer", "sklearn"),
        Contestant("apricot", solve_apricot, "peer", "apricot"),
    )
}
SMALLEST = 1000
SECONDS, GIGABYTES = 300.0, 20  # the limits unless others are given
TIME_TICKS = {1e-3: "1 ms", 1e-2: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 60.0: "1 min", 600.0: "10 min"}
MEMORY_TICKS = {1e6: "1 MB", 1e7: "10 MB", 1e8: "100 MB", 1e9: "1 GB", 1e10: "10 GB"}
ROW_TICKS = {1000: "1,000", 10**5: "100,000", 10**7: "10 million"}
BYTES_OF_A_PAIR = 8  # in the matrices of the others, which are float64


def list_sizes(most: int) -> list[int]:
    """Return numbers of rows, each about twice the one before."""
    sizes = [scaled for power in range(8) for scaled in (10**power, 2 * 10**power, 5 * 10**power)]
    return [size for size in sizes if SMALLEST <= size <= most]


def list_runs(method: str, most: int, folder: Path) -> Iterator[tuple[Run, Load]]:
    """Yield the runs of a method, each with the function that loads its rows."""
    file = scale.make_mixture_file(most)
    for n in list_sizes(most):
        run = Run(scale.MIXTURE, n, scale.K, scale.METRIC, method, 0)
        yield run, partial(scale.load_rows, run, file, folder)


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, print the tables, and draw the picture."""
    store = Store(arguments.results, "limits")
    limits = Limits(arguments.seconds, arguments.memory * 10**9)
    for method in arguments.method or METHODS:
        runs = list_runs(method, arguments.rows, arguments.data)
        measure_growth(scale.measure, METHODS[method], runs, store, limits, again=arguments.again)
    records = store.read()
    if not records:
        return
    print(f"\n{draw_markdown(tabulate_runs(records))}")
    print(draw_markdown(tabulate_ends(records)))
    print(draw(records, limits, arguments.results / "limits.png"))


def split(records: dict[Run, Record], method: str) -> tuple[dict[int, Record], Record | None]:
    """Return the records of a method by the number of rows, and, if one of its runs failed, the record of that."""
    own = {run.n or 0: record for run, record in records.items() if run.method == method}
    failed = [record for record in own.values() if FAILED in record]
    return {n: own[n] for n in sorted(own) if FAILED not in own[n]}, failed[0] if failed else None


def tabulate_runs(records: dict[Run, Record]) -> pd.DataFrame:
    """Return the time and memory of all runs that ended, for each method and number of rows."""
    cells = {
        method: {n: f"{show_seconds(record)}, {show_bytes(record)}" for n, record in split(records, method)[0].items()}
        for method in METHODS
    }
    return pd.DataFrame(cells, dtype=object).sort_index().fillna("").rename(index="{:,}".format).rename_axis("rows")


def tabulate_ends(records: dict[Run, Record]) -> pd.DataFrame:
    """Return for each method what it takes with the most rows that it can have, and why not more."""
    ours, _ = split(records, OURS)
    rows = {}
    for method in METHODS:
        done, failed = split(records, method)
        if done:
            n, record = max(done.items(), key=lambda item: item[0])
            rows[method] = {
                "most rows": f"{n:,}",
                "time": show_seconds(record),
                "memory beyond X": show_bytes(record),
                "objective against ours": compare(record, ours[n]) if method != OURS and n in ours else "",
                "more rows": "" if failed is None else name_limit(failed),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("method")


def compare(record: Record, ours: Record) -> str:
    """Say by how much the objective of a run is above ours with the same rows."""
    text = f"{100 * (record['objective'] / ours['objective'] - 1):+.2f} %".replace("-", "−")
    return text.lstrip("+−") if text[1:] == "0.00 %" else text


def show_seconds(record: Record) -> str:
    return f"{record['seconds']:.2g} s" if record["seconds"] < 100 else f"{record['seconds']:.0f} s"


def show_bytes(record: Record) -> str:
    megabytes = record["peak_bytes"] / 1e6
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1000:.2g} GB"


def name_limit(failed: Record) -> str:
    """Say by which limit a method ended."""
    return {"memory": "out of memory", "timeout": "out of time"}.get(failed[FAILED], "an error")


@dataclass(frozen=True)
class Quantity:
    """What is drawn against the number of rows."""

    title: str
    key: str  # in a record
    ticks: dict[float, str]
    show: Callable[[Record], str]

    @property
    def floor(self) -> float:
        """The least value that is drawn: below it nothing can be measured, and zero is on no logarithmic axis."""
        return min(self.ticks)


TIME = Quantity("time", "seconds", TIME_TICKS, show_seconds)
MEMORY = Quantity("memory beyond the data", "peak_bytes", MEMORY_TICKS, show_bytes)


def draw(records: dict[Run, Record], limits: Limits, path: Path) -> Path:
    """Draw time and memory against n, with a cross at the number of rows with which a method fails."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    seconds, n_bytes = limits.seconds or SECONDS, limits.memory_bytes or GIGABYTES * 10**9
    left, right = figure.subplots(1, 2)
    beyond = f"no result: more than {seconds / 60:g} min or {n_bytes / 1e9:g} GB"
    for axes, quantity, limit in ((left, TIME, seconds), (right, MEMORY, n_bytes)):
        ended = [method for method in METHODS if split(records, method)[1] is not None]
        for method in METHODS:
            place = ended.index(method) - (len(ended) - 1) / 2 if method in ended else 0
            _draw_method(axes, quantity, *split(records, method), method, limit * 1.8, place)
        _finish(axes, quantity, limit, beyond)
    options: dict[str, Any] = {"labelcolor": "linecolor", "labelspacing": 0.25, "handlelength": 1.4, "fontsize": 9}
    others = [line for line in left.get_lines() if line.get_label() in METHODS and line.get_label() != OURS]
    left.legend(handles=others, loc=(0.46, 0.63), frameon=False, **options)
    scale.mark_change(left, most_searched(), "two starts", "one start,\non a sample", at_top=False)
    _draw_all_pairs(right, n_bytes)
    figure.suptitle(f"Where n² ends: 16 features, k = {scale.K}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    return path


def _draw_method(
    axes: Any, quantity: Quantity, done: dict[int, Record], failed: Record | None, method: str, end: float, place: float
) -> None:
    """Draw the line of a method, and a cross beside those of others at the height `end` if it fails with more rows."""
    if not done:
        return
    points = [(n, max(record[quantity.key], quantity.floor)) for n, record in done.items()]
    style = {"lw": 2.8, "ms": 6, "zorder": 3} if method == OURS else {"lw": 1.4, "ms": 4.5}
    style |= palette.style_of(method)
    axes.plot(*zip(*points, strict=True), label=method, **style)
    if failed is not None:
        cross = (failed["n"] * 1.3**place, end)
        axes.plot(*zip(points[-1], cross, strict=True), "--", color=style["color"], lw=0.9)
        axes.plot(*cross, "x", color=style["color"], ms=6.5, mew=2)
    if method == OURS:
        options: dict[str, Any] = {"textcoords": "offset points", "color": style["color"], "weight": "bold"}
        axes.annotate(quantity.show(done[max(done)]), points[-1], xytext=(10, 9), ha="right", **options)
        axes.annotate(OURS, points[3 * len(points) // 4], xytext=(0, -18), ha="center", **options)


def _draw_all_pairs(axes: Any, n_bytes: float) -> None:
    """Draw what the numbers of all pairs take."""
    ends = np.array([SMALLEST, (n_bytes / BYTES_OF_A_PAIR) ** 0.5])
    axes.plot(ends, BYTES_OF_A_PAIR * ends**2, ":", color=palette.GRAY, zorder=1)
    place = {"xytext": (8, 0), "textcoords": "offset points", "va": "top"}
    axes.annotate(f"n² numbers of\n{BYTES_OF_A_PAIR} bytes", (ends[1], n_bytes * 0.75), color="#555555", **place)


def _finish(axes: Any, quantity: Quantity, limit: float, beyond: str) -> None:
    """Draw what is beyond the limits as a band, and give the axes their names and ticks."""
    axes.axhspan(limit, 10 * limit, color="#eeeeee", zorder=0)
    axes.text(0.02, limit * 2.9, beyond, va="bottom", color="#555555", fontsize=9, transform=axes.get_yaxis_transform())
    axes.set(xscale="log", yscale="log", title=quantity.title, xlabel="rows", ylim=(quantity.floor, 5 * limit))
    axes.set_yticks(*zip(*[(at, name) for at, name in quantity.ticks.items() if at <= limit], strict=True))
    axes.set_xticks(list(ROW_TICKS), ROW_TICKS.values())
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def add_command(commands: Any) -> None:
    """Add `limits` to the command line."""
    parser = commands.add_parser("limits", help="time and memory against n, beside methods that hold all pairs")
    parser.add_argument("--rows", type=int, default=10_000_000, help="the largest number of rows (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="limit on the time of a run (%(default)s)")
    parser.add_argument(
        "--memory", type=int, default=GIGABYTES, help="limit on the memory of a run, in GB (%(default)s)"
    )
    parser.add_argument("--method", action="append", choices=METHODS, help="only this method; may be repeated (all)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "limits", help="folder of the records (%(default)s)")
    parser.set_defaults(run=run_all)
