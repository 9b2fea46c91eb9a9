"""`python -m bench costly`: the batch for costly dissimilarities, on data so small that all rows could be the batch.

A table has, for a batch of all rows and for a true batch, how many dissimilarities a fit computes as a fraction of n²,
and how far its objective is above that of the batch of all rows. By it the rule of `onebatchpam.batch_size` for costly
dissimilarities was chosen. The dissimilarity here is a cheap one, because only their number counts.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from bench.data.synthetic import make_gaussian, make_heavy_tails, make_mixture
from onebatchpam import OneBatchPAM, batch_size
from onebatchpam.batch.size import BATCH_POINTS_PER_MEDOID

N_FEATURES = 8
SETS = (make_mixture, make_gaussian, make_heavy_tails)
SIZES, KS = (1000, 2000, 3000, 4000, 5000), (5, 25)


def compare_batches(n: int, k: int, seeds: int) -> str:
    """Return a line of the table."""
    m = max(int(np.ceil(100 * np.log(k * n))), BATCH_POINTS_PER_MEDOID * k)
    sizes = {"all": n, "m": min(m, n), "m / 2": min(m // 2, n)}
    objectives: dict[str, list[float]] = {name: [] for name in sizes}
    counts: dict[str, list[float]] = {name: [] for name in sizes}
    for make in SETS:
        for seed in range(seeds):
            X = make(np.random.RandomState(seed), n, N_FEATURES)
            for name, size in sizes.items():
                model = OneBatchPAM(k, metric="manhattan", batch_size=size, random_state=seed).fit(X)
                objectives[name].append(model.inertia_)
                counts[name].append(model.n_distances_ / n**2)
    above = {name: np.mean(np.divide(objectives[name], objectives["all"])) - 1 for name in sizes}
    chosen = ["all rows" if batch_size(n, k, costly=True, symmetric=each) == n else "m" for each in (False, True)]
    cells = [f"{np.mean(counts[name]):.2f} | {above[name]:+.2%}" for name in ("m", "m / 2")]
    return f"| {n:,} | {k} | {m:,} | {np.mean(counts['all']):.2f} | {' | '.join(cells)} | {' | '.join(chosen)} |"


def run_comparison(arguments: argparse.Namespace) -> None:
    """Print the table."""
    print("| n | k | m | all rows: of n² | m: of n² | objective | m / 2: of n² | objective | auto | auto, symmetric |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for k in KS:
        for n in SIZES:
            print(compare_batches(n, k, arguments.seeds), flush=True)


def add_command(commands: Any) -> None:
    """Add `costly` to the command line."""
    parser = commands.add_parser("costly", help="the batch for costly dissimilarities on small data")
    parser.add_argument("--seeds", type=int, default=4, help="fits of each (%(default)s)")
    parser.set_defaults(run=run_comparison)
