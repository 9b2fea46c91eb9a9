"""What is done with one partition of a data set, wherever it is: its rows stay, a summary or a few rows go out.

Nothing here knows Dask. A task is a function of a `Partition` and of what all partitions are told; `on_partition` runs
it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam import _core
from onebatchpam._distances import Indices
from onebatchpam._gower import Gower, TableColumn, check_table, columns_of
from onebatchpam._gower_parts import summarise
from onebatchpam._metrics import Metric, MetricLike, Rows, resolve_metric
from onebatchpam._refine import smallest_of_each
from onebatchpam._tiles import PairError, each_tile, only_column
from onebatchpam._validation import check_distances
from onebatchpam._weights import BlockScan, check_tile


@dataclass(frozen=True)
class Sample:
    """Some rows of the data, in the form in which they were given, with their numbers among all rows."""

    numbers: Indices
    rows: Any
    weights: NDArray[np.float64]
    keys: NDArray[np.float64]  # by which rows are chosen: the smallest
    slots: NDArray[np.int32]  # the medoid whose place each might take

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, places: Any) -> Sample:
        """Return these of the rows, in this order."""
        return Sample(
            self.numbers[places],
            _safe_indexing(self.rows, places),
            self.weights[places],
            self.keys[places],
            self.slots[places],
        )


def join(samples: list[Sample]) -> Sample:
    """Return the rows of several samples, one after the other."""
    return Sample(
        np.concatenate([each.numbers for each in samples]),
        stack([each.rows for each in samples]),
        np.concatenate([each.weights for each in samples]),
        np.concatenate([each.keys for each in samples]),
        np.concatenate([each.slots for each in samples]),
    )


def stack(pieces: list[Any]) -> Any:
    """Return rows that were given in pieces in one piece of the same form."""
    if scipy.sparse.issparse(pieces[0]):
        return scipy.sparse.vstack(pieces, format="csr")
    if hasattr(pieces[0], "iloc"):
        import pandas

        return pandas.concat(pieces)
    return np.concatenate(pieces)


@dataclass(frozen=True)
class Partition:
    """Consecutive rows of a data set."""

    given: Any
    weights: NDArray[np.float64]
    number: int  # among the partitions
    first: int  # number of its first row among all rows

    @property
    def n(self) -> int:
        return int(self.given.shape[0])

    @property
    def numbers(self) -> Indices:
        return np.arange(self.first, self.first + self.n)

    def rows(self, metric: Metric) -> Rows:
        return metric.check(self.given, "X")

    def take(self, places: Indices, keys: NDArray[Any] | None = None, slots: NDArray[np.int32] | None = None) -> Sample:
        """Return some of the rows; keys and slots are of all of them."""
        return Sample(
            self.first + places,
            _safe_indexing(self.given, places),
            self.weights[places],
            np.zeros(len(places)) if keys is None else keys[places].astype(np.float64),
            np.zeros(len(places), np.int32) if slots is None else slots[places],
        )

    def places_of(self, numbers: Indices) -> Indices:
        """Return where those of these rows are that are here."""
        places = numbers - self.first
        return places[(places >= 0) & (places < self.n)]


def on_partition(
    task: Callable[..., Any], given: Any, weights: Any, number: int, first: int, *arguments: Any
) -> Any | None:
    """Run a task on a partition; None if that is empty."""
    n = int(given.shape[0])
    if n == 0:
        return None
    try:
        return task(Partition(given, check_part_weights(weights, n), number, first), *arguments)
    except ValueError as error:
        raise ValueError(f"in partition {number}, which begins with row {first}: {error}") from error


def check_part_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of n rows, which may all be zero."""
    if weights is None:
        return np.ones(n)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"sample_weight has shape {array.shape} here: expected {(n,)}, the partitions of X")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={array[bad[0]]} here: expected finite weights that are not negative")
    return array


@contextmanager
def pairs_named(row: Callable[[int], str], column: Callable[[int], str]) -> Iterator[None]:
    """Let errors in a comparison name the row and the column as the user knows them."""
    try:
        yield
    except PairError as error:
        raise ValueError(error.describe(row(error.row), column(error.column))) from error.__cause__


def name_in(numbers: Indices) -> Callable[[int], str]:
    """Return what names rows that have these numbers among all rows."""
    return lambda row: f"X[{numbers[row]}]"


@dataclass(frozen=True)
class BatchPoints:
    """The batch points: all that it takes to compute rows of the block."""

    metric: Metric
    numbers: Indices
    rows: Any  # as given
    weights: NDArray[np.float64]
    own_distances: NDArray[np.float64]  # of each from itself, NaN where the metric says it

    def tiles(self, rows: Rows, numbers: Indices, n_jobs: int, first_point: int = 0) -> Iterator[tuple[slice, Any]]:
        """Return the dissimilarities of these rows to the batch points from this one on, each tile until the next."""
        points = self.metric.check(_safe_indexing(self.rows, np.arange(first_point, len(self.numbers))), "X")
        columns = self.metric.to(points, rows, n_jobs)
        with pairs_named(name_in(numbers), name_in(self.numbers[first_point:])):
            for some, tile in each_tile(columns):
                if first_point == 0:
                    self._debias(tile, numbers[some])
                yield some, tile

    def _debias(self, tile: NDArray[np.float32], numbers: Indices) -> None:
        _, i, j = np.intersect1d(numbers, self.numbers, assume_unique=True, return_indices=True)
        moved = ~np.isnan(self.own_distances[j])
        tile[i[moved], j[moved]] = self.own_distances[j[moved]]

    def block(self, sample: Sample, n_jobs: int) -> NDArray[np.float32]:
        """Return the rows of the block of a sample."""
        block = np.empty((len(sample), len(self.numbers)), np.float32)
        if len(sample) == 0:
            return block
        for some, tile in self.tiles(self.metric.check(sample.rows, "X"), sample.numbers, n_jobs):
            check_tile(tile, some.start)
            block[some] = tile
        return block


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
