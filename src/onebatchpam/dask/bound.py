"""A statistical bound for rows in partitions: only its points, and candidates for its core, come to the driver."""

from __future__ import annotations

import numpy as np

from onebatchpam._parameters import check_medoids
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, RecomputedBlock
from onebatchpam.bounds import (
    NO_BOUND,
    Deadline,
    LowerBound,
    Multipliers,
    PointSample,
    Priced,
    Served,
    bound_from,
    check_fixed_are_chosen,
    check_objective,
    conclude,
    count_draws,
    maximise_sample,
    sums_of_chosen,
)
from onebatchpam.dask import bound_tasks as tasks
from onebatchpam.dask.bound_tasks import DrawnPoints
from onebatchpam.dask.known import KnownRows
from onebatchpam.dask.partition import GivenRows
from onebatchpam.dask.population import PartitionedData
from onebatchpam.search import ClusterProfile


class PartitionedBound:
    """The bound of medoids, of which the first ones are fixed, over all rows of a data set in partitions."""

    def __init__(self, data: PartitionedData, medoids: GivenRows, n_fixed: int) -> None:
        self.data, self.medoids, self.n_fixed = data, medoids, n_fixed
        with data.run.stages.stage("assignment", total=data.n) as bar:
            self.judged = data.partitions.keep("judge", tasks.judge, data.metric, medoids, n_fixed)
            found = data.partitions.run("measure", tasks.measure, each=self.judged)
            bar.update(data.n)
        self.objective = sum(objective for objective, _ in found)
        self.profile = ClusterProfile.join([profile for _, profile in found])

    def compute(self, confidence: float, deadline: Deadline, max_bytes: int) -> LowerBound:
        """Return a bound that holds with this confidence."""
        drawn = self._draw()
        if drawn is None:
            return conclude(NO_BOUND, 0, self.objective, confidence, deadline)
        sample, points = drawn
        problem = PartitionedProblem(self, sample, points)
        found = maximise_sample(problem, sample, confidence, deadline, max_bytes, self.data.run)
        return conclude(found, len(sample.points), self.objective, confidence, deadline)

    def _draw(self) -> tuple[PointSample, DrawnPoints] | None:
        """Draw points by weight times ceiling, and gather them; return None if all ceilings are zero."""
        data = self.data
        found = data.on_all("draws", "sum", tasks.sum_odds, self.profile, each=self.judged)
        numbers, sums = (np.array(values) for values in zip(*found, strict=True))
        total = float(sums.sum())
        if total == 0:
            return None
        n_draws = np.zeros(len(data.partitions.sizes), np.int64)
        n_draws[numbers] = data.run.rng.multinomial(count_draws(len(self.medoids)), sums / total)
        told = (self.profile, n_draws, data.run.rng.randint(2**31))
        drawn = DrawnPoints.join(data.on_all("draws", "draw", tasks.draw_points, *told, each=self.judged))
        points = np.arange(len(drawn.rows))
        return PointSample.of(points, drawn.counts, drawn.ceilings, int(n_draws.sum()), total), drawn


class PartitionedProblem:
    """The problem of a sample whose candidates are all rows of a data set in partitions.

    A candidate has an index as soon as it is gathered on the driver: its position among the rows at hand.
    """

    def __init__(self, bound: PartitionedBound, sample: PointSample, drawn: DrawnPoints) -> None:
        data, rows = bound.data, drawn.rows
        self._partitions, self._metric, self._judged = data.partitions, data.metric, bound.judged
        self._known = KnownRows(rows, sample.weights, data.metric, data.run.n_jobs, data.n)
        self._points = sample.points
        # The points are sent to the workers once, and the multipliers in each pass.
        weighted = GivenRows(rows.indices, rows.rows, sample.weights, rows.are_candidates)
        self._told_points = data.partitions.share(weighted)
        self.served = Served(sample.weights, drawn.ceilings, drawn.nearest, drawn.second, drawn.to_fixed)
        self.medoids, self.n_fixed = self._known.add(bound.medoids), bound.n_fixed

    def block_of(self, candidates: Indices) -> Block:
        """Return the block of these candidates x all points; its tiles are computed when they are needed."""
        return RecomputedBlock.keeping_nothing(self._known.space.distances_to, self._points, candidates)

    def price(self, multipliers: Multipliers, run: Run) -> Priced:
        """Price all rows where they are; gather those that the core should have."""
        told, k = (self._metric, self._told_points, multipliers), len(self.medoids)
        with run.stages.stage("pricing", total=self._partitions.n) as bar:
            found = self._partitions.run_merged(
                "price", tasks.price, *told, each=self._judged, merge=tasks.merge_cheapest, count=k
            )
            bar.update(self._partitions.n)
        wanted, fixed, weights = self._known.add(found.rows), self.medoids[: self.n_fixed], self.served.weights
        of_fixed = self.block_of(fixed).weighted_sums(weights, run.n_jobs, multipliers) if len(fixed) else np.empty(0)
        smallest = sums_of_chosen(of_fixed, found.scores[~np.isin(wanted, fixed)], k - self.n_fixed)
        return Priced(bound_from(smallest, weights, multipliers), wanted, np.empty(0))


def bound_by_sample(
    data: PartitionedData,
    medoids: Indices,
    fixed: Indices,
    objective: float,
    confidence: float,
    deadline: Deadline,
    max_bytes: int,
) -> LowerBound:
    """Return a lower bound on the objective of any k medoids, given k medoids to judge by it.

    `objective` is that of the fit that chose the medoids; raise if they have another on these data.
    """
    check_medoids(medoids, len(medoids), data.n, "medoids")
    check_fixed_are_chosen(fixed, medoids)
    rows = data.take(np.concatenate([fixed, np.setdiff1d(medoids, fixed)]))
    absent = rows.indices[rows.weights == 0]
    if len(absent):
        raise ValueError(f"medoids holds row {absent[0]}, whose weight is zero: expected rows of positive weight")
    bound = PartitionedBound(data, rows, len(fixed))
    at_hand = KnownRows(rows, rows.weights, data.metric, data.run.n_jobs, data.n).space
    at_hand.check_scale(bound.profile.largest_distances.max())
    check_objective(bound.objective, objective)
    return bound.compute(confidence, deadline, max_bytes)
