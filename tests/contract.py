"""Checks of properties that every fitted model has, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import reference

# The reference computes 1 - cos, which for parallel rows is a rounding error instead of zero.
ROUNDING = {"cosine": 1e-14}


# Two of scikit-learn's checks have fewer distinct rows than the eight clusters of a default model, which then warns.
pass_over_few_rows = pytest.mark.filterwarnings("ignore:found 4 distinct clusters")


def every_check(estimators, **options):
    """Parametrize a test by all of scikit-learn's checks of these estimators."""
    parametrize = parametrize_with_checks(estimators, **options)
    return lambda test: pass_over_few_rows(parametrize(test))


def every_check_but_equivalence(estimators):
    """Parametrize a test by all checks except that weights equal repeated rows.

    This is for estimators that draw rows even if the data are tiny, because a draw of weighted rows equals a draw of
    repeated rows only on average.
    """
    pairs = [
        (estimator, check)
        for estimator in estimators
        for estimator, check in estimator_checks_generator(estimator)
        if "check_sample_weight_equivalence" not in str(check)
    ]
    ids = [f"{estimator}-{check.func.__name__}".replace(" ", "").replace("\n", "") for estimator, check in pairs]
    return lambda test: pass_over_few_rows(pytest.mark.parametrize(("estimator", "check"), pairs, ids=ids)(test))


def assert_contract(model, X, rtol=1e-9):
    """Check a model with a native metric that was fitted to X, a float64 array."""
    n, k = len(X), model.n_clusters
    medoids = model.medoid_indices_
    distances = reference.distance_block(X, X[medoids], model.metric)
    atol = ROUNDING.get(model.metric, 0)

    assert medoids.shape == (k,)
    assert len(np.unique(medoids)) == k
    np.testing.assert_array_equal(model.cluster_centers_, X[medoids])
    assert model.labels_.shape == (n,)
    assert set(model.labels_) <= set(range(k))
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    chosen = distances[np.arange(n), model.labels_]
    np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=rtol, atol=atol)
    np.testing.assert_allclose(model.inertia_, distances.min(axis=1).sum(), rtol=rtol, atol=n * atol)
    assert model.score(X) == -model.inertia_
    assert_medoids_are_distinct_rows(model, X)


def assert_medoids_are_distinct_rows(model, X):
    """Check that no medoid is a duplicate of another one, unless there are fewer distinct rows than medoids."""
    n_distinct = len(distinct_rows(X, model.metric))
    between = distinct_rows(X[model.medoid_indices_], model.metric)
    assert len(between) == min(model.n_clusters, n_distinct)
    if len(between) == model.n_clusters:
        np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(model.n_clusters))


def distinct_rows(X, metric):
    """Return the index of the first row of each set of rows that are at distance zero from each other."""
    same = reference.distance_block(X, X, metric) <= ROUNDING.get(metric, 0)
    return np.flatnonzero(same.argmax(axis=1) == np.arange(len(X)))
