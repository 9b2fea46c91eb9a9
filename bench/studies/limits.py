"""`python -m bench limits`: where n² ends, by time and memory against n for this package and for what holds all pairs.

The rows are those of `python -m bench scale`: a generated mixture of 16 features in float32, k = 100, Manhattan
distances. Each method gets more and more rows, until a run exceeds the limit on time or memory; with more rows it is
not tried again. A method whose package is missing or broken is left out. The wheels of scikit-learn-extra do not load
beside NumPy 2: `pip install --no-binary scikit-learn-extra scikit-learn-extra` builds it.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from bench.measure.call import Trial
from bench.measure.machine import count_processors, describe_machine
from bench.measure.process import Limits, TaskError, run_alone
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
FAILED = "status"  # a record has this only if the run exceeded a limit or failed


def list_sizes(most: int) -> list[int]:
    """Return numbers of rows, each about twice the one before."""
    sizes = [scaled for power in range(8) for scaled in (10**power, 2 * 10**power, 5 * 10**power)]
    return [size for size in sizes if SMALLEST <= size <= most]


def measure_method(method: str, sizes: list[int], store: Store, arguments: argparse.Namespace) -> None:
    """Measure a method with more and more rows, until it fails."""
    absence = METHODS[method].explain_absence()
    if absence is not None:
        print(f"{method} is left out: {absence}")
        return
    file = scale.make_mixture_file(max(sizes))
    limits = Limits(arguments.seconds, arguments.memory * 10**9)
    for n in sizes:
        run = Run(scale.MIXTURE, n, scale.K, scale.METRIC, method, 0)
        record = store.read().get(run)
        if record is None or arguments.again:
            print(run, flush=True)
            rows = partial(scale.load_rows, run, file, arguments.data)
            trial = Trial(METHODS[method], run, rows, count_processors())
            try:
                record = run_alone(scale.measure, trial, limits=limits)
            except TaskError as error:
                if n == sizes[0] and error.status not in ("memory", "timeout"):
                    print(f"{method} is left out: {error.reason}")  # it cannot be run at all, which is no limit
                    return
                record = {FAILED: error.status, "reason": error.reason}
            store.append({**run.as_dict(), **record, "machine": describe_machine()})
        if FAILED in record:
            return


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, print a table, and draw the picture."""
    store = Store(arguments.results, "limits")
    for method in arguments.method or METHODS:
        measure_method(method, list_sizes(arguments.rows), store, arguments)
    records = store.read()
    if not records:
        return
    print(f"\n{make_table(records)}")
    print(f"\n{draw(records, arguments.memory, arguments.results / 'limits.png')}")


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


def draw(records: dict[Run, Record], memory: int, path: Path) -> Path:
    """Draw time and memory against n, with a cross where a method ends."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    # A floor, below which nothing can be measured, keeps zeros off the logarithmic axes.
    quantities = (("seconds", 1.0, 1e-4, "seconds"), ("peak_bytes", 1e9, 1e6, "GB beyond the data"))
    for axes, (key, unit, floor, name) in zip(figure.subplots(1, 2), quantities, strict=True):
        for method in METHODS:
            points = [
                (run.n, max(record[key], floor) / unit)
                for run, record in sorted(records.items(), key=lambda item: item[0].n or 0)
                if run.method == method and FAILED not in record
            ]
            if points:
                is_ours = method == OURS
                (line,) = axes.loglog(*zip(*points, strict=True), "o-", label=method, lw=2.5 if is_ours else 1.2)
                if any(run.method == method and FAILED in record for run, record in records.items()):
                    axes.loglog(*points[-1], "x", color=line.get_color(), ms=12, mew=3)
        axes.set(xlabel="rows", ylabel=name)
        axes.grid(alpha=0.3)
    axes.axhline(memory, color="black", ls=":", lw=1)
    axes.text(axes.get_xlim()[0], memory, f" limit of {memory} GB", va="bottom")
    figure.axes[0].legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def add_command(commands: Any) -> None:
    """Add `limits` to the command line."""
    parser = commands.add_parser("limits", help="time and memory against n, beside methods that hold all pairs")
    parser.add_argument("--rows", type=int, default=10_000_000, help="the largest number of rows (%(default)s)")
    parser.add_argument("--seconds", type=float, default=600, help="limit on the time of a run (%(default)s)")
    parser.add_argument("--memory", type=int, default=20, help="limit on the memory of a run, in GB (%(default)s)")
    parser.add_argument("--method", action="append", choices=METHODS, help="only this method; may be repeated (all)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "limits", help="folder of the records (%(default)s)")
    parser.set_defaults(run=run_all)
