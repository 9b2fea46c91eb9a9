"""The words of every measurement: a `Problem` is given to a `Contestant`, which returns an `Answer`."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Solve = Callable[["Problem"], "Answer"]


@dataclass(frozen=True)
class Problem:
    """The rows to cluster, and everything else that a contestant is told."""

    X: NDArray[Any]  # (n, p), or (n, n) distances if the metric is "precomputed"
    k: int
    metric: str
    seed: int
    threads: int

    @property
    def n(self) -> int:
        return len(self.X)

    def paper_batch_size(self) -> int:
        """Return the paper's m."""
        return min(self.n, int(100 * math.log(self.k * self.n)))

    def draw_start(self) -> Indices:
        """Draw k rows by the seed: contestants that must start alike start from these."""
        return np.random.RandomState(self.seed).choice(self.n, self.k, replace=False)


@dataclass(frozen=True)
class Answer:
    """The medoids that a contestant chose, and what it says about its work."""

    medoids: Indices
    stages: dict[str, float] = field(default_factory=dict)  # seconds by the name of the stage
    n_distances: int | None = None  # None if the contestant does not count
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Contestant:
    """A way to choose medoids. It can be pickled, so that it can run in a process of its own."""

    name: str
    solve: Solve
    kind: str  # "paper": a row of its tables, "ours", or "peer"
    package: str = "onebatchpam"  # the package that must be installed
    metrics: tuple[str, ...] | None = None  # None: all metrics
    paper_row: str | None = None  # the row of the paper's tables that is comparable
    matrix_bytes: int = 0  # bytes per entry of the n x n matrix, if the contestant holds one
    labels_last: bool = True  # whether it labels all rows only after it has chosen, not to choose

    def estimate_memory(self, problem: Problem) -> int:
        """Return about how many bytes a call uses: the data, and a matrix or three times a float32 block."""
        return problem.X.nbytes + problem.n * (self.matrix_bytes * problem.n or 3 * 4 * problem.paper_batch_size())

    def explain_absence(self) -> str | None:
        """Say which package is missing; None if the contestant can run."""
        if importlib.util.find_spec(self.package) is None:
            return f"the package {self.package} is not installed"
        return None


def require_installed(contestants: Iterable[Contestant]) -> None:
    """Raise ImportError unless every contestant can run."""
    for contestant in contestants:
        reason = contestant.explain_absence()
        if reason is not None:
            raise ImportError(f"{reason}: pip install --group bench")
