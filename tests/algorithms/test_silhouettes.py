"""FasterMSC and DynMSC, which maximise the medoid silhouette, compared with their naive reference and with kmedoids."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import naive
import reference
from contract import assert_contract
from onebatchpam import DynMSC, FasterMSC, FasterPAM, _core, medoid_silhouette


def matrix_of(n, seed=0, n_features=3):
    X = np.random.RandomState(seed).randn(n, n_features)
    return reference.distance_block(X, X, "euclidean").astype(np.float32)


def average(model, matrix):
    """Return the average medoid silhouette of a model, by its definition."""
    return 1 - reference.silhouette_loss(matrix, model.medoid_indices_) / matrix.shape[1]


class TestFasterMSC:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(("n", "k", "n_fixed"), [(40, 2, 0), (40, 3, 1), (60, 6, 0), (40, 4, 4)])
    def test_reference(self, n, k, n_fixed, seed):
        self.compare_with_reference(n, k, n_fixed, seed)

    def test_reference_with_more_rows_than_a_chunk(self):
        self.compare_with_reference(_core.SWEEP_CHUNK + 20, k=2, n_fixed=0, seed=0)

    def compare_with_reference(self, n, k, n_fixed, seed):
        matrix = matrix_of(n, seed)
        start = np.random.RandomState(seed).permutation(n)[:k]
        weights = np.random.RandomState(seed).randint(1, 4, n)
        model = FasterMSC(k, metric="precomputed", init=start, batch_size=None, tol=0)
        model.fit(matrix, fixed_medoids=start[:n_fixed], sample_weight=weights)
        chunk = _core.SWEEP_CHUNK
        expected = reference.silhouette_search(matrix, start.tolist(), weights, chunk=chunk, n_fixed=n_fixed)
        np.testing.assert_array_equal(model.medoid_indices_, expected)
        loss = reference.silhouette_loss(matrix, expected, weights)
        assert model.medoid_silhouette_ == pytest.approx(1 - loss / weights.sum(), rel=1e-6)

    @pytest.mark.parametrize("k", [2, 3, 7])
    def test_gains_and_changes_by_removal(self, k):
        matrix = matrix_of(80)
        matrix[:, 5] = matrix[5] = matrix[9]  # two equal rows
        medoids = np.random.RandomState(1).permutation(80)[:k]
        search = _core.SilhouetteSearch(80, medoids, matrix[medoids], np.ones(80), 0.0)
        before = reference.silhouette_loss(matrix, medoids)
        assert search.loss == pytest.approx(before)
        if k > 2:
            removed = [reference.silhouette_loss(matrix, np.delete(medoids, slot)) for slot in range(k)]
            np.testing.assert_allclose(search.removal_changes, np.array(removed) - before, atol=1e-9)
        gains = reference.silhouette_gains(matrix, medoids.tolist())
        gains[medoids] = -1
        for candidate in range(80):  # the first swap that is made is the best one of its candidate
            search = _core.SilhouetteSearch(80, medoids, matrix[medoids], np.ones(80), 0.0)
            search.sweep(matrix[candidate : candidate + 1], candidate, 1)
            expected = medoids.copy()
            if gains[candidate].max() > 1e-9:
                expected[np.argmax(gains[candidate])] = candidate
            np.testing.assert_array_equal(search.medoids, expected)

    @pytest.mark.parametrize("seed", range(5))
    def test_one_candidate_at_a_time_the_result_is_that_of_kmedoids(self, seed):
        kmedoids = pytest.importorskip("kmedoids")
        matrix = matrix_of(120, seed, n_features=2)
        start = np.random.RandomState(seed).permutation(120)[:6]
        search = _core.SilhouetteSearch(120, start, matrix[start], np.ones(120), 0.0)
        while not search.converged:
            for i in range(120):
                search.sweep(matrix[i : i + 1], i, 1)
        found = kmedoids.fastermsc(matrix, start.astype(np.uint64))
        assert set(search.medoids) == set(found.medoids)
        assert 1 - search.loss / 120 == pytest.approx(found.loss, rel=1e-5)

    def test_it_beats_medoids_of_the_other_objective(self):
        matrix = matrix_of(400)
        model = FasterMSC(8, metric="precomputed", random_state=0, n_init=3).fit(matrix)
        assert average(model, matrix) > 1.02 * average(FasterPAM(8, metric="precomputed").fit(matrix), matrix)
        assert model.medoid_silhouette_ == pytest.approx(average(model, matrix), rel=1e-6)
        assert model.medoid_silhouette_ == pytest.approx(medoid_silhouette(matrix.T, model))

    @pytest.mark.parametrize("size", [200, 1500])
    def test_a_batch_comes_near_to_all_rows(self, size):
        X, _ = make_blobs(3000, centers=12, random_state=0)
        whole = FasterMSC(12, batch_size=None, random_state=0, n_init=3).fit(X)
        model = FasterMSC(12, batch_size=size, random_state=0, n_init=3).fit(X)
        assert len(model.batch_indices_) == size
        assert model.n_distances_ < 3000 * (size + 12 + 1)
        assert model.medoid_silhouette_ > 0.95 * whole.medoid_silhouette_
        assert_contract(model, X)

    def test_default_size_of_the_batch(self):
        X = np.random.RandomState(0).randn(6000, 2)
        assert len(FasterMSC(3, random_state=0, max_iter=1, tol=1).fit(X).batch_indices_) < 1500
        assert len(FasterMSC(3, random_state=0, max_iter=1, tol=1).fit(X[:1000]).batch_indices_) == 1000

    def test_without_swaps_medoids_are_only_removed(self):
        X = np.random.RandomState(0).randn(100, 3)
        model = DynMSC(6, init=np.arange(6), max_iter=0).fit(X)
        assert set(model.medoid_indices_) <= set(range(6))
        assert (model.n_iter_, model.n_swaps_) == (0, 0)
        np.testing.assert_array_equal(model.k_tried_, np.arange(2, 7))

    @pytest.mark.parametrize("limit", [0, "100kB"])
    def test_memory_limit_changes_nothing(self, limit):
        X = np.random.RandomState(0).randn(1000, 20)
        for model in (FasterMSC(5, batch_size=200, random_state=0), DynMSC(5, batch_size=200, random_state=0)):
            expected = clone(model).fit(X)
            np.testing.assert_array_equal(model.set_params(memory_limit=limit).fit(X).labels_, expected.labels_)

    def test_rows_without_weight_are_absent(self):
        X, weights = np.random.RandomState(0).randn(300, 3), np.arange(300) % 3
        model = FasterMSC(4, random_state=0).fit(X, sample_weight=weights)
        present = weights > 0
        same = FasterMSC(4, random_state=0).fit(X[present], sample_weight=weights[present])
        np.testing.assert_array_equal(model.cluster_centers_, same.cluster_centers_)
        assert model.medoid_silhouette_ == same.medoid_silhouette_
        np.testing.assert_array_equal(model.batch_indices_, np.flatnonzero(present))

    def test_a_single_medoid(self):
        matrix = matrix_of(100)
        model = FasterMSC(1, metric="precomputed").fit(matrix)
        assert model.medoid_indices_ == [reference.best_single(matrix)]
        assert np.isnan(model.medoid_silhouette_)

    def test_threads(self):
        X = np.random.RandomState(0).randn(900, 3)
        fits = [DynMSC(6, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2, 5)]
        for model in fits[1:]:
            np.testing.assert_array_equal(model.medoid_indices_, fits[0].medoid_indices_)
            np.testing.assert_array_equal(model.silhouettes_, fits[0].silhouettes_)


class TestDynMSC:
    def test_the_number_of_clear_groups(self):
        X, group = make_blobs(400, centers=[[0, 0], [30, 0], [0, 30], [30, 30], [15, 60]], random_state=0)
        model = DynMSC(12, random_state=0).fit(X)
        assert model.n_clusters_ == len(model.medoid_indices_) == 5
        np.testing.assert_array_equal(model.k_tried_, np.arange(2, 13))
        assert model.silhouettes_[3] == pytest.approx(model.medoid_silhouette_, rel=1e-5) == model.silhouettes_.max()
        assert len(set(zip(model.labels_, group, strict=True))) == 5
        assert model.transform(X).shape == (400, 5)
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_each_step_is_fastermsc_without_the_medoid_that_is_missed_most(self):
        matrix = matrix_of(150)
        model = DynMSC(5, metric="precomputed", init=np.arange(5)).fit(matrix)
        step = FasterMSC(5, metric="precomputed", init=np.arange(5)).fit(matrix)
        for k, silhouette in zip((5, 4, 3, 2), model.silhouettes_[::-1], strict=True):
            assert step.medoid_silhouette_ == pytest.approx(silhouette, rel=1e-5)
            smaller = [np.delete(step.medoid_indices_, slot) for slot in range(k)]
            start = max(smaller, key=lambda medoids: reference.silhouette_loss(matrix, medoids)) if k > 2 else None
            step = FasterMSC(k - 1, metric="precomputed", init=start).fit(matrix) if k > 2 else None

    @pytest.mark.parametrize("seed", range(3))
    def test_as_good_as_kmedoids(self, seed):
        kmedoids = pytest.importorskip("kmedoids")
        matrix = matrix_of(300, seed, n_features=2)
        start = np.random.RandomState(seed).permutation(300)[:9]
        found = kmedoids.dynmsc(matrix, start.astype(np.uint64))
        model = DynMSC(9, metric="precomputed", init=start).fit(matrix)
        np.testing.assert_array_equal(model.k_tried_, found.rangek)
        assert model.medoid_silhouette_ >= 0.98 * max(found.losses)

    def test_on_average_as_good_as_kmedoids_for_every_number(self):
        kmedoids = pytest.importorskip("kmedoids")
        ours, theirs = np.zeros(8), np.zeros(8)
        for seed in range(12):
            matrix = matrix_of(200, seed, n_features=2)
            start = np.random.RandomState(seed).permutation(200)[:9]
            ours += DynMSC(9, metric="precomputed", init=start).fit(matrix).silhouettes_
            theirs += kmedoids.dynmsc(matrix, start.astype(np.uint64)).losses
        np.testing.assert_array_less(0.95 * theirs, ours)
        assert ours.sum() > 0.985 * theirs.sum()

    def test_fixed_medoids_stay(self):
        X = np.random.RandomState(0).randn(200, 3)
        model = DynMSC(6, random_state=0).fit(X, fixed_medoids=[7, 3, 9])
        np.testing.assert_array_equal(model.medoid_indices_[:3], [7, 3, 9])
        np.testing.assert_array_equal(model.k_tried_, [3, 4, 5, 6])

    def test_errors(self):
        with pytest.raises(ValueError, match="min_clusters=4 is larger than n_clusters=3"):
            DynMSC(3, min_clusters=4).fit(np.eye(5))
        with pytest.raises(ValueError, match="min_clusters=1: expected an integer of at least 2"):
            DynMSC(3, min_clusters=1).fit(np.eye(5))
        with pytest.raises(ValueError, match="batch_size='all': expected 'auto', None for all rows, or an integer"):
            DynMSC(3, batch_size="all").fit(np.eye(5))


def test_the_silhouette_is_that_of_the_medoids_where_rows_are_away_from_themselves():
    # A medoid of an empty cluster is moved to another row, whose cluster is empty as well.
    matrix = np.array(
        [
            [0.0458, 0.0192, 0.2622, 18.06],
            [88.9, 0.0159, 7.0146, 2.46],
            [3e-6, 7e-4, 0.39, 1.07],
            [4.64, 0.49, 1.86, 10.0],
        ]
    )
    weights = np.array([2.0, 0.25, 0.25, 0.25])
    model = FasterMSC(3, metric="precomputed", init="build", max_iter=2, batch_size=5, random_state=660)
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters"):
        model.fit(matrix, sample_weight=weights)
    expected = naive.medoid_silhouette(matrix[model.medoid_indices_], weights)
    assert model.medoid_silhouette_ == pytest.approx(expected, abs=1e-6)
