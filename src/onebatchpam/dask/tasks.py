"""What is done with one partition, wherever it is: its rows stay, a summary or a few rows go out."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam import _core
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.blocks import BlockScan
from onebatchpam.dask.partition import BatchPoints, Partition, Sample, join, name_in, pairs_named
from onebatchpam.data import TableColumn, check_table, columns_of
from onebatchpam.metrics import (
    Columns,
    Gower,
    Metric,
    MetricLike,
    Rows,
    check_distances,
    fill_all,
    only_column,
    resolve_metric,
    summarise,
)
from onebatchpam.search import Assignment, mean_losses_of, nearest_medoids, smallest_of_each


@dataclass(frozen=True)
class Description:
    """What is to be known of a partition before anything else."""

    n_present: int  # rows that have a weight
    weight: float
    head: Any  # its first row
    columns: list[TableColumn] | None  # of a mixed table, what they range over


def describe(partition: Partition, metric: MetricLike, params: Any) -> Description:
    """Check the rows of a partition."""
    resolved = resolve_metric(metric, params, sparse=scipy.sparse.issparse(partition.given))
    present = np.flatnonzero(partition.weights)
    columns = None
    if isinstance(resolved, Gower):
        table = _safe_indexing(check_table(partition.given, "X", None), present)
        columns = [summarise(column, resolved.kinds) for column in columns_of(table)]
    else:
        partition.rows(resolved)
    head = _safe_indexing(partition.given, np.arange(1))
    return Description(len(present), float(partition.weights.sum()), head, columns)


def take_all(partition: Partition) -> Sample:
    """Return all rows."""
    return partition.take(np.arange(partition.n))


def take_numbers(partition: Partition, numbers: Indices) -> Sample:
    """Return the rows with these numbers that are here."""
    return partition.take(partition.places_of(numbers))


def draw(
    partition: Partition, scan: BlockScan | None, exclude: Indices, seed: int, until: float
) -> tuple[Sample, NDArray[np.float64]]:
    """Return the rows whose exponential clock rings before this time, and the rates of their clocks.

    The rate is the weight, times the distance to the batch if there is one. Of all partitions together, the rows whose
    clocks ring first are a sample without replacement.
    """
    rates = partition.weights.copy() if scan is None else partition.weights * scan.distances
    rates[partition.places_of(exclude)] = 0
    clocks = np.random.default_rng([seed, partition.number]).standard_exponential(partition.n)
    with np.errstate(divide="ignore"):
        clocks /= rates
    rung = np.flatnonzero(clocks < until)
    return partition.take(rung, clocks), rates[rung]


def scan(partition: Partition, before: BlockScan | None, batch: BatchPoints, first_point: int) -> BlockScan:
    """Compare all rows with the batch points from this one on, those before having been seen."""
    found = BlockScan(partition.n, 1) if before is None else copy.deepcopy(before)
    for some, tile in batch.tiles(partition.rows(batch.metric), partition.numbers, 1, first_point):
        found.see(tile, some.start, first_point)
    return found


@dataclass(frozen=True)
class ScanSummary:
    """What a scan says of a partition as a whole."""

    largest: float
    weight_of_nearest: NDArray[np.float64]  # for each batch point, of the rows nearest to it
    rate: float  # sum of weight times distance to the batch ...
    n_apart: int  # ... and how many rows it is a sum of


def summarise_scan(partition: Partition, found: BlockScan, numbers: Indices) -> ScanSummary:
    """Sum up a scan; the numbers are those of the batch points."""
    rates = partition.weights * found.distances
    rates[partition.places_of(numbers)] = 0
    nearest = np.bincount(found.nearest, partition.weights, minlength=len(numbers)).astype(np.float64)
    return ScanSummary(found.largest, nearest, float(rates.sum()), int(np.count_nonzero(rates)))


def mean_of(partition: Partition, metric: Metric) -> tuple[int, float, Rows] | None:
    """Return which partition this is, the weight of its rows and their mean."""
    weight = float(partition.weights.sum())
    return (partition.number, weight, metric.mean(partition.rows(metric), partition.weights)) if weight > 0 else None


def far_from_mean(partition: Partition, metric: Metric, mean: Rows) -> tuple[int, float]:
    """Return which partition this is, and the sum of weight times distance to the mean."""
    return partition.number, float(np.sum(partition.weights * _distances_to(partition, metric, mean)))


def draw_coreset(
    partition: Partition, metric: Metric, mean: Rows, total: float, far: float, seed: int, counts: NDArray[np.int64]
) -> Sample | None:
    """Draw as many rows as `counts` says, half by weight and half by weight times distance to the mean.

    With replacement; a row drawn twice comes once with twice the weight.
    """
    if counts[partition.number] == 0:
        return None
    shares = partition.weights / total
    q = shares
    if far > 0:
        q = 0.5 * shares + 0.5 * partition.weights * _distances_to(partition, metric, mean) / far
    rng = np.random.default_rng([seed, partition.number])
    drawn, times = np.unique(rng.choice(partition.n, counts[partition.number], p=q / q.sum()), return_counts=True)
    estimates = np.zeros(partition.n)
    estimates[drawn] = times * shares[drawn] / q[drawn]
    return partition.take(drawn, estimates)


def _distances_to(partition: Partition, metric: Metric, point: Rows) -> NDArray[np.float64]:
    with pairs_named(name_in(partition.numbers), lambda _: "the mean"):
        distances = only_column(metric.to(point, partition.rows(metric), 1)).astype(np.float64)
    check_distances(distances, partition.first)
    return distances


def best_swaps(partition: Partition, batch: BatchPoints, medoids: Sample, n_fixed: int, count: int) -> Sample:
    """Return for each medoid the few rows that, by the batch, had best take its place; keys are minus the gains."""
    k = len(medoids)
    search = _core.SwapSearch(k, np.arange(k), batch.block(medoids, 1), batch.weights, 0.0, n_fixed)
    gains, slots = np.empty(partition.n), np.empty(partition.n, np.int32)
    for some, tile in batch.tiles(partition.rows(batch.metric), partition.numbers, 1):
        _core.SwapEvaluator(search, gains[some], slots[some], 1).see(tile)
    gains[partition.weights == 0] = -np.inf
    gains[partition.places_of(medoids.numbers)] = -np.inf
    possible = np.flatnonzero(gains > -np.inf)
    best = possible[smallest_of_each(slots[possible], -gains[possible], count)]
    return partition.take(np.sort(best), -gains, slots)


def merge_best(samples: list[Sample | None], count: int) -> Sample | None:
    """Return for each medoid the best rows of several partitions, which come in their order; None if all are empty."""
    found = [sample for sample in samples if sample is not None]
    if not found:
        return None
    joined = join(found)
    return joined.take(np.sort(smallest_of_each(joined.slots, joined.keys, count)))


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
