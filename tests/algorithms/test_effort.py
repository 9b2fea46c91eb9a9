"""The parameter `effort`: how much a fit spends to come closer to the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

import reference
from onebatchpam import OneBatchPAM, block_metric, lower_bound
from onebatchpam.algorithms import effort as efforts
from onebatchpam.batch import sample
from onebatchpam.bounds.core import find_core
from spaces import make_run, make_space

X = np.random.RandomState(3).standard_normal((1500, 3))  # without groups, so that there are many local optima
MODEL = OneBatchPAM(20, metric="manhattan", batch_size=200, random_state=0)


def fit(rows=X, fixed_medoids=None, candidates=None, sample_weight=None, **parameters):
    model = clone(MODEL).set_params(**parameters)
    return model.fit(rows, fixed_medoids=fixed_medoids, candidates=candidates, sample_weight=sample_weight)


def test_more_effort_is_better():
    fast, balanced, best = (
        [fit(effort=effort, random_state=seed).inertia_ for seed in range(4)] for effort in ("fast", "balanced", "best")
    )
    assert np.mean(best) <= np.mean(balanced) < np.mean(fast)
    assert max(best) <= max(balanced) <= max(fast)


def test_the_best_is_close_to_the_optimum():
    model = fit(effort="best")
    assert lower_bound(X, model).gap < 0.015


def test_balanced_is_two_starts_and_fast_is_one():
    for effort, n_init in (("fast", 1), ("balanced", 2)):
        expected = fit(n_init=n_init, effort="fast")
        np.testing.assert_array_equal(fit(effort=effort).medoid_indices_, expected.medoid_indices_)


@pytest.mark.parametrize(
    ("parameters", "effort"),
    [
        ({}, "balanced"),
        ({"n_clusters": 1}, "fast"),
        ({"batch_size": len(X)}, "fast"),
        ({"refine": 0}, "fast"),
        ({"init": np.arange(20)}, "fast"),
        ({"metric": block_metric(cdist)}, "fast"),
    ],
)
def test_the_default_is_two_starts_where_one_would_be_worse_than_fasterpam(parameters, effort):
    model, expected = fit(**parameters), fit(effort=effort, **parameters)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert model.n_distances_ == expected.n_distances_


def test_the_default_is_one_start_if_there_are_very_many_rows(monkeypatch):
    monkeypatch.setattr(sample, "MANY_ROWS", len(X) - 1)
    assert fit().n_distances_ == fit(effort="fast").n_distances_


@pytest.mark.parametrize("effort", ["balanced", "best"])
@pytest.mark.parametrize("batch_size", [200, len(X)])
def test_it_is_a_solution_of_the_same_problem(effort, batch_size, rng):
    fixed, allowed, weights = np.array([8, 2]), np.arange(0, len(X), 2), rng.randint(1, 4, len(X)).astype(float)
    given = {"fixed_medoids": fixed, "candidates": allowed, "sample_weight": weights, "batch_size": batch_size}
    model, fast = fit(effort=effort, **given), fit(**given)
    np.testing.assert_array_equal(model.medoid_indices_[:2], fixed)
    assert np.isin(model.medoid_indices_, allowed).all()
    assert len(np.unique(model.medoid_indices_)) == 20
    distances = reference.distance_block(X[model.medoid_indices_], X, "manhattan").min(axis=0)
    assert model.inertia_ == pytest.approx(weights @ distances, rel=1e-6)
    assert model.inertia_ <= fast.inertia_


@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_threads_and_memory_do_not_matter(effort):
    expected = fit(effort=effort)
    for parameters in ({"n_jobs": 3}, {"memory_limit": "2MB"}):
        model = fit(effort=effort, **parameters)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)


def test_medoids_that_are_given_are_only_the_first_start():
    start = np.arange(20)
    assert fit(effort="balanced", init=start).inertia_ <= fit(init=start).inertia_


def test_few_rows_do_not_depend_on_the_seed():
    rows = X[:150]
    first, second = (fit(rows, effort="balanced", batch_size=150, random_state=seed) for seed in (0, 1))
    np.testing.assert_array_equal(first.medoid_indices_, second.medoid_indices_)


def test_ctrl_c_in_the_search_for_the_core_ends_the_fit(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("onebatchpam.bounds.dual._Climber.climb", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(effort="best")


def test_many_rows_have_no_core(monkeypatch):
    monkeypatch.setattr(efforts, "MOST_ROWS_FOR_CORE", 1000)
    model, expected = fit(effort="best"), fit(effort="fast", n_init=3)
    assert "core" not in model.fit_seconds_
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)


def test_the_core_compares_all_pairs_only_once():
    """A batch of all rows has compared them; what follows compares a pool of candidates and the medoids."""
    n, k = len(X), 20
    fast, best = (fit(effort=effort, batch_size=n).n_distances_ for effort in ("fast", "best"))
    assert best - fast < 10 * k * n < n * n


def test_the_core_holds_fixed_medoids_and_the_cheapest_candidates():
    """On a line with two heaps, the middles of both are the cheapest candidates."""
    line = np.concatenate([np.arange(11.0), 100 + np.arange(11.0)])[:, None]
    space = make_space(line, "manhattan")
    core = find_core(space, np.array([0, 12]), 4, 2**30, make_run(0))
    assert {5, 16} <= set(core[:2].tolist())
    space.fixed = np.array([3])
    assert find_core(space, np.array([3, 12]), 4, 2**30, make_run(0))[0] == 3


def test_only_candidates_are_in_the_core_whatever_the_metric():
    allowed, matrix = np.arange(0, 300, 3), reference.distance_block(X[:300], X[:300], "manhattan")
    for metric, rows in (("precomputed", matrix), ("canberra", X[:300])):
        model = fit(rows, candidates=allowed, metric=metric, effort="best", batch_size=300)
        assert np.isin(model.medoid_indices_, allowed).all()


@pytest.mark.parametrize("value", ["slow", None, 1])
def test_wrong_values(value):
    with pytest.raises(ValueError, match="effort="):
        fit(effort=value)
