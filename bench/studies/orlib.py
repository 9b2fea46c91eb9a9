"""`python -m bench orlib`: FasterPAM beside the package `kmedoids` on the 40 p-median graphs of the OR-Library.

Their optima are known, so this shows how good a local optimum is, not only which of two is better. Both packages start
from the same medoids. Distances are integers with many ties.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

Search = Callable[[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int64]]


def load_graph(path: Path) -> tuple[NDArray[np.int32], int]:
    """Return the lengths of the shortest paths between all vertices, and the number of medians wanted."""
    (n, _, p), *edges = (tuple(map(int, line.split())) for line in path.read_text().splitlines() if line.strip())
    costs = {(i, j) if i < j else (j, i): cost for i, j, cost in edges}  # of repeated edges the last one counts
    (rows, columns), values = np.array(list(costs)).T - 1, list(costs.values())
    lengths = shortest_path(csr_array((values, (rows, columns)), shape=(n, n)), directed=False)
    return lengths.astype(np.int32), p


def load_optima(folder: Path) -> dict[str, int]:
    """Return the optimum of each graph by its name, in the order of the list."""
    path = folder / "pmedopt.txt"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: name the folder above it by --data")
    lines = path.read_text().splitlines()[1:]
    return {name: int(value) for name, value in (line.split() for line in lines if line.strip())}


def search_ours(matrix: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.int64]:
    from onebatchpam import FasterPAM

    return FasterPAM(len(start), metric="precomputed", init=start).fit(matrix).medoid_indices_


def search_kmedoids(matrix: NDArray[np.int32], start: NDArray[np.int64]) -> NDArray[np.int64]:
    import kmedoids

    return kmedoids.fasterpam(matrix, start.astype(np.uint64), n_cpu=1).medoids.astype(np.int64)


CONTESTANTS: dict[str, Search] = {"onebatchpam": search_ours, "kmedoids": search_kmedoids}


def excesses(matrix: NDArray[np.int32], p: int, optimum: int, search: Search, n_starts: int) -> NDArray[np.float64]:
    """Return for each start by how much the objective is above the optimum, as a fraction of it."""
    found = []
    for seed in range(n_starts):
        start = np.random.RandomState(seed).choice(len(matrix), p, replace=False)
        found.append(matrix[search(matrix, start)].min(axis=0).sum(dtype=np.int64))
    return np.array(found) / optimum - 1


def run(arguments: argparse.Namespace) -> None:
    """Measure all graphs and print one table."""
    if importlib.util.find_spec("kmedoids") is None:
        raise ImportError("the package kmedoids is not installed: pip install '.[bench]'")
    folder, results = arguments.data / "orlib", {}
    optima = load_optima(folder)
    print(table_head(arguments.starts))
    for name, optimum in optima.items():
        matrix, p = load_graph(folder / f"{name}.txt")
        found = {key: excesses(matrix, p, optimum, search, arguments.starts) for key, search in CONTESTANTS.items()}
        results[name] = found
        print(table_row(f"{name} | {len(matrix)} | {p} | {optimum}", [found]), flush=True)
    print(table_row("mean | | | ", list(results.values())))


def table_head(n_starts: int) -> str:
    columns = [f"{name}, {what}" for name in CONTESTANTS for what in ("one start", f"best of {n_starts}")]
    return f"| graph | n | k | optimum | {' | '.join(columns)} |\n|{'---|' * (4 + len(columns))}"


def table_row(head: str, results: list[dict[str, Any]]) -> str:
    """Return a line of Markdown: for each contestant the mean over starts and the best, averaged over graphs."""
    cells = []
    for name in CONTESTANTS:
        cells.append(np.mean([found[name].mean() for found in results]))
        cells.append(np.mean([found[name].min() for found in results]))
    return f"| {head} | {' | '.join(f'{cell:.3%}' for cell in cells)} |"


def add_command(commands: Any) -> None:
    """Add `orlib` to the command line."""
    parser = commands.add_parser("orlib", help="FasterPAM and kmedoids on p-median graphs with known optima")
    parser.add_argument("--starts", type=int, default=10, help="random starts for each graph (%(default)s)")
    parser.set_defaults(run=run)
