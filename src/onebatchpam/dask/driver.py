"""The stages of OneBatchPAM on a data set in partitions.

The rows stay where they are. What comes to the driver are the batch and a sample of rows, on which the stages for data
in memory do what they always do; what goes out are the batch and the medoids, and what comes back from each pass over
all partitions are the few rows that had best take the place of a medoid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam._parameters import check_medoids
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.batch import DEBIASED, NEAREST_NEIGHBOUR_WEIGHTED, debiased_distances, round_sizes
from onebatchpam.dask import tasks
from onebatchpam.dask.partition import BatchPoints, Sample, join, stack
from onebatchpam.dask.scheduler import Partitions, compute, merged
from onebatchpam.dask.tasks import Assessment, ClusterPoints, Description, ScanSummary, assess, best_members
from onebatchpam.metrics import Gower, LibraryMetric, Metric, MetricLike, NativeMetric, fitted_to_parts, resolve_metric
from onebatchpam.search import CANDIDATES_BY_BATCH, CANDIDATES_BY_CLUSTER
from onebatchpam.space import VectorSpace

# The driver holds this many dissimilarities of its sample to the batch (256 MB). Data sets with fewer rows than such a
# sample has are fitted on the driver.
DRIVER_ENTRIES = 2**26

GATHERED_PER_BATCH_POINT = 4  # rows of the sample, at least


def rows_to_gather(m: int, row_size: int) -> int:
    """Return how many rows come to the driver, of that many entries each, to be compared with m batch points."""
    return max(DRIVER_ENTRIES // max(m, row_size), GATHERED_PER_BATCH_POINT * m)


class PartitionedRows:
    """A data set in partitions with its metric. Counts the dissimilarities that are computed."""

    def __init__(
        self, partitions: Partitions, metric: MetricLike, metric_params: Any, n_jobs: int, stages: Stages
    ) -> None:
        self.partitions, self.n_jobs, self._stages = partitions, n_jobs, stages
        self.n, self.n_distances = partitions.n, 0
        self._said = self.run("description", "check", tasks.describe, metric, metric_params)
        self.n_present = sum(each.n_present for each in self._said)
        self.weight = sum(each.weight for each in self._said)
        if self.n_present == 0:
            raise ValueError(f"X has {self.n} rows (samples), none of which has a weight: a minimum of 1 is required")
        self.metric = fit_metric(metric, metric_params, self._said)

    @property
    def head(self) -> Any:
        """The first row, as it was given."""
        return self._said[0].head

    def run(self, stage: str, name: str, task: Any, *told: Any, each: list[Any] | None = None) -> list[Any]:
        """Run a task on all partitions, as a stage of this name."""
        with self._stages.stage(stage, total=self.n) as bar:
            found = self.partitions.run(name, task, *told, each=each)
            bar.update(self.n)
        return found

    def gather_all(self) -> tuple[Any, NDArray[np.float64]]:
        """Return all rows and their weights."""
        whole = join(self.run("gathering rows", "gather", tasks.take_all))
        return whole.rows, whole.weights

    def take(self, numbers: Indices) -> Sample:
        """Return the rows with these numbers, in this order."""
        found = join(self.partitions.run_on(numbers, "take", tasks.take_numbers, numbers))
        return found.take(np.argsort(found.numbers)[np.argsort(np.argsort(numbers))])

    def draw(
        self, size: int, rng: np.random.RandomState, scanned: Scanned | None = None
    ) -> tuple[Sample, NDArray[np.float64]]:
        """Draw rows without replacement by weight, times distance to the batch if there is one; in their order.

        Fewer if not as many have odds. Also return weights by which they stand for all rows, with the mean of those.
        """
        if scanned is None:
            total, n_possible, exclude = self.weight, self.n_present, np.empty(0, np.int64)
            scans: list[Any] = [None] * len(self.partitions.parts)
        else:
            total, n_possible, exclude, scans = scanned.rate, scanned.n_apart, scanned.batch.numbers, scanned.scans
        seed, until = rng.randint(2**31), np.inf
        share = (size + 5 * np.sqrt(size) + 5) / n_possible
        if share < 1:
            until = -np.log1p(-share) * n_possible / total  # when this share has rung, if all rates are the same
        while True:
            drawn = self.run("draws", "draw", tasks.draw, exclude, seed, until, each=scans)
            sample, rates = join([some for some, _ in drawn]), np.concatenate([some for _, some in drawn])
            if len(sample) > size or until == np.inf:
                break
            until *= 4
        order = np.argsort(sample.keys, kind="stable")
        first = np.sort(order[:size])
        estimates = sample.weights[first]
        if len(sample) > size:
            # The probability to ring before the first of the others: divided by it the weights are unbiased.
            estimates = estimates / -np.expm1(-rates[first] * sample.keys[order[size]])
        return sample.take(first), estimates * (self.weight / self.n_present / estimates.mean())

    def scan(self, drawn: Sample, before: Scanned | None = None) -> Scanned:
        """Compare all rows with the batch points that no scan has seen before."""
        m, n_seen = len(drawn), 0 if before is None else len(before.batch.numbers)
        batch = BatchPoints(self.metric, drawn.numbers, drawn.rows, np.ones(m), np.full(m, np.nan))
        each = [None] * len(self.partitions.parts) if before is None else before.scans
        self.n_distances += self.n * (m - n_seen)
        with self._stages.stage("distances", total=self.n) as bar:
            scans = self.partitions.keep("scan", tasks.scan, batch, n_seen, each=each)
            summaries = self.partitions.run("summary", tasks.summarise_scan, drawn.numbers, each=scans)
            bar.update(self.n)
        return Scanned(batch, scans, summaries)

    def block(self, batch: BatchPoints, sample: Sample) -> NDArray[np.float32]:
        """Return the rows of the block of rows that have come to the driver."""
        self.n_distances += len(sample) * len(batch.numbers)
        return batch.block(sample, self.n_jobs)

    def best_swaps(self, batch: BatchPoints, medoids: Sample, n_fixed: int) -> Sample:
        """Return for each medoid the few rows that, by the batch, had best take its place."""
        found = self.partitions.tasks("swaps", tasks.best_swaps, batch, medoids, n_fixed, CANDIDATES_BY_BATCH)
        self.n_distances += self.n * len(batch.numbers)
        return compute([merged("swaps", found, tasks.merge_best, CANDIDATES_BY_BATCH)])[0]

    def best_members(self, medoids: Sample, points: ClusterPoints, n_fixed: int) -> Sample:
        """Return for each cluster the few members that its points would have for a medoid."""
        told = (self.metric, medoids, points, n_fixed, CANDIDATES_BY_CLUSTER)
        found = self.partitions.tasks("members", best_members, *told)
        self.n_distances += self.n * (len(medoids) + len(points.slots) // len(medoids))
        return compute([merged("members", found, tasks.merge_best, CANDIDATES_BY_CLUSTER)])[0]

    def assess(self, medoid_sets: list[Sample]) -> list[Assessment]:
        """Return how well each of these sets does on all rows."""
        found = self.run("assignment", "assign", assess, self.metric, [each.rows for each in medoid_sets])
        self.n_distances += self.n * sum(map(len, medoid_sets))
        return [sum_up(list(parts)) for parts in zip(*found, strict=True)]


def sum_up(parts: list[Assessment]) -> Assessment:
    """Return how well a set of medoids does on all partitions together."""
    farthest = min((part.farthest for part in parts), key=lambda row: float(row.keys[0]))
    return Assessment(sum(part.inertia for part in parts), np.sum([part.sizes for part in parts], axis=0), farthest)


def fit_metric(metric: MetricLike, params: Any, said: list[Description]) -> Metric:
    """Return the metric with what it takes from the data."""
    resolved = resolve_metric(metric, params, sparse=issparse(said[0].head))
    if isinstance(resolved, Gower):
        return fitted_to_parts(resolved, [each.columns for each in said if each.columns is not None])
    if isinstance(resolved, LibraryMetric):
        needed = {"seuclidean": "V", "mahalanobis": "VI"}.get(resolved.name)
        if needed is not None and needed not in resolved.params:
            raise ValueError(
                f"metric={resolved.name!r} takes {needed} from the data, which are in partitions here: compute it and "
                f"pass metric_params={{{needed!r}: ...}}"
            )
    if isinstance(resolved, NativeMetric):
        return resolved  # whether all values are bytes is not known from the first
    return resolved.fitted(resolved.check(said[0].head, "X"))


class GatheredRows(VectorSpace):
    """Rows that have come to the driver, known by their numbers among all rows."""

    def __init__(self, data: PartitionedRows, sample: Sample, fixed: Indices) -> None:
        super().__init__(data.metric.check(sample.rows, "X"), data.metric, data.n_jobs, sample.weights)
        self.sample, self._n_given = sample, data.n
        self.fixed = self.indices_of(fixed, len(fixed), "fixed_medoids")

    @property
    def n_given(self) -> int:
        return self._n_given

    def numbers(self, indices: Indices) -> Indices:
        return self.sample.numbers[indices]

    def indices_of(self, numbers: ArrayLike, k: int, name: str) -> Indices:
        wanted = check_medoids(numbers, k, self._n_given, name)
        order = np.argsort(self.sample.numbers)
        return order[np.searchsorted(self.sample.numbers, wanted, sorter=order)]


def gather_sample(data: PartitionedRows, size: int, others: Indices, rng: np.random.RandomState) -> Sample:
    """Return a sample of the rows that stands for all of them, and some others that may become medoids."""
    sample, weights = data.draw(size, rng)
    sample = replace(sample, weights=weights)
    missing = np.setdiff1d(others, sample.numbers)
    if len(missing) == 0:
        return sample
    taken = data.take(missing)
    absent = taken.numbers[taken.weights == 0]
    if len(absent):
        raise ValueError(f"row {absent[0]} is to be a medoid, but its weight is zero: expected rows that have a weight")
    return with_candidates(sample, taken)


def with_candidates(sample: Sample, others: Sample) -> Sample:
    """Return a sample with other rows that may become medoids, but say nothing of the data: their weight is zero."""
    new = others.take(np.flatnonzero(~np.isin(others.numbers, sample.numbers)))
    return join([sample, replace(new, weights=np.zeros(len(new)))]) if len(new) else sample


@dataclass(frozen=True)
class Scanned:
    """A batch, and what every partition knows of its rows' distances to it."""

    batch: BatchPoints
    scans: list[Delayed]
    summaries: list[ScanSummary]

    @property
    def rate(self) -> float:
        return sum(each.rate for each in self.summaries)

    @property
    def n_apart(self) -> int:
        return sum(each.n_apart for each in self.summaries)


