"""Candidates: only these rows may become medoids, while all rows count in the objective."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

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
)
from onebatchpam.algorithms.population import InMemory
from onebatchpam.batch import sample
from onebatchpam.batch.rounds import VARIANTS, draw_batch
from onebatchpam.search.start import INITS
from onebatchpam.space import Candidates
from spaces import make_run, make_space

MODELS = [
    *(OneBatchPAM(batch_size=80, variant=variant) for variant in VARIANTS),
    OneBatchPAM(batch_size=80, n_init=3, refine=0),
    OneBatchPAM(),
    *(FasterPAM(init=init) for init in ("auto", "build", *INITS)),
    FasterPAM(n_init=2),
    PAM(),
    FasterMSC(),
    FasterMSC(batch_size=60, n_init=2),
    CLARANS(),
    FasterCLARA(sample_size=40),
    FasterCLARA(),
    Alternate(),
    Alternate(init="k-means++"),
    KMeansPlusPlus(),
    LSKMeansPlusPlus(n_swaps=30),
    KMC2(),
    RandomMedoids(),
    BanditPAM(),
    BanditPAM(max_iter=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: "".join(str(model).split()))


def fit(model, X, k=5, **arguments):
    return clone(model).set_params(n_clusters=k, random_state=0).fit(X, **arguments)


def assert_same_fit(model, expected):
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_


@every_model
class TestEveryAlgorithm:
    @pytest.mark.parametrize("n", [120, 300])
    @pytest.mark.parametrize("share", [0.04, 0.3, 0.97])
    def test_only_they_become_medoids(self, model, share, n, blobs):
        candidates = np.random.RandomState(1).permutation(n)[: max(5, int(share * n))]
        fitted = fit(model, blobs[:n], candidates=candidates)
        assert np.isin(fitted.medoid_indices_, candidates).all()
        assert fitted.n_candidates_ == len(candidates)
        assert_contract(fitted, blobs[:n])

    def test_as_many_as_medoids(self, model, blobs):
        fitted = fit(model, blobs, candidates=[250, 9, 30, 31, 32])
        np.testing.assert_array_equal(np.sort(fitted.medoid_indices_), [9, 30, 31, 32, 250])
        assert_contract(fitted, blobs)

    def test_all_rows(self, model, blobs):
        expected = fit(model, blobs)
        assert expected.n_candidates_ == 300
        for every in (None, "all", np.ones(300, dtype=bool), np.arange(300)[::-1]):
            assert_same_fit(fit(model, blobs, candidates=every), expected)

    def test_a_mask_or_indices_in_any_order(self, model, blobs):
        mask = np.arange(300) % 3 == 1
        expected = fit(model, blobs, candidates=mask)
        for same in (mask.tolist(), pd.Series(mask), np.flatnonzero(mask), np.flatnonzero(mask)[::-1].tolist()):
            assert_same_fit(fit(model, blobs, candidates=same), expected)

    def test_fixed_medoids_need_not_be_among_them(self, model, blobs):
        candidates = np.arange(100, 200)
        fitted = fit(model, blobs, candidates=candidates, fixed_medoids=[250, 120])
        np.testing.assert_array_equal(fitted.medoid_indices_[:2], [250, 120])
        assert np.isin(fitted.medoid_indices_[2:], candidates).all()
        assert fitted.n_candidates_ == 101
        assert_contract(fitted, blobs)

    def test_candidates_of_weight_zero_are_absent(self, model, blobs):
        weights, candidates = np.ones(300), np.arange(90, 110)
        weights[::2] = 0
        fitted = fit(model, blobs, sample_weight=weights, candidates=candidates)
        assert set(fitted.medoid_indices_) <= set(range(91, 110, 2))
        assert fitted.n_candidates_ == 10
        with pytest.raises(ValueError, match=r"larger than the number of candidates .* weight, 4: expected"):
            fit(model, blobs, sample_weight=weights, candidates=np.arange(90, 98))

    def test_duplicates_are_moved_to_other_candidates(self, model):
        X = np.repeat(np.array([[0.0], [1], [5], [9], [20], [30]]), [30, 1, 1, 30, 1, 1], axis=0)
        candidates = np.r_[0:30, 31:62, 63]  # without the only row at 1 and the only row at 20
        fitted = fit(model, X, k=4, candidates=candidates)
        np.testing.assert_array_equal(np.sort(X[fitted.medoid_indices_, 0]), [0, 5, 9, 30])
        with pytest.warns(match="found 4 distinct clusters"):
            fitted = fit(model, X, k=5, candidates=candidates)
        assert np.isin(fitted.medoid_indices_, candidates).all()

    @pytest.mark.parametrize(
        ("candidates", "message"),
        [
            (np.ones(299, dtype=bool), r"candidates has shape \(299,\): expected \(300,\), True or False for each row"),
            (np.ones((300, 1), dtype=bool), r"candidates has shape \(300, 1\): expected one dimension"),
            (np.zeros(300, dtype=bool), "candidates holds no row"),
            ([], "candidates holds no row"),
            ([0, 1, 2, 3, 300], "candidates holds 300: expected row indices from 0 to 299"),
            ([-1, 1, 2, 3, 4], "candidates holds -1"),
            ([7, 2, 7, 1, 0, 9], "candidates holds 7 more than once"),
            (np.ones(300), "candidates has shape .* and dtype float64: expected row indices, or True or False"),
            ([[1, 2, 3, 4, 5]], r"candidates has shape \(1, 5\)"),
            ("complete", "candidates='complete': expected one of 'all'"),
            ([1, 2, 3], "n_clusters=5 is larger than the number of candidates of positive weight, 3: expected at most"),
        ],
        ids=str,
    )
    def test_errors(self, model, candidates, message, blobs, monkeypatch):
        monkeypatch.setattr(type(model), "_select", lambda *_: pytest.fail("the search began"))
        model = clone(model)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=message):
            model.set_params(n_clusters=5).fit(blobs, candidates=candidates)
        assert vars(model).keys() == before.keys()

    def test_threads_and_tiles(self, model, blobs, smallest_tiles, monkeypatch):
        candidates = np.arange(0, 300, 3)
        small = fit(model, blobs, candidates=candidates)
        monkeypatch.undo()
        assert_same_fit(small, fit(clone(model).set_params(n_jobs=3), blobs, candidates=candidates))

    def test_a_matrix_of_dissimilarities(self, model, blobs):
        if getattr(model, "variant", None) == "lwcs":
            pytest.skip("a matrix has no mean")
        matrix = reference.distance_block(blobs, blobs, "manhattan")
        candidates = np.arange(0, 300, 3)
        expected = fit(clone(model).set_params(metric="manhattan"), blobs, candidates=candidates)
        for dtype in (np.float64, np.float32):
            found = fit(clone(model).set_params(metric="precomputed"), matrix.astype(dtype), candidates=candidates)
            np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)


class TestStart:
    @pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM, Alternate])
    def test_init_must_hold_candidates(self, algorithm, blobs):
        model = algorithm(3, init=[9, 4, 20])
        assert np.isin(model.fit(blobs, candidates=np.arange(30)).medoid_indices_, np.arange(30)).all()
        with pytest.raises(ValueError, match="init holds row 20, which is not one of the candidates"):
            model.fit(blobs, candidates=np.arange(15))
        assert model.fit(blobs, candidates=np.arange(15), fixed_medoids=[20]).medoid_indices_[0] == 20

    def test_so_must_the_medoids_of_a_warm_start(self, blobs):
        model = OneBatchPAM(3, warm_start=True, random_state=0).fit(blobs)
        with pytest.raises(ValueError, match=r"medoid_indices_ of the last fit \(warm_start=True\) holds row"):
            model.fit(blobs, candidates=np.setdiff1d(np.arange(300), model.medoid_indices_))

    @pytest.mark.parametrize("init", INITS)
    def test_drawn_by_weight_among_them(self, init, blobs):
        weights, candidates = np.ones(300), np.arange(10, 20)
        weights[13] = 1e9
        firsts = [
            FasterPAM(1, init=init, random_state=seed, max_iter=1)
            .fit(blobs, sample_weight=weights, candidates=candidates)
            .medoid_indices_[0]
            for seed in range(3)
        ]
        assert firsts == [13, 13, 13]


class TestBest:
    @pytest.mark.parametrize("seed", range(6))
    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_the_best_of_all_sets_of_candidates(self, k, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(30, 2), rng.randint(1, 4, 30).astype(np.float64)
        block = reference.distance_block(X, X, "manhattan")
        candidates = rng.permutation(30)[:12]
        best = min(reference.loss(block, list(chosen), weights) for chosen in itertools.combinations(candidates, k))
        given = {"sample_weight": weights, "candidates": candidates}
        models = [FasterPAM(k, metric="manhattan", init="random", tol=0, random_state=start) for start in range(10)]
        assert min(model.fit(X, **given).inertia_ for model in models) == pytest.approx(best)
        batch = OneBatchPAM(k, metric="manhattan", n_init=10, tol=0, random_state=0)
        assert batch.fit(X, **given).inertia_ == pytest.approx(best)
        clara = FasterCLARA(k, metric="manhattan", n_samplings=30, sample_size=20, tol=0, random_state=0)
        assert clara.fit(X, **given).inertia_ <= 1.02 * best

    @pytest.mark.parametrize("n_candidates", [20, 400, 2000])
    def test_a_batch_comes_close_to_all_rows(self, n_candidates, rng):
        X = rng.standard_normal((4000, 4))
        candidates = rng.permutation(4000)[:n_candidates]
        best = min(FasterPAM(8, random_state=seed).fit(X, candidates=candidates).inertia_ for seed in range(3))
        model = OneBatchPAM(8, batch_size=200, random_state=0).fit(X, candidates=candidates)
        assert model.inertia_ <= 1.03 * best
        assert model.n_refine_rounds_ > 0

    def test_refinement_with_a_sample_of_points(self, rng, monkeypatch):
        monkeypatch.setattr("onebatchpam.search.refine.MOST_ENTRIES", 50_000)
        X = rng.standard_normal((4000, 4))
        for n_candidates in (20, 1500, 3900):
            candidates = rng.permutation(4000)[:n_candidates]
            model = OneBatchPAM(8, batch_size=200, random_state=0).fit(X, candidates=candidates)
            assert np.isin(model.medoid_indices_, candidates).all()
            assert (
                model.inertia_
                <= OneBatchPAM(8, batch_size=200, refine=0, random_state=0).fit(X, candidates=candidates).inertia_
            )

    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_a_sample_of_very_many_rows(self, init, rng, monkeypatch):
        X = rng.standard_normal((3000, 3))
        candidates = np.flatnonzero(rng.rand(3000) < 0.7)
        model = OneBatchPAM(6, batch_size=300, init=init, random_state=0)
        expected = clone(model).fit(X, candidates=candidates)
        monkeypatch.setattr(sample, "MANY_ROWS", 1500)
        found = model.fit(X, candidates=candidates)
        assert np.isin(found.medoid_indices_, candidates).all()
        assert found.inertia_ <= 1.02 * expected.inertia_


class TestCost:
    def test_only_candidates_are_compared_with_a_batch_of_all_rows(self, blobs):
        candidates = np.arange(0, 300, 10)
        for model in (FasterPAM(5, random_state=0), OneBatchPAM(5, random_state=0)):
            assert model.fit(blobs, candidates=candidates).n_distances_ == 30 * 300 + 300 * 5

    @pytest.mark.parametrize("n_candidates", [60, 1000])
    @pytest.mark.parametrize("share", [0.9, 0.5, 0])
    def test_storage_does_not_change_the_result(self, share, n_candidates, rng):
        X = rng.standard_normal((1500, 24))
        candidates = rng.permutation(1500)[:n_candidates]
        model = OneBatchPAM(10, metric="manhattan", batch_size=200, n_init=2, random_state=0)
        whole = clone(model).fit(X, candidates=candidates)
        limit = int(share * 4 * n_candidates * 200)
        limited = clone(model).set_params(memory_limit=limit).fit(X, candidates=candidates)
        assert (whole.block_storage_, limited.block_storage_) == ("whole", "reduced" if share else "recomputed")
        np.testing.assert_array_equal(limited.medoid_indices_, whole.medoid_indices_)

    def test_the_block_holds_only_candidates(self, rng):
        X = rng.standard_normal((1500, 24))
        model = OneBatchPAM(3, batch_size=200, memory_limit=4 * 150 * 200, random_state=0)
        assert model.fit(X, candidates=np.arange(150)).block_storage_ == "whole"

    def test_rows_in_a_file(self, rng, tmp_path):
        X = rng.standard_normal((1500, 6)).astype(np.float32)
        np.save(tmp_path / "rows.npy", X)
        model, candidates = OneBatchPAM(4, batch_size=100, random_state=0), np.arange(700, 900)
        expected = clone(model).fit(X, candidates=candidates)
        assert_same_fit(clone(model).fit(str(tmp_path / "rows.npy"), candidates=candidates), expected)


@pytest.mark.parametrize("limit", [10**9, 0], ids=["whole", "recomputed"])
@pytest.mark.parametrize("variant", ["progressive", "nniw", "debias", "unif"])
def test_the_block_of_candidates(variant, limit, blobs, smallest_tiles):
    """Only candidates have rows in the block, and only those that are batch points are put far from themselves."""
    space, run = make_space(blobs, "manhattan"), make_run(0)
    space.candidates = Candidates(300, np.arange(0, 300, 2))
    batch, block = draw_batch(InMemory(space, 4, limit, run), 60, variant)
    entries = block.rows(np.arange(0, 300, 2))
    distances = reference.distance_block(blobs, blobs[batch.indices], "manhattan")
    expected = distances[::2].copy()
    own = np.flatnonzero(batch.indices % 2 == 0)
    assert 0 < len(own) < 60
    if variant != "unif":
        expected[batch.indices[own] // 2, own] = distances.max()
    np.testing.assert_allclose(entries, expected, rtol=1e-6)
    if variant in ("progressive", "nniw"):  # every row has its nearest batch point, not only candidates
        counts = np.bincount(distances.argmin(axis=1), minlength=60)
        np.testing.assert_allclose(batch.weights, counts * 60 / 300)


def test_banditpam_from_a_file(rng, tmp_path):
    X, candidates = rng.standard_normal((600, 4)), np.arange(100, 140)
    np.save(tmp_path / "rows.npy", X)
    expected = BanditPAM(3, random_state=0).fit(X, candidates=candidates)
    assert set(expected.medoid_indices_) <= set(candidates)
    assert_same_fit(BanditPAM(3, random_state=0).fit(tmp_path / "rows.npy", candidates=candidates), expected)
