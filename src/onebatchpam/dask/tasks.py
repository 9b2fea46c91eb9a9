"""The tasks: functions that run where a partition is, and return a summary of its rows or a few of them.

Their first argument is a `Partition`; most others are the same for all partitions. Nothing here knows Dask.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam import _core
from onebatchpam._draws import Batch, coreset_odds, ring_clocks
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks import BlockScan, compute_checked, fill_checked
from onebatchpam.dask.partition import GivenRows, Partition, join, name_medoid
from onebatchpam.metrics import Metric, MetricLike, resolve_metric
from onebatchpam.search import find_nearest, mean_losses, rank_members, smallest_of_each
from onebatchpam.space import Distances, name_in


@dataclass(frozen=True)
class Description:
    """What the driver must know of a partition before the fit begins."""

    n_present: int  # number of rows with a positive weight
    weight: float  # total weight of the rows
    head: Any  # the first row, in the form in which the user gave it
    summary: Any  # summary of the rows, from which the metric is fitted


def describe(partition: Partition, metric: MetricLike, params: Any) -> Description:
    """Check the rows of a partition and describe them."""
    resolved = resolve_metric(metric, params, sparse=scipy.sparse.issparse(partition.given))
    summary = resolved.summarise(resolved.check(partition.given, "X"), partition.weights)
    head = _safe_indexing(partition.given, np.arange(1))
    return Description(int(np.count_nonzero(partition.weights)), float(partition.weights.sum()), head, summary)


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


def draw(partition: Partition, scanned: BlockScan | None, exclude: Indices, seed: int, until: float) -> Drawn:
    """Return the rows whose clocks ring before the time `until`.

    The rate of a clock is the weight of the row, times the distance of the row to the batch if a scan is given.
    Excluded rows have the rate 0, so that their clocks never ring.
    """
    rates = partition.weights.copy() if scanned is None else partition.weights * scanned.distances
    rates[partition.find(exclude)] = 0
    clocks = ring_clocks(rates, np.random.default_rng([seed, partition.number]))
    rung = np.flatnonzero(clocks < until)
    return Drawn(partition.take(rung), clocks[rung], rates[rung])


def scan(
    partition: Partition, before: BlockScan | None, metric: Metric, points: GivenRows, first_column: int
) -> BlockScan:
    """Compare all rows with new batch points; `before` is the scan of the earlier batch points, if there are any."""
    result = BlockScan(partition.n, 1) if before is None else copy.deepcopy(before)
    distances = partition.distances_to(metric, points)
    buffer = TileBuffer(distances.n_columns)
    for rows in distances.tiles():
        result.fill(distances, rows, buffer.for_rows(rows), first_column)
    return result


@dataclass(frozen=True)
class ScanSummary:
    """The results of a scan, summed over the rows of a partition."""

    largest: float  # largest dissimilarity of a row to a batch point
    weights_of_nearest: NDArray[np.float64]  # per batch point, weight of the rows to which it is nearest
    rate: float  # sum over the rows of weight times distance to the batch
    n_apart: int  # number of rows with a positive weight and a positive distance to the batch


def summarise_scan(partition: Partition, scanned: BlockScan, points: Indices) -> ScanSummary:
    """Sum up a scan; `points` are the indices of the batch points among all rows."""
    rates = partition.weights * scanned.distances
    rates[partition.find(points)] = 0
    nearest = np.bincount(scanned.nearest, partition.weights, minlength=len(points)).astype(np.float64)
    return ScanSummary(scanned.largest, nearest, float(rates.sum()), int(np.count_nonzero(rates)))


def mean_of(partition: Partition, metric: Metric) -> tuple[int, float, Any] | None:
    """Return the number of the partition, the total weight of its rows and their mean; None if the weight is zero."""
    weight = float(partition.weights.sum())
    if weight == 0:
        return None
    mean = metric.mean(metric.read(partition.given, "X"), partition.weights)
    return partition.number, weight, mean.given(np.arange(1))


def far_from_mean(partition: Partition, metric: Metric, mean: Any) -> tuple[int, float]:
    """Return the number of the partition, and the sum over its rows of weight times distance to the mean."""
    return partition.number, float(np.sum(partition.weights * _distances_to_mean(partition, metric, mean)))


def draw_coreset(
    partition: Partition, metric: Metric, mean: Any, total: float, far: float, seed: int, counts: Indices
) -> tuple[GivenRows, NDArray[np.float64]] | None:
    """Draw rows with replacement by the odds of a lightweight coreset; return them with their weights.

    `counts` holds the number of rows to draw from each partition. `total` and `far` are sums over all partitions: of
    the weights, and of weight times distance to the mean. A row drawn twice is returned once, with twice the weight.
    """
    count = counts[partition.number]
    if count == 0:
        return None
    shares = partition.weights / total
    odds = coreset_odds(shares, partition.weights * _distances_to_mean(partition, metric, mean), far)
    rng = np.random.default_rng([seed, partition.number])
    drawn, times = np.unique(rng.choice(partition.n, count, p=odds / odds.sum()), return_counts=True)
    return partition.take(drawn), times * shares[drawn] / odds[drawn]


def _distances_to_mean(partition: Partition, metric: Metric, mean: Any) -> NDArray[np.float64]:
    rows = metric.read(partition.given, "X")
    packed = metric.pack(metric.read(mean, "mean"), rows, 1)
    return partition.compare(rows, packed, lambda _: "the mean").column().astype(np.float64)


@dataclass(frozen=True)
class BatchPoints:
    """The batch, with everything that a worker needs to compute rows of the block."""

    metric: Metric
    points: GivenRows
    weights: NDArray[np.float64]
    debiased: Indices  # positions of the batch points whose distance to themselves is replaced
    own_distances: NDArray[np.float32]  # the distances that replace them, one for each debiased batch point

    def tiles(self, distances: Distances, indices: Indices) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield the block of rows x batch points in tiles; `indices` are the indices of the rows in the data."""
        buffer = TileBuffer(distances.n_columns)
        for rows in distances.tiles():
            tile = buffer.for_rows(rows)
            fill_checked(distances, rows, tile)
            self.debias(tile, indices[rows])
            yield rows, tile

    def block(self, rows: GivenRows) -> NDArray[np.float32]:
        """Return the block of a few rows, which may come from any partition, x batch points."""
        read = self.metric.read(rows.rows, "X")
        points = self.metric.pack(self.metric.read(self.points.rows, "X"), read, 1)
        name_row, name_column = name_in("X", rows.indices), name_in("X", self.points.indices)
        entries = compute_checked(Distances(read, points, name_row=name_row, name_column=name_column))
        self.debias(entries, rows.indices)
        return entries

    def debias(self, tile: NDArray[np.float32], indices: Indices) -> None:
        """Replace the distances of batch points from themselves in a tile of the rows with these indices."""
        debias(tile, indices, self.points.indices[self.debiased], self.debiased, self.own_distances)


