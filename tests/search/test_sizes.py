"""Clusters of a minimum size: the swaps that keep them, and estimators with `min_cluster_size`."""

from __future__ import annotations

import itertools
import warnings

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import onebatchpam.dask
import reference
from contract import assert_contract
from onebatchpam import FasterPAM, OneBatchPAM
from onebatchpam.blocks import WholeBlock
from onebatchpam.search import enlarge
from onebatchpam.search.sizes import SizedState, swap_for_sizes
from onebatchpam.search.swaps import SwapOptions
from spaces import make_run

ESTIMATORS = [OneBatchPAM, FasterPAM]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def make_blob_with_outliers(n=300, n_outliers=3, seed=0):
    """Return rows of one blob; a few are so far away, each in a direction of its own, that they become medoids."""
    X = np.random.RandomState(seed).randn(n, 3)
    X[:n_outliers] = 100 * np.eye(3)[:n_outliers]
    return X


def make_small_case(seed):
    """Return a block with ties or without, weights of its columns, k and a least weight."""
    rng = np.random.RandomState(seed)
    has_ties = seed % 2 == 1
    n, k = (rng.randint(7, 10), rng.randint(2, 4)) if has_ties else (rng.randint(8, 14), rng.randint(2, 5))
    X = rng.randint(0, 4, (n, 2)) if has_ties else rng.randn(n, 2) * np.exp(rng.randn(n, 1))
    weights = rng.randint(1, 4, n) * 0.1 if seed % 3 == 0 else np.ones(n)
    least = rng.uniform(1, n / k) * weights.mean()
    return reference.distance_block(X, X, "manhattan").astype(np.float32), weights, k, least


def best_feasible_loss(block, weights, k, least):
    """Return the smallest loss of all medoids with large enough clusters; infinity if there are none.

    If there are ties, the order of the medoids matters as well.
    """
    has_ties = len(np.unique(block)) < len(block) * (len(block) - 1) / 2
    choices = itertools.permutations if has_ties else itertools.combinations
    losses = [
        reference.loss(block, medoids, weights)
        for medoids in map(list, choices(range(len(block)), k))
        if reference.cluster_weights(block, medoids, weights).min() >= least * (1 - 1e-9)
    ]
    return min(losses, default=np.inf)


def sizes_of(model, weights=None):
    return np.bincount(np.asarray(model.labels_), weights, minlength=model.n_clusters)


@pytest.mark.parametrize("seed", range(30))
def test_every_swap_is_evaluated_as_if_it_were_made(seed):
    block, weights, k, least = make_small_case(seed)
    medoids = np.random.RandomState(seed).permutation(len(block))[:k]
    state, loss = SizedState(block[medoids], weights, least, 0), reference.loss(block, medoids, weights)
    for candidate in np.setdiff1d(np.arange(len(block)), medoids):
        sets = [np.where(np.arange(k) == slot, candidate, medoids) for slot in range(k)]
        shortfalls = [
            np.maximum(least - reference.cluster_weights(block, each, weights), 0).sum().round(9) for each in sets
        ]
        changes = [reference.loss(block, each, weights) - loss for each in sets]
        swap, best = state.best_swap(block[candidate]), min(zip(shortfalls, changes, strict=True))
        np.testing.assert_allclose((swap.shortfall, swap.change), best, atol=1e-6)
        state.make_swap(swap.slot, block[candidate])
        np.testing.assert_allclose(state.sizes, reference.cluster_weights(block, sets[swap.slot], weights))
        np.testing.assert_allclose(state.loss, reference.loss(block, sets[swap.slot], weights), rtol=1e-6)
        state = SizedState(block[medoids], weights, least, 0)


def test_small_cases_are_feasible_whenever_any_medoids_are_and_near_the_best_of_these():
    gaps = []
    for seed in range(150):
        block, weights, k, least = make_small_case(seed)
        best, run = best_feasible_loss(block, weights, k, least), make_run(seed)
        start = run.rng.permutation(len(block))[:k]
        with run.stages.stage("test") as bar:
            result = swap_for_sizes(WholeBlock(block), start, weights, least, SwapOptions(), run, bar)
        sizes = reference.cluster_weights(block, result.medoids, weights)
        assert (result.shortfall == 0) == (best < np.inf)
        assert (result.shortfall == 0) == (sizes.min() >= least * (1 - 1e-9))
        if best < np.inf:
            gaps.append(reference.loss(block, result.medoids, weights) / best - 1)
    assert len(gaps) > 100
    assert min(gaps) > -1e-6
    assert np.median(gaps) < 1e-6  # most are the best
    assert np.mean(gaps) < 0.05


