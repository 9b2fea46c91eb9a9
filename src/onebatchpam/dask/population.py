"""The population of OneBatchPAM whose rows are in Dask partitions.

Some rows are gathered on the driver: a sample that stands for all rows, the batch points, the medoids and candidates
for medoids. They are called the rows at hand and form `space`; row indices are positions in this space. Work that needs
all rows runs as a task on every partition, which returns a summary or the few best rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray
from scipy.sparse import issparse

from onebatchpam._draws import Batch, coreset_odds, estimate_weights, sample_by_weight, scale_to_mean
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, WholeBlock, compute_checked
from onebatchpam.dask import tasks
from onebatchpam.dask.known import KnownRows
from onebatchpam.dask.partition import GivenRows, join, stack
from onebatchpam.dask.scheduler import Partitions
from onebatchpam.dask.tasks import Assessment, BatchPoints, JudgeRows, RankedRows, ScanSummary
from onebatchpam.metrics import Metric, MetricLike, resolve_metric
from onebatchpam.search import (
    CANDIDATES_BY_BATCH,
    CANDIDATES_BY_CLUSTER,
    MANY_CANDIDATES,
    Judges,
    Measured,
    Start,
    SwapOptions,
    SwapResult,
    find_empty,
    move_empty,
    run_swaps,
)
from onebatchpam.space import Space, are_enough

# The sample on the driver has as many rows as have this many dissimilarities to the batch (256 MB). A data set that is
# not larger than the sample is fitted on the driver.
DRIVER_ENTRIES = 2**26
GATHERED_PER_BATCH_POINT = 4  # the sample has at least this many rows for each batch point


def rows_to_gather(m: int, row_size: int) -> int:
    """Return the number of rows to gather on the driver, given m batch points and the number of features in a row."""
    return max(DRIVER_ENTRIES // max(m, row_size), GATHERED_PER_BATCH_POINT * m)


class PartitionedData:
    """A data set in partitions, with its fitted metric and a count of the dissimilarities computed in partitions."""

    def __init__(self, partitions: Partitions, metric: MetricLike, metric_params: Any, run: Run) -> None:
        self.partitions, self.run, self.n, self.n_distances = partitions, run, partitions.n, 0
        descriptions = self.on_all("description", "check", tasks.describe, metric, metric_params)
        self.n_present = sum(part.n_present for part in descriptions)
        self.total_weight = sum(part.weight for part in descriptions)
        self.n_candidates = sum(part.n_candidates for part in descriptions)
        self.candidate_weight = sum(part.candidate_weight for part in descriptions)
        if self.n_present == 0:
            raise ValueError(f"X has {self.n} rows, none of which has a weight: expected at least one positive weight")
        self.head = descriptions[0].head  # the first row, in the form in which the user gave it
        for part in descriptions:
            if issparse(part.head) != issparse(self.head):
                kinds = [f"partition {each.number} is {type(each.head).__name__}" for each in (part, descriptions[0])]
                raise ValueError(f"{', but '.join(kinds)}: expected sparse matrices in all partitions, or in none")
        resolved = resolve_metric(metric, metric_params, sparse=issparse(self.head))
        self.metric: Metric = resolved.fit_parts([part.summary for part in descriptions])

    def prefer_complete_rows(self, k: int) -> None:
        """Make complete rows the only candidates for k medoids, if rows lack values and enough are complete."""
        if not self.metric.lacks_values:
            return
        all_rows = self.partitions.candidates
        self.partitions.candidates = self.partitions.keep("complete", tasks.are_complete, self.metric)
        counts = self.on_all("description", "count", tasks.count_candidates)
        n_candidates, weight = (sum(each) for each in zip(*counts, strict=True))
        if are_enough(n_candidates, self.n_present, k):
            self.n_candidates, self.candidate_weight = n_candidates, weight
        else:
            self.partitions.candidates = all_rows

    def on_all(self, stage: str, name: str, task: Any, *shared: Any, each: list[Any] | None = None) -> list[Any]:
        """Run a task on all partitions, timed as a stage; return the results of partitions that are not empty."""
        with self.run.stages.stage(stage, total=self.n) as bar:
            results = self.partitions.run(name, task, *shared, each=each)
            bar.update(self.n)
        return results

    def gather_all(self) -> GivenRows:
        """Return all rows, gathered on the driver."""
        return join(self.on_all("gathering rows", "gather", tasks.take_all))

    def take(self, indices: Indices) -> GivenRows:
        """Return the rows with these indices, in this order."""
        taken = join(self.partitions.run_on(indices, "take", tasks.take_some, indices))
        return taken.take(np.argsort(taken.indices)[np.argsort(np.argsort(indices))])

    def draw(
        self, size: int, scan: PartitionedScan | None = None, *, only_candidates: bool = False
    ) -> tuple[GivenRows, NDArray[np.float64]]:
        """Draw rows without replacement, and return them with the weights by which they stand for all rows.

        The odds of a row are its weight, times its distance to the batch if a scan is given. Fewer rows than `size` are
        drawn if fewer have positive odds. A row is drawn when its exponential clock rings; see `_draws`.
        """
        if scan is None:
            total, n_possible, exclude, scans = self.total_weight, self.n_present, np.empty(0, np.int64), None
            if only_candidates:
                total, n_possible = self.candidate_weight, self.n_candidates
        else:
            total, n_possible, exclude, scans = scan.rate, scan.n_apart, scan.points.indices, scan.scans
        each = [None] * len(self.partitions.parts) if scans is None else scans
        seed, until = self.run.rng.randint(2**31), np.inf
        share = (size + 5 * np.sqrt(size) + 5) / n_possible
        if share < 1:
            # The time by which this share of the clocks has rung, if all of them have the same rate.
            until = -np.log1p(-share) * n_possible / total
        while True:
            drawn = self.on_all("draws", "draw", tasks.draw, exclude, seed, until, only_candidates, each=each)
            rows = join([part.rows for part in drawn])
            clocks, rates = (np.concatenate([getattr(part, name) for part in drawn]) for name in ("clocks", "rates"))
            if len(rows) > size or until == np.inf:
                break
            until *= 4
        order = np.argsort(clocks, kind="stable")
        first = np.sort(order[:size])
        estimates = rows.weights[first]
        if len(rows) > size:
            estimates = estimate_weights(estimates, rates[first], clocks[order[size]])
        return rows.take(first), scale_to_mean(estimates, self.total_weight / self.n_present)

    def draw_coreset(self, m: int) -> tuple[GivenRows, NDArray[np.float64]]:
        """Draw a lightweight coreset of m rows and return it with its weights; see `batch.draw_coreset`."""
        stage, weights, far = "distances to the mean", *np.zeros((2, len(self.partitions.parts)))
        means = self.on_all(stage, "mean", tasks.mean_of, self.metric)
        for number, weight, _ in means:
            weights[number] = weight
        rows = self.metric.read(stack([mean for *_, mean in means]), "X")
        mean = self.metric.mean(rows, np.array([weight for _, weight, _ in means])).given(np.arange(1))
        for number, distance in self.on_all(stage, "mean", tasks.far_from_mean, self.metric, mean):
            far[number] = distance
        self.n_distances += 2 * self.n
        masses = coreset_odds(weights / weights.sum(), far, far.sum())
        counts = self.run.rng.multinomial(m, masses / masses.sum())
        shared = (self.metric, mean, weights.sum(), far.sum(), self.run.rng.randint(2**31), counts)
        drawn = self.on_all("draws", "draw", tasks.draw_coreset, *shared)
        estimates = np.concatenate([weights for _, weights in drawn])
        return join([rows for rows, _ in drawn]), scale_to_mean(estimates, self.total_weight / self.n_present)

    def best(self, name: str, task: Any, *shared: Any, count: int) -> RankedRows | None:
        """Return the best candidates of all partitions."""
        return self.partitions.run_merged(name, task, *shared, merge=tasks.merge_best, count=count)

    def assess(self, medoid_sets: list[GivenRows]) -> list[Assessment]:
        """Return the assessment of each set of medoids over all rows."""
        results = self.on_all("assignment", "assign", tasks.assess, self.metric, medoid_sets)
        self.n_distances += self.n * sum(map(len, medoid_sets))
        return [tasks.sum_up(list(parts)) for parts in zip(*results, strict=True)]


class PartitionedScan:
    """All rows compared with the batch points so far; the nearest batch point of a row is kept in its partition."""

    def __init__(self, population: Partitioned, m: int) -> None:
        self._population, self._data, self._m = population, population.data, m
        self.points = GivenRows(np.empty(0, np.int64), None, np.empty(0), np.empty(0, bool))
        self.scans: list[Delayed] | None = None
        self._summaries: list[ScanSummary] = []

    @property
    def largest(self) -> float:
        """The largest dissimilarity of a row to a batch point."""
        return max(part.largest for part in self._summaries)

    @property
    def rate(self) -> float:
        """The sum over all rows of weight times distance to the batch."""
        return sum(part.rate for part in self._summaries)

    @property
    def n_apart(self) -> int:
        """The number of rows with a positive weight and a positive distance to the batch."""
        return sum(part.n_apart for part in self._summaries)

    def add(self, points: Indices) -> None:
        """Compare all rows with new batch points."""
        data, n_before, new = self._data, len(self.points), self._population.known.given_rows(points)
        self.points = join([self.points, new]) if n_before else new
        each = [None] * len(data.partitions.parts) if self.scans is None else self.scans
        data.n_distances += data.n * len(points)
        part = slice(data.n * n_before, data.n * len(self.points))
        with data.run.stages.stage("distances", data.n * self._m, " distances", part) as bar:
            self.scans = data.partitions.keep("scan", tasks.scan, data.metric, new, n_before, each=each)
            self._summaries = data.partitions.run("summary", tasks.summarise_scan, self.points.indices, each=self.scans)
            bar.update(data.n * len(points))

    def draw_far(self, size: int) -> Indices:
        """Draw rows with odds of weight times distance to the batch; none if all rows are duplicates of the batch."""
        if self.n_apart == 0:
            return np.empty(0, np.int64)
        return self._population.known.add(self._data.draw(size, self)[0])

    def weights_of_nearest(self) -> NDArray[np.float64]:
        """Return, for each batch point, the total weight of the rows to which it is nearest."""
        return np.sum([part.weights_of_nearest for part in self._summaries], axis=0)

    def block(self) -> PartitionedBlock:
        """Return the block of the sample x batch points."""
        return PartitionedBlock(self._population, self._population.known.add(self.points))


class PartitionedBlock(WholeBlock):
    """The block of sample x batch points. For other rows at hand, entries are computed when they are needed."""

    storage = "recomputed"

    def __init__(self, population: Partitioned, points: Indices) -> None:
        self._population, self.points = population, points
        self._debiased, self._own_distances = np.empty(0, np.int64), np.empty(0, np.float32)
        sample = np.arange(population.known.n_sample)
        super().__init__(self._compute(sample))

    def _compute(self, candidates: Indices) -> NDArray[np.float32]:
        return compute_checked(self._population.space.distances_to(self.points, candidates))

    def rows(self, candidates: Indices) -> NDArray[np.float32]:
        if (candidates < self.n).all():
            return self.entries[candidates]
        entries = self._compute(candidates)
        tasks.debias(entries, candidates, self.points[self._debiased], self._debiased, self._own_distances)
        return entries

    def subset(self, candidates: Indices) -> Block:
        return super().subset(candidates) if (candidates < self.n).all() else WholeBlock(self.rows(candidates))

    def replace(self, rows: Indices, columns: Indices, values: NDArray[np.float32]) -> None:
        self._debiased, self._own_distances = columns, values
        in_sample = rows < self.n
        super().replace(rows[in_sample], columns[in_sample], values[in_sample])

    def batch(self, weights: NDArray[np.float64]) -> BatchPoints:
        """Return the batch in the form that is sent to the partitions."""
        points = self._population.known.given_rows(self.points)
        return BatchPoints(self._population.data.metric, points, weights, self._debiased, self._own_distances)


@dataclass
class Partitioned:
    """The population: all rows with a positive weight of a data set in partitions."""

    data: PartitionedData
    known: KnownRows
    n_candidates: int  # number of rows that may become medoids, fixed ones included

    def __post_init__(self) -> None:
        self.n, self.total_weight = self.data.n_present, self.data.total_weight
        self._assessments: dict[bytes, Assessment] = {}  # the keys are the bytes of `medoids`
        self._left_over = np.empty(0, np.int64)  # candidates of the last pass, for refinement to try

    @property
    def space(self) -> Space:
        """The rows at hand."""
        return self.known.space

    def draw(self, size: int) -> Batch:
        """Draw rows by their weights, without replacement."""
        rows, weights = self.data.draw(size)
        return Batch(self.known.add(rows), weights)

    def draw_coreset(self, size: int) -> Batch:
        """Draw rows by their weights and distances to the mean, with replacement."""
        rows, weights = self.data.draw_coreset(size)
        return Batch(self.known.add(rows), weights)

    def weights_of(self, indices: Indices) -> NDArray[np.float64]:
        """Return the weights, in the data, of the rows at hand with these indices."""
        return self.known.given_rows(indices).weights

    def scan(self, m: int) -> PartitionedScan:
        """Return a scan, which compares all rows with the m batch points as they are drawn."""
        return PartitionedScan(self, m)

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult:
        """Search for medoids in the sample first, then in passes over all partitions.

        In a pass, the workers estimate the gain of swapping each row with one of the current medoids, and send the best
        rows to the driver, where the swap search tries them one after the other.
        """
        assert isinstance(block, PartitionedBlock)  # because the scan of this population made it
        run = self.data.run
        search = run_swaps(block, start, weights, options, run, self.space.candidates)
        batch, medoids, loss = block.batch(weights), search.medoids, search.loss
        least_progress = options.least_progress if self.n > MANY_CANDIDATES else 0.0
        n_iter, n_swaps, converged = 0, search.n_swaps, False
        with run.stages.stage("swap search", unit=" candidates") as bar:
            while not converged and n_iter < options.max_iter:
                candidates = self._best_swaps(batch, medoids, options.n_fixed)
                rows = np.concatenate([medoids, candidates[~np.isin(candidates, medoids)]])
                known = WholeBlock(block.rows(rows))
                search = run_swaps(known, np.arange(len(medoids)), weights, options, run.silent())
                converged = search.n_swaps == 0 or search.loss > loss * (1 - least_progress)
                medoids, loss = rows[search.medoids], search.loss
                n_iter, n_swaps = n_iter + 1, n_swaps + search.n_swaps
                bar.set_postfix(passes=n_iter, swaps=n_swaps, refresh=False)
                bar.update(self.data.n)
        self._left_over = candidates
        return SwapResult(medoids, loss, n_iter, n_swaps, converged)

    def _best_swaps(self, batch: BatchPoints, medoids: Indices, n_fixed: int) -> Indices:
        """Return the few rows that would best replace each medoid, as estimated on the batch; largest gain first."""
        shared = (batch, self.known.given_rows(medoids), n_fixed, CANDIDATES_BY_BATCH)
        ranked = self.data.best("swaps", tasks.best_swaps, *shared, count=CANDIDATES_BY_BATCH)
        self.data.n_distances += self.data.n * len(batch.points)
        return np.empty(0, np.int64) if ranked is None else self.known.add(by_score(ranked).rows)

    def draw_points(self, size: int) -> Batch:
        """Draw rows of the sample as points that confirm swaps; only the sample has weights that stand for all rows."""
        standing_for_others = np.flatnonzero(self.space.weights)
        weights = self.space.weights[standing_for_others]
        drawn = sample_by_weight(weights, min(size, len(weights)), self.data.run.rng)
        return Batch(standing_for_others[drawn.indices], drawn.weights)

    def best_members(
        self, medoids: Indices, judges: dict[int, Judges], tried: Indices, labels: NDArray[Any] | None
    ) -> Indices:
        """Return, for each judged cluster, the untried members with the smallest mean loss over the judges.

        The first call after a search also returns the candidates of the last pass, unless they were tried. `labels` is
        not used, because the partitions compute the labels of their rows.
        """
        travelling = {slot: self._send(each) for slot, each in judges.items()}
        medoid_rows = self.known.given_rows(medoids).rows
        shared = (self.data.metric, medoid_rows, travelling, self.space.given_indices(tried))
        ranked = self.data.best("members", tasks.best_members, *shared, count=CANDIDATES_BY_CLUSTER)
        n_judges = sum(len(each.points.indices) for each in judges.values())
        self.data.n_distances += self.data.n * (len(medoids) + n_judges // len(medoids))
        members = np.empty(0, np.int64) if ranked is None else self.known.add(ranked.rows)
        left_over, self._left_over = np.setdiff1d(self._left_over, tried), self._left_over[:0]
        return np.union1d(members, left_over)

    def _send(self, judges: Judges) -> JudgeRows:
        """Return judges in the form that is sent to the partitions."""
        points = self.known.given_rows(judges.points.indices)
        weighted = GivenRows(points.indices, points.rows, judges.points.weights, points.are_candidates)
        return JudgeRows(weighted, judges.second_distances)

    def find_core(self, medoids: Indices) -> Indices:
        """Return no candidates: the Lagrangian dual would compare all rows of all partitions with each other."""
        return np.empty(0, np.int64)

    def objectives(self, medoid_sets: list[Indices]) -> list[float]:
        """Return the objective over all rows for each set of medoids."""
        return [assessment.inertia for assessment in self.assess(medoid_sets)]

    def measure(self, medoids: Indices) -> Measured:
        """Return medoids, duplicates moved apart, with the weights of their clusters and their objective."""
        medoids = self.spread_medoids(medoids)
        (assessment,) = self.assess([medoids])
        return Measured(medoids, assessment.profile.weights, assessment.inertia)

    def assess(self, medoid_sets: list[Indices]) -> list[Assessment]:
        """Return the assessment of each set of medoids over all rows; earlier assessments are reused."""
        new = [medoids for medoids in medoid_sets if medoids.tobytes() not in self._assessments]
        if new:
            assessments = self.data.assess([self.known.given_rows(medoids) for medoids in new])
            self._assessments |= {medoids.tobytes(): result for medoids, result in zip(new, assessments, strict=True)}
        return [self._assessments[medoids.tobytes()] for medoids in medoid_sets]

    def spread_medoids(self, medoids: Indices) -> Indices:
        """Return the medoids, with each one whose cluster is empty replaced by the candidate farthest from all."""

        def find_farthest(medoids: Indices, moved: slice) -> int | None:
            (assessment,) = self.assess([medoids])
            return int(self.known.add(assessment.farthest)[0]) if assessment.distance > 0 else None

        (assessment,) = self.assess([medoids])
        return move_empty(medoids, find_empty(assessment.profile.weights, len(self.space.fixed)), find_farthest)


def by_score(ranked: RankedRows) -> RankedRows:
    """Return candidates in the order of their scores, the best first; equal scores in the order of the rows."""
    return ranked.take(np.lexsort((ranked.rows.indices, ranked.scores)))
