"""Each algorithm compared with its naive reference, and the promises that only this algorithm makes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import reference
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    _core,
)
from onebatchpam._draws import rows_of_ranks
from onebatchpam._progress import Stages
from onebatchpam.algorithms import alternate, clara, clarans
from onebatchpam.batch import sample as row_sample
from onebatchpam.blocks import square as square_blocks
from onebatchpam.search import first_medoids, wander
from onebatchpam.search.first_medoids import kmc2, kmeans_plus_plus, random_medoids
from spaces import make_matrix_space, make_run, make_space


def whole_numbers(n, n_features=3, seed=0, largest=50):
    """Draw rows whose manhattan distances are whole numbers, so that every sum is exact."""
    return np.random.RandomState(seed).randint(0, largest, (n, n_features)).astype(np.float64)


def square(X, metric="manhattan"):
    return reference.distance_block(X, X, metric)


class TestFasterPAM:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize(("n", "k"), [(40, 2), (300, 6), (600, 3)])
    def test_reference(self, n, k, seed):
        X = whole_numbers(n, seed=seed)
        model = FasterPAM(k, metric="manhattan", init="random", random_state=seed).fit(X)
        start = random_medoids(n, k, np.random.RandomState(seed))
        expected = reference.swap_search(square(X), start, tol=1e-6, chunk=_core.SWEEP_CHUNK)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoids)
        assert (model.n_iter_, model.n_swaps_) == (expected.n_iter, expected.n_swaps)
        assert model.inertia_ == expected.loss

    def test_a_single_medoid(self):
        X = whole_numbers(200)
        model = FasterPAM(1, metric="manhattan", random_state=0).fit(X)
        assert model.medoid_indices_ == [reference.best_single(square(X))]

    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_is_one_batch_pam_with_all_rows(self, init, blobs):
        model = FasterPAM(5, init=init, random_state=3).fit(blobs)
        batch = OneBatchPAM(5, init=init, batch_size=300, random_state=3).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, batch.medoid_indices_)
        assert model.n_distances_ == batch.n_distances_

    @pytest.mark.parametrize("k", [10, 50])
    def test_as_good_as_kmedoids(self, k):
        kmedoids = pytest.importorskip("kmedoids")
        X = load_digits().data[:1000]
        matrix = cdist(X, X, "cityblock").astype(np.float32)
        ours, theirs = [], []
        for seed in range(10):
            ours.append(FasterPAM(k, metric="precomputed", random_state=seed).fit(matrix).inertia_)
            start = random_medoids(1000, k, np.random.RandomState(seed))
            found = kmedoids.fasterpam(matrix, start.astype(np.uint64), n_cpu=1)
            theirs.append(reference.loss(matrix, found.medoids.astype(np.int64)))
        assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=1e-3)

    @pytest.mark.parametrize("seed", range(5))
    def test_one_candidate_at_a_time_the_swaps_are_those_of_kmedoids(self, seed):
        kmedoids = pytest.importorskip("kmedoids")
        matrix = square(whole_numbers(120, 2, seed, largest=12)).astype(np.float32)  # few values, so many ties
        start = random_medoids(120, 9, np.random.RandomState(seed))
        search = _core.SwapSearch(120, start, matrix[start], np.ones(120), 0.0)
        while not search.converged:
            for i in range(120):
                search.sweep(matrix[i : i + 1], i, 1)
        found = kmedoids.fasterpam(matrix, start.astype(np.uint64), n_cpu=1)
        np.testing.assert_array_equal(search.medoids, found.medoids)
        assert (search.n_swaps, search.loss) == (found.n_swap, found.loss)

    def test_a_float32_matrix_is_not_copied(self):
        matrix = square(whole_numbers(800)).astype(np.float32)
        assert square_blocks.square_block(make_matrix_space(matrix), 1, Stages()) is matrix
        matrix.flags.writeable = False
        assert FasterPAM(3, metric="precomputed", random_state=0).fit(matrix).n_distances_ == 800 * (800 + 3)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_bad_entries_are_named(self, dtype):
        matrix = np.ones((600, 600), dtype)
        matrix[400, 7] = -2
        with pytest.raises(ValueError, match=r"(X\[400, 7\]|row 400, column 7 of the block) is -2"):
            FasterPAM(3, metric="precomputed").fit(matrix)

    def test_too_little_memory(self, monkeypatch, blobs):
        monkeypatch.setattr(square_blocks, "available_bytes", lambda: 100_000)
        monkeypatch.setattr(square_blocks, "BYTES_OF_SMALL_BLOCK", 0)
        model = FasterPAM(3)
        with pytest.raises(MemoryError, match=r"300 rows need 0\.0 GB, and 0\.0 GB.*use OneBatchPAM"):
            model.fit(blobs)
        assert not hasattr(model, "labels_")
        monkeypatch.setattr(square_blocks, "available_bytes", lambda: 20 * 10**9)
        with pytest.raises(MemoryError, match=r"100,000 rows need 40\.0 GB, and 20\.0 GB"):
            square_blocks.require_memory(100_000, 100_000)
        square_blocks.require_memory(70_000, 70_000)

    def test_a_matrix_that_is_searched_in_place_needs_no_memory(self, monkeypatch):
        monkeypatch.setattr(square_blocks, "available_bytes", lambda: 0)
        monkeypatch.setattr(square_blocks, "BYTES_OF_SMALL_BLOCK", 0)
        matrix, model = square(whole_numbers(50)), FasterPAM(3, metric="precomputed", random_state=0)
        model.fit(matrix.astype(np.float32))
        assert model.inertia_ == pytest.approx(matrix[:, model.medoid_indices_].min(axis=1).sum())
        with pytest.raises(MemoryError, match="50 rows need"):
            model.fit(matrix, candidates=range(50))


class TestPAM:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize(("n", "k"), [(40, 2), (120, 6), (300, 3)])
    def test_reference(self, n, k, seed):
        X = whole_numbers(n, seed=seed)
        matrix = square(X)
        weights = np.random.RandomState(seed).randint(1, 4, n)
        start = reference.build(matrix, k, weights)
        model = PAM(k, metric="manhattan", max_iter=0).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(model.medoid_indices_, start)
        order = np.argsort(matrix @ weights, kind="stable")
        expected, n_swaps = reference.pam(matrix, start, weights, order=order)
        model = PAM(k, metric="manhattan").fit(X, sample_weight=weights)
        np.testing.assert_array_equal(model.medoid_indices_, expected)
        assert (model.n_iter_, model.n_swaps_) == (n_swaps + 1, n_swaps)

    @pytest.mark.parametrize("n_fixed", [0, 2, 5])
    def test_reference_from_random_medoids(self, n_fixed):
        X = whole_numbers(200)
        start = random_medoids(200, 5, np.random.RandomState(1))
        model = PAM(5, metric="manhattan", init=start).fit(X, fixed_medoids=start[:n_fixed])
        expected, n_swaps = reference.pam(square(X), start, n_fixed=n_fixed)
        np.testing.assert_array_equal(model.medoid_indices_, expected)
        assert model.n_swaps_ == n_swaps

    def test_no_swap_improves_the_result(self):
        X = np.random.RandomState(0).randn(300, 3)
        model = PAM(6).fit(X)
        gains = reference.swap_gains(square(X, "euclidean"), model.medoid_indices_, np.ones(300))
        gains[model.medoid_indices_] = 0
        assert gains.max() < 1e-4  # the block is float32

    def test_the_order_of_the_rows_does_not_matter(self):
        X = np.random.RandomState(0).randn(500, 3)
        order = np.random.RandomState(1).permutation(500)
        model, permuted = PAM(6).fit(X), PAM(6).fit(X[order])
        np.testing.assert_array_equal(order[permuted.medoid_indices_], model.medoid_indices_)

    @pytest.mark.parametrize("seed", range(3))
    def test_the_result_is_that_of_kmedoids(self, seed):
        kmedoids = pytest.importorskip("kmedoids")
        matrix = cdist(*2 * [np.random.RandomState(seed).randn(250, 3)]).astype(np.float32)
        built = kmedoids.pam_build(matrix, 7)
        found = kmedoids.fastpam1(matrix, built.medoids)
        model = PAM(7, metric="precomputed").fit(matrix)
        start = PAM(7, metric="precomputed", max_iter=0).fit(matrix)
        assert set(start.medoid_indices_) == set(built.medoids)
        assert set(model.medoid_indices_) == set(found.medoids)
        assert model.n_swaps_ == found.n_swap

    def test_ctrl_c_and_progress_know_each_swap(self, capsys):
        PAM(6, init="random", random_state=0, verbose=1).fit(np.random.RandomState(0).randn(400, 3))
        assert "swap search" in capsys.readouterr().err


class TestCLARANS:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(("k", "n_fixed"), [(1, 0), (2, 0), (6, 0), (5, 2), (3, 3)])
    def test_reference(self, k, n_fixed, seed):
        X = whole_numbers(150, seed=seed)
        start = random_medoids(150, k, np.random.RandomState(9))
        space = make_space(X, "manhattan")
        space.fixed = start[:n_fixed]
        end = wander(space, start, 40, 0.0, make_run(seed))
        rng, drawn, failed = np.random.RandomState(seed), [], []
        expected, n_swaps = start.copy(), 0
        while len(failed) < 40 and n_fixed < k:
            others = sorted(set(range(150)) - {*expected.tolist(), *failed})
            drawn.append(others[rng.randint(len(others), size=1)[0]])
            gains = reference.swap_gains(square(X), expected, np.ones(150))[drawn[-1], n_fixed:]
            failed.append(drawn[-1])
            if gains.max() > 0:
                expected[n_fixed + np.argmax(gains)] = drawn[-1]
                failed, n_swaps = [], n_swaps + 1
        np.testing.assert_array_equal(end.medoids, expected)
        assert (end.n_tried, end.n_swaps, end.loss) == (len(drawn), n_swaps, reference.loss(square(X), expected))

    def test_a_search_ends_when_all_rows_have_failed(self):
        X = whole_numbers(60)
        model = CLARANS(4, metric="manhattan", max_neighbors=10**9, n_init=1, random_state=0).fit(X)
        gains = np.delete(reference.swap_gains(square(X), model.medoid_indices_, np.ones(60)), model.medoid_indices_, 0)
        assert gains.max() <= 1e-6 * model.inertia_

    @pytest.mark.parametrize("seed", range(8))
    def test_it_ends_where_weights_make_rounding_errors_larger_than_the_loss(self, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.randn(17, 1), 10.0 ** rng.uniform(-12, 12, 17)
        model = CLARANS(2, metric="cosine", n_init=1, init=[3, 2], max_neighbors=20, random_state=0)
        model.fit(X, sample_weight=weights, fixed_medoids=[3])
        assert len(np.unique(np.sign(model.cluster_centers_))) == len(np.unique(np.sign(X)))

    @pytest.mark.parametrize("init", ["build", [3, 1, 4, 15, 9], lambda *_: [3, 1, 4, 15, 9]])
    def test_searches_from_the_same_start_differ(self, init):
        X = whole_numbers(300)
        single, several = (CLARANS(5, init=init, n_init=n, max_neighbors=20, random_state=0).fit(X) for n in (1, 8))
        assert several.inertia_ < single.inertia_

    def test_a_start_that_is_not_drawn_is_found_once(self):
        X = whole_numbers(300)
        counts = [CLARANS(5, init="build", n_init=n, max_neighbors=1).fit(X).n_distances_ for n in (1, 2)]
        assert counts[1] - counts[0] < 300 * 300

    def test_it_comes_near_to_fasterpam(self, blobs):
        best = FasterPAM(5, n_init=3, random_state=0).fit(blobs).inertia_
        assert CLARANS(5, random_state=0).fit(blobs).inertia_ <= 1.05 * best
        assert CLARANS(5, max_neighbors=1500, n_init=5, random_state=0).fit(blobs).inertia_ <= 1.01 * best

    def test_number_of_neighbours(self):
        assert [clarans.resolve_max_neighbors(None, n) for n in (100, 20_000, 10**6)] == [250, 250, 12_500]
        assert clarans.resolve_max_neighbors(7, 100) == 7


class TestFasterCLARA:
    @pytest.fixture
    def record(self, monkeypatch):
        """Record the samples, and the medoids from which their searches start."""
        samples, starts = [], []
        draw_sample, draw_start = clara.sample_by_weight, clara.random_medoids

        def start(*arguments):
            starts.append(draw_start(*arguments))
            return starts[-1]

        def sample(*arguments, **options):
            drawn = draw_sample(*arguments, **options)
            samples.append(drawn.indices)
            return drawn

        monkeypatch.setattr(clara, "random_medoids", start)
        monkeypatch.setattr(clara, "sample_by_weight", sample)
        return samples, starts

    @pytest.mark.parametrize("seed", range(3))
    def test_reference(self, record, seed):
        X = whole_numbers(400, seed=seed)
        model = FasterCLARA(5, metric="manhattan", random_state=seed).fit(X)
        samples, starts = record
        assert len(samples) == 5
        expected, medoids = reference.clara(square(X), samples, starts, tol=1e-6, chunk=_core.SWEEP_CHUNK)
        np.testing.assert_array_equal(model.medoid_indices_, medoids)
        assert model.inertia_ == expected
        assert model.n_distances_ == 5 * (100 * 100 + 400 * 5)

    def test_samples(self, record):
        X = whole_numbers(400)
        best = []
        for n_samplings in range(1, 5):
            best.append(FasterCLARA(5, n_samplings=n_samplings, metric="manhattan", random_state=1).fit(X))
        samples = record[0][-4:]
        for sample in samples:
            assert len(np.unique(sample)) == len(sample) == 80 + 4 * 5
        for sample, model in zip(samples[1:], best, strict=False):
            assert set(model.medoid_indices_) <= set(sample)
        inertias = [model.inertia_ for model in best]
        assert inertias == sorted(inertias, reverse=True)

    def test_sample_size(self, record, blobs):
        FasterCLARA(5, sample_size=17, n_samplings=2, random_state=0).fit(blobs)
        FasterCLARA(5, sample_size=1000, n_samplings=2, random_state=0).fit(blobs)
        assert [len(sample) for sample in record[0]] == [17, 17, 300, 300]

    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_many_rows_are_judged_by_some(self, record, monkeypatch, tmp_path, is_weighted):
        X, weights = whole_numbers(400), np.random.RandomState(1).rand(400) if is_weighted else None
        monkeypatch.setattr(row_sample, "MANY_ROWS", 150)
        np.save(tmp_path / "X.npy", X)
        model = FasterCLARA(5, metric="manhattan", random_state=0).fit(X, sample_weight=weights)
        samples, starts = record
        judges, *samples = samples
        assert len(judges) == len(np.unique(judges)) == 150
        if not is_weighted:
            block = square(X)
            found = [
                rows[reference.swap_search(block[np.ix_(rows, rows)], start, tol=1e-6, chunk=_core.SWEEP_CHUNK).medoids]
                for rows, start in zip(samples, starts, strict=True)
            ]
            best = min(found, key=lambda medoids: reference.loss(block[:, judges], medoids))
            np.testing.assert_array_equal(model.medoid_indices_, best)
        assert model.n_distances_ == 5 * (100 * 100 + 150 * 5) + 400 * 5
        np.testing.assert_allclose(
            model.inertia_, np.average(model.distances_, weights=weights) * (400 if weights is None else weights.sum())
        )
        mapped = FasterCLARA(5, metric="manhattan", random_state=0)
        mapped.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), sample_weight=weights)
        np.testing.assert_array_equal(mapped.medoid_indices_, model.medoid_indices_)

    def test_a_single_sample_is_not_judged(self, record, monkeypatch):
        monkeypatch.setattr(row_sample, "MANY_ROWS", 150)
        model = FasterCLARA(5, n_samplings=1, metric="manhattan", random_state=0).fit(whole_numbers(400))
        assert len(record[0]) == 1
        assert model.n_distances_ == 100 * 100 + 400 * 5


class TestAlternate:
    @pytest.mark.parametrize("seed", range(5))
    def test_reference(self, seed):
        X = np.random.RandomState(seed).randn(300, 3)
        model = Alternate(7, random_state=seed).fit(X)
        start = random_medoids(300, 7, np.random.RandomState(seed))
        np.testing.assert_array_equal(model.medoid_indices_, reference.alternate(square(X, "euclidean"), start))
        assert model.n_swaps_ > 0

    def test_counts(self):
        X = whole_numbers(100)
        model = Alternate(1, metric="manhattan", init=[0]).fit(X)
        assert model.medoid_indices_ == [reference.best_single(square(X))]
        assert (model.n_iter_, model.n_swaps_) == (2, 1)
        assert model.n_distances_ == 2 * 100 + 2 * 100**2

    def test_empty_clusters_move_to_the_farthest_rows(self):
        X = np.array([[0.0]] * 5 + [[1.0]] * 5 + [[50.0], [90.0]])
        model = Alternate(4, init=[0, 1, 2, 3]).fit(X)
        assert model.inertia_ == 0
        assert set(X[model.medoid_indices_, 0]) == {0, 1, 50, 90}

    def test_a_medoid_stays_where_another_row_is_as_good(self):
        X = np.array([[0.0], [1.0], [2.0], [3.0]])
        for first in (1, 2):
            assert Alternate(1, metric="manhattan", init=[first]).fit(X).medoid_indices_ == [first]

    @pytest.mark.parametrize("seed", range(5))
    def test_no_medoid_moves_to_another(self, seed):
        # All dissimilarities are 1, so that all rows, medoids as well, are in one cluster, and only rounding differs.
        weights = 10.0 ** np.random.RandomState(seed).uniform(-12, 12, 130)
        with pytest.warns(ConvergenceWarning, match="found 1 distinct clusters"):
            model = Alternate(130, metric="russellrao", init="random", random_state=seed).fit(
                np.zeros((130, 1), bool), sample_weight=weights
            )
        assert len(set(model.medoid_indices_)) == 130

    def test_a_large_cluster_takes_little_memory(self, monkeypatch):
        largest = []
        monkeypatch.setattr("onebatchpam._tiles.TILE_ENTRIES", 1)
        fill = alternate.fill_checked
        monkeypatch.setattr(
            alternate,
            "fill_checked",
            lambda distances, rows, tile: largest.append(len(tile)) or fill(distances, rows, tile),
        )
        Alternate(1, random_state=0).fit(np.random.RandomState(0).rand(2000, 2))
        assert max(largest) == _core.SWEEP_CHUNK


class TestDrawing:
    MATRIX = square(np.array([[0.0], [1.0], [3.0], [10.0], [4.5]]))

    def assert_frequencies(self, draw, probabilities, repeats=1500):
        """Check how often pairs are drawn: the first row uniformly, the second by `probabilities` given the first."""
        n, rng = len(self.MATRIX), np.random.RandomState(0)
        pairs = np.zeros((n, n))
        for _ in range(repeats):
            first, second = draw(make_matrix_space(self.MATRIX), 2, make_run(rng))
            pairs[first, second] += 1
        expected = np.array([probabilities(self.MATRIX, [first]) for first in range(n)]) / n
        np.testing.assert_allclose(pairs / repeats, expected, atol=4 * np.sqrt(expected.max() / repeats))

    @pytest.mark.parametrize("power", [1, 2, 0.5])
    def test_power(self, power):
        self.assert_frequencies(
            lambda *arguments: kmeans_plus_plus(*arguments, power=power),
            lambda *arguments: reference.kmeans_plus_plus_probabilities(*arguments, power),
        )

    def test_power_zero_draws_uniformly_among_other_rows(self):
        X = np.repeat(np.arange(4.0), 3)[:, None]
        for seed in range(10):
            model = KMeansPlusPlus(4, power=0, random_state=seed).fit(X)
            assert len(np.unique(X[model.medoid_indices_])) == 4

    @pytest.mark.parametrize("power", [1, 2])
    @pytest.mark.parametrize("chain_length", [1, 2, 5, 40])
    def test_chains(self, chain_length, power):
        self.assert_frequencies(
            lambda *arguments: kmc2(*arguments, chain_length=chain_length, power=power),
            lambda *arguments: reference.kmc2_probabilities(*arguments, power, chain_length),
        )

    def test_a_long_chain_is_kmeans_plus_plus(self):
        np.testing.assert_allclose(
            reference.kmc2_probabilities(self.MATRIX, [1], 1, 500),
            reference.kmeans_plus_plus_probabilities(self.MATRIX, [1], 1),
            atol=1e-6,
        )

    @pytest.mark.parametrize("algorithm", [KMeansPlusPlus, LSKMeansPlusPlus, KMC2])
    def test_large_powers_do_not_overflow(self, algorithm, blobs):
        model = algorithm(5, power=1000, random_state=0).fit(1e30 * blobs)
        assert len(np.unique(model.medoid_indices_)) == 5

    @pytest.mark.parametrize("medoids", [[], [0], [9], [3, 0, 4], [8, 9, 7, 0]])
    def test_other_rows(self, medoids):
        ranks = np.arange(10 - len(medoids))
        found = rows_of_ranks(ranks, np.array(medoids, dtype=np.int64))
        np.testing.assert_array_equal(found, np.setdiff1d(np.arange(10), medoids))

    def test_chains_look_at_few_rows(self):
        space = make_matrix_space(np.random.RandomState(0).rand(1000, 1000))
        kmc2(space, 4, make_run(0), chain_length=5)
        assert space.tally.n_distances == 5 * (1 + 2 + 3)

    def test_random_medoids_are_uniform(self):
        counts = np.zeros(8)
        X = np.arange(8.0)[:, None]
        for seed in range(500):
            counts[RandomMedoids(3, random_state=seed).fit(X).medoid_indices_] += 1
        np.testing.assert_allclose(counts / 500, 3 / 8, atol=0.1)

    def test_a_bad_entry_is_named_by_its_row(self):
        X = np.zeros((6, 1))
        X[4] = 1e39  # 1e39 is too large for float32
        with pytest.raises(ValueError, match=r"the dissimilarity of X\[4\] and X\[\d\] is 1e\+39"):
            KMC2(5, chain_length=60, metric="manhattan", random_state=1).fit(X)


class TestLocalSearch:
    @pytest.fixture
    def record(self, monkeypatch):
        """Record the rows that are drawn after the first one."""
        drawn, draw = [], first_medoids.draw_far
        monkeypatch.setattr(first_medoids, "draw_far", lambda *arguments: drawn.append(draw(*arguments)) or drawn[-1])
        return drawn

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("k", [1, 2, 6])
    def test_reference(self, record, k, seed):
        X = whole_numbers(60, seed=seed)
        seeding = KMeansPlusPlus(k, metric="manhattan", random_state=seed).fit(X)
        record.clear()
        model = LSKMeansPlusPlus(k, n_swaps=30, metric="manhattan", random_state=seed).fit(X)
        expected, n_swaps = reference.propose(square(X), seeding.medoid_indices_, record[k - 1 :])
        np.testing.assert_array_equal(model.medoid_indices_, expected)
        assert (model.n_iter_, model.n_swaps_) == (30, n_swaps)
        assert n_swaps > 0 or k == 1
        # A swap computes k more for each row that loses one of its two nearest medoids.
        extra = model.n_distances_ - (60 * (k + 30) + 60 * k)
        assert (extra > 0) == (n_swaps > 0)
        assert extra % k == 0
        assert extra <= n_swaps * 60 * k

    def test_rows_are_proposed_by_their_distance(self, monkeypatch):
        distances = []
        monkeypatch.setattr(
            first_medoids, "draw_far", lambda space, nearest, *rest: distances.append(np.array(nearest)) or 7
        )
        X = whole_numbers(50)
        LSKMeansPlusPlus(2, n_swaps=1, metric="manhattan", random_state=0).fit(X)
        first = np.flatnonzero(distances[0] == 0)[0]
        np.testing.assert_array_equal(distances[1], square(X)[[first, 7]].min(axis=0))

    def test_as_good_as_a_local_optimum_with_many_proposals(self):
        X = whole_numbers(40)
        model = LSKMeansPlusPlus(3, n_swaps=2000, metric="manhattan", random_state=0).fit(X)
        assert reference.swap_gains(square(X), model.medoid_indices_, np.ones(40)).max() <= 0

    def test_no_proposals(self, blobs):
        model = LSKMeansPlusPlus(5, n_swaps=0, random_state=0).fit(blobs)
        seeding = KMeansPlusPlus(5, random_state=0).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, seeding.medoid_indices_)
