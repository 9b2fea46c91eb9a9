"""Two sections of `python -m bench speed`: FasterPAM beside the package `kmedoids`, and all methods of this package.

Every run has a process of its own. Time covers the call only, on memory that the process has used before; objectives
are computed here, in float64, from the medoids that were returned; memory, in another process, is the peak during the
call beyond that before the data were loaded.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load
from bench.measure.memory import keep_memory, read_peak_bytes, read_resident_bytes, reset_peak, touch_memory
from bench.measure.process import Announce, run_alone

SWAP_PHASE = "swap search"
MEMORY_TO_TOUCH = 10**9  # more than a method holds that does not hold all pairs

Found = tuple[NDArray[np.int64], dict[str, float], int]  # medoids, seconds of the stages, dissimilarities


@dataclass(frozen=True)
class Problem:
    """Data, metric and number of medoids."""

    dataset: str
    metric: str
    k: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.metric}, k = {self.k}"

    def rows(self, folder: Path, bytes_if_stored: bool = True) -> NDArray[Any]:
        is_image = self.dataset == "mnist"
        return load(self.dataset, folder, "uint8" if is_image and bytes_if_stored else "float32")


@dataclass(frozen=True)
class Method:
    """A way to choose medoids of X; `takes` says which problems it can solve in time and memory."""

    name: str
    fit: Callable[[NDArray[Any], Problem, int], Found]
    takes: Callable[[Problem], bool] = lambda problem: True
    bytes_per_pair: int = 0  # of rows, if it holds them all


def first_medoids(n: int, k: int, seed: int) -> NDArray[np.int64]:
    """Draw the medoids from which the contestants start, the same for all."""
    return np.random.RandomState(seed).choice(n, k, replace=False)


def ours(class_name: str, **parameters: Any) -> Callable[[NDArray[Any], Problem, int], Found]:
    """Return a fit by an estimator of this package."""

    def fit(X: NDArray[Any], problem: Problem, seed: int) -> Found:
        import onebatchpam

        estimator = getattr(onebatchpam, class_name)
        model = estimator(problem.k, metric=problem.metric, n_jobs=-1, random_state=seed, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BanditPAM is stopped on purpose
            model.fit(X)
        return model.medoid_indices_, model.fit_seconds_, model.n_distances_

    return fit


def fit_fasterpam(X: NDArray[Any], problem: Problem, seed: int) -> Found:
    return ours("FasterPAM", init=first_medoids(len(X), problem.k, seed))(X, problem, seed)


def fit_kmedoids(X: NDArray[Any], problem: Problem, seed: int) -> Found:
    """Run `kmedoids.fasterpam` as its users do: on the distances of scikit-learn, with all processors for both."""
    import kmedoids
    from sklearn.metrics import pairwise_distances

    start = time.perf_counter()
    matrix = pairwise_distances(X, metric=problem.metric, n_jobs=-1)
    between = time.perf_counter()
    found = kmedoids.fasterpam(matrix, first_medoids(len(X), problem.k, seed).astype(np.uint64))
    stages = {"distances": between - start, SWAP_PHASE: time.perf_counter() - between}
    return found.medoids.astype(np.int64), stages, len(X) ** 2


def is_not_mnist(problem: Problem) -> bool:
    return problem.dataset != "mnist"


def is_small(problem: Problem) -> bool:
    return problem.dataset != "mnist" and problem.k <= 10


PROBLEMS = (
    Problem("letter", "manhattan", 10),
    Problem("letter", "manhattan", 100),
    Problem("mnist", "manhattan", 10),
    Problem("mnist", "manhattan", 100),
)
FASTERPAM = (
    # Not mnist: its distances are 2.8e12 comparisons of features, for which scikit-learn takes many minutes.
    Method("kmedoids", fit_kmedoids, is_not_mnist, bytes_per_pair=4),
    Method("FasterPAM", fit_fasterpam, bytes_per_pair=4),
)

METHODS = (
    Method("FasterPAM", ours("FasterPAM"), bytes_per_pair=4),
    Method("OneBatchPAM", ours("OneBatchPAM")),
    Method("FasterCLARA-5", ours("FasterCLARA", n_samplings=5)),
    Method("FasterCLARA-50", ours("FasterCLARA", n_samplings=50)),
    Method("Alternate", ours("Alternate")),
    Method("KMeansPlusPlus", ours("KMeansPlusPlus")),
    Method("LSKMeansPlusPlus-5", ours("LSKMeansPlusPlus", n_swaps=5)),
    Method("LSKMeansPlusPlus-10", ours("LSKMeansPlusPlus", n_swaps=10)),
    Method("KMC2-20", ours("KMC2", chain_length=20)),
    Method("KMC2-200", ours("KMC2", chain_length=200)),
    Method("RandomMedoids", ours("RandomMedoids")),
    Method("BanditPAM-0", ours("BanditPAM", max_iter=0), is_small),
    Method("BanditPAM-5", ours("BanditPAM", max_iter=5), is_small),
)

SECTIONS = {
    "fasterpam": (PROBLEMS, FASTERPAM, "kmedoids"),
    "methods": (PROBLEMS, METHODS, "banditpam"),
}


def measure(announce: Announce, section: str, name: str, problem: Problem, seed: int, folder: Path) -> dict[str, Any]:
    """Run one method once; called in a fresh process."""
    from bench.measure.objective import objective

    keep_memory()
    method = warmed_up(section, name, problem)
    X = problem.rows(folder, bytes_if_stored=name != "kmedoids")
    touch_memory(MEMORY_TO_TOUCH + method.bytes_per_pair * len(X) ** 2)
    start = time.perf_counter()
    medoids, stages, n_distances = method.fit(X, problem, seed)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "stages": stages,
        "n_distances": n_distances,
        "objective": objective(load(problem.dataset, folder), medoids, problem.metric),
    }


def measure_peak(announce: Announce, section: str, name: str, problem: Problem, folder: Path) -> dict[str, Any]:
    """Do the same for the memory it takes; called in a fresh process."""
    method = warmed_up(section, name, problem)
    before = read_resident_bytes()
    X = problem.rows(folder, bytes_if_stored=name != "kmedoids")
    reset_peak()
    method.fit(X, problem, 0)
    return {"peak_bytes": read_peak_bytes() - before}


def warmed_up(section: str, name: str, problem: Problem) -> Method:
    """Return a method after it has solved something tiny: imports are no part of a fit."""
    method = next(method for method in SECTIONS[section][1] if method.name == name)
    small = np.random.default_rng(0).random((60, 4), dtype=np.float32)
    method.fit(small, Problem("warm-up", problem.metric, 2), 0)
    return method


def run_section(section: str, seeds: int, only: str, folder: Path, keep: Callable[[dict[str, Any]], None]) -> None:
    """Measure a section and print a table for each problem; `keep` gets the record of each run."""
    problems, methods, package = SECTIONS[section]
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"the package {package} is not installed: pip install '.[bench]'")
    for problem in (problem for problem in problems if only in str(problem)):
        names = [method.name for method in methods if method.takes(problem)]
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for seed in range(seeds):
            for name in names:
                record = run_alone(measure, section, name, problem, seed, folder)
                runs[name].append(record)
                keep({"section": section, "case": str(problem), "method": name, "seed": seed, **record})
        peaks = {name: run_alone(measure_peak, section, name, problem, folder)["peak_bytes"] for name in names}
        print(f"\n{problem}\n{table(runs, peaks)}", flush=True)


def table(runs: dict[str, list[dict[str, Any]]], peaks: dict[str, int]) -> str:
    """Return the medians of the runs as Markdown: speed beside the first method, objectives beside the lowest mean."""

    def median(records: list[dict[str, Any]], key: str) -> float:
        return statistics.median(record[key] for record in records)

    first, *_ = runs
    first_stages = stage_medians(runs[first])
    means = {name: statistics.mean(record["objective"] for record in records) for name, records in runs.items()}
    best = min(means.values())
    lines = [
        f"| | seconds | times faster than {first} | its swap phase | mean objective | dissimilarities | peak memory "
        "| stages |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, records in runs.items():
        seconds, stages = median(records, "seconds"), stage_medians(records)
        has_swaps = SWAP_PHASE in stages and SWAP_PHASE in first_stages
        swap_ratio = f"{first_stages[SWAP_PHASE] / stages[SWAP_PHASE]:.1f}" if has_swaps else ""
        lines.append(
            f"| {name} | {seconds:.3f} | {median(runs[first], 'seconds') / seconds:.1f} | {swap_ratio} "
            f"| {means[name]:.6g} ({means[name] / best - 1:+.2%}) "
            f"| {median(records, 'n_distances'):.3g} | {peaks[name] / 1e6:,.0f} MB "
            f"| {', '.join(f'{key} {value:.3f}' for key, value in stages.items())} |"
        )
    return "\n".join(lines)


def stage_medians(records: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median seconds of each stage."""
    keys = dict.fromkeys(key for record in records for key in record["stages"])
    return {key: statistics.median(record["stages"].get(key, 0.0) for record in records) for key in keys}
