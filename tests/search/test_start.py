"""Warm starts: a fit starts from the medoids of the last fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from contract import every_check
from onebatchpam import FasterPAM, OneBatchPAM

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
