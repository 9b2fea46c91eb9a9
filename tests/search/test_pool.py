"""Pool search: kicks among what other searches have found."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import reference
from onebatchpam import FasterPAM, OneBatchPAM, _progress
from onebatchpam._progress import Bar, Stages
from onebatchpam.algorithms import InMemory
from onebatchpam.blocks.block import WholeBlock
from onebatchpam.search import groups, refine
from onebatchpam.search.candidates import find_runners_up, smallest_of_each
from onebatchpam.search.pool import PoolSearch
from onebatchpam.search.refine import Refinement
from onebatchpam.search.swaps import SwapOptions, run_swaps
from spaces import make_run, make_space

X, _ = make_blobs(600, 3, centers=25, random_state=2)


def search(block, start, kicks=60, weights=None, seed=0, **options):
    run, weights = make_run(seed), np.ones(block.shape[1]) if weights is None else weights
    with Stages().stage("pool search") as bar:
        return PoolSearch(kicks, bar)(WholeBlock(block), start, weights, SwapOptions(**options), run)


@pytest.mark.parametrize("seed", range(5))
def test_a_small_pool_is_searched_to_the_optimum(seed):
    rng = np.random.RandomState(seed)
    block, weights = rng.rand(9, 30).astype(np.float32), rng.uniform(0.5, 2, 30)
    found = search(block, np.arange(3), weights=weights, seed=seed)
    losses = {chosen: weights @ block[list(chosen)].min(axis=0) for chosen in combinations(range(9), 3)}
    assert found.loss == pytest.approx(min(losses.values()), rel=1e-6)
    assert losses[tuple(sorted(found.medoids.tolist()))] == pytest.approx(found.loss, rel=1e-6)


def test_it_is_better_than_swaps_alone(rng):
    rows = rng.rand(400, 4)  # without groups, so that there are many local optima
    block = reference.distance_block(rows[:120], rows, "manhattan").astype(np.float32)
    gains = []
    for _ in range(5):
        start = rng.choice(120, 20, replace=False)
        swapped = run_swaps(WholeBlock(block), start, np.ones(400), SwapOptions(), make_run(0))
        found = search(block, start)
        assert found.loss <= swapped.loss
        assert found.loss == pytest.approx(reference.loss(block, found.medoids, np.ones(400)), rel=1e-6)
        gains.append(1 - found.loss / swapped.loss)
    assert np.mean(gains) > 0.002


def test_fixed_medoids_are_never_kicked(rng):
    block = reference.distance_block(X[:80], X, "manhattan").astype(np.float32)
    for n_fixed in (1, 4, 5, 6):
        start = rng.choice(80, 6, replace=False)
        found = search(block, start, n_fixed=n_fixed)
        np.testing.assert_array_equal(found.medoids[:n_fixed], start[:n_fixed])
        assert len(np.unique(found.medoids)) == 6


@pytest.mark.parametrize(("n", "k"), [(5, 5), (6, 5), (5, 1), (2, 1)])
def test_pools_with_little_or_nothing_to_choose(n, k):
    block = reference.distance_block(X[:n], X, "manhattan").astype(np.float32)
    found = search(block, np.arange(k))
    assert found.loss <= reference.loss(block, np.arange(k), np.ones(len(X))) * (1 + 1e-6)


@pytest.fixture(params=["together", "in groups", "in groups and parts"])
def every_confirmation(request, monkeypatch):
    """Search the pool of all medoids at once, or of each group by itself, or some candidates of a group at a time."""
    if request.param != "together":
        monkeypatch.setattr(refine, "MOST_ENTRIES", 1)
        for module in (refine, groups):
            monkeypatch.setattr(module, "GROUP_SIZE", 10)
    if request.param == "in groups and parts":
        monkeypatch.setattr(groups, "MOST_ENTRIES_OF_GROUP", 12 * len(X))


@pytest.mark.usefixtures("every_confirmation")
def test_the_objective_of_all_rows_is_never_worse(rng):
    k, run = 40, make_run(1)
    population = InMemory(make_space(X, "manhattan"), k, 2**30, run)
    block = WholeBlock(reference.distance_block(X, X[:50], "manhattan").astype(np.float32))
    refinement = Refinement(population, block, np.ones(50), SwapOptions(), 2, 2**30, population.n, run)
    medoids, pool = rng.choice(len(X), k, replace=False), rng.choice(len(X), 3 * k, replace=False)
    found = refinement.search_pool(medoids, pool, 30)
    assert np.isin(found.medoids, np.union1d(medoids, pool)).all()
    before, after = (reference.inertia(X, each, "manhattan") for each in (medoids, found.medoids))
    assert after < 0.9 * before
    assert found.n_swaps > 0
    assert "pool search" in run.stages.seconds


@pytest.mark.usefixtures("every_confirmation")
def test_progress_never_exceeds_its_total(rng, monkeypatch):
    shown, update = [], Bar.update
    monkeypatch.setattr(_progress, "are_bars_seen", lambda: True)
    monkeypatch.setattr(Bar, "update", lambda bar, n=1: (update(bar, n), shown.append((bar.n, bar.total))))
    run = replace(make_run(1), stages=Stages(verbose=1))
    population = InMemory(make_space(X, "manhattan"), 40, 2**30, run)
    block = WholeBlock(reference.distance_block(X, X[:50], "manhattan").astype(np.float32))
    refinement = Refinement(population, block, np.ones(50), SwapOptions(), 2, 2**30, population.n, run)
    medoids, pool = np.split(rng.choice(len(X), 160, replace=False), [40])
    refinement.search_pool(medoids, pool, 30)
    counts, totals = np.array(shown).T
    assert (np.diff(counts) >= 0).all()
    assert (totals[:-1] == totals[0]).all()
    assert totals[0] / 2 <= counts[-2] <= totals[0]  # half of all kicks are made, at least
    assert counts[-1] == totals[-1]  # the bar ends at 100 %


def test_nothing_is_done_without_other_candidates():
    run = make_run(1)
    population = InMemory(make_space(X, "manhattan"), 5, 2**30, run)
    block = WholeBlock(reference.distance_block(X, X[:50], "manhattan").astype(np.float32))
    refinement = Refinement(population, block, np.ones(50), SwapOptions(), 2, 2**30, population.n, run)
    found = refinement.search_pool(np.arange(5), np.arange(5), 30)
    np.testing.assert_array_equal(found.medoids, np.arange(5))
    assert run.stages.seconds == {}


def test_runners_up_are_the_best_swaps_that_were_not_made(rng):
    """The runner-up of a medoid is the row with the smallest loss among those whose best swap replaces this medoid."""
    block, weights, medoids = rng.rand(40, 60).astype(np.float32), rng.uniform(0.5, 2, 60), np.array([3, 20, 31])
    losses = np.full((40, 3), np.inf)
    for row in np.setdiff1d(np.arange(40), medoids):
        for slot in range(3):
            losses[row, slot] = reference.loss(block, np.r_[np.delete(medoids, slot), row], weights)
    slots = losses.argmin(axis=1)
    expected = {int(np.argmin(np.where(slots == slot, losses[:, slot], np.inf))) for slot in range(3)}
    found = find_runners_up(WholeBlock(block), medoids, weights, 0, 1)
    assert set(found.tolist()) == expected


def test_copies_of_a_row_are_one_candidate():
    groups, keys = np.array([0, 0, 0, 0, 1, 1]), np.array([2.0, 1.0, 2.0, 3.0, 2.0, 2.0])
    assert smallest_of_each(groups, keys, 2).tolist() == [1, 0, 4]


def test_copies_do_not_crowd_out_other_candidates(rng):
    """Counts have many copies; with one candidate for all of them, refinement comes close to FasterPAM."""
    rows = rng.poisson(1.5, size=(3000, 4)).astype(float)
    expected = FasterPAM(30, metric="manhattan", random_state=0).fit(rows).inertia_
    model = OneBatchPAM(30, metric="manhattan", batch_size=300, random_state=0).fit(rows)
    assert model.inertia_ < 1.015 * expected
