"""The command line: `onebatchpam demo`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import onebatchpam
from onebatchpam.algorithms import OneBatchPAM
from onebatchpam.evaluation import save_medoids

DIGITS_SHAPE = (8, 8)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (ValueError, OSError) as error:
        print(f"onebatchpam: {error}", file=sys.stderr)
        return 2
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; each command sets `run` to the function that runs it."""
    parser = argparse.ArgumentParser(
        prog="onebatchpam", description="k-medoids clustering for data too large for an n x n matrix."
    )
    parser.add_argument("--version", action="version", version=onebatchpam.__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="cluster the digits that ship with scikit-learn and print a report")
    demo.add_argument("--n-clusters", type=int, default=10, metavar="K", help="number of medoids (default 10)")
    # The default is not "auto", because that takes all of so few rows, and the demo would show FasterPAM.
    demo.add_argument("--batch-size", type=int, default=300, metavar="M", help="number of batch points (default 300)")
    demo.add_argument("--metric", default="manhattan", help="dissimilarity (default manhattan)")
    demo.add_argument("--n-jobs", type=int, default=-1, help="threads (default: all processors)")
    demo.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    demo.add_argument("--picture", type=Path, default=Path("medoids.png"), help="file for the picture of the medoids")
    demo.set_defaults(run=run_demo)
    return parser


def run_demo(arguments: argparse.Namespace) -> None:
    """Cluster the digits, print a report, and draw the medoids."""
    X = load_digits().data.astype(np.uint8)
    model = OneBatchPAM(
        arguments.n_clusters,
        metric=arguments.metric,
        batch_size=arguments.batch_size,
        n_jobs=arguments.n_jobs,
        random_state=arguments.seed,
    )
    start = time.perf_counter()
    model.fit(X)
    print(report(model, len(X), time.perf_counter() - start))
    try:
        save_medoids(model.cluster_centers_, np.bincount(model.labels_), DIGITS_SHAPE, arguments.picture)
    except ImportError:
        print("no picture: matplotlib is not installed (pip install 'onebatchpam[plot]')")
    else:
        print(f"picture of the medoids: {arguments.picture}")


def report(model: OneBatchPAM, n: int, seconds: float) -> str:
    """Return a report on a fit: sizes, work, objective and seconds."""
    k, m = len(model.medoid_indices_), len(model.batch_indices_)
    sizes = np.bincount(model.labels_, minlength=k)
    stages = [f"  {name:<16}{stage_seconds:8.3f} s" for name, stage_seconds in model.fit_seconds_.items()]
    return "\n".join(
        [
            f"rows n          {n:,}",
            f"medoids k       {k}",
            f"batch points m  {m:,}",
            f"distances       {model.n_distances_:,} computed, {model.n_distances_ / n**2:.0%} of the {n**2:,} of PAM",
            f"swaps           {model.n_swaps_} in {model.n_iter_} passes",
            f"objective       {model.inertia_:,.6g} in sum, {model.inertia_ / n:.6g} per row",
            f"cluster sizes   {', '.join(map(str, sizes))}",
            f"seconds         {seconds:.3f}",
            *stages,
        ]
    )
