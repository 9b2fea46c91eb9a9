"""`python -m bench series`: what thousands of time series cost under dynamic time warping.

The series are windows of a recording that comes with aeon, the electricity that devices use; aeon computes the
distances in parallel. Windows that overlap are good for counting and timing, not for learning about devices.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure.machine import describe_machine
from onebatchpam import OneBatchPAM, block_metric

LENGTH, WINDOW = 64, 0.1  # time points of a series, and by which share of them two series may be warped
BATCH_SIZES = ("auto", 500)


def make_series(n: int) -> NDArray[np.float64]:
    """Return n windows, evenly spread over the recording."""
    try:
        from aeon.datasets import load_electric_devices_segmentation
    except ImportError as error:
        raise ImportError("bench series needs aeon: pip install aeon") from error
    recording = np.asarray(load_electric_devices_segmentation()[0], np.float64).ravel()
    starts = np.linspace(0, len(recording) - LENGTH, n).astype(np.int64)
    return recording[starts[:, np.newaxis] + np.arange(LENGTH)]


def run_fits(arguments: argparse.Namespace) -> None:
    """Fit the series with each size of the batch, and print a table."""
    X = make_series(arguments.series)
    from aeon.distances import dtw_pairwise_distance

    @block_metric
    def dtw(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(dtw_pairwise_distance(A, B, window=WINDOW, n_jobs=-1))

    OneBatchPAM(2, metric=dtw).fit(X[:20])  # compiles the distance
    print(describe_machine())
    print("| series | time points | k | batch_size | distances | of all pairs | seconds | objective |")
    print("|---|---|---|---|---|---|---|---|")
    for batch_size in BATCH_SIZES:
        start = time.perf_counter()
        model = OneBatchPAM(arguments.k, metric=dtw, batch_size=batch_size, random_state=0).fit(X)
        seconds, n_pairs = time.perf_counter() - start, len(X) * (len(X) - 1) / 2
        print(
            f"| {len(X):,} | {LENGTH} | {arguments.k} | {batch_size} | {model.n_distances_:,} "
            f"| {model.n_distances_ / n_pairs:.2f} | {seconds:.0f} | {model.inertia_:.6g} |",
            flush=True,
        )


def add_command(commands: Any) -> None:
    """Add `series` to the command line."""
    parser = commands.add_parser("series", help="what thousands of time series cost under dynamic time warping")
    parser.add_argument("--series", type=int, default=5000, help="number of series (%(default)s)")
    parser.add_argument("--k", type=int, default=25, help="number of medoids (%(default)s)")
    parser.set_defaults(run=run_fits)
