"""metric="gower" on tables that lack values: by default, medoids are complete rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from onebatchpam import Alternate, FasterPAM, KMeansPlusPlus, OneBatchPAM, RandomMedoids, medoids_of, select_k


def make_customers(n=3000, seed=0):
    """Draw customers of six segments; 27 % of the rows lack the country or the date of the first order."""
    rng = np.random.default_rng(seed)
    segment = rng.integers(0, 6, n)
    days = rng.normal(np.array([2500, 1500, 900, 600, 300, 1800])[segment], 250)
    countries = np.array(["US", "DE", "FR", "UK", "ES", "IT"], dtype=object)
    channels = np.array(["app", "web", "web", "app", "shop", "shop"], dtype=object)
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.array([23, 35, 45, 55, 68, 40])[segment], 6).round(),
            "spent": rng.lognormal(np.array([4.0, 6.0, 6.0, 6.1, 4.3, 7.0])[segment], 0.4).round(2),
            "country": np.where(rng.random(n) < 0.7, countries[segment], rng.choice(countries, n)),
            "channel": np.where(rng.random(n) < 0.8, channels[segment], rng.choice(channels, n)),
            "newsletter": rng.random(n) < np.array([0.1, 0.8, 0.5, 0.9, 0.2, 0.6])[segment],
            "first_order": pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D").round("D"),
        }
    )
    frame.loc[rng.random(n) < 0.14, "country"] = None
    frame.loc[rng.random(n) < 0.15, "first_order"] = pd.NaT
    return frame, segment


@pytest.fixture(scope="module", name="customers")
def customers_of_segments():
    return make_customers()


def fit(X, estimator=OneBatchPAM, metric_params=None, **arguments):
    return estimator(6, metric="gower", metric_params=metric_params, random_state=0).fit(X, **arguments)


@pytest.mark.parametrize("estimator", [OneBatchPAM, FasterPAM, Alternate, KMeansPlusPlus, RandomMedoids])
def test_medoids_are_complete_rows(estimator, customers):
    frame, _ = customers
    complete = frame.notna().all(axis=1).to_numpy()
    model = fit(frame, estimator)
    assert model.cluster_centers_.notna().all(axis=None)
    assert model.n_candidates_ == complete.sum()
    named = fit(frame, estimator, candidates=complete)
    np.testing.assert_array_equal(model.medoid_indices_, named.medoid_indices_)
    assert len(model.labels_) == len(frame)


def test_incomplete_medoids_find_the_segments_worse(customers):
    frame, segment = customers
    every = fit(frame, candidates="all")
    assert every.n_candidates_ == len(frame)
    assert every.cluster_centers_.isna().any(axis=None)
    by_default = adjusted_rand_score(segment, fit(frame).labels_)
    assert by_default > adjusted_rand_score(segment, every.labels_) + 0.1


def test_a_column_that_most_rows_lack_is_not_expected(customers):
    frame = customers[0].copy()
    frame["cancelled"] = np.where(np.arange(len(frame)) % 20 == 0, np.where(frame["age"] > 40, "no", "yes"), None)
    frame["reason"] = np.where(np.arange(len(frame)) % 4 > 0, "none", "moved")
    model = fit(frame)
    assert model.cluster_centers_.drop(columns="cancelled").notna().all(axis=None)
    assert model.n_candidates_ == frame.drop(columns="cancelled").notna().all(axis=1).sum()


def test_a_column_without_weight_does_not_count(customers):
    frame, _ = customers
    model = fit(frame, metric_params={"weights": {"country": 0}})
    assert model.n_candidates_ == frame["first_order"].notna().sum()


def test_rows_of_weight_zero_do_not_count(customers):
    frame, _ = customers
    complete = frame.notna().all(axis=1).to_numpy()
    model = fit(frame, sample_weight=np.where(np.arange(len(frame)) < 1000, 1.0, 0.0))
    assert model.n_candidates_ == complete[:1000].sum()
    only_complete = fit(frame, sample_weight=complete.astype(float))
    assert only_complete.n_candidates_ == complete.sum()


@pytest.mark.parametrize(("n_complete", "k"), [(2, 3), (9, 3)])
def test_too_few_complete_rows(n_complete, k, rng):
    frame = pd.DataFrame({"a": rng.randint(0, 9, 100), "b": rng.rand(100), "c": rng.rand(100)})
    missing = np.arange(n_complete, 100)
    frame.loc[missing[::2], "b"] = np.nan
    frame.loc[missing[1::2], "c"] = np.nan
    model = OneBatchPAM(k, metric="gower", random_state=0)
    with pytest.warns(UserWarning, match=f"only {n_complete} of 100 rows lack no value, too few .*candidates='all'"):
        by_default = model.fit(frame).medoid_indices_
    assert model.n_candidates_ == 100
    np.testing.assert_array_equal(model.fit(frame, candidates="all").medoid_indices_, by_default)  # without a warning


def test_as_many_as_needed(rng):
    frame = pd.DataFrame({"a": rng.randint(0, 9, 30), "b": rng.rand(30)})
    frame.loc[3:15, "b"] = np.nan
    assert OneBatchPAM(17, metric="gower", random_state=0).fit(frame).n_candidates_ == 17


def test_no_other_metric_has_a_default(rng):
    X = rng.rand(200, 4)
    X[::3, 1] = np.nan
    assert OneBatchPAM(3, metric="nan_euclidean", random_state=0).fit(X).n_candidates_ == 200


def test_other_functions(customers):
    frame, segment = customers
    is_complete = frame.notna().all(axis=1).to_numpy()
    selection = select_k(frame, [2, 5], OneBatchPAM(metric="gower", random_state=0))
    assert all(is_complete[medoids].all() for medoids in selection.medoids)
    assert is_complete[medoids_of(frame, segment, "gower").indices].all()
    labels = np.where(is_complete, segment, 6)  # the last cluster has no complete row
    found = medoids_of(frame, labels, "gower")
    np.testing.assert_array_equal(is_complete[found.indices], [True] * 6 + [False])


def test_parquet(customers, tmp_path, small_windows, smallest_tiles):
    frame, _ = customers
    frame.to_parquet(tmp_path / "customers.parquet", row_group_size=100)
    model, stored = fit(frame, RandomMedoids), fit(tmp_path / "customers.parquet", RandomMedoids)
    assert stored.n_candidates_ == model.n_candidates_
    np.testing.assert_array_equal(stored.medoid_indices_, model.medoid_indices_)


def test_complete_tables_are_as_before(customers):
    frame = customers[0].dropna()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(frame).n_candidates_ == len(frame)
