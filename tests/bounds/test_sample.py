"""Statistical bounds: they are called so, and are true at least as often as they claim."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam import FasterPAM, lower_bound
from onebatchpam.bounds import certificate, sample
from onebatchpam.bounds.sample import draw_sample, limit_of_mean


@pytest.mark.parametrize("expectation", [0.05, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_limit_of_a_mean_holds_as_often_as_it_claims(expectation, confidence):
    """Numbers that are only 0 or 1 are the least favourable ones."""
    means = np.random.RandomState(0).binomial(400, expectation, 20_000) / 400
    values = {mean: limit_of_mean(mean, 400, confidence) for mean in np.unique(means)}
    limits = np.array([values[mean] for mean in means])
    assert np.mean(limits <= expectation) >= confidence
    assert limits.mean() > expectation - 3 * np.sqrt(expectation * (1 - expectation) / 400) - 0.01


@pytest.mark.parametrize("mean", [0.0, 1e-12, 0.3, 1.0, 1.0 + 1e-9])
def test_the_limit_is_below_the_mean(mean):
    assert 0 <= limit_of_mean(mean, 1000, 0.95) <= mean
    assert limit_of_mean(mean, 10**9, 0.95) == pytest.approx(mean, abs=1e-3)


def test_sums_over_a_sample_are_unbiased(monkeypatch, rng):
    monkeypatch.setattr(sample, "FEWEST_DRAWS", 50)
    weights, ceilings, distances = rng.rand(300), rng.lognormal(0, 1, 300), rng.lognormal(0, 1, 300)
    ceilings[7] = 0
    capped = np.minimum(distances, ceilings)
    sums = []
    for seed in range(500):
        drawn = draw_sample(weights, ceilings, 0, np.random.RandomState(seed))
        sums.append(drawn.weights @ capped[drawn.points])
    assert np.mean(sums) == pytest.approx(weights @ capped, abs=4 * np.std(sums) / np.sqrt(500))


@pytest.fixture(scope="module")
def groups():
    """Return rows in five far groups, one of them small and very far, the medoids, and the proven optimum."""
    rng = np.random.RandomState(0)
    sizes, centers = (200, 150, 100, 100, 8), (0, 50, 100, 150, 4000)
    X = np.concatenate([rng.randn(size, 2) + center for size, center in zip(sizes, centers, strict=True)])
    model = FasterPAM(5, init="k-means++", random_state=0).fit(X)
    assert model.certify(X).gap < 1e-5
    return X, model.medoid_indices_, model.inertia_


@pytest.mark.parametrize("medoids", ["best", "poor"])
def test_a_statistical_bound_is_rarely_wrong(medoids, groups, monkeypatch):
    monkeypatch.setattr(sample, "FEWEST_DRAWS", 300)
    monkeypatch.setattr(sample, "DRAWS_PER_MEDOID", 0)
    X, best, optimum = groups
    judged = best if medoids == "best" else np.array([0, 1, 200, 350, 450])  # without the far group
    results = [lower_bound(X, judged, confidence=0.8, random_state=seed) for seed in range(40)]
    bounds = np.array([result.bound for result in results])
    assert np.mean(bounds > optimum) <= 0.2
    assert len(set(bounds)) > 30
    assert not any(result.is_exact for result in results)
    if medoids == "best":
        assert np.median(bounds) > 0.7 * optimum


def test_a_statistical_bound_says_so(groups):
    X, medoids, _ = groups
    result = lower_bound(X, medoids, confidence=0.9, random_state=0)
    assert (result.is_exact, result.confidence) == (False, 0.9)
    assert str(result).startswith("With 90 % confidence, the objective")
    assert result.n_points <= len(X)
    again = lower_bound(X, medoids, confidence=0.9, random_state=0, n_jobs=2)
    assert again.bound == result.bound


def test_more_confidence_costs(groups):
    X, medoids, _ = groups
    bounds = [lower_bound(X, medoids, confidence=c, random_state=0).bound for c in (0.5, 0.9, 0.999)]
    assert bounds == sorted(bounds, reverse=True)


def test_many_rows_get_a_statistical_bound(groups, monkeypatch):
    X, medoids, _ = groups
    monkeypatch.setattr(certificate, "MOST_EXACT_ROWS", len(X) - 1)
    result = lower_bound(X, medoids)
    assert (result.is_exact, result.confidence) == (False, 0.95)


@pytest.mark.parametrize(("k", "n_fixed"), [(1, 0), (1, 1), (3, 2), (3, 3)])
def test_at_most_one_free_medoid(k, n_fixed, groups):
    X, medoids, _ = groups
    chosen = medoids[:k]
    result = lower_bound(X, chosen, fixed_medoids=chosen[:n_fixed], confidence=0.95, random_state=0)
    assert 0 < result.bound <= reference.inertia(X, chosen, "euclidean")


def test_equal_rows(groups):
    result = lower_bound(np.ones((50, 2)), [3, 4], confidence=0.95)
    assert (result.bound, result.gap, result.n_points) == (0, 0, 0)


def test_a_sample_of_one_point():
    X = np.ones((40, 2))
    X[7] = 5  # the only row at a distance from its medoid
    result = lower_bound(X, [0, 1], confidence=0.95)
    assert (result.bound, result.n_points) == (0, 1)
