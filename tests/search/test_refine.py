"""Refinement: the batch screens candidates, all points confirm them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import make_blobs

import reference
from onebatchpam import OneBatchPAM, _core
from onebatchpam._draws import Batch
from onebatchpam.algorithms import InMemory
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.search import candidates, confirmation, refine
from onebatchpam.search.candidates import best_by_cluster, draw_judges, smallest_of_each
from onebatchpam.search.refine import count_refining
from spaces import make_space

# There are so many rows and clusters that a search on a batch of 300 leaves something to refine.
X, _ = make_blobs(2000, 4, centers=60, random_state=1)
MODEL = OneBatchPAM(30, metric="manhattan", batch_size=300, random_state=0, effort="fast")


def fit(**parameters):
    return clone(MODEL).set_params(**parameters).fit(X)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "canberra", "precomputed"])
@pytest.mark.parametrize("seed", range(3))
def test_every_round_is_at_least_as_good(variant, metric, seed):
    if metric == "precomputed" and variant == "lwcs":
        pytest.skip("a matrix has no mean")
    data = reference.distance_block(X[:700], X[:700], "manhattan") if metric == "precomputed" else X[:700]
    inertias = [
        OneBatchPAM(12, metric=metric, variant=variant, batch_size=150, refine=rounds, random_state=seed, effort="fast")
        .fit(data)
        .inertia_
        for rounds in (0, 1, 2, 5)
    ]
    assert inertias == sorted(inertias, reverse=True)
    assert inertias[-1] < inertias[0]


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    rows=arrays(np.float64, st.tuples(st.integers(4, 60), st.integers(1, 3)), elements=st.integers(-4, 4)),
    seed=st.integers(0, 3),
)
@pytest.mark.filterwarnings("ignore:found")
def test_it_never_harms_whatever_the_rows(data, rows, seed):
    k = data.draw(st.integers(1, len(rows) - 2))
    m = data.draw(st.integers(k, len(rows) - 1))
    parameters = {"metric": "manhattan", "batch_size": m, "random_state": seed}
    plain = OneBatchPAM(k, refine=0, **parameters).fit(rows)
    assert OneBatchPAM(k, refine=3, **parameters).fit(rows).inertia_ <= plain.inertia_


def test_with_every_row_tried_no_swap_improves(monkeypatch):
    monkeypatch.setattr(refine, "LEAST_PROGRESS", 0.0)
    rows = X[:200]
    model = OneBatchPAM(5, metric="manhattan", batch_size=100, refine=1000, tol=0, random_state=0).fit(rows)
    block = reference.distance_block(rows, rows, "manhattan")
    gains = reference.swap_gains(block, model.medoid_indices_, np.ones(200))
    best = gains.max() / model.inertia_
    assert best < 0.01  # not zero, because each row is tried only once, with the medoids of that round


def test_zero_rounds_are_the_batch_search():
    plain = fit(refine=0)
    assert plain.n_refine_rounds_ == 0
    assert "refinement" not in plain.fit_seconds_
    block = reference.distance_block(X, X[plain.batch_indices_], "manhattan")
    block = reference.debias(block, plain.batch_indices_)
    assert plain.batch_inertia_ == pytest.approx(
        reference.loss(block, plain.medoid_indices_, plain.batch_weights_), rel=1e-6
    )


def test_automatic_refinement_stops_when_it_no_longer_pays():
    automatic = fit()
    assert 0 < automatic.n_refine_rounds_ <= refine.MAX_AUTOMATIC_ROUNDS
    assert automatic.inertia_ == fit(refine=automatic.n_refine_rounds_).inertia_
    last, before = automatic.inertia_, fit(refine=automatic.n_refine_rounds_ - 1).inertia_
    assert last > before * (1 - refine.LEAST_PROGRESS)


def test_it_comes_close_to_fasterpam():
    gaps = []
    for seed in range(5):
        full = fit(batch_size=len(X), random_state=seed).inertia_
        gaps.append([fit(random_state=seed, refine=r).inertia_ / full - 1 for r in (0, "auto")])
    plain, refined = np.mean(gaps, axis=0)
    assert refined < 0.005 < plain


def test_a_batch_of_all_rows_is_not_refined():
    assert fit(batch_size=len(X)).n_refine_rounds_ == 0


def test_threads_and_tiles_do_not_matter(request):
    expected = fit()
    assert expected.n_refine_rounds_ > 1
    parallel = fit(n_jobs=3)
    request.getfixturevalue("smallest_tiles")
    for model in (parallel, fit()):
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert model.n_distances_ == expected.n_distances_


def test_many_medoids_are_confirmed_on_a_sample():
    # There are 600 candidates, more than the 100 batch points, so comparing them with all points would take more
    # dissimilarities than the block.
    parameters = {"n_clusters": 60, "batch_size": 100}
    plain, refined = fit(refine=0, **parameters), fit(**parameters)
    assert refined.inertia_ < plain.inertia_
    block, assignment = len(X) * 100, len(X) * 60
    assert refined.n_distances_ < plain.n_distances_ + 2 * assignment + refined.n_refine_rounds_ * 1.5 * block


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_more_points_than_can_be_held_are_sampled(seed, weighted, monkeypatch):
    weights = np.random.RandomState(seed).randint(1, 4, len(X)).astype(float) if weighted else None
    model = clone(MODEL).set_params(random_state=seed)
    plain = clone(model).set_params(refine=0).fit(X, sample_weight=weights)
    monkeypatch.setattr(refine, "MOST_ENTRIES", 11 * 30 * 1200)
    seen, open_block = [], confirmation.Confirmation._open_block

    def record(*arguments):
        seen.append(open_block(*arguments))
        return seen[-1]

    monkeypatch.setattr(confirmation.Confirmation, "_open_block", record)
    refined = model.fit(X, sample_weight=weights)
    assert refined.inertia_ < plain.inertia_
    assert {block.m for block in seen} == {1200}
    # Each round compares medoids and candidates with the points, and all rows with the medoids and their judges. At the
    # end, two assignments check whether the objective has improved.
    n_distances = len(seen) * (11 * 30 * 1200 + len(X) * (30 + candidates.JUDGES_PER_CLUSTER)) + 2 * len(X) * 30
    assert refined.n_distances_ < plain.n_distances_ + n_distances


def test_a_sample_that_misleads_is_not_followed(monkeypatch):
    monkeypatch.setattr(InMemory, "draw_points", lambda self, size: Batch(np.arange(30), np.ones(30)))
    plain = fit(refine=0)
    np.testing.assert_array_equal(fit(refine=1).medoid_indices_, plain.medoid_indices_)


@pytest.mark.parametrize("value", ["often", -1, 1.5, None, True])
def test_wrong_values(value):
    with pytest.raises(ValueError, match="refine="):
        fit(refine=value)


def test_smallest_of_each(rng):
    groups, keys = rng.randint(0, 5, 40), rng.randint(0, 9, 40).astype(float)
    chosen = smallest_of_each(groups, keys, 3)
    for group in range(5):
        members = np.flatnonzero(groups == group)
        expected = members[np.unique(keys[members], return_index=True)[1][:3]]  # the first of each key
        assert set(chosen[groups[chosen] == group]) == set(expected)
    assert len(smallest_of_each(groups[:0], keys[:0], 3)) == 0


def test_the_middle_of_each_cluster_is_found(rng, monkeypatch):
    monkeypatch.setattr(candidates, "JUDGES_PER_CLUSTER", 10**6)  # all points of a cluster are its judges
    rows = X[:300]
    medoids = np.array([0, 100, 200])
    distances = reference.distance_block(rows[medoids], rows, "manhattan")
    state = _core.SwapSearch(3, np.arange(3), distances.astype(np.float32), np.ones(300), 0.0)
    nearest, second = state.nearest, state.second_distances
    tried = np.zeros(300, dtype=bool)
    tried[medoids] = True
    judges = draw_judges(Batch(np.arange(300), np.ones(300)), state, np.array([True, False, True]), rng)
    space = make_space(rows, "manhattan")
    reaches = {0: np.inf, 2: np.median(state.nearest_distances[nearest == 2])}
    judges = {slot: replace(judges[slot], reach=reaches[slot]) for slot in judges}
    rows_and_nearest = np.arange(300), nearest, state.nearest_distances
    parts = [
        candidates.Labelled(*(values[part] for values in rows_and_nearest)) for part in (slice(0, 130), slice(130, 300))
    ]
    chosen = best_by_cluster(space, judges, parts, tried, 2)
    assert 1 not in nearest[chosen]
    for slot in (0, 2):
        members = np.flatnonzero((nearest == slot) & (state.nearest_distances <= reaches[slot]) & ~tried)
        points = np.flatnonzero(nearest == slot)
        losses = np.minimum(reference.distance_block(rows[members], rows[points], "manhattan"), second[points]).sum(1)
        best = members[np.argsort(losses)[: candidates.CANDIDATES_BY_CLUSTER]]
        assert set(chosen[nearest[chosen] == slot]) == set(best)


@pytest.mark.parametrize("size", [1.0, 1e26])
@pytest.mark.parametrize("n_features", [5, 40])
@pytest.mark.parametrize("second_distance", [1.0, np.inf])
def test_losses_are_right_where_squares_overflow(rng, size, n_features, second_distance):
    """The squares of large numbers do not fit in float32, but the distances do."""
    rows = (rng.rand(12, n_features) * size).astype(np.float32)
    judges, members = Batch(np.arange(6), np.ones(6)), np.arange(6, 12)
    distances = make_space(rows, "euclidean").distances_to(judges.indices, members)
    expected = reference.distance_block(rows[6:], rows[:6], "euclidean")
    caps = np.full(6, second_distance * np.median(expected), np.float32)
    losses = candidates.mean_losses(distances, members, judges, caps, 1)
    np.testing.assert_allclose(losses, np.minimum(expected, caps).mean(1), rtol=1e-5)


def test_of_very_many_rows_a_share_of_each_cluster_is_judged(rng):
    """The members nearest to the medoid; but all members of a cluster with few points, whose reach is not known."""
    labels = np.repeat([0, 1], [1000, 50])
    distances = rng.rand(1050).astype(np.float32)
    state = candidates.Nearest(labels, distances, distances + 1, 1.0)
    points = Batch(np.arange(1050), np.ones(1050))
    judges = draw_judges(points, state, np.array([True, True]), rng, candidates.share_judged(10**6))
    assert (distances[:1000] <= judges[0].reach).sum() == 1000 * candidates.SHARE_JUDGED
    assert judges[1].reach == np.inf
    judges = draw_judges(points, state, np.array([True, True]), rng, candidates.share_judged(100_000))
    assert {each.reach for each in judges.values()} == {np.inf}


class TestStarts:
    def test_more_are_not_worse(self):
        inertias = [fit(n_init=n).inertia_ for n in (1, 2, 5)]
        assert inertias == sorted(inertias, reverse=True)
        assert inertias[-1] < inertias[0]

    def test_they_share_the_block(self):
        one, three = fit(refine=0), fit(refine=0, n_init=3)
        np.testing.assert_array_equal(one.batch_indices_, three.batch_indices_)
        # Three starts take an assignment each, by which they are compared; and all rows are compared with the pool,
        # which has at most three times as many rows as there are medoids.
        assert three.n_distances_ <= one.n_distances_ + 3 * len(X) * 30 + 3 * len(X) * 30

    def test_the_best_takes_over_what_others_have_found(self, monkeypatch):
        found, refine_start = [], refine.Refinement.refine

        def record(self, medoids, *others, **options):
            found.append(refine_start(self, medoids, *others, **options))
            return found[-1]

        monkeypatch.setattr(refine.Refinement, "refine", record)
        gains = []
        for seed in range(4):
            found.clear()
            model = fit(n_init=3, batch_size=100, refine=1, random_state=seed)
            assert len(found) == 4  # three starts, and once more after the search of the pool
            before = [reference.inertia(X, refined.medoids, "manhattan") for refined in found[:3]]
            gains.append(min(before) - model.inertia_)
        assert min(gains) >= -1e-6 * model.inertia_
        assert sum(gain > 0 for gain in gains) >= 3

    def test_given_medoids_are_one_start(self):
        with pytest.raises(ValueError, match="n_init=2"):
            fit(init=np.arange(30), n_init=2)
        with pytest.raises(ValueError, match="n_init=0"):
            fit(n_init=0)


@pytest.mark.parametrize(
    ("n", "k", "n_points"),
    [
        (90_000, 10, 90_000),  # all rows
        (10_000_000, 1, 100_000),
        (10_000_000, 10, 100_000),
        (10_000_000, 100, 2**26 // 1100),  # as many as 11 k rows of medoids and candidates leave of 2^26 entries
        (10_000_000, 1000, 200_000),  # in groups
    ],
)
def test_few_medoids_are_confirmed_on_no_more_points_than_many(n, k, n_points):
    assert count_refining(n, 2000, k).n_points == n_points


def test_a_draft_of_the_points_refines_starts_and_all_points_their_result(monkeypatch):
    drawn, draw_points = [], InMemory.draw_points

    def record(population, size):
        drawn.append(size)
        return draw_points(population, size)

    monkeypatch.setattr(InMemory, "draw_points", record)
    monkeypatch.setattr(refine, "POINTS_PER_MEDOID", 1)
    monkeypatch.setattr(refine, "SHARE_DRAFTED", 500.5 * 330 / refine.MOST_ENTRIES)
    one = fit()
    assert drawn == [2000]  # without a pool search there is no draft
    drawn.clear()
    two = fit(n_init=2)
    assert drawn == [500, 500, 500, 2000]  # two starts, the pool search, and its result
    assert two.inertia_ < 1.01 * one.inertia_
    drawn.clear()
    fit(n_init=2, refine=0)
    assert drawn == [2000]  # nothing refines the result, so that the pool search has all points
    monkeypatch.setattr(refine, "SHARE_DRAFTED", 1 / 3)
    drawn.clear()
    fit(n_init=2)
    assert drawn == [2000] * 4


def test_there_is_a_draft_only_where_it_has_fewer_points():
    sizes = [(20_000, 100), (100_000, 10), (100_000, 100), (60_000, 150)]
    drafts = [
        (count_refining(n, 1500, k, is_draft=True).n_points, count_refining(n, 1500, k).n_points) for n, k in sizes
    ]
    assert drafts == [(20_000, 20_000), (100_000, 100_000), (2**26 // 3300, 2**26 // 1100), (30_000, 2**26 // 1650)]
