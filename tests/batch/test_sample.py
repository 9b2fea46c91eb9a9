"""The sample of very many rows: how it is drawn, what its rows weigh, and fits that search it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import reference
from onebatchpam import OneBatchPAM, pair_metric, select_k
from onebatchpam._draws import draw_by_odds, sample_odds
from onebatchpam.batch import sample
from onebatchpam.batch.sample import count_sampled, find_odds, sample_size
from spaces import make_run, make_space

N, K, M = 3000, 6, 100


@pytest.fixture(name="few")
def let_few_rows_be_many(monkeypatch):
    """Let the search run on a sample if there are more than 1,000 rows."""
    monkeypatch.setattr(sample, "MANY_ROWS", 1000)


@pytest.fixture(name="X")
def make_rows(rng):
    return rng.standard_normal((10, 4))[rng.randint(10, size=N)] * 4 + rng.standard_normal((N, 4))


def make_model(**params):
    return OneBatchPAM(**{"n_clusters": K, "metric": "manhattan", "batch_size": M, "random_state": 0, **params})


def assert_contract(model, X, weights=None, metric="manhattan"):
    distances = reference.distance_block(X, X[model.medoid_indices_], metric)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    losses = distances.min(axis=1) * (1 if weights is None else weights)
    np.testing.assert_allclose(model.inertia_, losses.sum(), rtol=1e-5)
    assert len(np.unique(model.medoid_indices_)) == model.n_clusters


def test_sizes():
    assert sample_size(100_000, 1000, 10, 10) == 100_000
    assert sample_size(10**7, 2000, 100, 10) == 100_000
    assert sample_size(10**7, 2000, 8, 10) == 20_000
    assert sample_size(10**7, 2000, 100, 0) == 10**7  # without refinement all rows are searched
    assert sample_size(10**7, 50_000, 5000, 10) == 200_000 == count_sampled(50_000, 5000)
    assert sample_size(150_000, 50_000, 5000, 10) == 150_000


def test_odds_are_by_weight_and_by_distance(rng):
    X, weights = rng.rand(50, 2), rng.rand(50) + 0.1
    space = make_space(X, "manhattan")
    space.weights = weights
    far = reference.distance_block(X, X[[3, 7]], "manhattan").min(axis=1) * weights
    odds = find_odds(space, np.array([3, 7]), make_run(rng))
    np.testing.assert_allclose(odds, 0.9 * weights / weights.sum() + 0.1 * far / far.sum(), rtol=1e-5)
    assert odds.sum() == pytest.approx(1)


def test_weights_of_a_sample_are_unbiased(rng):
    """On average, the weighted sum of any quantity over the sample is its sum over all rows."""
    n, size = 60, 15
    weights, far, values = rng.rand(n) + 0.5, rng.rand(n) ** 4, rng.rand(n)
    odds = sample_odds(weights, weights.sum(), far * weights, (far * weights).sum())
    include, sums = np.array([4, 9]), []
    for _ in range(4000):
        drawn = draw_by_odds(weights, odds, size, include, rng)
        assert np.isin(include, drawn.indices).all()
        assert drawn.weights.mean() == pytest.approx(weights.mean())
        sums.append(np.average(values[drawn.indices], weights=drawn.weights))
    assert np.mean(sums) == pytest.approx(np.average(values, weights=weights), rel=0.01)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"variant": "nniw"},
        {"variant": "lwcs"},
        {"init": "k-means++"},
        {"n_init": 3},
        {"n_clusters": 1},
        {"effort": "balanced", "refine": 2},
        {"memory_limit": 0},
        {"min_cluster_size": 200},
    ],
    ids=str,
)
def test_fits_are_about_as_good_as_without_a_sample(X, params, monkeypatch):
    whole = make_model(**params).fit(X)
    monkeypatch.setattr(sample, "MANY_ROWS", 1000)
    model = make_model(**params).fit(X)
    assert_contract(model, X)
    assert model.inertia_ <= 1.03 * whole.inertia_
    assert "sample" in model.fit_seconds_
    assert "sample" not in whole.fit_seconds_
    assert len(np.unique(model.batch_indices_)) == M or model.variant == "lwcs"
    np.testing.assert_allclose(model.batch_weights_.mean(), 1)
    if params.get("min_cluster_size"):
        assert model.cluster_sizes_.min() >= 200


@pytest.mark.usefixtures("few")
def test_without_refinement_all_rows_are_searched(X):
    model = make_model(variant="unif", refine=0, tol=0).fit(X)
    block = reference.distance_block(X, X[model.batch_indices_], "manhattan")
    expected = reference.swap_search(block, model.medoid_indices_)
    np.testing.assert_array_equal(np.sort(expected.medoids), np.sort(model.medoid_indices_))


@pytest.mark.usefixtures("few")
def test_threads_and_memory_do_not_change_the_result(X):
    models = [make_model(n_jobs=n_jobs, memory_limit=limit).fit(X) for n_jobs in (1, 3) for limit in (None, 0)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.medoid_indices_, models[0].medoid_indices_)
        np.testing.assert_array_equal(model.batch_indices_, models[0].batch_indices_)


@pytest.mark.usefixtures("few")
def test_weights_fixed_medoids_and_candidates(X, rng):
    weights = rng.randint(4, size=N).astype(float)
    fixed = np.flatnonzero(weights)[[70, 5]]
    candidates = np.union1d(rng.permutation(np.flatnonzero(weights))[:40], fixed)
    model = make_model().fit(X, sample_weight=weights, fixed_medoids=fixed, candidates=candidates)
    assert_contract(model, X, weights)
    np.testing.assert_array_equal(model.medoid_indices_[:2], fixed)
    assert np.isin(model.medoid_indices_, candidates).all()
    assert (weights[model.batch_indices_] > 0).all()
    start = candidates[~np.isin(candidates, fixed)][: K - 2]
    started = make_model(init=np.append(fixed, start), warm_start=True)
    started.fit(X, sample_weight=weights, fixed_medoids=fixed, candidates=candidates)
    again = started.fit(X, sample_weight=weights, fixed_medoids=fixed, candidates=candidates)
    assert_contract(again, X, weights)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("seed", range(5))
def test_small_groups_far_away_are_found(seed):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((20_000, 3))
    for group in range(4):  # of three rows each
        X[3 * group : 3 * group + 3] += 3000 * (group + 1) * np.eye(3)[group % 3] * (-1) ** group
    X = X[rng.permutation(len(X))]
    model = make_model(n_clusters=8, random_state=seed).fit(X)
    assert model.max_distances_.max() < 100


@pytest.mark.usefixtures("few")
def test_other_kinds_of_rows(X, rng, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    expected = make_model().fit(X)
    np.testing.assert_array_equal(make_model().fit(tmp_path / "rows.npy").medoid_indices_, expected.medoid_indices_)
    sparse = scipy.sparse.random(1500, 30, 0.2, format="csr", random_state=0)
    assert_contract(make_model().fit(sparse), sparse.toarray())
    matrix = reference.distance_block(X[:1500], X[:1500], "manhattan").astype(np.float32)
    model = make_model(metric="precomputed").fit(matrix)
    np.testing.assert_array_equal(model.labels_, matrix[model.medoid_indices_].argmin(axis=0))
    words = ["".join(rng.choice(list("abc"), rng.randint(1, 9))) for _ in range(1200)]
    by_length = make_model(metric=pair_metric(lambda a, b: abs(len(a) - len(b)))).fit(words)
    assert by_length.inertia_ == by_length.distances_.sum()


@pytest.mark.usefixtures("few")
def test_select_k(X):
    selection = select_k(X, [2, 5, 10], estimator=make_model())
    assert (np.diff(selection.inertia) < 0).all()