def debias(
    tile: NDArray[np.float32], rows: Indices, points: Indices, columns: Indices, own_distances: NDArray[np.float32]
) -> None:
    """Replace the distances of batch points from themselves in a tile, given the indices of its rows.

    Each of the points has a column of the tile, and the distance that replaces the one in it.
    """
    _, places, which = np.intersect1d(rows, points, assume_unique=True, return_indices=True)
    tile[places, columns[which]] = own_distances[which]


@dataclass(frozen=True)
class RankedRows:
    """Candidates, each with the slot of the medoid whose place it might take and a score: the smaller, the better."""

    rows: GivenRows
    slots: NDArray[Any]
    scores: NDArray[np.float64]

    def take(self, places: Indices) -> RankedRows:
        """Return the candidates at these positions, in this order."""
        return RankedRows(self.rows.take(places), self.slots[places], self.scores[places])


def best_swaps(partition: Partition, batch: BatchPoints, medoids: GivenRows, n_fixed: int, count: int) -> RankedRows:
    """Return, for each medoid, the few rows that would best replace it, as estimated on the batch."""
    k = len(medoids)
    search = _core.SwapSearch(k, np.arange(k), batch.block(medoids), batch.weights, 0.0, n_fixed)
    gains, slots = np.empty(partition.n), np.empty(partition.n, np.int32)
    distances = partition.distances_to(batch.metric, batch.points)
    for rows, tile in batch.tiles(distances, partition.indices):
        _core.SwapEvaluator(search, gains[rows], slots[rows], 1).see(tile)
    gains[partition.weights == 0] = -np.inf
    gains[partition.find(medoids.indices)] = -np.inf
    possible = np.flatnonzero(gains > -np.inf)
    best = np.sort(possible[smallest_of_each(slots[possible], -gains[possible], count)])
    return RankedRows(partition.take(best), slots[best], -gains[best])


