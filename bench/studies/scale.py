"""`python -m bench scale`: ten million rows on one machine.

A generated mixture of 16 features in float32, k = 100, Manhattan distances and a memory limit of 1 GB, unless a part
says otherwise:

- rows: all rows, in memory, from a file that is not in the system's cache, and without a limit given;
- n: time and memory against the number of rows, with the exponent of time;
- k: the same against the number of medoids, on a tenth of the rows;
- limit: covertype and mnist with a memory limit of a tenth of the block, beside the whole block;
- peers: what a user might take instead, on all rows.

Every run has a process of its own, in which something tiny was fitted before. Time covers the call to `fit`. Memory is
the largest during the call beyond that before it, when X was there or open: of all pages, among which are those of a
mapped file that the system can drop at any time, and of private ones, looked at fifty times a second. Objectives are
computed here, in float64, from the medoids that were returned. A run whose record is there is not made again
unless `--again` is given.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data import sets as data
from bench.data import synthetic
from bench.measure import machine
from bench.measure.memory import read_peak_bytes, read_resident_bytes, reset_peak, watch_private_peak
from bench.measure.objective import objective
from bench.measure.process import Announce, run_alone
from bench.measure.records import RESULTS, Record, Run, Store

MIXTURE = "mixture16"
N_FEATURES = 16
METRIC = "manhattan"
K = 100
KS = (10, 30, 100, 300, 1000)
LIMITED = ("covertype", "mnist")
MEMORY_LIMIT = "1GB"
ROWS_PER_PARTIAL_FIT = 10_000  # of k-means, as many times as it takes

OURS, FROM_FILE, NO_LIMIT = "OneBatchPAM", "OneBatchPAM, from a file", "OneBatchPAM, no limit given"
WHOLE, TENTH = "OneBatchPAM, whole block", "OneBatchPAM, a tenth of the block"
PEERS = ("FasterCLARA", "MiniBatchKMeans, snapped")

Rows = NDArray[Any]
Found = tuple[NDArray[np.int64], Record]  # the medoids, and what else there is to say


def fit_ours(X: Rows, k: int, seed: int, memory_limit: int | str | None = MEMORY_LIMIT) -> Found:
    from onebatchpam import OneBatchPAM

    model = OneBatchPAM(k, metric=METRIC, memory_limit=memory_limit, n_jobs=-1, random_state=seed).fit(X)
    said = {
        "stages": model.fit_seconds_,
        "block_storage": model.block_storage_,
        "m": len(model.batch_indices_),
        "n_distances": int(model.n_distances_),
        "n_iter": model.n_iter_,
        "n_swaps": model.n_swaps_,
    }
    return model.medoid_indices_, said


def fit_whole(X: Rows, k: int, seed: int) -> Found:
    return fit_ours(X, k, seed, memory_limit=20 * block_bytes(len(X), k))


def fit_tenth(X: Rows, k: int, seed: int) -> Found:
    return fit_ours(X, k, seed, memory_limit=block_bytes(len(X), k) // 10)


def block_bytes(n: int, k: int) -> int:
    """Return the bytes of a block of the automatic batch size."""
    from onebatchpam import batch_size

    return 4 * n * batch_size(n, k)


def fit_clara(X: Rows, k: int, seed: int) -> Found:
    from onebatchpam import FasterCLARA

    model = FasterCLARA(k, metric=METRIC, n_jobs=-1, random_state=seed).fit(X)
    return model.medoid_indices_, {"stages": model.fit_seconds_, "n_distances": int(model.n_distances_)}


def fit_k_means(X: Rows, k: int, seed: int) -> Found:
    """Show all rows once to k-means of scikit-learn, which is Euclidean, and take the rows nearest to its centres.

    Its `fit` draws each batch by weights, in time proportional to the number of all rows: for ten million it does not
    end within minutes.
    """
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import pairwise_distances_argmin

    model = MiniBatchKMeans(k, random_state=seed)
    for start in range(0, len(X), ROWS_PER_PARTIAL_FIT):
        model.partial_fit(X[start : start + ROWS_PER_PARTIAL_FIT])
    return pairwise_distances_argmin(model.cluster_centers_, X).astype(np.int64), {}


METHODS: dict[str, Callable[[Rows, int, int], Found]] = {
    OURS: fit_ours,
    FROM_FILE: fit_ours,
    NO_LIMIT: partial(fit_ours, memory_limit=None),
    WHOLE: fit_whole,
    TENTH: fit_tenth,
    PEERS[0]: fit_clara,
    PEERS[1]: fit_k_means,
}


# One run


def measure(announce: Announce, run: Run, file: Path, folder: Path) -> Record:
    """Make a run; called in a fresh process."""
    fit = METHODS[run.method]
    fit(np.random.default_rng(0).random((300, 4), dtype=np.float32), 2, 0)  # imports are no part of it
    X = rows_of(run, file, folder)
    before = read_resident_bytes()
    reset_peak()
    with watch_private_peak() as private:
        start = time.perf_counter()
        medoids, said = fit(X, run.k, run.seed)
        seconds = time.perf_counter() - start
    peak = read_peak_bytes() - before
    return {
        "seconds": seconds,
        "peak_bytes": peak,
        "private_bytes": private["peak"],
        "X_bytes": X.nbytes,
        "block_bytes": block_bytes(len(X), run.k),
        "objective": objective(X, medoids, run.metric),
        "medoids": sorted(medoids.tolist()),
        **said,
    }


def rows_of(run: Run, file: Path, folder: Path) -> Rows:
    """Return the rows of a run, in memory or mapped."""
    if run.dataset != MIXTURE:
        return data.load(run.dataset, folder, "uint8" if run.dataset == "mnist" else "float32")
    if run.method == FROM_FILE:
        forget(file)
        return np.load(file, mmap_mode="r")[: run.n]
    X = np.empty((run.n or 0, N_FEATURES), np.float32)
    X[:] = np.load(file, mmap_mode="r")[: run.n]
    return X


def forget(file: Path) -> None:
    """Let the system drop what it has cached of a file."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


