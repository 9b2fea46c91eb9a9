"""`python -m bench speed`: whole fits of this package beside those of the authors' package `onebatch`.

That is its first section; `methods.py` has the others.

The same data, k, batch size and metric; every contestant in a process of its own, in which it has made a fit before
that is not counted; the contestants take turns, in which fits of less than a second are repeated for a second, and the
median counts: memory that was idle meanwhile may have gone back to the host of a virtual machine. Time covers the call
to `fit` only. The objective is computed here, in float64, from the medoids that were returned. Memory, in another
process, is the peak during the fit, data included, beyond that before the data were loaded.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load
from bench.measure.memory import keep_memory, read_peak_bytes, read_resident_bytes, reset_peak
from bench.measure.objective import objective
from bench.measure.process import Announce, open_process, run_alone
from bench.studies import methods

PACKAGES = ("onebatchpam", "onebatch", "kmedoids", "banditpam", "scikit-learn")
SECONDS_PER_TURN = 1.0


@dataclass(frozen=True)
class Case:
    """A problem that all contestants solve."""

    dataset: str
    metric: str
    k: int

    def batch_size(self, n: int) -> int:
        return int(100 * math.log(self.k * n))

    def __str__(self) -> str:
        return f"{self.dataset}, {self.metric}, k = {self.k}"


@dataclass(frozen=True)
class Contestant:
    """A way to fit: takes X, the case, the batch size and a seed; returns medoids and a dict of stages."""

    name: str
    dtype: str
    fit: Callable[[NDArray[Any], Case, int, int], tuple[NDArray[np.int64], dict[str, float]]]
    shift: float = 0  # is added to all values, which leaves the distances as they are

    def data(self, case: Case, folder: Path) -> NDArray[Any]:
        X = load(case.dataset, folder, self.dtype)
        return X + X.dtype.type(self.shift) if self.shift else X

    def takes(self, case: Case) -> bool:
        return self.dtype != "uint8" or case.dataset == "mnist"


def fit_ours(X: NDArray[Any], case: Case, m: int, seed: int) -> tuple[NDArray[np.int64], dict[str, float]]:
    from onebatchpam import OneBatchPAM

    model = OneBatchPAM(
        case.k, metric=case.metric, batch_size=m, variant="nniw", refine=0, n_jobs=-1, random_state=seed
    ).fit(X)
    return model.medoid_indices_, model.fit_seconds_


def fit_onebatch(X: NDArray[Any], case: Case, m: int, seed: int) -> tuple[NDArray[np.int64], dict[str, float]]:
    return _fit_onebatch(X, case, m, seed, n_jobs=None)


def fit_onebatch_threads(X: NDArray[Any], case: Case, m: int, seed: int) -> tuple[NDArray[np.int64], dict[str, float]]:
    return _fit_onebatch(X, case, m, seed, n_jobs=-1)


def _fit_onebatch(
    X: NDArray[Any], case: Case, m: int, seed: int, n_jobs: int | None
) -> tuple[NDArray[np.int64], dict[str, float]]:
    import onebatch

    model = onebatch.OneBatchPAM(case.k, distance=case.metric, batch_size=m, n_jobs=n_jobs, random_state=seed).fit(X)
    return np.asarray(model.medoid_indices_), {}


CASES = (
    Case("mnist", "manhattan", 100),
    Case("mnist", "euclidean", 100),
    Case("letter", "manhattan", 100),
    Case("letter", "manhattan", 10),
)
SECTIONS = ("onebatch", *methods.SECTIONS)
BASELINE = "onebatch"
CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant(BASELINE, "float32", fit_onebatch),
        Contestant("onebatch, n_jobs=-1", "float32", fit_onebatch_threads),
        Contestant("onebatchpam", "float32", fit_ours),
        Contestant("onebatchpam, floats that are no bytes", "float32", fit_ours, shift=0.3),
        Contestant("onebatchpam, bytes", "uint8", fit_ours),
    )
}


def measure(announce: Announce, case: Case, name: str, seed: int, folder: Path) -> dict[str, Any]:
    """Run one contestant once; called in its process."""
    contestant = CONTESTANTS[name]
    keep_memory()
    X = contestant.data(case, folder)
    m = case.batch_size(len(X))
    seconds: list[float] = []
    while sum(seconds) < SECONDS_PER_TURN:
        start = time.perf_counter()
        medoids, stages = contestant.fit(X, case, m, seed)
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(seconds),
        "stages": stages,
        "objective": objective(load(case.dataset, folder), medoids, case.metric),
    }


def measure_peak(announce: Announce, case: Case, name: str, folder: Path) -> dict[str, Any]:
    """Do the same for the memory it takes; called in a fresh process."""
    contestant = CONTESTANTS[name]
    warm_up(contestant, case)
    before = read_resident_bytes()
    X = contestant.data(case, folder)
    m = case.batch_size(len(X))
    reset_peak()
    contestant.fit(X, case, m, 0)
    return {"peak_bytes": read_peak_bytes() - before, "needed_bytes": needed_bytes(X, m)}


def warm_up(contestant: Contestant, case: Case) -> None:
    """Fit something tiny: imports are no part of a fit."""
    small = np.random.default_rng(0).random((50, 4), dtype=np.float32)
    contestant.fit(small, Case("warm-up", case.metric, 2), 10, 0)


def needed_bytes(X: NDArray[Any], m: int) -> int:
    """Return the bytes of data and block."""
    return X.nbytes + 4 * len(X) * m


def run(arguments: argparse.Namespace) -> None:
    """Measure all cases of the sections and print a table for each."""

    def keep(record: dict[str, Any]) -> None:
        if arguments.records:
            with arguments.records.open("a") as file:
                file.write(json.dumps(record) + "\n")

    print(machine(), flush=True)
    for section in SECTIONS if arguments.section is None else [arguments.section]:
        if section == "onebatch":
            run_onebatch(arguments.seeds, arguments.only, arguments.data, keep)
        else:
            methods.run_section(section, arguments.seeds, arguments.only, arguments.data, keep)


def run_onebatch(seeds: int, only: str, folder: Path, keep: Callable[[dict[str, Any]], None]) -> None:
    """Measure whole fits of OneBatchPAM beside the authors' package."""
    if importlib.util.find_spec("onebatch") is None:
        raise ImportError("the package onebatch is not installed: pip install '.[bench]'")
    for case in (case for case in CASES if only in str(case)):
        names = [name for name, contestant in CONTESTANTS.items() if contestant.takes(case)]
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        with ExitStack() as stack:
            call = {name: stack.enter_context(open_process()) for name in names}
            for name in names:
                call[name](measure, case, name, 0, folder)  # the first fit of a process is not counted
            for seed in range(seeds):
                for name in names:
                    record = call[name](measure, case, name, seed, folder)
                    runs[name].append(record)
                    keep({"section": "onebatch", "case": str(case), "method": name, "seed": seed, **record})
        peaks = {name: run_alone(measure_peak, case, name, folder) for name in names}
        print(f"\n{case}\n{table(runs, peaks)}", flush=True)


