"""BanditPAM as an estimator; `tests/search/test_bandit.py` has the searches of which it consists."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import reference
from contract import assert_contract
from onebatchpam import PAM, BanditPAM, FasterPAM, _progress
from onebatchpam.metrics import native


@pytest.fixture(scope="module")
def rows():
    return np.random.RandomState(0).standard_normal((1200, 4))


class TestSteps:
    def test_swaps(self, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            built = BanditPAM(6, max_iter=0, random_state=0).fit(rows)
            model = BanditPAM(6, random_state=0).fit(rows)
        assert (built.n_iter_, built.n_swaps_) == (0, 0)
        assert 0 < model.n_swaps_ == model.n_iter_ - 1
        assert model.inertia_ < built.inertia_
        assert model.inertia_ == pytest.approx(FasterPAM(6, random_state=0).fit(rows).inertia_, rel=0.02)

    def test_each_swap_lowers_the_objective(self, rows):
        inertias = []
        for max_iter in range(4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                inertias.append(BanditPAM(8, max_iter=max_iter, random_state=0).fit(rows).inertia_)
        assert inertias == sorted(set(inertias), reverse=True)

    def test_a_search_that_was_stopped(self, rows):
        with pytest.warns(ConvergenceWarning, match="max_iter=1 swaps"):
            model = BanditPAM(8, max_iter=1, random_state=0).fit(rows)
        assert (model.n_iter_, model.n_swaps_) == (1, 1)

    def test_a_number_of_dissimilarities_that_is_true(self, rows):
        pairs = []

        def manhattan(a, b):
            pairs.append((*a, *b))
            return np.abs(a - b).sum()

        model = BanditPAM(2, metric=manhattan, max_iter=0, random_state=0).fit(rows[:420])
        compared = pairs[1:]  # the first call finds out whether the function takes blocks
        assert len(compared) == model.n_distances_
        # Beside the samples, each medoid is compared with all rows, once in BUILD and once in the assignment.
        assert len(set(compared)) >= len(compared) - 2 * 2 * 420


@pytest.mark.parametrize("max_iter", [0, 100])
@pytest.mark.parametrize("seed", range(3))
def test_objective_of_the_package_of_the_authors(seed, max_iter):
    banditpam = pytest.importorskip("banditpam")
    X = np.random.RandomState(seed).rand(600, 4)
    package = banditpam.KMedoids(5, "BanditPAM", max_iter=max_iter)
    package.seed = seed
    package.fit(X.astype(np.float32), "L1")
    expected = reference.inertia(X, np.ravel(package.medoids).astype(int), "manhattan")
    model = BanditPAM(5, metric="manhattan", max_iter=max_iter, random_state=seed).fit(X)
    assert model.inertia_ == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_samples_lead_to_the_medoids_of_pam(seed, weighted):
    rng = np.random.RandomState(seed)
    X, weights = rng.standard_normal((1500, 5)), rng.exponential(size=1500) if weighted else None
    model = BanditPAM(6, random_state=seed).fit(X, sample_weight=weights)
    assert set(model.medoid_indices_) == set(PAM(6).fit(X, sample_weight=weights).medoid_indices_)


class TestData:
    def test_rows_in_a_file(self, rows, tmp_path):
        np.save(tmp_path / "rows.npy", rows)
        expected = BanditPAM(5, random_state=0).fit(rows)
        model = BanditPAM(5, random_state=0).fit(tmp_path / "rows.npy")
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert (model.inertia_, model.n_distances_) == (expected.inertia_, expected.n_distances_)

    def test_rows_of_weight_zero_in_a_file(self, rows, tmp_path):
        np.save(tmp_path / "rows.npy", rows)
        weights = np.arange(1200) % 3
        kept = np.flatnonzero(weights)
        expected = BanditPAM(5, random_state=0).fit(rows[kept], sample_weight=weights[kept], fixed_medoids=[7])
        model = BanditPAM(5, random_state=0).fit(tmp_path / "rows.npy", sample_weight=weights, fixed_medoids=[kept[7]])
        np.testing.assert_array_equal(model.medoid_indices_, kept[expected.medoid_indices_])

    def test_a_heavy_row_is_a_medoid(self, rows):
        weights = np.ones(1200)
        weights[[5, 900]] = 1e6
        model = BanditPAM(2, random_state=0).fit(rows, sample_weight=weights)
        assert set(model.medoid_indices_) == {5, 900}

    def test_dissimilarities_too_small_for_float32(self):
        with pytest.raises(ValueError, match="too small for float32"):
            BanditPAM(3, metric="sqeuclidean", random_state=0).fit(1e-24 * np.random.RandomState(0).rand(500, 2))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @given(
        n=st.integers(1, 700),
        n_distinct=st.integers(1, 700),
        k=st.integers(1, 9),
        max_iter=st.integers(0, 3),
        seed=st.integers(0, 99),
        weighted=st.booleans(),
    )
    @settings(max_examples=40, deadline=None)
    def test_any_data(self, n, n_distinct, k, max_iter, seed, weighted):
        """Rows with many duplicates: no sample tells these apart."""
        rng = np.random.RandomState(seed)
        X = rng.randint(0, 1000, (n_distinct, 2)).astype(np.float64)[rng.randint(0, n_distinct, n)]
        k = min(k, n)
        weights = rng.randint(1, 4, n) if weighted else None
        fixed = rng.permutation(n)[: rng.randint(0, k + 1)]
        parameters = {"metric": "manhattan", "max_iter": max_iter, "random_state": seed}
        model = BanditPAM(k, **parameters).fit(X, sample_weight=weights, fixed_medoids=fixed)
        np.testing.assert_array_equal(model.medoid_indices_[: len(fixed)], fixed)
        assert len(set(model.medoid_indices_)) == k
        assert model.n_swaps_ <= model.n_iter_ <= max_iter
        threaded = BanditPAM(k, memory_limit=4 * n * 100, n_jobs=2, **parameters)
        threaded.fit(X, sample_weight=weights, fixed_medoids=fixed)
        np.testing.assert_array_equal(threaded.medoid_indices_, model.medoid_indices_)
        if weights is None and len(fixed) == 0:
            assert_contract(model, X)


class TestStages:
    def test_bars(self, rows, capsys, monkeypatch):
        monkeypatch.setattr(_progress, "SECONDS_BEFORE_A_BAR", 0)
        monkeypatch.setattr(_progress, "are_bars_seen", lambda: True)
        model = BanditPAM(5, verbose=1, random_state=0).fit(rows)
        shown = capsys.readouterr().err
        assert "BUILD: 100%" in shown
        assert "SWAP: " in shown
        assert list(model.fit_seconds_) == ["BUILD", "SWAP", "assignment"]

    def test_an_interrupt_leaves_nothing_behind(self, rows, monkeypatch):
        fill, filled = native.NativePoints.fill_viewed, []

        def interrupted(self, rows, out, viewer):
            filled.append(rows)
            if len(filled) == 5:
                raise KeyboardInterrupt
            fill(self, rows, out, viewer)

        monkeypatch.setattr(native.NativePoints, "fill_viewed", interrupted)
        model = BanditPAM(5, random_state=0)
        before = dict(vars(model))
        with pytest.raises(KeyboardInterrupt):
            model.fit(rows)
        assert len(filled) == 5
        assert vars(model) == before

    @pytest.mark.skipif(os.name == "nt", reason="os.kill does not interrupt on Windows")
    def test_ctrl_c(self):
        """A fit that would take minutes ends soon after the signal."""
        X = np.random.RandomState(0).standard_normal((30_000, 40)).astype(np.float32)
        sent = []

        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(1.0, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            BanditPAM(200, metric="manhattan", memory_limit=0, random_state=0).fit(X)
        assert time.monotonic() - sent[0] < 30  # a fraction of a second on a quiet machine