@every_estimator
class TestEstimators:
    def test_outliers_do_not_get_clusters_of_their_own(self, estimator):
        X = make_blob_with_outliers()
        plain = estimator(6, random_state=0).fit(X)
        assert sizes_of(plain).min() == 1
        model = estimator(6, random_state=0, min_cluster_size=20).fit(X)
        assert sizes_of(model).min() >= 20
        assert model.inertia_ > plain.inertia_
        assert_contract(model, X)

    @pytest.mark.parametrize("least", [1, 0.5])
    def test_a_limit_that_is_met_changes_nothing(self, estimator, least):
        X = make_blob_with_outliers()
        plain, model = (estimator(6, random_state=0, min_cluster_size=each).fit(X) for each in (None, least))
        np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
        assert model.inertia_ == plain.inertia_
        assert model.n_swaps_ == plain.n_swaps_

    def test_sizes_are_sums_of_weights(self, estimator):
        X, weights = make_blob_with_outliers(), np.random.RandomState(1).randint(0, 4, 300) * 0.5
        model = estimator(6, random_state=0, min_cluster_size=15).fit(X, sample_weight=weights)
        assert sizes_of(model, weights).min() >= 15
        assert weights[model.medoid_indices_].min() > 0

    def test_fixed_medoids_stay(self, estimator):
        X = make_blob_with_outliers()
        model = estimator(6, random_state=0, min_cluster_size=20).fit(X, fixed_medoids=[50, 60])
        assert model.medoid_indices_[:2].tolist() == [50, 60]
        assert sizes_of(model).min() >= 20

    def test_a_fixed_outlier_keeps_its_small_cluster_and_the_others_are_enlarged(self, estimator):
        X = make_blob_with_outliers(120)
        with pytest.warns(ConvergenceWarning, match="1 of 6 clusters are smaller than min_cluster_size=10, the small"):
            model = estimator(6, random_state=0, min_cluster_size=10).fit(X, fixed_medoids=[0])
        assert sizes_of(model)[0] == 1
        assert sizes_of(model)[1:].min() >= 10

    def test_all_medoids_fixed(self, estimator):
        with pytest.warns(ConvergenceWarning, match="the smallest has the weight 1"):
            model = estimator(3, min_cluster_size=20).fit(make_blob_with_outliers(), fixed_medoids=[0, 1, 50])
        assert model.medoid_indices_.tolist() == [0, 1, 50]

    def test_only_candidates_become_medoids(self, estimator):
        X, candidates = make_blob_with_outliers(), np.arange(0, 300, 2)
        model = estimator(6, random_state=0, min_cluster_size=20).fit(X, candidates=candidates)
        assert np.isin(model.medoid_indices_, candidates).all()
        assert sizes_of(model).min() >= 20

    def test_one_cluster_has_all_rows(self, estimator):
        assert sizes_of(estimator(1, min_cluster_size=300).fit(make_blob_with_outliers())) == [300]

    def test_too_large_a_size_is_refused(self, estimator):
        with pytest.raises(
            ValueError,
            match="min_cluster_size=51 is too large for n_clusters=6: all rows together have the weight 300; expected "
            "at most 50, or fewer clusters",
        ):
            estimator(6, min_cluster_size=51).fit(make_blob_with_outliers())
        with pytest.raises(ValueError, match="have the weight 150; expected at most 25"):
            estimator(6, min_cluster_size=26).fit(make_blob_with_outliers(), sample_weight=0.5)

    def test_sizes_that_no_medoids_have(self, estimator):
        X = np.repeat([[0.0], [1.0], [5.0]], [2, 50, 50], axis=0)
        with pytest.warns(ConvergenceWarning, match="1 of 3 clusters are smaller than min_cluster_size=10, the small"):
            model = estimator(3, min_cluster_size=10).fit(X)
        assert sorted(sizes_of(model)) == [2, 50, 50]

    def test_fewer_distinct_rows_than_clusters(self, estimator):
        with pytest.warns(ConvergenceWarning) as caught:
            estimator(3, min_cluster_size=2).fit(np.repeat([[0.0], [1.0]], 10, axis=0))
        assert len([each for each in caught if "min_cluster_size" in str(each.message)]) == 1

    @pytest.mark.parametrize("kind", ["float32", "bytes", "sparse", "words", "matrix", "gower", "function"])
    def test_data_and_metrics_of_all_kinds(self, estimator, kind):
        X = make_blob_with_outliers(120)
        words = [("ab" * (i % 9))[: i % 7] + "c" * (i % 5) for i in range(119)] + ["z" * 40]
        data, metric = {
            "float32": (X.astype(np.float32), "manhattan"),
            "bytes": (np.clip(X * 20 + 100, 0, 255).astype(np.uint8), "euclidean"),
            "sparse": (csr_array(np.abs(X)), "euclidean"),
            "words": (words, "levenshtein"),
            "matrix": (np.abs(X[:, :1] - X[:, 0]) * (1 + np.arange(120) % 3), "precomputed"),
            "gower": (pd.DataFrame({"number": X[:, 0], "letter": list("abc") * 40}), "gower"),
            "function": (X, lambda a, b: np.abs(a - b).max()),
        }[kind]
        model = estimator(4, metric=metric, random_state=0, min_cluster_size=15).fit(data)
        assert sizes_of(model).min() >= 15
        new = data.T if kind == "matrix" else data
        np.testing.assert_array_equal(model.predict(new), model.labels_)


