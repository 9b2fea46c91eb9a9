"""`python -m bench scale`: ten million rows on one machine.

A generated mixture of 16 features in float32, k = 100, Manhattan distances and a memory limit of 1 GB, unless a part
says otherwise:

- rows: all rows, in memory, from a file that is not in the system's cache, and without a limit given;
- n: time and memory against the number of rows, with the exponent of time;
- k: the same against the number of medoids, on a tenth of the rows;
- limit: covertype and mnist with a memory limit of a tenth of the block, beside the whole block;
- peers: what a user might take instead, on all rows.

Every run has a process of its own, in which something tiny was fitted before. Time covers the call to `fit`. Memory is
the largest growth during the call, with X in memory or open before: that of all pages, of which the system can drop the
pages of a mapped file at any time, and that of private pages. Objectives are computed here, in float64, from the
medoids that were returned. A run that has a record is made again only if `--again` is given.
"""

from __future__ import annotations

import argparse
import os
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import DATASETS, load_stored, store_generated
from bench.data.synthetic import make_mixture_pieces
from bench.measure.call import Trial, time_call
from bench.measure.machine import count_processors, describe_machine
from bench.measure.memory import read_growth, read_resident_bytes, reset_peak, watch_private_peak
from bench.measure.objective import compute_objective
from bench.measure.process import Announce, run_alone
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Contestant, Problem
from bench.methods.ours import solve_by
from bench.methods.peers import solve_k_means_in_one_pass
from bench.report import palette
from onebatchpam import batch_size
from onebatchpam.batch import most_searched

MIXTURE = "mixture16"
N_FEATURES = 16
METRIC = "manhattan"
K = 100
KS = (10, 30, 100, 300, 1000)
LIMITED = ("covertype", "mnist")
PARTS = ("rows", "n", "k", "limit", "peers")

OURS, FROM_FILE, NO_LIMIT = "OneBatchPAM", "OneBatchPAM, from a file", "OneBatchPAM, no limit given"
WHOLE, TENTH = "OneBatchPAM, whole block", "OneBatchPAM, a tenth of the block"
PEERS = ("FasterCLARA", "MiniBatchKMeans, snapped")


def count_block_bytes(problem: Problem) -> int:
    """Return the bytes of a block of the automatic batch size."""
    return 4 * problem.n * batch_size(problem.n, problem.k)


def allow_whole_block(problem: Problem) -> int:
    return 20 * count_block_bytes(problem)


def allow_tenth_of_block(problem: Problem) -> int:
    return count_block_bytes(problem) // 10


METHODS = {
    contestant.name: contestant
    for contestant in (
        Contestant(OURS, solve_by("OneBatchPAM", memory_limit="1GB"), "ours"),
        Contestant(FROM_FILE, solve_by("OneBatchPAM", memory_limit="1GB"), "ours"),
        Contestant(NO_LIMIT, solve_by("OneBatchPAM", memory_limit=None), "ours"),
        Contestant(WHOLE, solve_by("OneBatchPAM", memory_limit=allow_whole_block), "ours"),
        Contestant(TENTH, solve_by("OneBatchPAM", memory_limit=allow_tenth_of_block), "ours"),
        Contestant(PEERS[0], solve_by("FasterCLARA"), "ours"),
        Contestant(PEERS[1], solve_k_means_in_one_pass, "peer", "sklearn"),
    )
}


# A run


def measure(announce: Announce, trial: Trial) -> Record:
    """Measure time and memory of the same call, and judge its medoids."""
    trial.warm_up()
    problem = trial.pose()
    before = read_resident_bytes()
    reset_peak()
    with watch_private_peak() as private:
        call = time_call(announce, trial, problem)
    peak = read_growth(before)
    medoids = call.answer.medoids
    return {
        "seconds": call.seconds,
        "peak_bytes": peak,
        "private_bytes": private["peak"],
        "X_bytes": problem.X.nbytes,
        "block_bytes": count_block_bytes(problem),
        "objective": compute_objective(problem.X, medoids, problem.metric),
        "medoids": sorted(medoids.tolist()),
        "stages": call.answer.stages,
        "n_distances": call.answer.n_distances,
        **call.answer.facts,
    }


