"""`python -m bench sample`: fits to many rows, of this install or of several (an old version and a new), in turns.

Four kinds of data: a mixture, covertype, rows with heavy tails, and one blob with small groups far away. For each seed,
every install fits the same rows in a process of its own, so that a busy machine disturbs all of them alike. An install
is named by its Python, as in `--python /old/bin/python`, and fits with its own defaults. The last table has medians of
the times on the wall and of the processor, their ratios and the differences of the objectives to the first install.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load_stored
from bench.data.synthetic import make_far_groups, make_heavy_tails, make_mixture_pieces
from bench.measure.installs import run_in

KINDS = ("mixture", "covertype", "heavy tails", "far groups")
# Runs in the Python of an install, which need not have the bench: prints what the fit says of itself.
FIT = """
import json, sys, time
import numpy as np
from onebatchpam import OneBatchPAM
path, k, seed, from_file = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "file"
X = np.load(path, mmap_mode="r" if from_file else None)
model = OneBatchPAM(k, metric="manhattan", random_state=seed)
began, cpu = time.perf_counter(), time.process_time()
model.fit(X)
print(json.dumps({
    "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu, "objective": model.inertia_,
    "n_distances": model.n_distances_, "passes": int(model.n_iter_), "rounds": int(model.n_refine_rounds_),
    "largest": float(np.max(getattr(model, "max_distances_", np.nan))), "stages": model.fit_seconds_,
}))
"""


def make_rows(kind: str, n: int, folder: Path) -> NDArray[np.float32]:
    """Return the rows of a kind of data; covertype has as many as it has."""
    rng = np.random.RandomState(0)
    if kind == "covertype":
        return load_stored("covertype", folder)
    if kind == "mixture":
        return np.concatenate([piece for _, piece in make_mixture_pieces(n, 16)])[:n]
    return (make_heavy_tails if kind == "heavy tails" else make_far_groups)(rng, n, 8).astype(np.float32)


def fit_alone(python: str, file: Path, k: int, seed: int, *, from_file: bool) -> dict[str, Any]:
    """Fit rows by an install, in a process of its own, and return what the fit says of itself."""
    return run_in(python, FIT, file.parent, file, k, seed, "file" if from_file else "memory")


def show_fit(kind: str, seed: int, python: str, record: dict[str, Any], n: int) -> str:
    """Return a line about a fit."""
    stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in record["stages"].items())
    return (
        f"| {kind} | {seed} | {python} | {record['seconds']:.1f} | {record['cpu']:.1f} | {record['objective'] / n:.6g} "
        f"| {record['largest']:.4g} | {record['n_distances'] / 1e9:.2f} | {record['passes']} | {record['rounds']} "
        f"| {stages} |"
    )


def compare(kind: str, python: str, first: list[dict[str, Any]], others: list[dict[str, Any]]) -> str:
    """Return a line that compares the fits of an install with those of the first one."""
    cells = [kind, python]
    for clock in ("seconds", "cpu"):
        before, after = (statistics.median(record[clock] for record in records) for records in (first, others))
        cells += [f"{before:.1f}", f"{after:.1f}", f"{before / after:.2f}"]
    differences = [b["objective"] / a["objective"] - 1 for a, b in zip(first, others, strict=True)]
    cells += [f"{statistics.mean(differences):+.3%}", f"{min(differences):+.3%} to {max(differences):+.3%}"]
    return f"| {' | '.join(cells)} |"


def run_study(arguments: argparse.Namespace) -> None:
    """Fit all kinds of data by all installs, and print what was found."""
    pythons = arguments.python or [sys.executable]
    columns = "data | seed | Python | seconds | processor | objective per row | largest distance | 10^9 distances"
    print(f"| {columns} | passes | rounds | stages |\n|{'---|' * 11}")
    told = []
    for kind in [arguments.kind] if arguments.kind else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            file, rows = Path(folder) / "rows.npy", make_rows(kind, arguments.rows, arguments.data)
            np.save(file, rows)
            records: dict[str, list[dict[str, Any]]] = {python: [] for python in pythons}
            for seed in range(arguments.seeds):
                for python in pythons:
                    record = fit_alone(python, file, arguments.clusters, seed, from_file=arguments.file)
                    records[python].append(record)
                    print(show_fit(kind, seed, python, record, len(rows)), flush=True)
        told += [compare(kind, python, records[pythons[0]], records[python]) for python in pythons[1:]]
    if told:
        columns = "data | Python | seconds of the first | seconds | times faster | processor of the first | processor"
        print(f"\n| {columns} | times faster | objective, mean | from to |\n|{'---|' * 10}")
        print("\n".join(told))


def add_command(commands: Any) -> None:
    """Add `sample` to the command line."""
    parser = commands.add_parser("sample", help="fits to many rows, by several installs in turns")
    parser.add_argument("--python", action="append", help="the Python of an install, several times (this one)")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of data (all)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (%(default)s)")
    parser.add_argument("--clusters", type=int, default=100, help="number of medoids (%(default)s)")
    parser.add_argument("--seeds", type=int, default=5, help="fits of each install (%(default)s)")
    parser.add_argument("--file", action="store_true", help="map a .npy file instead of loading it")
    parser.set_defaults(run=run_study)
