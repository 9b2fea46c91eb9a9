"""`python -m bench dask`: what travels between driver and workers in a fit of a Dask array, and what the passes cost.

The bytes are those of pickled objects: what each worker is told before a pass, and what all workers together return to
the driver. Seconds are those of the passes with this machine's threads. With `--compare SEEDS` the command compares
objectives with those of fits of the same rows in memory instead.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.synthetic import make_mixture
from onebatchpam import OneBatchPAM

PASSES = {
    "check": "check of all rows",
    "draw": "drawing of rows",
    "far": "comparison with the first medoids",
    "members": "search for members",
    "assign": "assignment",
}


@dataclass
class Traffic:
    """The bytes and seconds of all passes of one kind."""

    n_passes: int = 0
    bytes_told: int = 0
    bytes_returned: int = 0
    seconds: float = 0.0

    def format_line(self, title: str) -> str:
        """Return a line of a table, with means over the passes."""
        told, returned = (f"{value / self.n_passes / 1e3:,.0f} kB" for value in (self.bytes_told, self.bytes_returned))
        return f"| {title} | {self.n_passes} | {told} | {returned} | {self.seconds / self.n_passes:.2f} |"


@contextmanager
def weigh_traffic() -> Iterator[dict[str, Traffic]]:
    """Weigh what the passes of all Dask fits inside tell and return, by a scheduler that looks at their tasks.

    The package names its tasks for Dask's dashboard: "onebatchpam-state" is told to all partitions of a pass, and the
    other names are those of the passes.
    """
    import dask
    from dask.utils import key_split

    traffic = {name: Traffic() for name in PASSES}

    def compute(graph: Any, keys: Any, **options: Any) -> Any:
        began = time.perf_counter()
        tasks = graph.__dask_graph__() if hasattr(graph, "__dask_graph__") else graph
        states = [key for key in tasks if key_split(key) == "onebatchpam-state"]
        results, told = dask.threaded.get(graph, [keys, states], **options)
        seconds = time.perf_counter() - began
        first_key = next(dask.core.flatten([keys]))
        name = key_split(first_key).removeprefix("onebatchpam-").removeprefix("merge-")
        passes = traffic.get("far" if name == "sum" else name)
        if passes is not None:
            passes.seconds += seconds
            passes.bytes_told += sum(len(pickle.dumps(each)) for each in told)
            if name != "far":  # the distances stay with the workers, and their sum is returned
                passes.n_passes += 1
                passes.bytes_returned += sum(len(pickle.dumps(each)) for each in results)
        return results

    with dask.config.set(scheduler=compute):
        yield traffic


def compare_with_memory(X: NDArray[Any], partitioned: Any, k: int, n_seeds: int) -> None:
    """Print the objectives of fits in partitions and in memory."""
    from onebatchpam.dask import OneBatchPAM as DaskOneBatchPAM

    print(f"k = {k}\n\n| seed | in memory | Dask | difference |\n|---|---:|---:|---:|")
    differences = []
    for seed in range(n_seeds):
        options: dict[str, Any] = {"metric": "manhattan", "n_jobs": -1, "random_state": seed}
        in_memory = OneBatchPAM(k, **options).fit(X).inertia_
        by_dask = DaskOneBatchPAM(k, **options).fit(partitioned).inertia_
        differences.append(by_dask / in_memory - 1)
        print(f"| {seed} | {in_memory:,.0f} | {by_dask:,.0f} | {differences[-1]:+.2%} |", flush=True)
    print(f"| mean | | | {np.mean(differences):+.2%} |")


def show_traffic(partitioned: Any, k: int) -> None:
    """Print what the passes of a fit send, and how long they take."""
    from onebatchpam.dask import OneBatchPAM as DaskOneBatchPAM

    model = DaskOneBatchPAM(k, metric="manhattan", random_state=0)
    with weigh_traffic() as traffic:
        began = time.perf_counter()
        model.fit(partitioned)
        seconds = time.perf_counter() - began
    print(f"k = {k}, m = {len(model.batch_indices_)}: {seconds:.1f} s, objective {model.inertia_:,.0f}\n")
    print("| pass | passes | told to each worker | returned by all | seconds |\n|---|---:|---:|---:|---:|")
    for name, title in PASSES.items():
        if traffic[name].n_passes:
            print(traffic[name].format_line(title))


def run_fits(arguments: argparse.Namespace) -> None:
    """Fit generated data and print a table."""
    import dask.array as da

    X = make_mixture(np.random.RandomState(0), arguments.rows, arguments.features).astype(np.float32)
    partitioned = da.from_array(X, chunks=(-(-len(X) // arguments.partitions), X.shape[1])).persist()
    print(f"{len(X):,} x {X.shape[1]} float32 ({X.nbytes / 1e6:,.0f} MB) in {arguments.partitions} partitions")
    if arguments.compare:
        compare_with_memory(X, partitioned, arguments.clusters, arguments.compare)
    else:
        show_traffic(partitioned, arguments.clusters)


def add_command(commands: Any) -> None:
    """Add `dask` to the command line."""
    parser = commands.add_parser("dask", help="what travels in a fit of a Dask array")
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (%(default)s)")
    parser.add_argument("--features", type=int, default=16, help="number of features (%(default)s)")
    parser.add_argument("--clusters", type=int, default=100, help="number of medoids (%(default)s)")
    parser.add_argument("--partitions", type=int, default=20, help="number of partitions (%(default)s)")
    parser.add_argument("--compare", type=int, metavar="SEEDS", help="compare so many fits with those in memory")
    parser.set_defaults(run=run_fits)
