"""The certificate of a solution: an exact bound on up to some ten thousand rows, a statistical one beyond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import (
    as_array,
    check_fixed_medoids,
    check_medoids,
    check_positive,
    check_weights,
    describe,
    is_number,
)
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.blocks import Block, RecomputedBlock, WholeBlock, compute_checked, square_block
from onebatchpam.bounds.dual import Deadline, Maximum, Priceable, Problem, maximise
from onebatchpam.bounds.result import LowerBound
from onebatchpam.bounds.sample import PointSample, choose_ceilings, draw_sample
from onebatchpam.bounds.solution import Solution, compare_with_medoids
from onebatchpam.metrics import MetricLike, resolve_metric
from onebatchpam.space import Space, open_space

# An exact bound compares all pairs of rows several times; with more rows, the bound is statistical.
MOST_EXACT_ROWS = 60_000
DEFAULT_CONFIDENCE = 0.95
# How much the objective may differ from that of the fit, as a fraction: X may come in another type of numbers.
LARGEST_DIFFERENCE = 1e-4
LONGEST_TIME = 1e9  # in seconds; a longer limit counts as none
# The bound if all rows are at distance 0 from their nearest medoids.
NO_BOUND = Maximum(0.0, 0, 0, None, np.empty(0))
JUDGED = "an estimator of this package, or the row indices of its medoids"


def certify(
    X: ArrayLike,
    medoids: ArrayLike,
    *,
    metric: MetricLike,
    metric_params: Mapping[str, Any] | None,
    sample_weight: ArrayLike | None,
    fixed_medoids: ArrayLike | None,
    confidence: float | None,
    time_limit: float | None,
    memory_limit: int | str | None,
    run: Run,
    objective: float | None = None,
) -> LowerBound:
    """Return a lower bound on the objective of any k rows of X, given k medoids to judge by it.

    `objective` is that of the fit that chose the medoids, if there was one; raise if they have another on this X.
    """
    confidence = check_confidence(confidence)
    deadline = set_deadline(time_limit)
    max_bytes = resolve_memory_limit(memory_limit)
    k = as_array(medoids, "medoids", JUDGED).size
    if k == 0:
        raise ValueError(f"medoids is empty: expected {JUDGED}")
    check_medoids(medoids, k, None, "medoids")
    check_fixed_medoids(fixed_medoids, k, None)
    weights = check_weights(sample_weight)
    resolve_metric(metric, metric_params)
    space = open_space(X, metric, metric_params, run.n_jobs, sample_weight=weights)
    space.fixed = check_fixed_medoids(fixed_medoids, k, space.n)
    if objective is not None:
        check_rows_of_fit(medoids, space.n)
    present = space.present()
    chosen = present.find(medoids, k, "medoids")
    check_fixed_are_chosen(space.fixed, present.given_indices(chosen))
    solution = compare_with_medoids(present, chosen, run.stages)
    present.check_scale(solution.nearest.max())
    check_objective(solution.objective, objective)
    confidence = choose_confidence(confidence, present.n)
    if confidence is None:
        found, n_points = bound_exactly(present, solution, deadline, max_bytes, run), present.n
    else:
        found, n_points = bound_by_sample(present, solution, confidence, deadline, max_bytes, run)
    return conclude(found, n_points, solution.objective, confidence, deadline)


def conclude(
    found: Maximum, n_points: int, objective: float, confidence: float | None, deadline: Deadline
) -> LowerBound:
    """Return the result, given the best bound that was found and the number of its points."""
    return LowerBound(
        bound=found.bound,
        objective=objective,
        is_exact=confidence is None,
        confidence=confidence,
        n_points=n_points,
        n_rounds=found.n_rounds,
        n_iter=found.n_iter,
        seconds=deadline.elapsed,
        stopped_by=found.stopped_by,
    )


def choose_confidence(confidence: float | None, n: int) -> float | None:
    """Return the confidence of a bound for n rows of positive weight; None if the bound is exact."""
    return DEFAULT_CONFIDENCE if confidence is None and n > MOST_EXACT_ROWS else confidence


def check_fixed_are_chosen(fixed: Indices, medoids: Indices) -> None:
    """Raise unless all fixed medoids are among the medoids; both are indices in the user's data."""
    missing = fixed[~np.isin(fixed, medoids)]
    if len(missing):
        raise ValueError(f"fixed_medoids holds {missing[0]}, which is not one of the medoids: expected only medoids")


