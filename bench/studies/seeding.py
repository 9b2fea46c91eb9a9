"""`python -m bench seeding`: k-means++ and its local search beside a whole fit, and the time to count copies of rows.

`KMeansPlusPlus` and `LSKMeansPlusPlus` are fitted to mnist with Manhattan distances and to 60,000 generated unit
vectors of 384 numbers with the cosine distance, with k = 1,000, and so is OneBatchPAM; `collapse_duplicates` gets a
million rows of 10 numbers, of which 50,000 are distinct. With `--python`, several times, other installs take turns
with this one. Every call has a process of its own; medians count, and ratios are those to the first install.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load_stored
from bench.data.synthetic import make_unit_vector_pieces
from bench.measure.installs import run_in
from bench.measure.machine import count_processors, describe_machine, summarise_machine

ESTIMATORS = ("KMeansPlusPlus", "LSKMeansPlusPlus", "OneBatchPAM")
SHARE_DISTINCT = 0.05  # of the rows with copies
# Runs in the Python of an install: prints the times of a fit, with its objective, or of counting copies.
CODE = """
import json, sys, time
import numpy as np
import onebatchpam
path, name, metric, k, seed = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
X = np.load(path)
if name == "collapse_duplicates":
    call = lambda: onebatchpam.collapse_duplicates(X)
else:
    call = getattr(onebatchpam, name)(k, metric=metric, random_state=seed).fit
    call = lambda fit=call: fit(X)
began, cpu = time.perf_counter(), time.process_time()
answer = call()
times = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
print(json.dumps({**times, "objective": getattr(answer, "inertia_", None)}))
"""


def make_vectors(rows: int) -> NDArray[np.float32]:
    """Return unit vectors of 384 numbers."""
    return np.concatenate([piece for _, piece in make_unit_vector_pieces(rows, 384)])[:rows]


def make_copies(rows: int) -> NDArray[np.float32]:
    """Return rows of 10 numbers, each of which occurs about 20 times."""
    rng = np.random.RandomState(0)
    distinct = rng.standard_normal((max(1, int(SHARE_DISTINCT * rows)), 10)).astype(np.float32)
    return distinct[rng.randint(len(distinct), size=rows)]


def compare(name: str, metric: str, file: Path, arguments: argparse.Namespace) -> list[str]:
    """Run a call by all installs, in turns, and return a line of each."""
    pythons = arguments.python or [sys.executable]
    records: dict[str, list[dict[str, Any]]] = {python: [] for python in pythons}
    for seed in range(arguments.seeds):
        for python in pythons:
            records[python].append(run_in(python, CODE, file.parent, file, name, metric, arguments.clusters, seed))

    def find_median(python: str, figure: str) -> float:
        return statistics.median(record[figure] for record in records[python])

    lines = []
    for python in pythons:
        seconds, cpu = find_median(python, "seconds"), find_median(python, "cpu")
        faster = find_median(pythons[0], "cpu") / cpu
        objectives = [record["objective"] for record in records[python]]
        objective = "" if None in objectives else f"{statistics.mean(objectives):.6g}"
        lines.append(f"| {file.stem} | {name} | {python} | {seconds:.2f} | {cpu:.2f} | {faster:.2f} | {objective} |")
    return lines


def run_study(arguments: argparse.Namespace) -> None:
    """Make all calls, and print a table."""
    print(summarise_machine(describe_machine(), count_processors()))
    print("| rows | call | Python | seconds | processor | times faster | mean objective |")
    print(f"|{'---|' * 7}", flush=True)
    cases: dict[str, tuple[Callable[[], NDArray[Any]], str, tuple[str, ...]]] = {
        "mnist": (lambda: load_stored("mnist", arguments.data), "manhattan", ESTIMATORS),
        "vectors": (lambda: make_vectors(arguments.vectors), "cosine", ESTIMATORS),
        "copies": (lambda: make_copies(arguments.copies), "", ("collapse_duplicates",)),
    }
    for kind in [arguments.kind] if arguments.kind else cases:
        make_rows, metric, names = cases[kind]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{kind}.npy"
            np.save(file, make_rows())
            for name in names:
                print("\n".join(compare(name, metric, file, arguments)), flush=True)


def add_command(commands: Any) -> None:
    """Add `seeding` to the command line."""
    parser = commands.add_parser("seeding", help="k-means++ beside a whole fit, and copies that are counted")
    parser.add_argument("--python", action="append", help="the Python of an install, several times (this one)")
    parser.add_argument("--kind", choices=("mnist", "vectors", "copies"), help="only these rows (all)")
    parser.add_argument("--clusters", type=int, default=1000, help="number of medoids (%(default)s)")
    parser.add_argument("--vectors", type=int, default=60_000, help="number of unit vectors (%(default)s)")
    parser.add_argument("--copies", type=int, default=1_000_000, help="rows of which copies are counted (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="calls of each (%(default)s)")
    parser.set_defaults(run=run_study)