# Which runs there are


def runs_of(part: str, rows: int, seeds: int) -> list[Run]:
    """Return the runs of a part."""
    if part == "rows":
        return [mixture(rows, K, method) for method in (OURS, FROM_FILE, NO_LIMIT)]
    if part == "n":
        return [mixture(n, K, OURS) for n in sizes(rows)]
    if part == "k":
        return [mixture(rows // 10, k, OURS) for k in KS if k <= rows // 100]
    if part == "peers":
        return [mixture(rows, K, method) for method in (OURS, *PEERS)]
    return [
        Run(dataset, None, K, METRIC, method, seed)
        for dataset in LIMITED
        for seed in range(seeds)
        for method in (WHOLE, TENTH)
    ]


PARTS = ("rows", "n", "k", "limit", "peers")


def mixture(n: int, k: int, method: str) -> Run:
    return Run(MIXTURE, n, k, METRIC, method, 0)


def sizes(rows: int) -> list[int]:
    """Return numbers of rows, each about three times the last, from a thousandth of all."""
    return [round(rows * 10 ** (step / 2 - 3)) for step in range(7)]


def mixture_file(rows: int) -> Path:
    """Return a file with that many rows of the mixture, which is made if there is none."""
    path = data.cache_folder() / f"{MIXTURE}-{rows}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        file = np.lib.format.open_memmap(draft, "w+", np.float32, (rows, N_FEATURES))
        for start, piece in synthetic.mixture_pieces(rows, N_FEATURES):
            file[start : start + len(piece)] = piece
        file.flush()
        draft.replace(path)
    return path


def run(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, print the tables of the parts, draw the figure."""
    store = Store(arguments.results, "scale")
    parts = PARTS if arguments.part is None else (arguments.part,)
    file = mixture_file(arguments.rows)
    for part in parts:
        for each in runs_of(part, arguments.rows, arguments.seeds):
            if arguments.again or each not in store.read():
                print(each, flush=True)
                record = run_alone(measure, each, file, arguments.data)
                store.append({**each.as_dict(), **record, "machine": machine.describe()})
    records = store.read()
    for part in parts:
        print(f"\n{part}\n\n{table(part, runs_of(part, arguments.rows, arguments.seeds), records)}", flush=True)
    if all(each in records for part in ("n", "k") for each in runs_of(part, arguments.rows, 0)):
        print(f"\n{draw(records, arguments.rows, arguments.results / 'scale.png')}")


# What they say


def table(part: str, runs: list[Run], records: dict[Run, Record]) -> str:
    """Return the records of a part as Markdown."""
    lines = [
        "| data | n | k | method | block | seconds | memory beyond X | of it private | objective per row |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in runs:
        record = records[each]
        n = len_of(record)
        lines.append(
            f"| {each.dataset} | {n:,} | {each.k} | {each.method} | {record.get('block_storage', '')} "
            f"| {record['seconds']:.2f} | {record['peak_bytes'] / 1e6:,.0f} MB "
            f"| {record['private_bytes'] / 1e6:,.0f} MB | {record['objective'] / n:.6g} |"
        )
    if part == "n":
        lines += ["", f"seconds grow like n^{exponent(runs, records):.2f}"]
    if part == "limit":
        lines += ["", *(compared(name, runs, records) for name in dict.fromkeys(each.dataset for each in runs))]
    return "\n".join(lines)


def len_of(record: Record) -> int:
    """Return the number of rows of a record."""
    return int(record["n"] or data.DATASETS[record["dataset"]].shape[0])


def exponent(runs: list[Run], records: dict[Run, Record]) -> float:
    """Return the slope of log seconds against log n, by least squares."""
    n, seconds = zip(*((each.n, records[each]["seconds"]) for each in runs), strict=True)
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


def compared(dataset: str, runs: list[Run], records: dict[Run, Record]) -> str:
    """Say what a limited block costs, and whether the medoids are the same."""
    found = {
        method: [records[each] for each in runs if (each.dataset, each.method) == (dataset, method)]
        for method in (WHOLE, TENTH)
    }
    whole, tenth = (statistics.median(record["seconds"] for record in found[method]) for method in (WHOLE, TENTH))
    pairs = list(zip(found[WHOLE], found[TENTH], strict=True))
    n_same = sum(one["medoids"] == other["medoids"] for one, other in pairs)
    return f"{dataset}: {tenth / whole:.2f} times the seconds, the same medoids in {n_same} of {len(pairs)} runs"


def draw(records: dict[Run, Record], rows: int, path: Path) -> Path:
    """Draw time and memory against n and against k."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    against_n, against_k = runs_of("n", rows, 0), runs_of("k", rows, 0)
    slope = exponent(against_n, records)
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex="col", layout="constrained")
    for column, (runs, name, title) in enumerate(
        [(against_n, "n", f"k = {K}: seconds grow like n^{slope:.2f}"), (against_k, "k", f"n = {rows // 10:,}")]
    ):
        positions = [getattr(each, name) for each in runs]
        seconds = [records[each]["seconds"] for each in runs]
        memory = [records[each]["peak_bytes"] / 1e6 for each in runs]
        axes[0, column].loglog(positions, seconds, "o-")
        axes[0, column].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes[0, column].yaxis.set_major_formatter("{x:g}")
        axes[0, column].yaxis.set_minor_locator(NullLocator())
        axes[1, column].semilogx(positions, memory, "o-")
        axes[1, column].set_ylim(bottom=0)
        for axis, label in zip(axes[:, column], ("seconds", "MB beyond X"), strict=True):
            axis.set_ylabel(label)
            axis.grid(alpha=0.3)
        axes[0, column].set_title(title)
        axes[1, column].set_xlabel(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def add_command(commands: Any) -> None:
    """Add `scale` to the command line."""
    parser = commands.add_parser("scale", help="time and memory of ten million rows, and how they grow")
    parser.add_argument("--part", choices=PARTS, help="only this part (all)")
    parser.add_argument("--rows", type=int, default=10_000_000, help="the largest number of rows (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each data set in the part limit (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    parser.add_argument("--results", type=Path, default=RESULTS / "scale", help="folder of the records (%(default)s)")
    parser.set_defaults(run=run)
