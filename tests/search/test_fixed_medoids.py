"""Fixed medoids: rows that are medoids whatever the other medoids are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from contract import assert_contract
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    BanditPAM,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    _core,
)
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.blocks.block import WholeBlock
from onebatchpam.search.start import INITS
from onebatchpam.search.swaps import SwapOptions, run_swaps
from spaces import make_run

SEARCHES = [OneBatchPAM, FasterPAM, PAM, FasterCLARA, Alternate, BanditPAM]
MODELS = [
    *(OneBatchPAM(batch_size=80, variant=variant) for variant in VARIANTS),
    OneBatchPAM(batch_size=80, n_init=3, refine=0),
    OneBatchPAM(),
    *(FasterPAM(init=init) for init in ("auto", "build", *INITS)),
    FasterPAM(n_init=2),
    PAM(),
    FasterMSC(),
    FasterMSC(batch_size=60),
    CLARANS(),
    FasterCLARA(sample_size=40),
    FasterCLARA(),
    Alternate(),
    Alternate(init="k-means++"),
    KMeansPlusPlus(),
    LSKMeansPlusPlus(),
    KMC2(),
    RandomMedoids(),
    BanditPAM(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: "".join(str(model).split()))
every_search = pytest.mark.parametrize("algorithm", SEARCHES)


def fit(model, X, fixed, k=5, **arguments):
    return clone(model).set_params(n_clusters=k, random_state=0).fit(X, fixed_medoids=fixed, **arguments)


@every_model
class TestEveryAlgorithm:
    @pytest.mark.parametrize("n", [120, 300])
    @pytest.mark.parametrize("fixed", [[17], [99, 3], (4, 0, 2, 1)], ids=str)
    def test_they_come_first_in_the_order_given(self, model, fixed, n, blobs):
        fitted = fit(model, blobs[:n], fixed)
        np.testing.assert_array_equal(fitted.medoid_indices_[: len(fixed)], fixed)
        assert_contract(fitted, blobs[:n])

    @pytest.mark.parametrize("k", [1, 3])
    def test_all_of_them(self, model, k, blobs):
        fitted = fit(model, blobs, np.array([250, 9, 30])[:k], k=k)
        np.testing.assert_array_equal(fitted.medoid_indices_, [250, 9, 30][:k])
        assert fitted.n_swaps_ == 0
        assert_contract(fitted, blobs)

    def test_none(self, model, blobs):
        expected = clone(model).set_params(n_clusters=5, random_state=0).fit(blobs)
        for none in (None, [], np.empty(0, np.int64)):
            np.testing.assert_array_equal(fit(model, blobs, none).medoid_indices_, expected.medoid_indices_)

    def test_duplicates_of_them_are_moved_and_they_are_not(self, model):
        X = np.repeat(np.array([[0.0], [1], [5], [9], [20], [30]]), [30, 1, 1, 30, 1, 1], axis=0)
        fitted = fit(model, X, [0, 32])
        np.testing.assert_array_equal(fitted.medoid_indices_[:2], [0, 32])
        assert len(np.unique(X[fitted.medoid_indices_])) == 5
        with pytest.warns(match="found 4 distinct clusters"):  # both fixed medoids are the same point
            fitted = fit(model, X, [3, 4])
        np.testing.assert_array_equal(fitted.medoid_indices_[:2], [3, 4])
        assert len(np.unique(X[fitted.medoid_indices_])) == 4

    @pytest.mark.parametrize(
        ("fixed", "message"),
        [
            ([0, 1, 2, 3, 4, 5], r"fixed_medoids has shape \(6,\): expected at most n_clusters=5"),
            ([0, 300], "fixed_medoids holds 300: expected row indices from 0 to 299"),
            ([-1], "fixed_medoids holds -1"),
            ([7, 2, 7], "fixed_medoids holds 7 more than once"),
            ([0.5], "fixed_medoids has shape .* and dtype float64"),
            ([True, False], "fixed_medoids has shape .* and dtype bool"),
            ([[1, 2]], r"fixed_medoids has shape \(1, 2\)"),
            ([[0.5, 2.5]], r"fixed_medoids has shape \(1, 2\).*not rows, put them before the rows of X.*Depots"),
            (3, "fixed_medoids=3: expected at most n_clusters="),
        ],
        ids=str,
    )
    def test_errors(self, model, fixed, message, blobs):
        model = clone(model)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=message):
            model.set_params(n_clusters=5).fit(blobs, fixed_medoids=fixed)
        assert vars(model).keys() == before.keys()


class TestBest:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize(("k", "n_fixed"), [(2, 1), (3, 1), (3, 2), (4, 1)])
    def test_the_best_of_all_sets_that_hold_them(self, k, n_fixed, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(14, 2), rng.randint(1, 4, 14).astype(np.float64)
        block = reference.distance_block(X, X, "manhattan")
        fixed = rng.permutation(14)[:n_fixed]
        others = np.setdiff1d(np.arange(14), fixed)
        best = min(
            reference.loss(block, np.r_[fixed, chosen], weights)
            for chosen in itertools.combinations(others, k - n_fixed)
        )
        found = [
            FasterPAM(k, metric="manhattan", init="random", tol=0, random_state=start)
            .fit(X, sample_weight=weights, fixed_medoids=fixed)
            .inertia_
            for start in range(10)
        ]
        assert min(found) == pytest.approx(best)
        batch = OneBatchPAM(k, metric="manhattan", n_init=10, tol=0, random_state=0)
        assert batch.fit(X, sample_weight=weights, fixed_medoids=fixed).inertia_ == pytest.approx(best)

    @pytest.mark.parametrize("n", [150, 400])
    @pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM])
    @pytest.mark.parametrize("seed", range(3))
    def test_no_swap_of_the_others_improves(self, algorithm, seed, n):
        X = np.random.RandomState(seed).rand(n, 3)
        block = reference.distance_block(X, X, "manhattan")
        fixed = [5, 77, 20]
        model = algorithm(8, metric="manhattan", tol=0, random_state=seed).fit(X, fixed_medoids=fixed)
        gains = reference.swap_gains(block, model.medoid_indices_, np.ones(n))
        assert gains[:, 3:].max() <= 1e-6 * model.inertia_
        assert gains[:, :3].max() > 0  # a swap of a fixed medoid would improve

    def test_alternate_moves_only_the_others(self):
        X = np.random.RandomState(0).rand(300, 2)
        block = reference.distance_block(X, X, "euclidean")
        model = Alternate(4, init=[7, 8, 9, 10]).fit(X, fixed_medoids=[8, 7])
        np.testing.assert_array_equal(model.medoid_indices_[:2], [8, 7])
        for slot in (2, 3):
            members = np.flatnonzero(model.labels_ == slot)
            assert model.medoid_indices_[slot] == members[np.argmin(block[np.ix_(members, members)].sum(axis=1))]

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_a_batch_is_nearly_as_good_as_all_rows(self, variant):
        X = np.random.RandomState(0).rand(2000, 3)
        fixed = np.arange(6)
        full = np.mean([FasterPAM(20, random_state=s).fit(X, fixed_medoids=fixed).inertia_ for s in range(3)])
        model = OneBatchPAM(20, variant=variant, batch_size=400)
        fits = [clone(model).set_params(random_state=s).fit(X, fixed_medoids=fixed) for s in range(3)]
        assert np.mean([each.inertia_ for each in fits]) < 1.02 * full
        assert all(each.n_refine_rounds_ > 0 for each in fits)

    @pytest.mark.parametrize("seed", range(3))
    def test_refinement_never_harms(self, seed):
        X = np.random.RandomState(seed).rand(1500, 4)
        model = OneBatchPAM(15, batch_size=150, random_state=seed, effort="fast")
        inertias = [clone(model).set_params(refine=r).fit(X, fixed_medoids=[3, 4]).inertia_ for r in (0, 1, 3)]
        assert inertias == sorted(inertias, reverse=True)
        assert inertias[-1] < inertias[0]

    def test_a_fixed_batch_point_is_at_distance_zero_from_itself(self):
        X = np.random.RandomState(0).rand(400, 2)
        model = OneBatchPAM(4, variant="debias", batch_size=200, refine=0, random_state=0)
        fixed = model.fit(X).batch_indices_[:2]
        model.fit(X, fixed_medoids=fixed)
        assert set(fixed) <= set(model.batch_indices_)
        block = reference.distance_block(X, X[model.batch_indices_], "euclidean")
        debiased = reference.debias(block, model.batch_indices_)
        debiased[fixed] = block[fixed]
        assert model.batch_inertia_ == pytest.approx(reference.loss(debiased, model.medoid_indices_), rel=1e-6)


class TestStart:
    def test_given_medoids_are_put_in_order(self, blobs):
        model = OneBatchPAM(4, init=[3, 80, 9, 41], tol=1e9).fit(blobs, fixed_medoids=[41, 3])
        np.testing.assert_array_equal(model.medoid_indices_, [41, 3, 80, 9])

    @pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM, Alternate])
    def test_given_medoids_lack_one(self, algorithm, blobs):
        with pytest.raises(ValueError, match="init lacks row 5, which is one of fixed_medoids"):
            algorithm(2, init=[0, 1]).fit(blobs, fixed_medoids=[5])
        with pytest.raises(ValueError, match="init lacks row 5, which is one of fixed_medoids"):
            algorithm(2, init=[4, 1]).fit(blobs, sample_weight=np.r_[0, np.ones(299)], fixed_medoids=[5])


class TestWeights:
    @every_search
    def test_rows_without_weight_are_not_counted(self, algorithm, blobs):
        weights = np.arange(300) % 3
        kept = np.flatnonzero(weights)
        model = algorithm(5, random_state=0).fit(blobs, sample_weight=weights, fixed_medoids=[100, 4])
        other = algorithm(5, random_state=0).fit(
            blobs[kept], sample_weight=weights[kept], fixed_medoids=np.searchsorted(kept, [100, 4])
        )
        np.testing.assert_array_equal(model.medoid_indices_, kept[other.medoid_indices_])

    @every_search
    def test_zero(self, algorithm, blobs):
        with pytest.raises(ValueError, match="fixed_medoids holds row 6, whose weight is zero"):
            algorithm(5).fit(blobs, sample_weight=np.arange(300) % 3, fixed_medoids=[100, 6])

    @pytest.mark.parametrize("seed", range(5))
    @every_search
    def test_are_repeated_rows(self, algorithm, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(30, 4), rng.randint(1, 4, 30)
        repeated = np.repeat(X, weights, axis=0)
        firsts = np.r_[0, np.cumsum(weights)[:-1]]
        model = algorithm(6, random_state=0).fit(X, sample_weight=weights, fixed_medoids=[11, 2])
        other = algorithm(6, random_state=1).fit(repeated, fixed_medoids=firsts[[11, 2]])
        np.testing.assert_allclose(model.transform(X), other.transform(X))


class TestNative:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(("k", "n_fixed"), [(2, 1), (5, 3), (9, 8), (17, 16), (20, 2), (16, 16)])
    def test_reference(self, simd_level, k, n_fixed, seed):
        block = np.random.RandomState(seed).randint(0, 50, (300, 90)).astype(np.float32)
        weights = np.random.RandomState(seed).randint(1, 5, 90).astype(np.float64)
        start = np.random.RandomState(seed).permutation(300)[:k]
        options = SwapOptions(tol=0.0, n_fixed=n_fixed)
        found = run_swaps(WholeBlock(block), start, weights, options, make_run(n_jobs=2))
        expected = reference.swap_search(block, start, weights, chunk=_core.SWEEP_CHUNK, n_fixed=n_fixed)
        np.testing.assert_array_equal(found.medoids, expected.medoids)
        assert (found.loss, found.n_swaps, found.converged) == (expected.loss, expected.n_swaps, True)

    def test_more_than_there_are(self):
        block = np.ones((5, 4), np.float32)
        with pytest.raises(ValueError, match="more medoids are fixed than there are"):
            _core.SwapSearch(5, np.arange(2), block[:2], np.ones(4), 0.0, 3)


def test_precomputed_matrix(blobs):
    matrix = reference.distance_block(blobs, blobs, "manhattan")
    model = OneBatchPAM(5, metric="precomputed", batch_size=60, random_state=0).fit(matrix, fixed_medoids=[9, 8])
    rows = OneBatchPAM(5, metric="manhattan", batch_size=60, random_state=0).fit(blobs, fixed_medoids=[9, 8])
    np.testing.assert_array_equal(model.medoid_indices_, rows.medoid_indices_)


def test_fit_predict_and_pipeline(blobs):
    model = OneBatchPAM(5, random_state=0)
    labels = model.fit_predict(blobs, fixed_medoids=[9, 8])
    np.testing.assert_array_equal(labels, clone(model).fit(blobs, fixed_medoids=[9, 8]).labels_)
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(blobs, onebatchpam__fixed_medoids=[9, 8])
    np.testing.assert_array_equal(pipeline[-1].medoid_indices_[:2], [9, 8])
