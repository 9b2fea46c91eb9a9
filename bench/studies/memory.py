"""`python -m bench memory`: the peak memory of every kind of call beyond X, beside the bytes that the docs promise.

Each call has a process of its own, in which something tiny was called before. The peak is the largest growth of its
resident memory during the call, with X in memory or in a file before. The formulas are those of `docs/large_data.md`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from bench.data.synthetic import make_mixture_pieces
from bench.measure.memory import give_back_memory, read_growth, read_resident_bytes, reset_peak
from bench.measure.process import Announce, run_alone
from bench.measure.records import Record
from onebatchpam import (
    FasterPAM,
    OneBatchPAM,
    RandomMedoids,
    batch_size,
    medoids_of,
    select_k,
    select_representatives,
)

FEW_ROWS = 2000  # of the tiny call
MB = 10**6


@dataclass(frozen=True)
class Size:
    """The size of a call: n rows of p features, and k medoids."""

    n: int
    p: int
    k: int

    @property
    def m(self) -> int:
        """The automatic number of batch points."""
        return batch_size(self.n, self.k)


# What the docs promise. All numbers are bytes.

TILES = 40 * MB
TILES_IN_FLOAT64 = 70 * MB
FILE_CACHE = 512 * MB


def count_rows(size: Size) -> int:
    """Return the bytes for every row, and for the batch points."""
    return 48 * size.n + size.m * (4 * size.k + 8 * size.p)


def count_refinement(size: Size, limit: float = np.inf) -> int:
    """Return the bytes of refinement. Its candidates are kept within the limit, but a tile of them always has room."""
    if 2**26 // (11 * size.k) < min(size.n, 200 * size.k):
        return 500 * min(size.n, 200 * size.k) + 192 * 2**20  # in groups, each of which has at most all points
    most_points = min(size.n * size.m // (10 * size.k), 2**26 // (11 * size.k))
    n_points = min(max(size.m, most_points), size.n)
    return n_points * (16 * size.k + int(min(44 * size.k, max(limit / n_points, 4 * 256))))


def count_whole(size: Size) -> int:
    return 4 * size.n * size.m + count_refinement(size) + count_rows(size) + TILES


def count_limited(limit: int) -> Callable[[Size], int]:
    return lambda size: limit + count_refinement(size, limit=0) + count_rows(size) + TILES


def count_order(size: Size) -> int:
    """Return the bytes of the dissimilarities by which representatives are ordered."""
    return 4 * size.k * min(size.n, max(10 * size.k, 2**24 // size.k))


def count_unrefined(size: Size) -> int:
    return 4 * size.n * size.m + count_rows(size) + TILES


# What is measured.


def make_rows(size: Size, folder: Path) -> NDArray[np.float32]:
    return np.concatenate([piece for _, piece in make_mixture_pieces(size.n, size.p)])


def make_npy(size: Size, folder: Path) -> Path:
    path = folder / f"{size.n}.npy"
    np.save(path, make_rows(size, folder))
    return path


def make_frame(size: Size, folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(make_rows(size, folder), columns=[f"x{i}" for i in range(size.p)])


def make_parquet(size: Size, folder: Path) -> Path:
    path = folder / f"{size.n}.parquet"
    make_frame(size, folder).to_parquet(path, row_group_size=20_000)
    return path


def make_sparse(size: Size, folder: Path) -> Any:
    rows = make_rows(size, folder)
    rows[np.abs(rows) < 2] = 0
    return scipy.sparse.csr_array(rows)


def make_mixed_table(size: Size, folder: Path) -> Any:
    frame = make_frame(size, folder)
    frame["x0"] = frame["x0"] > 0
    return frame


def make_matrix(size: Size, folder: Path) -> NDArray[np.float32]:
    return np.random.default_rng(0).random((size.n, size.n), dtype=np.float32)


def make_dask_array(size: Size, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(make_rows(size, folder), chunks=(-(-size.n // 20), size.p))


def fit(estimator: type = OneBatchPAM, **options: Any) -> Callable[[Any, int, Path], Any]:
    """Return a function that fits an estimator with these options."""
    shared = {"metric": "manhattan", "random_state": 0} | options
    return lambda X, k, folder: estimator(k, **shared).fit(X)


def fit_on_dask(X: Any, k: int, folder: Path) -> Any:
    import dask

    from onebatchpam.dask import OneBatchPAM as DaskOneBatchPAM

    with dask.config.set(scheduler="synchronous"):
        return DaskOneBatchPAM(k, metric="manhattan", random_state=0).fit(X)


def draw(X: Any, k: int) -> RandomMedoids:
    return RandomMedoids(k, metric="manhattan", random_state=0).fit(X[: 2 * k])


@dataclass(frozen=True)
class Mode:
    """A call to measure: how its X is made, what is called, and what the docs promise."""

    make: Callable[[Size, Path], Any]
    call: Callable[[Any, int, Path], Any]
    count: Callable[[Size], int]
    rows: float = 1.0  # as a share of the rows of other calls


LIMIT = 100 * MB
MODES = {
    "whole block": Mode(make_rows, fit(), count_whole, 0.3),
    "whole block, refine=0": Mode(make_rows, fit(refine=0), count_unrefined, 0.3),
    "reduced block": Mode(make_rows, fit(metric="canberra", memory_limit=LIMIT), count_limited(LIMIT), 0.2),
    "recomputed block": Mode(make_rows, fit(memory_limit=0), count_limited(0)),
    "init='k-means++'": Mode(make_rows, fit(memory_limit=0, init="k-means++"), count_limited(0)),
    "init='ls-k-means++'": Mode(make_rows, fit(memory_limit=0, init="ls-k-means++"), count_limited(0)),
    "file .npy": Mode(make_npy, fit(memory_limit=0), lambda size: count_limited(0)(size) + FILE_CACHE),
    "file Parquet": Mode(make_parquet, fit(memory_limit=0), lambda size: count_limited(0)(size) + FILE_CACHE),
    "sparse": Mode(make_sparse, fit(memory_limit=0), count_limited(0), 0.3),
    "gower table": Mode(
        make_mixed_table,
        fit(metric="gower", memory_limit=0),
        lambda size: count_limited(0)(size) + 4 * size.n * size.p,
        0.3,
    ),
    "precomputed": Mode(make_matrix, fit(metric="precomputed", memory_limit=0), count_limited(0), 0.02),
    "select_k": Mode(
        make_rows,
        lambda X, k, folder: select_k(X, [k // 2, k], OneBatchPAM(metric="manhattan", random_state=0)),
        lambda size: count_whole(size) + 32 * size.n,
        0.3,
    ),
    "select_representatives": Mode(
        make_rows,
        lambda X, k, folder: select_representatives(X, k, metric="manhattan", memory_limit=0, random_state=0),
        lambda size: count_limited(0)(size) + count_order(size),
    ),
    "medoids_of": Mode(
        make_rows,
        lambda X, k, folder: medoids_of(X, np.arange(len(X)) % k, "manhattan", random_state=0),
        lambda size: 48 * size.n + TILES_IN_FLOAT64,
    ),
    "medoids_of, file": Mode(
        make_npy,
        lambda X, k, folder: medoids_of(X, np.arange(len(np.load(X, mmap_mode="r"))) % 2, "manhattan", random_state=0),
        lambda size: 48 * size.n + TILES_IN_FLOAT64 + FILE_CACHE,
    ),
    "FasterPAM": Mode(
        make_rows,
        fit(FasterPAM),
        lambda size: 4 * size.n**2 + 8 * size.n * (size.k + size.p) + count_rows(size) + TILES,
        0.02,
    ),
    "predict": Mode(make_rows, lambda X, k, folder: draw(X, k).predict(X), lambda size: 4 * size.n + TILES),
    "predict to a file": Mode(
        make_npy,
        lambda X, k, folder: draw(np.load(X, mmap_mode="r"), k).predict(X, out=folder / "labels.npy"),
        lambda size: TILES + FILE_CACHE,
    ),
    "transform": Mode(
        make_rows, lambda X, k, folder: draw(X, k).transform(X), lambda size: 4 * size.n * size.k + TILES
    ),
    "assess_rows": Mode(make_rows, lambda X, k, folder: draw(X, k).assess_rows(X), lambda size: 32 * size.n + TILES),
    "Dask driver": Mode(make_dask_array, fit_on_dask, lambda size: count_driver(size) + TILES),
}


def count_driver(size: Size) -> int:
    """Return the bytes of the driver of a Dask fit, with one worker in its process; see `docs/dask.md`."""
    from onebatchpam.dask import population

    sample = min(size.n, population.rows_to_gather(size.m, size.k, size.p))
    return sample * (4 * size.m + 2 * 4 * size.p + 60 * size.k) + 8 * size.n


def measure(announce: Announce, name: str, size: Size, folder: Path) -> Record:
    """Return the peak of a call beyond X."""
    mode = MODES[name]
    few = Size(min(FEW_ROWS, size.n), size.p, size.k)
    mode.call(mode.make(few, folder), few.k, folder)
    for path in folder.iterdir():
        path.unlink()
    X = mode.make(size, folder)
    give_back_memory()
    before = read_resident_bytes()
    reset_peak()
    mode.call(X, size.k, folder)
    return {"peak_bytes": read_growth(before)}


def run_modes(arguments: argparse.Namespace) -> None:
    """Measure all calls, and print a table."""
    print("| call | n | p | k | documented | measured | ratio |\n|---|---:|---:|---:|---:|---:|---:|")
    for name in MODES if arguments.mode is None else [arguments.mode]:
        size = Size(int(arguments.rows * MODES[name].rows), arguments.features, arguments.clusters)
        documented = MODES[name].count(size)
        with tempfile.TemporaryDirectory() as folder:
            measured = run_alone(measure, name, size, Path(folder))["peak_bytes"]
        print(
            f"| {name} | {size.n:,} | {size.p} | {size.k} | {documented / MB:,.0f} MB | {measured / MB:,.0f} MB "
            f"| {measured / documented:.2f} |",
            flush=True,
        )


def add_command(commands: Any) -> None:
    """Add `memory` to the command line."""
    parser = commands.add_parser("memory", help="the peak memory of every kind of call, beside that of the docs")
    parser.add_argument("--mode", choices=MODES, help="only this call (all)")
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="number of rows; some calls get fewer (%(default)s)"
    )
    parser.add_argument("--features", type=int, default=16, help="number of features (%(default)s)")
    parser.add_argument("--clusters", type=int, default=100, help="number of medoids (%(default)s)")
    parser.set_defaults(run=run_modes)
