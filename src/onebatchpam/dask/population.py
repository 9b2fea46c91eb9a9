"""The population of OneBatchPAM whose rows are in Dask partitions.

Some rows are gathered on the driver: those from which the first medoids are chosen, a sample that stands for all rows,
and candidates for medoids. They are called the rows at hand and form `space`; row indices are positions in this space.
The batch is drawn from the sample, and only the sample is searched. Work that needs all rows runs as a task on every
partition, which returns a summary or the few best rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onebatchpam._draws import Batch, draw_by_odds, estimate_weights, scale_to_mean
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import SearchSample
from onebatchpam.batch import ALL_ROWS_BELOW, count_sampled, most_searched
from onebatchpam.dask import tasks
from onebatchpam.dask.known import KnownRows
from onebatchpam.dask.partition import GivenRows, join
from onebatchpam.dask.scheduler import Partitions
from onebatchpam.dask.tasks import Assessment, Drawn, JudgeRows, RankedRows, Totals
from onebatchpam.metrics import Metric, MetricLike, resolve_metric
from onebatchpam.search import CANDIDATES_BY_CLUSTER, Judges, Measured, move_empty, share_judged
from onebatchpam.space import Space, are_enough

# The sample on the driver has at most this many numbers, but enough rows for the batch. A data set that is not larger
# than that, and not larger than what is searched as a whole in memory, is fitted on the driver.
DRIVER_NUMBERS = 2**27
# The first medoids are chosen among this many rows for each of them.
FIRST_PER_MEDOID = 20


def rows_to_gather(m: int, k: int, row_size: int) -> int:
    """Return the number of rows to gather on the driver for m batch points, given the number of features in a row."""
    return max(min(count_sampled(m, k), DRIVER_NUMBERS // row_size), ALL_ROWS_BELOW * m)


def most_rows_of_driver(m: int, k: int, row_size: int) -> int:
    """Return the largest number of rows of a data set that is fitted on the driver as a whole."""
    return max(min(most_searched(), DRIVER_NUMBERS // row_size), rows_to_gather(m, k, row_size))


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

    def draw_candidates(self, size: int) -> tuple[GivenRows, NDArray[np.float64]]:
        """Draw candidates by their weights, and return them with the weights by which they stand for all candidates."""
        seed = self.run.rng.randint(2**31)

        def draw(until: float) -> list[Drawn]:
            return self.on_all("draws", "draw", tasks.draw_candidates, seed, until)

        return self._first_to_ring(draw, size, self.n_candidates, self.candidate_weight)

    def draw_sample(self, first: GivenRows, size: int) -> tuple[GivenRows, NDArray[np.float64]]:
        """Draw rows by weight and by distance to the first medoids; return them with weights to stand for all rows."""
        with self.run.stages.stage("sample", total=self.n) as bar:
            far = self.partitions.keep("far", tasks.measure_far, self.metric, first)
            total = sum(self.partitions.run("sum", tasks.sum_up_far, each=far))
            bar.update(self.n)
        self.n_distances += self.n * len(first)
        candidate_weight = None if self.n_candidates == self.n_present else self.candidate_weight
        totals, seed = Totals(self.total_weight, total, candidate_weight), self.run.rng.randint(2**31)

        def draw(until: float) -> list[Drawn]:
            return self.on_all("draws", "draw", tasks.draw_sample, totals, seed, until, each=far)

        return self._first_to_ring(draw, size, self.n_present, 1.0)

    def _first_to_ring(
        self, draw: Callable[[float], list[Drawn]], size: int, n_possible: int, total_rate: float
    ) -> tuple[GivenRows, NDArray[np.float64]]:
        """Return the rows whose clocks ring first, in the order of the data, with weights to stand for all rows.

        `draw` returns the rows of each partition whose clocks ring before a time; see `_draws`.
        """
        until, share = np.inf, (size + 5 * np.sqrt(size) + 5) / max(1, n_possible)
        if share < 1:
            # The time by which this share of the clocks has rung, if all of them have the same rate.
            until = -np.log1p(-share) * n_possible / total_rate
        while True:
            drawn = draw(until)
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
        mean = self.total_weight / self.n_present
        return rows.take(first), scale_to_mean(estimates, mean) if len(first) else estimates

    def best(self, name: str, task: Any, *shared: Any, count: int) -> RankedRows | None:
        """Return the best candidates of all partitions."""
        return self.partitions.run_merged(name, task, *shared, merge=tasks.merge_best, count=count)

    def assess(self, medoid_sets: list[GivenRows]) -> list[Assessment]:
        """Return the assessment of each set of medoids over all rows."""
        results = self.on_all("assignment", "assign", tasks.assess, self.metric, medoid_sets)
        self.n_distances += self.n * sum(map(len, medoid_sets))
        return [tasks.sum_up(list(parts)) for parts in zip(*results, strict=True)]


@dataclass
class Partitioned:
    """The population: all rows with a positive weight of a data set in partitions."""

    data: PartitionedData
    known: KnownRows
    n_candidates: int  # number of rows that may become medoids, fixed ones included
    memory_limit: int

    holds_all_rows = False

    def __post_init__(self) -> None:
        self.n, self.total_weight = self.data.n_present, self.data.total_weight
        self._assessments: dict[bytes, Assessment] = {}  # the keys are the bytes of `medoids`

    @property
    def space(self) -> Space:
        """The rows at hand."""
        return self.known.space

    def count_searched(self, m: int, k: int, rounds: int) -> int:
        """Return the number of rows that a search with m batch points runs on."""
        return rows_to_gather(m, k, self.space.rows.row_size)

    def sample(self, first: Indices, include: Indices, size: int) -> SearchSample:
        """Gather a sample of rows for a search on the driver; it includes the given rows, which are at hand."""
        rows, weights = self.data.draw_sample(self.known.given_rows(first), size)
        wanted = self.known.given_rows(np.unique(include))
        missing = np.flatnonzero(~np.isin(wanted.indices, rows.indices))
        rows, weights = join([rows, wanted.take(missing)]), np.append(weights, wanted.weights[missing])
        positions = self.known.add_sample(rows, weights)
        order = np.argsort(positions)
        return SearchSample.of(
            self.space, positions[order], weights[order], len(first), self.memory_limit, self.data.run
        )

    def hold(self, indices: Indices, memory_limit: int) -> int:
        """Hold nothing: the rows of the sample are in memory."""
        return 0

    def draw_points(self, size: int) -> Batch:
        """Draw rows of the sample as points that confirm swaps; only the sample has weights that stand for all rows.

        Half of the odds go by weight. The other half is the same for all rows, so that rows that were drawn for being
        far away, which weigh little, are not lost.
        """
        standing_for_others = np.flatnonzero(self.space.weights)
        weights = self.space.weights[standing_for_others]
        if size >= len(weights):
            return Batch(standing_for_others, weights)
        odds = weights / weights.sum() + 1 / len(weights)
        drawn = draw_by_odds(weights, odds, size, np.empty(0, np.int64), self.data.run.rng)
        return Batch(standing_for_others[drawn.indices], drawn.weights)

    def best_members(self, medoids: Indices, judges: dict[int, Judges], tried: Indices) -> Indices:
        """Return, for each judged cluster, the untried members with the smallest mean loss over the judges."""
        travelling = {slot: self._send(each) for slot, each in judges.items()}
        medoid_rows = self.known.given_rows(medoids).rows
        shared = (self.data.metric, medoid_rows, travelling, self.space.given_indices(tried))
        ranked = self.data.best("members", tasks.best_members, *shared, count=CANDIDATES_BY_CLUSTER)
        n_judges = share_judged(self.n) * sum(len(each.points.indices) for each in judges.values())
        self.data.n_distances += self.data.n * (len(medoids) + int(n_judges / len(medoids)))
        return np.empty(0, np.int64) if ranked is None else np.sort(self.known.add(ranked.rows))

    def _send(self, judges: Judges) -> JudgeRows:
        """Return judges in the form that is sent to the partitions."""
        points = self.known.given_rows(judges.points.indices)
        weighted = GivenRows(points.indices, points.rows, judges.points.weights, points.are_candidates)
        return JudgeRows(weighted, judges.second_distances, judges.reach)

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

        def weigh(medoids: Indices, _: int | None) -> NDArray[np.float64]:
            return self.assess([medoids])[0].profile.weights

        def find_farthest(medoids: Indices) -> int | None:
            (assessment,) = self.assess([medoids])
            return int(self.known.add(assessment.farthest)[0]) if assessment.distance > 0 else None

        return move_empty(medoids, len(self.space.fixed), weigh, find_farthest)
