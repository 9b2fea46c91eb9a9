"""`python -m bench estimate`: what `estimate_cost` says before a fit, beside what the fit takes.

Each case is estimated from the size of its data, or from the rows if the metric compares text or is a function, and
then fitted, both in this process. A ratio above 1 means that the fit took more than was estimated.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.data.synthetic import make_gaussian, make_mixture
from onebatchpam import CostEstimate, OneBatchPAM

LETTERS = np.array(list("ACGT"))


@dataclass(frozen=True)
class Case:
    """Data of n rows of p features, or letters; the number of medoids, the metric and other parameters of the fit."""

    make: Callable[[np.random.RandomState, int, int], Any]
    n: int
    p: int
    k: int
    metric: Any
    memory_limit: str | None = None

    def __str__(self) -> str:
        metric = self.metric if isinstance(self.metric, str) else "Python function"
        kind = self.make.__name__.removeprefix("make_").replace("_", " ")
        limit = "" if self.memory_limit is None else f", {self.memory_limit}"
        return f"{kind} | {self.n:,} | {self.p} | {self.k:,} | {metric}{limit}"


def make_words(rng: np.random.RandomState, n: int, p: int) -> list[str]:
    """Return random words of about p letters."""
    lengths = rng.randint(max(1, p // 2), p + p // 2 + 1, size=n)
    return ["".join(LETTERS[rng.randint(4, size=length)]) for length in lengths]


def largest_difference(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max())


def list_cases(scale: float) -> Iterator[Case]:
    """Return the cases, with their numbers of rows multiplied by `scale`."""
    for make in (make_mixture, make_gaussian):
        for n, p, k in [(3_000, 10, 8), (10_000, 20, 50), (50_000, 10, 8), (100_000, 20, 100), (100_000, 100, 30)]:
            yield Case(make, int(n * scale), p, k, "euclidean")
    for metric in ("manhattan", "cosine", "canberra"):
        yield Case(make_mixture, int(20_000 * scale), 50, 100, metric)
    yield Case(make_mixture, int(300_000 * scale), 16, 30, "manhattan")
    yield Case(make_mixture, int(300_000 * scale), 16, 30, "manhattan", "500MB")
    yield Case(make_mixture, int(100_000 * scale), 50, 100, "euclidean", "100MB")
    yield Case(make_mixture, int(50_000 * scale), 50, 500, "euclidean")
    yield Case(make_words, int(5_000 * scale), 20, 20, "levenshtein")
    yield Case(make_words, int(20_000 * scale), 60, 50, "levenshtein")
    yield Case(make_mixture, int(1_500 * scale), 5, 10, largest_difference)


@dataclass(frozen=True)
class Comparison:
    """An estimate and the fit that followed."""

    estimate: CostEstimate
    model: OneBatchPAM
    seconds: float

    @property
    def ratio(self) -> float:
        """The seconds of the fit, as a multiple of those estimated."""
        return self.seconds / self.estimate.total_seconds

    @property
    def ratio_of_distances(self) -> float:
        """The dissimilarities of the fit, as a multiple of those estimated."""
        return float(self.model.n_distances_ / self.estimate.n_distances)


def compare(case: Case, seed: int) -> Comparison:
    """Estimate the cost of a case, and fit it."""
    X = case.make(np.random.RandomState(seed), case.n, case.p)
    is_array = isinstance(X, np.ndarray) and isinstance(case.metric, str)
    X = X.astype(np.float32) if is_array else X
    model = OneBatchPAM(case.k, metric=case.metric, memory_limit=case.memory_limit, random_state=seed)
    estimate = model.estimate_cost(X.shape, dtype="float32") if is_array else model.estimate_cost(X)
    began = time.perf_counter()
    model.fit(X)
    return Comparison(estimate, model, time.perf_counter() - began)


def run_cases(arguments: argparse.Namespace) -> None:
    """Compare all cases, and print a table and how far off the estimates are."""
    print("| data | n | p | k | metric | block | estimated s | fit s | ratio | distances, ratio |")
    print(f"|{'---|' * 5}---|---:|---:|---:|---:|")
    found = []
    for case in list_cases(arguments.scale):
        for seed in range(arguments.seeds):
            result = compare(case, seed)
            found.append(result)
            print(
                f"| {case} | {result.model.block_storage_} "
                f"| {result.estimate.total_seconds:.2f} | {result.seconds:.2f} "
                f"| {result.ratio:.2f} | {result.ratio_of_distances:.2f} |",
                flush=True,
            )
    print(describe([each.ratio for each in found], "seconds"))
    print(describe([each.ratio_of_distances for each in found], "dissimilarities"))
    n_right = sum(each.estimate.block_storage == each.model.block_storage_ for each in found)
    print(f"block storage: right in {n_right} of {len(found)}")


def describe(ratios: list[float], what: str) -> str:
    """Return a line on ratios: how far off a usual one and the worst one are, in either direction."""
    factors = [math.exp(abs(math.log(ratio))) for ratio in ratios]
    within = sum(factor <= 2 for factor in factors)
    return (
        f"{what}: off by a factor of {statistics.median(factors):.2f} in the median, {max(factors):.2f} at most; "
        f"{within} of {len(factors)} within a factor of 2"
    )


def add_command(commands: Any) -> None:
    """Add `estimate` to the command line."""
    parser = commands.add_parser("estimate", help="what estimate_cost says, beside what fits take")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for the numbers of rows (%(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="data sets and fits of each case (%(default)s)")
    parser.set_defaults(run=run_cases)