def sample_batch(
    data: PartitionedRows, m: int, variant: str, fixed: Indices, rng: np.random.RandomState
) -> BatchPoints:
    """Draw m batch points, in rounds if the batch is progressive; weigh and debias them as the variant says."""
    first, *others = round_sizes(variant, m, data.n_present)
    drawn, weights = sample_coreset(data, first, rng) if variant == "lwcs" else data.draw(first, rng)
    scanned = data.scan(drawn)
    for size in others:
        if scanned.n_apart == 0:
            break  # all other rows are duplicates of batch points
        drawn = join([drawn, data.draw(size, rng, scanned)[0]])
        scanned = data.scan(drawn, scanned)
    if variant in NEAREST_NEIGHBOUR_WEIGHTED:
        weights = np.sum([each.weight_of_nearest for each in scanned.summaries], axis=0)
        weights *= len(weights) / data.n_present
    own_distances = np.full(len(drawn), np.nan)
    if variant in DEBIASED and len(drawn) < data.n_present:  # all rows estimate nothing
        largest = max(each.largest for each in scanned.summaries)
        own_distances = debiased_distances(drawn.weights, data.weight, data.n_present, largest)
        own_distances[np.isin(drawn.numbers, fixed)] = np.nan
    return replace(scanned.batch, weights=weights, own_distances=own_distances)


def sample_coreset(data: PartitionedRows, m: int, rng: np.random.RandomState) -> tuple[Sample, NDArray[np.float64]]:
    """Draw a lightweight coreset: half by weight and half by weight times distance to the mean; with its weights."""
    stage, weights, far = "distances to the mean", *np.zeros((2, len(data.partitions.parts)))
    said = data.run(stage, "mean", tasks.mean_of, data.metric)
    for number, weight, _ in said:
        weights[number] = weight
    mean = data.metric.mean(stack([mean for *_, mean in said]), np.array([weight for _, weight, _ in said]))
    for number, distance in data.run(stage, "mean", tasks.far_from_mean, data.metric, mean):
        far[number] = distance
    data.n_distances += 2 * data.n
    masses = weights / weights.sum()
    if far.any():
        masses = 0.5 * masses + 0.5 * far / far.sum()
    counts = rng.multinomial(m, masses / masses.sum())
    told = (data.metric, mean, weights.sum(), far.sum(), rng.randint(2**31), counts)
    sample = join(data.run("draws", "draw", tasks.draw_coreset, *told))
    return sample, sample.keys * (data.weight / data.n_present / sample.keys.mean())
