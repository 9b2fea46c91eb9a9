"""`python -m bench limits`: where n² ends, by time and memory against n for this package and for what holds all pairs.

The rows are those of `python -m bench scale`: a generated mixture of 16 features in float32, k = 100, Manhattan
distances. Each method gets more and more rows, until a run exceeds the limit on time or memory; with more rows it is
not tried again. A method whose package is missing or broken is left out. The wheels of scikit-learn-extra do not load
beside NumPy 2; `pip install -U "cython>=3" setuptools wheel` and then `pip install --no-build-isolation --no-binary
scikit-learn-extra scikit-learn-extra` build it. `python -m bench pictures` draws the picture into docs/.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure.growth import FAILED, Load, measure_growth
from bench.measure.process import Limits
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Contestant
from bench.methods.ours import solve_by
from bench.methods.peers import solve_agglomerative, solve_apricot, solve_kmedoids_from_start, solve_sklearn_extra
from bench.studies import scale

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
SECONDS, GIGABYTES = 600.0, 20  # the limits unless others are given
COLOURS = ("#1f6f43", "#4c72b0", "#8172b3", "#937860", "#dd8452")  # of the methods
WORDS = {"timeout": "time"}
TIME_TICKS = {1e-3: "1 ms", 1e-2: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 60.0: "1 min", 600.0: "10 min"}
MEMORY_TICKS = {1e6: "1 MB", 1e7: "10 MB", 1e8: "100 MB", 1e9: "1 GB", 1e10: "10 GB"}


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
    """Make the runs that have no record yet, print a table, and draw the picture."""
    store = Store(arguments.results, "limits")
    limits = Limits(arguments.seconds, arguments.memory * 10**9)
    for method in arguments.method or METHODS:
        runs = list_runs(method, arguments.rows, arguments.data)
        measure_growth(scale.measure, METHODS[method], runs, store, limits, again=arguments.again)
    records = store.read()
    if not records:
        return
    print(f"\n{make_table(records)}")
    print(f"\n{draw(records, limits, arguments.results / 'limits.png')}")


def make_table(records: dict[Run, Record]) -> str:
    """Return all records as Markdown."""
    lines = ["| method | n | seconds | memory beyond X | objective per row |", "|---|---|---|---|---|"]
    for run, record in sorted(records.items(), key=lambda item: (list(METHODS).index(item[0].method), item[0].n or 0)):
        head = f"| {run.method} | {run.n:,} |"
        if FAILED in record:
            lines.append(f"{head} {record[FAILED]}: {record['reason']} | | |")
        else:
            per_row = record["objective"] / (run.n or 1)
            lines.append(f"{head} {record['seconds']:.2f} | {record['peak_bytes'] / 1e6:,.0f} MB | {per_row:.6g} |")
    return "\n".join(lines)


def draw(records: dict[Run, Record], limits: Limits, path: Path) -> Path:
    """Draw time and memory against n, with a cross and the reason where a method ends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    # A floor, below which nothing can be measured, keeps zeros off the logarithmic axes.
    quantities = (
        ("seconds", 1e-3, "time", limits.seconds, TIME_TICKS),
        ("peak_bytes", 1e6, "memory beyond the data", limits.memory_bytes, MEMORY_TICKS),
    )
    for axes, (key, floor, title, limit, ticks) in zip(figure.subplots(1, 2), quantities, strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=True):
            _draw_method(axes, records, method, key, floor, colour)
        axes.axhspan(limit or 0, 10 * (limit or 0), color="#eeeeee", zorder=0)
        axes.text(0.01, limit or 0, "  limit", va="bottom", color="#555555", transform=axes.get_yaxis_transform())
        axes.set(xscale="log", yscale="log", title=title, xlabel="rows", ylim=(floor, 3 * (limit or 1)))
        axes.set_yticks(*zip(*[(at, name) for at, name in ticks.items() if floor <= at <= (limit or at)], strict=True))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), frameon=False)
    figure.suptitle(f"Where n² ends: 16 features, k = {scale.K}; ✕ the next size exceeds a limit")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _draw_method(axes: Any, records: dict[Run, Record], method: str, key: str, floor: float, colour: str) -> None:
    """Draw the line of a method, with a cross where it ends and the reason in its label."""
    own = sorted((run.n or 0, record) for run, record in records.items() if run.method == method)
    points = [(n, max(record[key], floor)) for n, record in own if FAILED not in record]
    if not points:
        return
    is_ours = method == OURS
    reasons = [record[FAILED] for _, record in own if FAILED in record]
    label = method + "".join(f" (ends by {WORDS.get(reason, reason)})" for reason in reasons)
    style = {"lw": 2.8, "ms": 6} if is_ours else {"lw": 1.4, "ms": 4}
    axes.plot(*zip(*points, strict=True), "o-", color=colour, label=label, **style)
    if reasons:
        axes.plot(*points[-1], "x", color=colour, ms=11, mew=2.5)


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