def check_rows_of_fit(medoids: ArrayLike, n: int) -> None:
    """Raise if X lacks a row that was a medoid in the fit."""
    last = np.max(medoids)
    if last >= n:
        raise ValueError(f"X has {n} rows, and row {last} is a medoid of the fit: expected the X of the fit")


def check_objective(objective: float, expected: float | None) -> None:
    """Raise if the medoids of a fit have another objective than they had in the fit."""
    if expected is not None and abs(objective - expected) > LARGEST_DIFFERENCE * max(objective, expected):
        raise ValueError(
            f"the objective of the medoids is {objective:.6g} on X, and was {expected:.6g} in the fit: expected the X "
            "and the sample_weight of the fit"
        )


def bound_exactly(space: Space, solution: Solution, deadline: Deadline, memory_limit: int, run: Run) -> Maximum:
    """Return a bound that is proven, because every row is a point."""
    points = np.arange(space.n)
    block = open_all_candidates(space, points, memory_limit, run)
    problem = Problem(block, points, space.weights, solution, np.full(space.n, np.inf))
    return maximise(problem, deadline, memory_limit - block.n_bytes, run)


def bound_by_sample(
    space: Space, solution: Solution, confidence: float, deadline: Deadline, memory_limit: int, run: Run
) -> tuple[Maximum, int]:
    """Return a bound that holds with this confidence, and the number of distinct points in its sample."""
    ceilings = choose_ceilings(solution, solution.profile)
    sample = draw_sample(space.weights, ceilings, len(solution.medoids), run.rng)
    if sample is None:
        return NO_BOUND, 0
    block = open_all_candidates(space, sample.points, memory_limit, run)
    problem = Problem(block, sample.points, sample.weights, solution, ceilings[sample.points])
    return maximise_sample(problem, sample, confidence, deadline, memory_limit - block.n_bytes, run), len(sample.points)


def maximise_sample(
    problem: Priceable, sample: PointSample, confidence: float, deadline: Deadline, max_bytes: int, run: Run
) -> Maximum:
    """Return the best bound for all rows that holds with this confidence, given the problem of a sample of them."""
    found = maximise(problem, deadline, max_bytes, run)
    return replace(found, bound=sample.limit(found.bound, confidence))


def open_all_candidates(space: Space, points: Indices, memory_limit: int, run: Run) -> Block:
    """Return the block of all rows x points: whole if that fits in memory, otherwise recomputed in each pass."""
    whole = space.whole_block() if len(points) == space.n else None
    if whole is None and not is_kept(space.n, len(points), memory_limit):
        return RecomputedBlock.keeping_nothing(space.distances_to, points, None)
    if len(points) == space.n:
        return WholeBlock(square_block(space, run.n_jobs, run.stages))
    return WholeBlock(compute_checked(space.distances_to(points), run.stages))


def is_kept(n: int, n_points: int, memory_limit: int) -> bool:
    """Tell whether the dual keeps all dissimilarities in memory: if a fifth of it is left for its core."""
    return 5 * n * n_points <= memory_limit


def set_deadline(time_limit: float | None) -> Deadline:
    """Check a time limit in seconds, or None, and return the deadline, counted from now."""
    return Deadline(None if time_limit is None else min(check_positive(time_limit, "time_limit"), LONGEST_TIME))


def check_confidence(confidence: Any) -> float | None:
    """Check a probability of at least one half, or None, and return it."""
    if confidence is None:
        return None
    if not is_number(confidence) or not 0.5 <= confidence < 1:
        expected = "a probability from 0.5 to below 1, such as 0.95, or None"
        raise ValueError(f"{describe(confidence, 'confidence')}: expected {expected}")
    return float(confidence)