def table(runs: dict[str, list[dict[str, Any]]], peaks: dict[str, dict[str, Any]]) -> str:
    """Return the medians of the runs as Markdown."""
    base_seconds = statistics.median(record["seconds"] for record in runs[BASELINE])
    base_objective = statistics.mean(record["objective"] for record in runs[BASELINE])
    lines = [
        "| | seconds | times faster | mean objective | peak memory | peak / (X + block) | stages |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, records in runs.items():
        seconds = statistics.median(record["seconds"] for record in records)
        mean = statistics.mean(record["objective"] for record in records)
        peak, needed = peaks[name]["peak_bytes"], peaks[name]["needed_bytes"]
        stages = {key: statistics.median(r["stages"][key] for r in records) for key in records[0]["stages"]}
        lines.append(
            f"| {name} | {seconds:.3f} | {base_seconds / seconds:.1f} | {mean:.6g} ({mean / base_objective - 1:+.2%}) "
            f"| {peak / 1e6:,.0f} MB | {peak / needed:.2f} "
            f"| {', '.join(f'{key} {value:.3f}' for key, value in stages.items())} |"
        )
    return "\n".join(lines)


def machine() -> str:
    """Say what is measured on."""
    from onebatchpam import _core

    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    packages = [name for name in PACKAGES if importlib.util.find_spec(name.replace("scikit-learn", "sklearn"))]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    return (
        f"{model}, {os.cpu_count()} processors, SIMD level {_core.simd_level()}, "
        f"Python {platform.python_version()}, {', '.join(versions)}"
    )


def add_command(commands: Any) -> None:
    """Add `speed` to the command line."""
    parser = commands.add_parser("speed", help="times, memory and objective of all methods, beside other packages")
    parser.add_argument("--section", choices=SECTIONS, help="only this section (all)")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains this text")
    parser.add_argument("--records", type=Path, help="append a JSON line for each run to this file")
    parser.set_defaults(run=run)