@pytest.fixture
def few_entries(monkeypatch):
    """Make the rounds take samples of points and candidates of data that are small."""
    monkeypatch.setattr(enlarge, "MOST_POINTS", 400)
    monkeypatch.setattr(enlarge, "POINTS_PER_CLUSTER", 40)
    monkeypatch.setattr(enlarge, "MOST_ENTRIES", 40_000)


@pytest.mark.usefixtures("few_entries")
class TestSamples:
    @pytest.mark.parametrize("seed", range(3))
    def test_the_sizes_hold_for_all_rows(self, seed):
        X = make_blob_with_outliers(3000, seed=seed)
        model = OneBatchPAM(8, batch_size=300, random_state=seed, min_cluster_size=250).fit(X)
        assert sizes_of(model).min() >= 250
        assert_contract(model, X)

    def test_the_result_does_not_depend_on_threads(self):
        X = make_blob_with_outliers(3000)
        models = [
            OneBatchPAM(8, batch_size=300, random_state=0, min_cluster_size=250, n_jobs=n_jobs).fit(X)
            for n_jobs in (1, 2, 3)
        ]
        for model in models[1:]:
            np.testing.assert_array_equal(model.medoid_indices_, models[0].medoid_indices_)

    def test_file(self, tmp_path):
        X = make_blob_with_outliers(3000)
        np.save(tmp_path / "X.npy", X)
        model, same = (
            OneBatchPAM(8, batch_size=300, random_state=0, min_cluster_size=250).fit(data)
            for data in (X, tmp_path / "X.npy")
        )
        np.testing.assert_array_equal(model.medoid_indices_, same.medoid_indices_)

    def test_all_distances_are_counted(self):
        calls = []

        def manhattan(A, B):
            calls.append(len(A) * len(B))
            return np.abs(A[:, np.newaxis] - B).sum(axis=2)

        metric = onebatchpam.block_metric(manhattan)
        model = OneBatchPAM(6, metric=metric, batch_size=200, random_state=0, min_cluster_size=150)
        model.fit(make_blob_with_outliers(1500))
        assert sum(calls) >= model.n_distances_ > 1500 * 200

    @pytest.mark.parametrize("weighted", [False, True])
    def test_dask(self, weighted, monkeypatch):
        monkeypatch.setattr(onebatchpam.dask.population, "DRIVER_NUMBERS", 1)
        X = make_blob_with_outliers(3000)
        weights = 1 + np.arange(3000) % 3 if weighted else None
        least = 300 if weighted else 150
        model = onebatchpam.dask.OneBatchPAM(8, batch_size=300, random_state=0, min_cluster_size=least)
        lazy = None if weights is None else da.from_array(weights, chunks=700)
        model.fit(da.from_array(X, chunks=(700, 3)), sample_weight=lazy)
        assert np.bincount(model.labels_.compute(), weights, minlength=8).min() >= least
        with pytest.raises(ValueError, match="min_cluster_size=400 is too large"):
            onebatchpam.dask.OneBatchPAM(8, min_cluster_size=400).fit(da.from_array(X, chunks=(700, 3)))


def test_several_starts_and_a_small_memory():
    X = make_blob_with_outliers(1200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OneBatchPAM(6, n_init=3, batch_size=200, memory_limit=1, random_state=0, min_cluster_size=100).fit(X)
    assert sizes_of(model).min() >= 100
