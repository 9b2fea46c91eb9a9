"""The tasks of a statistical bound: drawing its points, and pricing the rows of a partition as candidates.

Rows of weight zero count as absent. A task returns None for a partition that has no other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, as_kernels_read
from onebatchpam.blocks import RecomputedBlock
from onebatchpam.bounds import Multipliers, Solution, choose_ceilings, compare_rows, find_wanted
from onebatchpam.dask.partition import GivenRows, Partition, join
from onebatchpam.dask.tasks import RankedRows
from onebatchpam.metrics import Metric
from onebatchpam.search import ClusterProfile
from onebatchpam.space import Distances, name_in


@dataclass(frozen=True)
class Judged:
    """The rows of a partition that have a positive weight, and how far they are from the medoids."""

    places: Indices  # positions of these rows in the partition
    solution: Solution


def compare(
    partition: Partition, places: Indices, metric: Metric, columns: GivenRows, *, rows_first: bool = True
) -> Distances:
    """Return the dissimilarities of these rows of a partition to others, or from others if `rows_first` is False."""
    rows = partition.read(metric)
    chosen = rows if len(places) == rows.n else rows.choose(places)
    return Distances(
        chosen,
        metric.pack(metric.read(columns.rows, "X"), chosen, 1, rows_first=rows_first),
        name_row=name_in("X", partition.indices[places]),
        name_column=name_in("X", columns.indices),
    )


def judge(partition: Partition, metric: Metric, medoids: GivenRows, n_fixed: int) -> Judged | None:
    """Compare the rows of a partition with the medoids, of which the first ones are fixed."""
    places = np.flatnonzero(partition.weights)
    if len(places) == 0:
        return None
    distances = compare(partition, places, metric, medoids, rows_first=False)
    return Judged(places, compare_rows(distances, medoids.indices, n_fixed, partition.weights[places], Stages()))


def on_judged(task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task that gets what `judge` has found, and returns None where that is None."""

    @wraps(task)
    def run(partition: Partition, judged: Judged | None, *told: Any) -> Any:
        return None if judged is None else task(partition, judged, *told)

    return run


@on_judged
def measure(partition: Partition, judged: Judged) -> tuple[float, ClusterProfile]:
    """Return the objective over the rows of the partition, and the weight and the distances of each cluster."""
    return judged.solution.objective, judged.solution.profile


@on_judged
def sum_odds(partition: Partition, judged: Judged, profile: ClusterProfile) -> tuple[int, float]:
    """Return the number of the partition, and the sum of weight times ceiling over its rows."""
    return partition.number, float(find_odds(partition, judged, choose_ceilings(judged.solution, profile)).sum())


def find_odds(partition: Partition, judged: Judged, ceilings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the odds of each row to be drawn as a point."""
    return partition.weights[judged.places] * ceilings


@dataclass(frozen=True)
class DrawnPoints:
    """Distinct rows that were drawn as points, and how often; the rest is as in `bounds.Served`."""

    rows: GivenRows
    counts: NDArray[np.int64]
    ceilings: NDArray[np.float64]
    nearest: NDArray[Any]
    second: NDArray[Any]
    to_fixed: NDArray[Any]

    @classmethod
    def join(cls, parts: list[DrawnPoints]) -> DrawnPoints:
        """Return the points of all parts, one part after the other."""
        names = ("counts", "ceilings", "nearest", "second", "to_fixed")
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in names)
        return cls(join([part.rows for part in parts]), *columns)


@on_judged
def draw_points(
    partition: Partition, judged: Judged, profile: ClusterProfile, n_draws: NDArray[np.int64], seed: int
) -> DrawnPoints | None:
    """Draw rows with replacement, by weight times ceiling; `n_draws` holds the number of draws of each partition."""
    if n_draws[partition.number] == 0:
        return None
    solution = judged.solution
    ceilings = choose_ceilings(solution, profile)
    odds = find_odds(partition, judged, ceilings)
    rng = np.random.default_rng([seed, partition.number])
    drawn, counts = np.unique(rng.choice(len(odds), n_draws[partition.number], p=odds / odds.sum()), return_counts=True)
    of_points = (values[drawn] for values in (ceilings, solution.nearest, solution.second, solution.to_fixed))
    return DrawnPoints(partition.take(judged.places[drawn]), counts, *of_points)


@on_judged
def price(
    partition: Partition, judged: Judged, metric: Metric, points: GivenRows, multipliers: Multipliers
) -> RankedRows:
    """Price the rows of a partition as candidates; return those that the core of the dual may want, cheapest first."""
    distances = compare(partition, judged.places, metric, points)
    # The block is asked for nothing but these distances, so that it need not compare others.
    block = RecomputedBlock.keeping_nothing(lambda *_: distances, np.arange(len(points)), None)
    # Arrays that came over the network lie anywhere in the buffer of their message, and may not be aligned.
    weights, caps = as_kernels_read(points.weights, np.float64), as_kernels_read(multipliers, np.float32)
    sums = block.weighted_sums(weights, 1, caps)
    labels = judged.solution.labels
    wanted = find_wanted(labels, sums, len(judged.solution.medoids))
    return RankedRows(partition.take(judged.places[wanted]), labels[wanted], sums[wanted])


def merge_cheapest(parts: list[RankedRows | None], k: int) -> RankedRows | None:
    """Return the candidates of several partitions that the core of k medoids may want, cheapest first."""
    joined = RankedRows.join(parts)
    return None if joined is None else joined.take(find_wanted(joined.slots, joined.scores, k))
