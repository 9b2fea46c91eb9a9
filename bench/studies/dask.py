"""`python -m bench dask`: what travels between driver and workers in a fit of a Dask array, and what the passes cost.

With `--compare SEEDS` the objective beside that of fits of the same rows in memory, instead.

The bytes are those of the pickled objects: what each worker is told before a pass, and what all of them together return
to the driver. Seconds are those of the passes with this machine's threads.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

PASSES = {
    "check": "check of all rows",
    "draw": "drawing of rows",
    "scan": "comparison with the batch",
    "swaps": "search for swaps",
    "members": "search for members",
    "assign": "assignment",
}


@dataclass
class Traffic:
    """What the passes of one kind have sent."""

    n_passes: int = 0
    bytes_told: int = 0
    bytes_returned: int = 0
    seconds: float = 0.0

    def row(self, title: str) -> str:
        """Return a line of a table, with means over the passes."""
        told, returned = (f"{value / self.n_passes / 1e3:,.0f} kB" for value in (self.bytes_told, self.bytes_returned))
        return f"| {title} | {self.n_passes} | {told} | {returned} | {self.seconds / self.n_passes:.2f} |"


@contextmanager
def measured() -> Iterator[dict[str, Traffic]]:
    """Measure the traffic of all Dask fits inside."""
    from dask.utils import key_split

    from onebatchpam import _partitioned, _partitions

    traffic = {name: Traffic() for name in PASSES}
    told: list[int] = []
    began: list[float] = []
    tell, compute = _partitions.tell, _partitions.compute

    def weigh_and_tell(argument: Any) -> Any:
        began.append(time.perf_counter())
        told.append(len(pickle.dumps(argument)))
        return tell(argument)

    def weigh_and_compute(tasks: list[Any]) -> list[Any]:
        began.append(time.perf_counter())
        found = compute(tasks)
        # The results of a scan stay with the workers, a summary returns; swaps and members are merged before.
        kind = key_split(tasks[0].key).removeprefix("onebatchpam-").removeprefix("merge-")
        name = "scan" if kind == "summary" else kind
        if name in traffic:
            each = traffic[name]
            each.n_passes += 1
            each.bytes_told += sum(told)
            each.bytes_returned += sum(len(pickle.dumps(result)) for result in found)
            each.seconds += time.perf_counter() - began[0]
        told.clear()
        began.clear()
        return found

    with (
        mock.patch.object(_partitions, "tell", weigh_and_tell),
        mock.patch.object(_partitions, "compute", weigh_and_compute),
        mock.patch.object(_partitioned, "compute", weigh_and_compute),
    ):
        yield traffic


def run(arguments: argparse.Namespace) -> None:
    """Fit generated data and print a table."""
    import dask.array as da

    from bench.data.synthetic import mixture

    X = mixture(np.random.RandomState(0), arguments.rows, arguments.features).astype(np.float32)
    data = da.from_array(X, chunks=(-(-len(X) // arguments.partitions), X.shape[1])).persist()
    print(f"{len(X):,} x {X.shape[1]} float32 ({X.nbytes / 1e6:,.0f} MB) in {arguments.partitions} partitions")
    if arguments.compare:
        compare(X, data, arguments.clusters, arguments.compare)
    else:
        show_traffic(data, arguments.clusters)


def compare(X: NDArray[Any], data: Any, k: int, n_seeds: int) -> None:
    """Print the objectives of fits in partitions and in memory."""
    from onebatchpam import OneBatchPAM as InMemory
    from onebatchpam.dask import OneBatchPAM

    print(f"k = {k}\n\n| seed | in memory | Dask | difference |\n|---|---:|---:|---:|")
    differences = []
    for seed in range(n_seeds):
        local = InMemory(k, metric="manhattan", n_jobs=-1, random_state=seed).fit(X).inertia_
        spread = OneBatchPAM(k, metric="manhattan", n_jobs=-1, random_state=seed).fit(data).inertia_
        differences.append(spread / local - 1)
        print(f"| {seed} | {local:,.0f} | {spread:,.0f} | {differences[-1]:+.2%} |", flush=True)
    print(f"| mean | | | {np.mean(differences):+.2%} |")


def show_traffic(data: Any, k: int) -> None:
    """Print what the passes of a fit send, and what they take."""
    from onebatchpam.dask import OneBatchPAM

    model = OneBatchPAM(k, metric="manhattan", random_state=0)
    with measured() as traffic:
        started = time.perf_counter()
        model.fit(data)
        seconds = time.perf_counter() - started
    print(f"k = {k}, m = {len(model.batch_indices_)}: {seconds:.1f} s, objective {model.inertia_:,.0f}\n")
    print("| pass | passes | told to each worker | returned by all | seconds |")
    print("|---|---:|---:|---:|---:|")
    for name, title in PASSES.items():
        if traffic[name].n_passes:
            print(traffic[name].row(title))


def add_command(commands: Any) -> None:
    """Add `dask` to the command line."""
    parser = commands.add_parser("dask", help="what travels in a fit of a Dask array")
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (%(default)s)")
    parser.add_argument("--features", type=int, default=16, help="number of features (%(default)s)")
    parser.add_argument("--clusters", type=int, default=100, help="number of medoids (%(default)s)")
    parser.add_argument("--partitions", type=int, default=20, help="number of partitions (%(default)s)")
    parser.add_argument("--compare", type=int, metavar="SEEDS", help="compare so many fits with those in memory")
    parser.set_defaults(run=run)
