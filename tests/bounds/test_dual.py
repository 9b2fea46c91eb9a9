"""The Lagrangian dual: reduced costs, the bound that follows from them, and its maximum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import reference
from onebatchpam import _core, lower_bound
from onebatchpam.blocks import ReducedRows, WholeBlock
from onebatchpam.bounds.dual import Problem, Schedule
from onebatchpam.bounds.solution import compare_with_medoids
from spaces import make_matrix_space, make_run


@pytest.mark.parametrize("m", [1, 63, 500])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_reduced_costs_equal_the_reference(m, n_threads, rng):
    block, weights = rng.rand(70, m).astype(np.float32), rng.rand(m)
    thresholds = rng.rand(m).astype(np.float32)
    multipliers = (thresholds * np.where(rng.rand(m) < 0.3, 1, rng.rand(m))).astype(np.float32)
    rows = ReducedRows.of(block, thresholds, 10**9, 1)
    costs = np.empty(70)
    _core.reduced_costs(rows.starts, rows.columns, rows.values, multipliers, weights, costs, n_threads)
    expected, _ = reference.lagrangian_bound(block, multipliers, weights, 1)
    np.testing.assert_allclose(costs, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_serving_rows_are_counted(dtype, rng):
    block, multipliers = rng.rand(20, 30).astype(np.float32), rng.rand(30).astype(np.float32)
    rows = ReducedRows.of(block, np.ones(30, np.float32), 10**9, 1)
    chosen, counts = np.array([3, 7, 19]), np.empty(30, np.int32)
    _core.count_serving(chosen, rows.starts, rows.columns.astype(dtype), rows.values, multipliers, counts)
    np.testing.assert_array_equal(counts, (block[chosen] < multipliers).sum(axis=0))


def test_joined_rows_are_those_of_the_parts(rng):
    block, thresholds = rng.rand(20, 30).astype(np.float32), rng.rand(30).astype(np.float32)
    parts = [ReducedRows.of(block[part], thresholds, 10**9, 1) for part in (slice(0, 7), slice(7, 8), slice(8, 20))]
    joined = ReducedRows.join(parts).expand(np.empty_like(block), 1)
    np.testing.assert_array_equal(joined, np.where(block < thresholds, block, np.inf))


def test_a_schedule_ends_earlier_if_the_gap_is_small():
    schedule = Schedule(most_rounds=5, most_if_close=2, first_steps=100)
    assert [schedule.is_over(n, 0.001) for n in (1, 2, 3)] == [False, True, True]
    assert [schedule.is_over(n, 0.1) for n in (1, 2, 4, 5)] == [False, False, False, True]
    assert [schedule.count_steps(n) for n in range(4)] == [100, 150, 200, 200]  # 200 is the most


@pytest.mark.parametrize("fixed", [[], [4], [4, 0]])
def test_the_bound_of_any_multipliers_is_that_of_the_reference(fixed, rng):
    matrix, weights = rng.rand(40, 40).astype(np.float32), rng.rand(40) + 0.1
    space = make_matrix_space(matrix, weights)
    space.fixed = np.array(fixed, np.int64)
    solution = compare_with_medoids(space, np.array([0, 4, 9, 11]), make_run().stages)
    problem = Problem(WholeBlock(matrix), np.arange(40), weights, solution, np.full(40, np.inf))
    for size in (0.1, 0.3, 1):
        multipliers = (size * rng.rand(40)).astype(np.float32)
        bound = problem.price(multipliers, make_run()).bound
        _, expected = reference.lagrangian_bound(matrix, multipliers, weights, 4, fixed)
        assert bound <= max(0, expected)
        assert bound == pytest.approx(max(0, expected), rel=1e-6, abs=1e-9)


def solve_relaxation(matrix, k, weights, fixed):
    """Return the optimum of the linear relaxation: rows may be medoids, and serve points, in part."""
    n = len(matrix)
    serve, choose = np.kron(np.ones(n), np.eye(n)), np.zeros((n, n))  # variables: serves[i, j], then is_medoid[i]
    equal = np.vstack([np.hstack([serve, choose]), np.concatenate([np.zeros(n * n), np.ones(n)])[None]])
    below = np.hstack([np.eye(n * n), -np.kron(np.eye(n), np.ones((n, 1)))])
    bounds = [(0, 1)] * (n * n) + [(1, 1) if i in fixed else (0, 1) for i in range(n)]
    costs = np.concatenate([(matrix * weights).ravel(), np.zeros(n)])
    result = linprog(costs, A_ub=below, b_ub=np.zeros(n * n), A_eq=equal, b_eq=np.r_[np.ones(n), k], bounds=bounds)
    return result.fun


@pytest.mark.parametrize(("k", "fixed"), [(2, []), (5, []), (5, [3, 8]), (3, [0])])
def test_the_bound_comes_close_to_the_linear_relaxation(k, fixed, rng):
    """The largest dual bound is the optimum of the linear relaxation, which another solver finds."""
    points = rng.rand(25, 2)
    matrix = reference.distance_block(points, points, "euclidean") * rng.uniform(0.7, 1.3, (25, 25))  # not symmetric
    weights = rng.rand(25) + 0.2
    medoids = [*fixed, *(i for i in range(25) if i not in fixed)][:k]
    bound = lower_bound(matrix, medoids, metric="precomputed", sample_weight=weights, fixed_medoids=fixed).bound
    relaxed = solve_relaxation(matrix, k, weights, fixed)
    assert 0.99 * relaxed <= bound <= relaxed * (1 + 1e-9)
