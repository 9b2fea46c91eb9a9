"""`python -m bench orlib`: FasterPAM beside the package `kmedoids` on the 40 p-median graphs of the OR-Library.

The optima of these graphs are known, so that the table shows how good a local optimum is, not only which of two is
better. Both packages start from the same medoids. Distances are integers with many ties.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from bench.methods.contestant import Contestant, Problem, require_installed
from bench.methods.ours import solve_by
from bench.methods.peers import solve_kmedoids_from_start

OURS = Contestant("onebatchpam", solve_by("FasterPAM", init=Problem.draw_start), "ours")
CONTESTANTS = (OURS, Contestant("kmedoids", solve_kmedoids_from_start, "peer", "kmedoids"))

Excesses = dict[str, NDArray[np.float64]]  # the excess of every start, by contestant


def load_graph(path: Path) -> tuple[NDArray[np.int32], int]:
    """Return the lengths of the shortest paths between all vertices, and the number of medians wanted."""
    (n, _, p), *edges = (tuple(map(int, line.split())) for line in path.read_text().splitlines() if line.strip())
    costs = {(i, j) if i < j else (j, i): cost for i, j, cost in edges}  # the last of repeated edges counts
    (rows, columns), values = np.array(list(costs), np.int32).T - 1, list(costs.values())
    lengths = shortest_path(csr_array((values, (rows, columns)), shape=(n, n)), directed=False)
    return lengths.astype(np.int32), p


def load_optima(folder: Path) -> dict[str, int]:
    """Return the optimum of each graph by its name, in the order of the list."""
    path = folder / "pmedopt.txt"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: name the folder above it by --data")
    lines = path.read_text().splitlines()[1:]
    return {name: int(value) for name, value in (line.split() for line in lines if line.strip())}


def measure_excesses(
    matrix: NDArray[Any], p: int, optimum: int, contestant: Contestant, n_starts: int
) -> NDArray[np.float64]:
    """Return for each start by how much the objective exceeds the optimum, as a fraction of it."""
    problems = (Problem(matrix, p, "precomputed", seed, 1) for seed in range(n_starts))
    medoids = (contestant.solve(problem).medoids for problem in problems)
    return np.array([matrix[each].min(axis=0).sum(dtype=np.int64) for each in medoids]) / optimum - 1


def run_graphs(arguments: argparse.Namespace) -> None:
    """Measure all graphs and print one table."""
    require_installed(CONTESTANTS)
    folder = arguments.data / "orlib"
    optima = load_optima(folder)
    columns = [f"{each.name}, {what}" for each in CONTESTANTS for what in ("one start", f"best of {arguments.starts}")]
    print(f"| graph | n | k | optimum | {' | '.join(columns)} |\n|{'---|' * (4 + len(columns))}")
    results: list[Excesses] = []
    for name, optimum in optima.items():
        matrix, p = load_graph(folder / f"{name}.txt")
        results.append(
            {each.name: measure_excesses(matrix, p, optimum, each, arguments.starts) for each in CONTESTANTS}
        )
        print(format_line(f"{name} | {len(matrix)} | {p} | {optimum}", results[-1:]), flush=True)
    print(format_line("mean | | | ", results))


def format_line(head: str, results: list[Excesses]) -> str:
    """Return a line of Markdown: for each contestant the mean over starts and the best, averaged over graphs."""
    cells = [
        np.mean([choose(excesses[each.name]) for excesses in results])
        for each in CONTESTANTS
        for choose in (np.mean, np.min)
    ]
    return f"| {head} | {' | '.join(f'{cell:.3%}' for cell in cells)} |"


def add_command(commands: Any) -> None:
    """Add `orlib` to the command line."""
    parser = commands.add_parser("orlib", help="FasterPAM and kmedoids on p-median graphs with known optima")
    parser.add_argument("--starts", type=int, default=10, help="random starts for each graph (%(default)s)")
    parser.set_defaults(run=run_graphs)
