"""Where a search starts: by BUILD, at rows that the user names or draws, and at the medoids of the last fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import reference
from contract import every_check
from onebatchpam import PAM, Alternate, FasterCLARA, FasterMSC, FasterPAM, OneBatchPAM, select_k
from onebatchpam.search.first_medoids import lab
from spaces import make_run, make_space

every_algorithm = pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM])


@every_check([OneBatchPAM(warm_start=True), FasterPAM(warm_start=True)])
def test_estimator_checks(estimator, check):
    check(estimator)


@every_algorithm
class TestWarmStart:
    def test_it_starts_from_the_last_medoids(self, algorithm, blobs):
        model = algorithm(5, warm_start=True, tol=1e9, random_state=0).fit(blobs)
        start = model.medoid_indices_
        for seed in (1, 2):  # tol is so large that no swap is made
            np.testing.assert_array_equal(model.set_params(random_state=seed).fit(blobs).medoid_indices_, start)
            cold = clone(model).set_params(warm_start=False).fit(blobs)
            assert set(cold.medoid_indices_) != set(start)

    @pytest.mark.parametrize("n", [150, 300])
    def test_it_goes_on_where_it_was_stopped(self, algorithm, n, blobs):
        X = np.random.RandomState(0).rand(n, 3)
        parameters = {"init": np.arange(20), "tol": 0.0}
        if algorithm is OneBatchPAM:
            parameters["batch_size"] = n
        model = algorithm(20, warm_start=True, max_iter=1, **parameters)
        with pytest.warns(match="max_iter=1"):
            model.fit(X)
        n_swaps, first = model.n_swaps_, model.inertia_
        model.set_params(max_iter=100).fit(X)
        assert model.inertia_ < first
        whole = algorithm(20, **parameters).fit(X)
        np.testing.assert_array_equal(model.medoid_indices_, whole.medoid_indices_)
        assert n_swaps + model.n_swaps_ == whole.n_swaps_

    def test_a_first_fit_is_a_cold_one(self, algorithm, blobs):
        cold, warm = (algorithm(5, warm_start=flag, random_state=0).fit(blobs) for flag in (False, True))
        np.testing.assert_array_equal(cold.medoid_indices_, warm.medoid_indices_)

    @pytest.mark.parametrize("change", [{"n_clusters": 4}, {"n_clusters": 6}, {}])
    def test_other_rows_or_another_number_of_medoids_start_afresh(self, algorithm, change, blobs):
        rows = blobs if change else blobs[:290]
        model = algorithm(5, warm_start=True, random_state=0).fit(blobs).set_params(**change).fit(rows)
        np.testing.assert_array_equal(model.medoid_indices_, clone(model).fit(rows).medoid_indices_)

    def test_the_rows_are_those_that_have_the_indices_now(self, algorithm, blobs):
        model = algorithm(5, warm_start=True, tol=1e9, random_state=0).fit(blobs)
        medoids = model.medoid_indices_
        model.fit(blobs[::-1])
        np.testing.assert_array_equal(model.medoid_indices_, medoids)
        np.testing.assert_array_equal(model.cluster_centers_, blobs[::-1][medoids])

    def test_with_fixed_medoids(self, algorithm, blobs):
        model = algorithm(5, warm_start=True, random_state=0).fit(blobs)
        fixed = model.medoid_indices_[[3, 1]]
        np.testing.assert_array_equal(model.fit(blobs, fixed_medoids=fixed).medoid_indices_[:2], fixed)
        other = np.setdiff1d(np.arange(300), model.medoid_indices_)[0]
        before = dict(vars(model))
        with pytest.raises(ValueError, match=f"warm_start=True\\) lacks row {other}, which is one of fixed_medoids"):
            model.fit(blobs, fixed_medoids=[other])
        assert vars(model) == before

    def test_with_weights(self, algorithm, blobs):
        model = algorithm(5, warm_start=True, tol=1e9, random_state=0).fit(blobs)
        medoids = model.medoid_indices_
        weights = np.ones(300)
        weights[np.setdiff1d(np.arange(300), medoids)[:30]] = 0
        np.testing.assert_array_equal(model.fit(blobs, sample_weight=weights).medoid_indices_, medoids)
        weights[medoids[2]] = 0
        with pytest.raises(ValueError, match=f"warm_start=True\\) holds row {medoids[2]}, whose weight is zero"):
            model.fit(blobs, sample_weight=weights)

    def test_wrong_value(self, algorithm, blobs):
        with pytest.raises(ValueError, match="warm_start='yes': expected True or False"):
            algorithm(5, warm_start="yes").fit(blobs)

    def test_an_earlier_result_is_a_start_as_well(self, algorithm, blobs):
        earlier = FasterPAM(5, random_state=0).fit(blobs)
        model = algorithm(5, init=earlier.medoid_indices_, tol=1e9).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, earlier.medoid_indices_)


def test_further_starts_are_drawn(blobs):
    model = OneBatchPAM(5, warm_start=True, n_init=3, batch_size=300, random_state=0).fit(blobs)
    assert model.inertia_ <= OneBatchPAM(5, init=model.medoid_indices_, batch_size=300).fit(blobs).inertia_
    first = model.inertia_
    assert model.fit(blobs).inertia_ <= first


class TestNoSwaps:
    @pytest.mark.parametrize("settings", [{}, {"batch_size": 60}, {"effort": "best"}, {"refine": 20}], ids=str)
    def test_the_start_is_the_result(self, settings, blobs):
        start = [3, 1, 4, 15, 9]
        model = OneBatchPAM(5, init=start, max_iter=0, random_state=0, **settings).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, start)
        assert (model.n_iter_, model.n_swaps_, model.n_refine_rounds_) == (0, 0, 0)

    def test_the_best_of_several_starts(self, blobs):
        settings = {"init": "random", "batch_size": 60, "max_iter": 0, "random_state": 0}
        one, several = (OneBatchPAM(5, n_init=starts, **settings).fit(blobs) for starts in (1, 20))
        assert several.inertia_ < one.inertia_
        assert several.n_swaps_ == 0

    def test_the_best_start_of_the_samples(self, blobs):
        one, several = (FasterCLARA(5, n_samplings=n, max_iter=0, random_state=0).fit(blobs) for n in (1, 20))
        assert several.inertia_ < one.inertia_
        assert one.n_swaps_ == several.n_swaps_ == 0


every_start = pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM, PAM, Alternate, FasterMSC])


class TestBuild:
    @pytest.mark.parametrize("algorithm", [FasterPAM, PAM, Alternate])
    def test_more_rows_than_auto_takes(self, algorithm):
        X = np.random.RandomState(0).randint(0, 50, (300, 3)).astype(float)
        expected = reference.build(reference.distance_block(X, X, "manhattan"), 6)
        model = algorithm(6, metric="manhattan", init="build", max_iter=0).fit(X)
        np.testing.assert_array_equal(model.medoid_indices_, expected)

    def test_on_a_batch(self, blobs):
        fits = [
            OneBatchPAM(5, init="build", batch_size=60, random_state=0, memory_limit=m).fit(blobs) for m in (None, 0)
        ]
        np.testing.assert_array_equal(fits[0].medoid_indices_, fits[1].medoid_indices_)
        assert fits[0].inertia_ <= 1.02 * FasterPAM(5, n_init=5, random_state=0).fit(blobs).inertia_

    @pytest.mark.parametrize("fixed", [[], [3, 70]], ids=str)
    def test_a_block_that_is_not_kept_is_computed_once_for_each_medoid(self, blobs, fixed):
        n, m, k = len(blobs), 60, 5
        model = OneBatchPAM(k, init="build", batch_size=m, refine=0, random_state=0, memory_limit=0)
        model.fit(blobs, fixed_medoids=fixed or None)
        n_central = 1 if fixed else 0  # beside fixed medoids, the order of the candidates takes a pass of its own
        n_passes = 1 + n_central + k - len(fixed) + model.n_iter_
        assert model.block_storage_ == "recomputed"
        assert model.n_distances_ == n * m * n_passes + 2 * k * m + n * k

    def test_in_select_k(self, blobs):
        selection = select_k(blobs, [2, 3], OneBatchPAM(init="build", batch_size=300))
        assert selection.inertia[0] == OneBatchPAM(2, init="build", batch_size=300).fit(blobs).inertia_


class TestLAB:
    def test_it_is_between_random_medoids_and_build(self):
        X = np.random.RandomState(0).randn(2000, 2)
        losses = {
            init: np.mean([FasterPAM(20, init=init, max_iter=0, random_state=s).fit(X).inertia_ for s in range(3)])
            for init in ("random", "lab", "build")
        }
        assert losses["build"] < losses["lab"] < losses["random"]

    def test_with_as_many_rows_as_drawn_it_is_build_among_drawn_candidates(self):
        X = np.random.RandomState(0).randint(0, 50, (12, 2)).astype(float)  # 10 + sqrt(12) rows are all rows
        run, block = make_run(3), reference.distance_block(X, X, "manhattan")
        chosen = lab(make_space(X, "manhattan"), 3, run)
        rng, expected = np.random.RandomState(3), []
        for slot in range(3):
            others = np.setdiff1d(np.arange(12), expected)
            drawn = np.unique(others[rng.randint(12 - slot, size=12)])
            expected.append(min(drawn, key=lambda i: reference.loss(block, [*expected, i])))
        np.testing.assert_array_equal(chosen, expected)


@every_start
class TestRowsAsStart:
    def start(self, algorithm, init, X, **arguments):
        """Return the medoids of the start: of searches that make no pass, or no swap."""
        stop = {"max_iter": 0}
        return algorithm(3, init=init, **stop).fit(X, **arguments).medoid_indices_

    def test_the_nearest_rows(self, algorithm, blobs):
        np.testing.assert_array_equal(self.start(algorithm, blobs[[5, 200, 7]] + 1e-6, blobs), [5, 200, 7])
        np.testing.assert_array_equal(self.start(algorithm, (blobs[[5, 200, 7]] + 1e-6).tolist(), blobs), [5, 200, 7])

    def test_of_equal_rows_the_later_ones_take_the_next_nearest(self, algorithm, blobs):
        distances = np.linalg.norm(blobs - blobs[5], axis=1)
        expected = np.argsort(distances, kind="stable")[:3]
        np.testing.assert_array_equal(self.start(algorithm, blobs[[5, 5, 5]], blobs), expected)

    def test_only_candidates_of_positive_weight(self, algorithm, blobs):
        distances, weights = np.linalg.norm(blobs - blobs[5], axis=1), np.ones(300)
        weights[::3] = 0
        order = np.argsort(distances, kind="stable")
        expected = [row for row in order if row % 3 and row % 2][:3]
        found = self.start(algorithm, blobs[[5, 5, 5]], blobs, sample_weight=weights, candidates=np.arange(1, 300, 2))
        np.testing.assert_array_equal(found, expected)

    def test_sparse_rows_and_frames(self, algorithm, blobs):
        sparse, pd = pytest.importorskip("scipy.sparse"), pytest.importorskip("pandas")
        rows = sparse.csr_matrix(blobs)
        np.testing.assert_array_equal(self.start(algorithm, rows[[9, 3, 8]], rows), [9, 3, 8])
        frame = pd.DataFrame({"a": blobs[:, 0], "b": pd.Categorical(np.where(blobs[:, 1] > 0, "x", "y"))})
        stop = {"max_iter": 0}
        model = algorithm(3, metric="gower", init=frame.iloc[[9, 3, 8]], **stop).fit(frame)
        np.testing.assert_array_equal(model.medoid_indices_, [9, 3, 8])

    def test_errors(self, algorithm, blobs):
        with pytest.raises(ValueError, match=r"init has shape \(4, 2\): expected 3 rows, or 3 row indices"):
            algorithm(3, init=np.zeros((4, 2))).fit(blobs)
        with pytest.raises(ValueError, match=r"init has 5 features and X has"):
            algorithm(3, init=np.zeros((3, 5))).fit(blobs)
        with pytest.raises(ValueError, match="init"):
            algorithm(3, init=np.full((3, blobs.shape[1]), np.nan)).fit(blobs)

    def test_a_function(self, algorithm, blobs):
        seen = []

        def choose(X, n_clusters, random_state):
            seen.append((X, n_clusters, random_state.randint(10**6)))
            return [5, 200, 7]

        np.testing.assert_array_equal(self.start(algorithm, choose, blobs), [5, 200, 7])
        np.testing.assert_array_equal(self.start(algorithm, lambda X, k, rng: X[[5, 200, 7]], blobs), [5, 200, 7])
        assert seen[0][0] is blobs
        assert seen[0][1] == 3
        with pytest.raises(ValueError, match="the function init returned 'random': expected 3 row indices"):
            algorithm(3, init=lambda *_: "random").fit(blobs)
        with pytest.raises(ValueError, match="init holds 300: expected row indices from 0 to 299"):
            algorithm(3, init=lambda *_: [1, 2, 300]).fit(blobs)


@pytest.mark.parametrize("algorithm", [FasterPAM, Alternate])
class TestSeveralStarts:
    def test_the_best_is_kept(self, algorithm):
        X = np.random.RandomState(0).rand(300, 3)
        rng = np.random.RandomState(5)
        starts = [rng.permutation(300)[:8] for _ in range(4)]
        single = [algorithm(8, init=start).fit(X).inertia_ for start in starts]
        several = algorithm(8, n_init=4, random_state=0).fit(X)
        assert several.inertia_ <= algorithm(8, random_state=0).fit(X).inertia_
        assert algorithm(8, n_init=30, random_state=0).fit(X).inertia_ <= np.median(single)

    def test_build_comes_first_on_small_data(self, algorithm):
        X = np.random.RandomState(0).rand(150, 3)
        assert algorithm(8, n_init=5, random_state=0).fit(X).inertia_ <= algorithm(8).fit(X).inertia_

    @pytest.mark.parametrize(
        ("init", "why"),
        [
            ("build", "is BUILD, which draws nothing"),
            ([0, 1, 2], "holds medoids"),
            (np.zeros((3, 2)), "holds medoids"),
            (lambda *_: [0, 1, 2], "is a function, which is called once"),
        ],
    )
    def test_starts_that_would_be_the_same(self, algorithm, init, why, blobs):
        with pytest.raises(ValueError, match=f"n_init=2 would repeat the same start, because init {why}: expected"):
            algorithm(3, init=init, n_init=2).fit(blobs)


def test_dask_takes_no_start_that_needs_all_rows(blobs):
    da = pytest.importorskip("dask.array")
    from onebatchpam.dask import OneBatchPAM as OnDask

    for init in ("build", blobs[:3], lambda *_: [0, 1, 2]):
        with pytest.raises(ValueError, match="does not work with Dask: expected 'random'"):
            OnDask(3, init=init).fit(da.from_array(blobs, chunks=(100, -1)))
