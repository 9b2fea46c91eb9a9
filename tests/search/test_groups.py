"""Refinement with so many medoids that they are confirmed in groups of neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import reference
from onebatchpam import OneBatchPAM
from onebatchpam._draws import Batch
from onebatchpam.algorithms import InMemory
from onebatchpam.data.rows import HeldRows
from onebatchpam.search import groups, refine
from onebatchpam.search.groups import GroupedConfirmation, split_in_groups
from onebatchpam.search.swaps import SwapOptions
from spaces import make_run, make_space
from stored import Recorded

X, _ = make_blobs(2000, 4, centers=60, random_state=1)
K = 40
MODEL = OneBatchPAM(K, metric="manhattan", batch_size=400, random_state=0, effort="fast")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    """Make 40 medoids so many that they are confirmed in groups, on all 2,000 rows."""
    monkeypatch.setattr(refine, "MOST_ENTRIES", 11 * K * 500)
    monkeypatch.setattr(refine, "GROUP_SIZE", 8)
    monkeypatch.setattr(groups, "GROUP_SIZE", 8)
    monkeypatch.setattr(groups, "GROUPS_OF_POINT", 3)


@pytest.fixture
def confirmations(monkeypatch):
    """The rounds of grouped confirmation that a fit makes, each with its number of swaps."""
    seen, confirm = [], GroupedConfirmation.confirm

    def record(self, candidates, *others):
        seen.append(confirm(self, candidates, *others))
        return seen[-1]

    monkeypatch.setattr(GroupedConfirmation, "confirm", record)
    return seen


def test_it_gains_as_much_as_one_search_among_all_medoids(confirmations, monkeypatch):
    plain, grouped = [], []
    for seed in range(4):
        model = clone(MODEL).set_params(random_state=seed)
        plain.append(clone(model).set_params(refine=0).fit(X).inertia_)
        grouped.append(model.fit(X).inertia_)
        assert model.n_refine_rounds_ > 0
    assert confirmations
    n_grouped = len(confirmations)
    monkeypatch.setattr(refine, "MOST_ENTRIES", 2**26)
    whole = [clone(MODEL).set_params(random_state=seed).fit(X).inertia_ for seed in range(4)]
    assert len(confirmations) == n_grouped
    assert np.mean(plain) - np.mean(grouped) > 0.7 * (np.mean(plain) - np.mean(whole)) > 0


@pytest.mark.parametrize("metric", ["manhattan", "canberra", "precomputed", "asymmetric"])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_round_is_at_least_as_good(metric, weighted, rng, confirmations):
    rows = X[:900]
    weights = rng.randint(1, 5, len(rows)).astype(float) if weighted else None
    if metric in ("precomputed", "asymmetric"):
        rows = reference.distance_block(rows, rows, "manhattan")
        if metric == "asymmetric":
            rows = rows * rng.uniform(0.5, 1.5, rows.shape)
    name = "precomputed" if metric == "asymmetric" else metric
    inertias = [
        OneBatchPAM(K, metric=name, batch_size=200, refine=rounds, random_state=1, effort="fast")
        .fit(rows, sample_weight=weights)
        .inertia_
        for rounds in (0, 1, 2, 4)
    ]
    assert inertias == sorted(inertias, reverse=True)
    assert inertias[-1] < inertias[0]
    assert sum(each.n_swaps for each in confirmations)


def begin_confirmation(medoids, points, *, finds_runners_up=False):
    run = make_run(0)
    population = InMemory(make_space(X, "manhattan"), K, 2**30, run)
    return GroupedConfirmation(population, medoids, points, SwapOptions(), run, finds_runners_up=finds_runners_up)


def test_runners_up_are_found_on_demand_and_change_nothing_else(rng):
    medoids, candidates = np.split(rng.choice(len(X), K + 200, replace=False), [K])
    points = Batch(np.arange(len(X)), np.ones(len(X)))
    found = {}
    for wanted in (False, True):
        confirmation = begin_confirmation(medoids, points, finds_runners_up=wanted)
        confirmation.begin_round()
        runners_up = confirmation.confirm(candidates).find_runners_up()
        found[wanted] = confirmation.medoids.tolist(), runners_up
    assert found[False][0] == found[True][0]
    assert len(found[False][1]) == 0
    assert 0 < len(found[True][1]) <= K
    assert np.isin(found[True][1], np.concatenate([medoids, candidates])).all()


def test_the_loss_of_a_round_is_an_upper_bound_and_begins_exact(rng):
    """After many swaps in other groups, the loss that is kept is still at least the true one."""
    weights = rng.uniform(0.5, 2, len(X))
    medoids = rng.choice(len(X), K, replace=False)
    confirmation = begin_confirmation(medoids, Batch(np.arange(len(X)), weights))

    def true_loss():
        distances = reference.distance_block(X[confirmation.medoids], X, "manhattan")
        return np.sum(weights * distances.min(axis=0))

    for _ in range(3):
        confirmation.begin_round()
        state = confirmation.state()
        assert state.loss == pytest.approx(true_loss(), rel=1e-6)
        result = confirmation.confirm(rng.choice(len(X), 200, replace=False))
        assert true_loss() * (1 - 1e-6) <= result.loss < state.loss
        assert len(np.unique(confirmation.medoids)) == K


def test_state_knows_the_two_nearest_medoids(rng):
    medoids, points = rng.choice(len(X), K, replace=False), np.sort(rng.choice(len(X), 700, replace=False))
    confirmation = begin_confirmation(medoids, Batch(points, np.ones(700)))
    confirmation.begin_round()
    state = confirmation.state()
    block = reference.distance_block(X[medoids], X[points], "manhattan")
    np.testing.assert_array_equal(state.nearest, block.argmin(axis=0))
    ordered = np.sort(block, axis=0)
    np.testing.assert_allclose(state.nearest_distances, ordered[0], rtol=1e-6)
    np.testing.assert_allclose(state.second_distances, ordered[1], rtol=1e-6)


def test_only_a_new_round_draws_groups(rng, monkeypatch):
    drawn = []
    monkeypatch.setattr(groups, "split_in_groups", lambda *given: drawn.append(given) or split_in_groups(*given))
    confirmation = begin_confirmation(rng.choice(len(X), K, replace=False), Batch(np.arange(len(X)), np.ones(len(X))))
    for n_rounds in (1, 2):
        confirmation.begin_round()
        assert confirmation.state().loss == confirmation.state().loss
        confirmation.confirm(rng.choice(len(X), 50, replace=False))
        assert len(drawn) == n_rounds


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("points_per_medoid", [20, 200])
def test_confirming_points_are_read_once_where_they_fit_in_memory(points_per_medoid, confirmations, monkeypatch):
    monkeypatch.setattr(refine, "POINTS_PER_MEDOID", points_per_medoid)
    held = Recorded(X)
    model = clone(MODEL).fit(held)
    assert confirmations
    monkeypatch.setattr(HeldRows, "take", lambda self, indices: self._rows.take(indices))
    fetched = Recorded(X)
    np.testing.assert_array_equal(clone(MODEL).fit(fetched).medoid_indices_, model.medoid_indices_)
    n_held, n_fetched = (sum(stop - start for start, stop in source.reads) for source in (held, fetched))
    assert n_held < n_fetched / 2


def test_groups_are_neighbours_and_hold_every_medoid_once():
    line = np.arange(100.0)[:, None]
    found = list(split_in_groups(make_space(line, "manhattan"), np.arange(100), make_run(3).rng))
    assert sorted(np.concatenate(found)) == list(range(100))
    assert max(map(len, found)) <= 8
    # On a line, a half holds at most the two ends that lie beyond the poles, or the stretch between them.
    assert np.mean([np.ptp(slots) for slots in found]) < 50


def test_parts_of_the_candidates_are_enough(monkeypatch, confirmations):
    monkeypatch.setattr(groups, "MOST_ENTRIES_OF_GROUP", 1)
    plain = clone(MODEL).set_params(refine=0).fit(X)
    assert clone(MODEL).fit(X).inertia_ < plain.inertia_
    assert confirmations


def test_fixed_medoids_and_candidates_are_respected(confirmations):
    allowed = np.arange(0, len(X), 2)
    fixed = np.array([4, 2, 30])
    model = clone(MODEL).fit(X, fixed_medoids=fixed, candidates=allowed)
    assert sum(each.n_swaps for each in confirmations)
    np.testing.assert_array_equal(model.medoid_indices_[:3], fixed)
    assert np.isin(model.medoid_indices_, allowed).all()


def test_threads_tiles_and_memory_do_not_matter(request, confirmations):
    expected = clone(MODEL).fit(X)
    others = [clone(MODEL).set_params(n_jobs=3).fit(X), clone(MODEL).set_params(memory_limit="1MB").fit(X)]
    request.getfixturevalue("smallest_tiles")
    for model in (*others, clone(MODEL).fit(X)):
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert confirmations


def test_a_sample_of_points_confirms_if_there_are_many_rows(monkeypatch, confirmations):
    monkeypatch.setattr(refine, "POINTS_PER_MEDOID", 30)
    plain = clone(MODEL).set_params(refine=0).fit(X)
    model = clone(MODEL).fit(X)
    assert model.inertia_ < plain.inertia_
    assert model.n_refine_rounds_ == len(confirmations)


def test_rounds_that_are_not_kept_are_not_counted(monkeypatch, confirmations):
    monkeypatch.setattr(refine, "POINTS_PER_MEDOID", 30)
    monkeypatch.setattr(InMemory, "draw_points", lambda self, size: Batch(np.arange(50), np.ones(50)))
    plain, model = clone(MODEL).set_params(refine=0).fit(X), clone(MODEL).fit(X)
    assert sum(each.n_swaps for each in confirmations)
    assert model.n_refine_rounds_ == 0
    assert model.n_swaps_ == plain.n_swaps_
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