def merge_best(parts: list[RankedRows | None], count: int) -> RankedRows | None:
    """Return, for each medoid, the best candidates of several partitions; None if all partitions are empty."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    joined = RankedRows(
        join([part.rows for part in known]),
        np.concatenate([part.slots for part in known]),
        np.concatenate([part.scores for part in known]),
    )
    return joined.take(np.sort(smallest_of_each(joined.slots, joined.scores, count)))


@dataclass(frozen=True)
class JudgeRows:
    """The judges of one cluster, in the form that is sent to the partitions; see `search.candidates.Judges`."""

    points: GivenRows  # their weights make them a sample of the cluster
    second_distances: NDArray[np.float32]  # distance of each judge to its second nearest medoid


def best_members(
    partition: Partition, metric: Metric, medoids: Any, judges: dict[int, JudgeRows], tried: Indices
) -> RankedRows:
    """Return, for each judged cluster, the few untried members with the smallest mean loss over its judges."""
    rows = metric.read(partition.given, "X")
    labels = find_nearest(partition.distances_from(metric, medoids, rows), partition.weights).labels
    is_candidate = partition.weights > 0
    is_candidate[partition.find(tried)] = False

    def judge(slot: int, members: Indices) -> NDArray[np.float64]:
        points, indices, chosen = judges[slot].points, partition.first + members, rows.take(members)
        distances = Distances(
            chosen,
            metric.pack(metric.read(points.rows, "X"), chosen, 1),
            name_row=name_in("X", indices),
            name_column=name_in("X", points.indices),
        )
        batch = Batch(points.indices, points.weights)
        return mean_losses(distances, indices, batch, judges[slot].second_distances, 1)

    ranked = rank_members(labels, is_candidate, judges.keys(), judge)
    return RankedRows(partition.take(ranked.indices), ranked.slots, ranked.scores)


@dataclass(frozen=True)
class Assessment:
    """How well a set of medoids represents the rows of a partition, or all rows."""

    inertia: float
    sizes: NDArray[np.int64]  # number of rows with a weight in each cluster
    farthest: GivenRows  # the row farthest from its nearest medoid that is not a medoid itself
    distance: float  # distance of that row to its nearest medoid


def assess(partition: Partition, metric: Metric, medoid_sets: list[GivenRows]) -> list[Assessment]:
    """Return the assessment of each set of medoids on the partition."""
    assessments = []
    for medoids in medoid_sets:
        assignment = find_nearest(partition.distances_from(metric, medoids.rows), partition.weights)
        is_present = partition.weights > 0
        distances = np.where(is_present, assignment.distances, 0)
        distances[partition.find(medoids.indices)] = 0  # a row that is a medoid must not become one twice
        farthest = int(np.argmax(distances))
        sizes = np.bincount(assignment.labels, is_present, minlength=medoids.rows.shape[0]).astype(np.int64)
        row = partition.take(np.array([farthest]))
        assessments.append(Assessment(assignment.inertia, sizes, row, float(distances[farthest])))
    return assessments


def sum_up(parts: list[Assessment]) -> Assessment:
    """Return the assessment of a set of medoids on all partitions together."""
    farthest = max(parts, key=lambda part: part.distance)
    sizes = np.sum([part.sizes for part in parts], axis=0)
    return Assessment(sum(part.inertia for part in parts), sizes, farthest.farthest, farthest.distance)


def label_rows(given: Any, metric: Metric, medoids: Any) -> NDArray[np.int32]:
    """Return the label of each row: the position of its nearest medoid."""
    n = given.shape[0]
    if n == 0:
        return np.empty(0, np.int32)
    return find_nearest(_distances_of_part(given, metric, medoids), np.ones(n)).labels


def transform_rows(given: Any, metric: Metric, medoids: Any) -> NDArray[Any]:
    """Return the dissimilarities of each row to the medoids."""
    if given.shape[0] == 0:
        return np.empty((0, medoids.shape[0]), np.float32)
    return _distances_of_part(given, metric, medoids).compute()


def _distances_of_part(given: Any, metric: Metric, medoids: Any) -> Distances:
    """Return d(medoid, row) for a part of new data; errors count its rows from the beginning of the part."""
    rows = metric.read(given, "X")
    points = metric.pack(metric.read(medoids, "medoids"), rows, 1, rows_first=False)
    return Distances(rows, points, name_row=lambda i: f"row {i} of the partition", name_column=name_medoid)