def load_rows(run: Run, file: Path, folder: Path) -> NDArray[Any]:
    """Return the rows of a run, in memory or mapped; the mixture is in `file`, data sets are in `folder`."""
    if run.dataset != MIXTURE:
        return load_stored(run.dataset, folder)
    if run.method == FROM_FILE:
        drop_from_cache(file)
        return np.load(file, mmap_mode="r")[: run.n]
    return np.array(np.load(file, mmap_mode="r")[: run.n])


def drop_from_cache(file: Path) -> None:
    """Let the system forget the pages of a file that it has cached."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def make_mixture_file(rows: int) -> Path:
    """Return a file with that many rows of the mixture; it is made if it is not in the cache."""
    return store_generated(f"{MIXTURE}-{rows}", (rows, N_FEATURES), make_mixture_pieces)


# All runs


def list_runs(part: str, rows: int, seeds: int) -> list[Run]:
    """Return the runs of a part."""
    if part == "rows":
        return [name_mixture_run(rows, K, method) for method in (OURS, FROM_FILE, NO_LIMIT)]
    if part == "n":  # sizes from a thousandth of all rows on, each about three times the one before
        return [name_mixture_run(round(rows * 10 ** (step / 2 - 3)), K, OURS) for step in range(7)]
    if part == "k":
        return [name_mixture_run(rows // 10, k, OURS) for k in KS if k <= rows // 100]
    if part == "peers":
        return [name_mixture_run(rows, K, method) for method in (OURS, *PEERS)]
    return [
        Run(dataset, None, K, METRIC, method, seed)
        for dataset in LIMITED
        for seed in range(seeds)
        for method in (WHOLE, TENTH)
    ]


def name_mixture_run(n: int, k: int, method: str) -> Run:
    return Run(MIXTURE, n, k, METRIC, method, 0)


def run_parts(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, print a table for each part, and draw the figure."""
    store = Store(arguments.results, "scale")
    parts = PARTS if arguments.part is None else (arguments.part,)
    file = make_mixture_file(arguments.rows)
    for part in parts:
        for run in list_runs(part, arguments.rows, arguments.seeds):
            if arguments.again or run not in store.read():
                print(run, flush=True)
                rows = partial(load_rows, run, file, arguments.data)
                record = run_alone(measure, Trial(METHODS[run.method], run, rows, count_processors()))
                store.append({**run.as_dict(), **record, "machine": describe_machine()})
    records = store.read()
    for part in parts:
        runs = list_runs(part, arguments.rows, arguments.seeds)
        print(f"\n{part}\n\n{make_table(part, runs, records)}", flush=True)
    if all(run in records for part in ("n", "k") for run in list_runs(part, arguments.rows, 0)):
        print(f"\n{draw(records, arguments.rows, arguments.results / 'scale.png')}")


# What the records say


