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

from onebatchpam import _core, answers
from onebatchpam._draws import Batch, coreset_odds, ring_clocks
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks import BlockScan, compute_checked, fill_checked
from onebatchpam.dask.partition import GivenRows, Partition, join
from onebatchpam.metrics import Metric, MetricLike, resolve_metric
from onebatchpam.search import ClusterProfile, find_nearest, mean_losses, rank_members, smallest_of_each
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


def draw(
    partition: Partition,
    scanned: BlockScan | None,
    exclude: Indices,
    seed: int,
    until: float,
    only_candidates: bool = False,
) -> Drawn:
    """Return the rows whose clocks ring before the time `until`.

    The rate of a clock is the weight of the row, times the distance of the row to the batch if a scan is given.
    Excluded rows have the rate 0, so that their clocks never ring; so have other rows with `only_candidates`.
    """
    rates = partition.weights.copy() if scanned is None else partition.weights * scanned.distances
    if only_candidates:
        rates[~partition.are_candidates] = 0
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
    mean = metric.mean(partition.read(metric), partition.weights)
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
    rows = partition.read(metric)
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
    gains[(partition.weights == 0) | ~partition.are_candidates] = -np.inf
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
    rows = partition.read(metric)
    labels = find_nearest(partition.distances_from(metric, medoids, rows), partition.weights).labels
    is_candidate = (partition.weights > 0) & partition.are_candidates
    is_candidate[partition.find(tried)] = False

    def judge(slot: int, members: Indices) -> NDArray[np.float64]:
        points, indices, chosen = judges[slot].points, partition.indices[members], rows.take(members)
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
