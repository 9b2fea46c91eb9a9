"""One partition compared with medoids: which is nearest to each row, and which rows would be better ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._assign import Assignment, nearest_medoids
from onebatchpam._distances import Indices
from onebatchpam._metrics import Metric
from onebatchpam._partition import Partition, Sample, name_in, pairs_named
from onebatchpam._progress import Stages
from onebatchpam._refine import mean_losses_of, smallest_of_each
from onebatchpam._tiles import Columns, fill_all


@dataclass(frozen=True)
class ClusterPoints:
    """Some points of each cluster, by which its members are judged."""

    rows: Any  # as given
    numbers: Indices
    slots: NDArray[np.int32]  # the cluster of each
    weights: NDArray[np.float64]
    second_distances: NDArray[np.float32]  # to the medoid that is left if that of the cluster goes


def best_members(
    partition: Partition, metric: Metric, medoids: Sample, points: ClusterPoints, n_fixed: int, count: int
) -> Sample:
    """Return for each cluster the few members with the smallest mean loss over its points, which is their key."""
    rows, slots = partition.rows(metric), assign_rows(partition, metric, medoids.rows).labels
    keys = np.full(partition.n, np.inf)
    compared = metric.check(points.rows, "X")
    for slot in np.intersect1d(slots, points.slots[points.slots >= n_fixed]):
        members, chosen = np.flatnonzero(slots == slot), np.flatnonzero(points.slots == slot)
        numbers = partition.first + members
        with pairs_named(name_in(numbers), name_in(points.numbers[chosen])):
            keys[members] = mean_losses_of(
                metric.to(compared[chosen], rows[members], 1),
                numbers,
                points.numbers[chosen],
                points.weights[chosen],
                points.second_distances[chosen],
                1,
            )
    keys[partition.weights == 0] = np.inf
    keys[partition.places_of(medoids.numbers)] = np.inf
    possible = np.flatnonzero(keys < np.inf)
    best = possible[smallest_of_each(slots[possible], keys[possible], count)]
    return partition.take(np.sort(best), keys, slots)


@dataclass(frozen=True)
class Assessment:
    """How well a set of medoids does on a partition."""

    inertia: float
    sizes: NDArray[np.int64]  # of the clusters
    farthest: Sample  # the row farthest from all medoids; the key is minus its distance


def assess(partition: Partition, metric: Metric, medoid_sets: list[Any]) -> list[Assessment]:
    """Assign all rows to each of some sets of medoids."""
    return [_assess(partition, assign_rows(partition, metric, each), each.shape[0]) for each in medoid_sets]


def _assess(partition: Partition, assignment: Assignment, k: int) -> Assessment:
    distances = np.where(partition.weights > 0, assignment.distances, 0)
    farthest = partition.take(np.array([np.argmax(distances)]), -distances)
    return Assessment(assignment.inertia, np.bincount(assignment.labels, minlength=k), farthest)


def assign_rows(partition: Partition, metric: Metric, medoids: Any) -> Assignment:
    """Assign all rows to the nearest of these medoids."""
    with pairs_named(name_in(partition.numbers), name_medoid):
        return nearest_medoids(_to_medoids(partition.given, metric, medoids), partition.weights, Stages())


def name_medoid(column: int) -> str:
    """Return what names a medoid."""
    return f"medoid {column}"


def _to_medoids(given: Any, metric: Metric, medoids: Any) -> Columns:
    rows = metric.check(given, "X")
    return metric.comparing(rows).to_medoids(metric.check(medoids, "medoids"), rows, 1)


def label_rows(given: Any, metric: Metric, medoids: Any) -> NDArray[np.int32]:
    """Return the nearest of these medoids for each row."""
    n = given.shape[0]
    if n == 0:
        return np.empty(0, np.int32)
    with pairs_named(name_in_partition, name_medoid):
        return nearest_medoids(_to_medoids(given, metric, medoids), np.ones(n), Stages()).labels


def transform_rows(given: Any, metric: Metric, medoids: Any) -> NDArray[Any]:
    """Return the dissimilarities of each row to these medoids."""
    if given.shape[0] == 0:
        return np.empty((0, medoids.shape[0]), np.float32)
    columns = _to_medoids(given, metric, medoids)
    out = np.empty((columns.n_rows, columns.n_columns), columns.dtype)
    with pairs_named(name_in_partition, name_medoid):
        return fill_all(columns, out, Stages(), "distances")


def name_in_partition(row: int) -> str:
    """Return what names a row of a partition that does not know its place."""
    return f"row {row} of the partition"
