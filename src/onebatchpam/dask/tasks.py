"""The tasks: functions that run where a partition is, and return a summary of its rows or a few of them.

Their first argument is a `Partition`; most others are the same for all partitions. Nothing here knows Dask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam import answers
from onebatchpam._draws import Batch, ring_clocks, sample_odds
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, as_kernels_read
from onebatchpam.dask.partition import GivenRows, Partition, join
from onebatchpam.metrics import Metric, MetricLike, resolve_metric
from onebatchpam.search import (
    ClusterProfile,
    are_within_reach,
    find_nearest,
    mean_losses,
    rank_members,
    smallest_of_each,
)
from onebatchpam.space import Distances, name_in


@dataclass(frozen=True)
class Description:
    """What the driver must know of a partition before the fit begins."""

    n_present: int  # number of rows with a positive weight
    weight: float  # total weight of the rows
    number: int  # position of the partition among all partitions
    n_candidates: int  # number of candidates with a positive weight
    candidate_weight: float  # total weight of the candidates
    head: Any  # the first row, in the form in which the user gave it
    summary: Any  # summary of the rows, from which the metric is fitted


def describe(partition: Partition, metric: MetricLike, params: Any) -> Description:
    """Check the rows of a partition and describe them."""
    resolved = resolve_metric(metric, params, sparse=scipy.sparse.issparse(partition.given))
    summary = partition.summarise(resolved)
    head = _safe_indexing(partition.given, np.arange(1))
    n_present, weight = int(np.count_nonzero(partition.weights)), float(partition.weights.sum())
    return Description(n_present, weight, partition.number, *count_candidates(partition), head, summary)


def are_complete(partition: Partition, metric: Metric) -> NDArray[np.bool_]:
    """Tell which rows of the partition lack no value that most rows have."""
    return metric.are_complete(partition.read(metric))


def count_candidates(partition: Partition) -> tuple[int, float]:
    """Return the number of candidates with a positive weight, and their total weight."""
    weights = partition.weights[partition.are_candidates]
    return int(np.count_nonzero(weights)), float(weights.sum())


def take_all(partition: Partition) -> GivenRows:
    """Return all rows of the partition."""
    return partition.take(np.arange(partition.n))


def take_some(partition: Partition, indices: Indices) -> GivenRows:
    """Return the rows with these indices; rows of other partitions are left out."""
    return partition.take(partition.find(indices))


@dataclass(frozen=True)
class Drawn:
    """Rows whose exponential clocks rang, the times at which they rang, and the rates of the clocks; see `_draws`."""

    rows: GivenRows
    clocks: NDArray[np.float64]
    rates: NDArray[np.float64]


@dataclass(frozen=True)
class Totals:
    """Sums over all rows, by which each partition knows the odds of its rows to be drawn to the sample."""

    weight: float
    far: float  # weight times distance to the first medoids
    candidate_weight: float | None  # None if all rows are candidates


def measure_far(partition: Partition, metric: Metric, first: GivenRows) -> NDArray[np.float64]:
    """Return the weight of each row times its distance to the nearest of the first medoids."""
    assignment = find_nearest(partition.distances_from(metric, first.rows), partition.weights)
    return np.asarray(assignment.distances * partition.weights, np.float64)


def sum_up_far(partition: Partition, far: NDArray[np.float64]) -> float:
    """Return the sum of what `measure_far` found."""
    return float(far.sum())


def draw_candidates(partition: Partition, seed: int, until: float) -> Drawn:
    """Return the candidates whose clocks ring before the time `until`; the rate of a clock is the weight of the row."""
    return ring(partition, np.where(partition.are_candidates, partition.weights, 0), seed, until)


def draw_sample(partition: Partition, far: NDArray[np.float64], totals: Totals, seed: int, until: float) -> Drawn:
    """Return the rows whose clocks ring before the time `until`, by the odds of a sample that stands for all rows."""
    known = (partition.weights, totals.weight, far, totals.far)
    if totals.candidate_weight is None:
        rates = sample_odds(*known)
    else:
        rates = sample_odds(*known, partition.are_candidates, totals.candidate_weight)
    return ring(partition, np.where(partition.weights > 0, rates, 0), seed, until)


def ring(partition: Partition, rates: NDArray[np.float64], seed: int, until: float) -> Drawn:
    """Return the rows whose clocks, which have these rates, ring before the time `until`; a rate of 0 means never."""
    clocks = ring_clocks(rates, np.random.default_rng([seed, partition.number]))
    rung = np.flatnonzero(clocks < until)
    return Drawn(partition.take(rung), clocks[rung], rates[rung])


@dataclass(frozen=True)
class RankedRows:
    """Candidates, each with the slot of the medoid whose place it might take and a score: the smaller, the better."""

    rows: GivenRows
    slots: NDArray[Any]
    scores: NDArray[np.float64]

    def take(self, places: Indices) -> RankedRows:
        """Return the candidates at these positions, in this order."""
        return RankedRows(self.rows.take(places), self.slots[places], self.scores[places])

    @classmethod
    def join(cls, parts: list[RankedRows | None]) -> RankedRows | None:
        """Return the candidates of all parts, one part after the other; None if all parts are None."""
        known = [part for part in parts if part is not None]
        if not known:
            return None
        return cls(
            join([part.rows for part in known]),
            np.concatenate([part.slots for part in known]),
            np.concatenate([part.scores for part in known]),
        )


def merge_best(parts: list[RankedRows | None], count: int) -> RankedRows | None:
    """Return, for each medoid, the best candidates of several partitions; None if all partitions are empty."""
    joined = RankedRows.join(parts)
    return None if joined is None else joined.take(np.sort(smallest_of_each(joined.slots, joined.scores, count)))


@dataclass(frozen=True)
class JudgeRows:
    """The judges of one cluster, in the form that is sent to the partitions; see `search.candidates.Judges`."""

    points: GivenRows  # their weights make them a sample of the cluster
    second_distances: NDArray[np.float32]  # distance of each judge to its second nearest medoid
    reach: float = math.inf  # members that are farther from the medoid than this are not judged


def best_members(
    partition: Partition, metric: Metric, medoids: Any, judges: dict[int, JudgeRows], tried: Indices
) -> RankedRows:
    """Return, for each judged cluster, the few untried members with the smallest mean loss over its judges."""
    rows = partition.read(metric)
    nearest = find_nearest(partition.distances_from(metric, medoids, rows), partition.weights)
    reaches = {slot: each.reach for slot, each in judges.items()}
    is_judged = are_within_reach(nearest.labels, nearest.distances, reaches)
    is_judged &= (partition.weights > 0) & partition.are_candidates
    is_judged[partition.find(tried)] = False

    def judge(slot: int, members: Indices) -> NDArray[np.float64]:
        points, indices, chosen = judges[slot].points, partition.indices[members], rows.take(members)
        distances = Distances(
            chosen,
            metric.pack(metric.read(points.rows, "X"), chosen, 1),
            name_row=name_in("X", indices),
            name_column=name_in("X", points.indices),
        )
        # Arrays that came over the network lie anywhere in the buffer of their message, and may not be aligned.
        batch = Batch(points.indices, as_kernels_read(points.weights, np.float64))
        second_distances = as_kernels_read(judges[slot].second_distances, np.float32)
        return mean_losses(distances, indices, batch, second_distances, 1)

    ranked = rank_members(nearest.labels, is_judged, judge)
    return RankedRows(partition.take(ranked.indices), ranked.slots, ranked.scores)


@dataclass(frozen=True)
class Assessment:
    """How well a set of medoids represents the rows of a partition, or all rows."""

    inertia: float
    profile: ClusterProfile  # weight and distances of each cluster
    farthest: GivenRows  # the row farthest from its nearest medoid that is not a medoid itself
    distance: float  # distance of that row to its nearest medoid


def assess(partition: Partition, metric: Metric, medoid_sets: list[GivenRows]) -> list[Assessment]:
    """Return the assessment of each set of medoids on the partition."""
    assessments = []
    for medoids in medoid_sets:
        assignment = find_nearest(partition.distances_from(metric, medoids.rows), partition.weights)
        is_present = partition.weights > 0
        distances = np.where(is_present & partition.are_candidates, assignment.distances, 0)
        distances[partition.find(medoids.indices)] = 0  # a row that is a medoid must not become one twice
        farthest = int(np.argmax(distances))
        profile = assignment.profile(medoids.rows.shape[0])
        row = partition.take(np.array([farthest]))
        assessments.append(Assessment(assignment.inertia, profile, row, float(distances[farthest])))
    return assessments


def sum_up(parts: list[Assessment]) -> Assessment:
    """Return the assessment of a set of medoids on all partitions together."""
    farthest = max(parts, key=lambda part: part.distance)
    profile = ClusterProfile.join([part.profile for part in parts])
    return Assessment(sum(part.inertia for part in parts), profile, farthest.farthest, farthest.distance)


def label_rows(partition: Partition, metric: Metric, medoids: Any) -> NDArray[np.int32]:
    """Return the label of each row: the position of its nearest medoid."""
    return find_nearest(partition.distances_from(metric, medoids), partition.weights).labels


def distances_of_rows(partition: Partition, metric: Metric, medoids: Any) -> NDArray[Any]:
    """Return the dissimilarity of each row to its nearest medoid."""
    return find_nearest(partition.distances_from(metric, medoids), partition.weights).distances


def assess_each_row(partition: Partition, metric: Metric, medoids: Any) -> NDArray[Any]:
    """Return the assessment of each row, as an array with a named field for each of its attributes."""
    assessment = answers.assess(partition.distances_from(metric, medoids), Stages())
    table = np.empty(partition.n, type_of_assessment(assessment.distances.dtype, medoids.shape[0]))
    for name in table.dtype.names:
        table[name] = getattr(assessment, name)
    return table


def type_of_assessment(distances: np.dtype[Any], k: int) -> np.dtype[Any]:
    """Return the type of an array of assessed rows, given the type of their distances to k medoids."""
    nearest = [("labels", np.int32), ("distances", distances)]
    second = [("second_labels", np.int32), ("second_distances", distances), ("silhouettes", np.float64)]
    return np.dtype([*nearest, *(second if k > 1 else [])])


def transform_rows(partition: Partition, metric: Metric, medoids: Any) -> NDArray[Any]:
    """Return the dissimilarities of each row to the medoids."""
    return partition.distances_from(metric, medoids).compute()
