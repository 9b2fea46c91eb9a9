"""`python -m bench embeddings`: a million unit vectors of 768 numbers under the cosine distance.

The vectors are generated: a thousand groups of different spread, scaled to length 1, as text embeddings are. They are
fitted in float32 and in float16, from memory and from a .npy file that is not in the system's cache. Every run has a
process of its own. Time covers the call to `fit`; memory is its largest growth during the call, beyond X.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import store_generated
from bench.data.synthetic import make_unit_vector_pieces
from bench.measure.call import Trial, measure_call
from bench.measure.machine import count_processors, describe_machine
from bench.measure.process import Announce, run_alone
from bench.measure.records import RESULTS, Record, Run, Store
from bench.methods.contestant import Contestant
from bench.methods.ours import solve_by
from bench.studies.scale import drop_from_cache

N_FEATURES, METRIC, KS, TYPES = 768, "cosine", (100, 1000), ("float32", "float16")
IN_MEMORY, FROM_FILE = "OneBatchPAM", "OneBatchPAM, from a file"
METHODS = {name: Contestant(name, solve_by("OneBatchPAM"), "ours") for name in (IN_MEMORY, FROM_FILE)}


def make_file(rows: int, dtype: str) -> Path:
    """Return a file with that many vectors; it is made if it is not in the cache."""
    return store_generated(f"embeddings-{rows}-{dtype}", (rows, N_FEATURES), make_unit_vector_pieces, dtype)


def load_vectors(path: Path, from_file: bool) -> NDArray[Any]:
    """Return the vectors of a file, in memory or mapped and not in the system's cache."""
    if from_file:
        drop_from_cache(path)
        return np.load(path, mmap_mode="r")
    return np.load(path)


def measure(announce: Announce, trial: Trial) -> Record:
    """Measure time and memory of a fit."""
    _, call, peak = measure_call(announce, trial)
    facts = {"seconds": call.seconds, "peak_bytes": peak, "stages": call.answer.stages}
    return {**facts, "n_distances": call.answer.n_distances, **call.answer.facts}


def list_runs(rows: int) -> list[Run]:
    """Return all runs; the data set is named after the type of its numbers."""
    return [Run(dtype, rows, k, METRIC, method, 0) for k in KS for dtype in TYPES for method in METHODS]


def run_all(arguments: argparse.Namespace) -> None:
    """Make the runs that have no record yet, and print a table."""
    store = Store(arguments.results, "embeddings")
    runs = list_runs(arguments.rows)
    for run in runs:
        if arguments.again or run not in store.read():
            print(run, flush=True)
            load = partial(load_vectors, make_file(arguments.rows, run.dataset), run.method == FROM_FILE)
            record = run_alone(measure, Trial(METHODS[run.method], run, load, count_processors()))
            store.append({**run.as_dict(), **record, "machine": describe_machine()})
    print(make_table(runs, store.read()))


def make_table(runs: list[Run], records: dict[Run, Record]) -> str:
    """Return the records as Markdown."""
    lines = [
        "| vectors | k | type | X | from | seconds | memory beyond X | block | distances |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        record, n = records[run], run.n or 0
        size = n * N_FEATURES * np.dtype(run.dataset).itemsize
        where = "a file" if run.method == FROM_FILE else "memory"
        lines.append(
            f"| {n:,} x {N_FEATURES} | {run.k} | {run.dataset} | {size / 1e9:.2f} GB | {where} "
            f"| {record['seconds']:.1f} | {record['peak_bytes'] / 1e9:.2f} GB | {record.get('block_storage', '')} "
            f"| {record['n_distances']:,} |"
        )
    return "\n".join(lines)


def add_command(commands: Any) -> None:
    """Add `embeddings` to the command line."""
    parser = commands.add_parser("embeddings", help="a million unit vectors under the cosine distance")
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of vectors (%(default)s)")
    parser.add_argument("--again", action="store_true", help="make runs again that have a record")
    folder = RESULTS / "embeddings"
    parser.add_argument("--results", type=Path, default=folder, help="folder of the records (%(default)s)")
    parser.set_defaults(run=run_all)