def make_table(part: str, runs: list[Run], records: dict[Run, Record]) -> str:
    """Return the records of a part as Markdown."""
    lines = [
        "| data | n | k | method | block | seconds | memory beyond X | of it private | objective per row |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        record = records[run]
        n = run.n or DATASETS[run.dataset].shape[0]
        lines.append(
            f"| {run.dataset} | {n:,} | {run.k} | {run.method} | {record.get('block_storage', '')} "
            f"| {record['seconds']:.2f} | {record['peak_bytes'] / 1e6:,.0f} MB "
            f"| {record['private_bytes'] / 1e6:,.0f} MB | {record['objective'] / n:.6g} |"
        )
    if part == "n":
        lines += ["", f"seconds grow like n^{fit_exponent(runs, records):.2f} in the end"]
    if part == "limit":
        lines += ["", *(compare_blocks(name, runs, records) for name in dict.fromkeys(run.dataset for run in runs))]
    return "\n".join(lines)


def fit_exponent(runs: list[Run], records: dict[Run, Record]) -> float:
    """Return the slope of log seconds against log n, by least squares, where the search runs on a sample of the rows.

    With fewer rows a fit makes two starts, which would hide how the time grows.
    """
    sampled = [run for run in runs if (run.n or 0) > most_searched()]
    n, seconds = zip(*((run.n, records[run]["seconds"]) for run in sampled or runs), strict=True)
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


def compare_blocks(dataset: str, runs: list[Run], records: dict[Run, Record]) -> str:
    """Say what a limited block costs, and whether the medoids are the same."""
    whole, tenth = (
        [records[run] for run in runs if (run.dataset, run.method) == (dataset, method)] for method in (WHOLE, TENTH)
    )
    ratio = statistics.median(each["seconds"] for each in tenth) / statistics.median(each["seconds"] for each in whole)
    n_same = sum(one["medoids"] == other["medoids"] for one, other in zip(whole, tenth, strict=True))
    return f"{dataset}: {ratio:.2f} times the seconds, the same medoids in {n_same} of {len(whole)} runs"


def draw(records: dict[Run, Record], rows: int, path: Path) -> Path:
    """Draw time and memory against n and against k."""
    from matplotlib.figure import Figure

    against_n, against_k = list_runs("n", rows, 0), list_runs("k", rows, 0)
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    columns = figure.subplots(2, 2, sharex="col").T
    factor = 10 ** fit_exponent(against_n, records)
    titles = (f"k = {K}", f"n = {rows // 10:,}")
    for (time, memory), runs, name, title in zip(columns, (against_n, against_k), "nk", titles, strict=True):
        positions = [getattr(run, name) for run in runs]
        style = {**palette.style_of(OURS), "lw": 2}
        time.loglog(positions, [records[run]["seconds"] for run in runs], **style)
        memory.loglog(positions, [max(records[run]["peak_bytes"] / 1e6, 1.0) for run in runs], **style)
        time.set(title=title, ylabel="seconds")
        memory.set(xlabel=name, ylabel="MB beyond X")
        memory.margins(y=0.4)
        for axes in (time, memory):
            _set_ticks(axes)
    sampled = f"one start, on a sample:\n10 × rows, {factor:.1f} × time"
    mark_change(columns[0, 0], most_searched(), "two starts", sampled)
    kept, recomputed = ([run.k for run in against_k if is_kept(records[run]) is kept] for kept in (True, False))
    if kept and recomputed:
        between = (max(kept) * min(recomputed)) ** 0.5
        mark_change(columns[1, 1], between, "block kept", "block of more\nthan 1 GB:\nrecomputed")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _set_ticks(axes: Any) -> None:
    """Let the ticks be whole numbers, 10,000 and not 10⁴."""
    from matplotlib.ticker import LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def is_kept(record: Record) -> bool:
    """Tell whether the block of a run was kept in memory."""
    return record.get("block_storage") != "recomputed"


def mark_change(axes: Any, place: float, before: str, after: str, *, at_top: bool = True) -> None:
    """Draw a line where a fit begins to do something else, and say what it does on both sides."""
    axes.axvline(place, *((0, 1) if at_top else (0, 0.55)), color=palette.OURS, ls=":", lw=1)
    style = {"va": "top" if at_top else "bottom", "color": palette.OURS, "fontsize": 9}
    for text, side, offset in ((before, "right", -5), (after, "left", 5)):
        where = {"xycoords": axes.get_xaxis_transform(), "xytext": (offset, 0), "textcoords": "offset points"}
        axes.annotate(text, (place, 0.97 if at_top else 0.03), ha=side, **where, **style)


def add_command(commands: Any) -> None:
    """Add `scale` to the command line."""
    parser = commands.add_parser("scale", help="time and memory of ten million rows, and how they grow")
    parser.add_argument("--part", choices=PARTS, help="only this part (all)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="the largest number of rows (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each data set in the part limit (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "scale", help="folder of the records (%(default)s)")
    parser.set_defaults(run=run_parts)
