"""`lower_bound` and `certify`: no k medoids are better than the bound, whatever X, the metric and the weights are."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

import reference
from onebatchpam import FasterPAM, LowerBound, OneBatchPAM, RandomMedoids, _core, _progress, lower_bound
from onebatchpam.bounds import ascent, certificate, dual

BLOBS, _ = make_blobs(600, 5, centers=12, cluster_std=2, random_state=3)
MEDOIDS = FasterPAM(12, random_state=0).fit(BLOBS).medoid_indices_


def uneven(a, b):
    return abs(a[0] - b[0]) + 2 * max(0.0, a[1] - b[1])


def random_case(rng):
    """Return at most 12 rows, their metric, and the matrix of their dissimilarities in float64."""
    n = rng.randint(3, 13)
    kind = rng.randint(3)
    rows = (rng.randn(n, 2), rng.randint(0, 3, (n, 2)), rng.lognormal(0, 3, (n, 2)))[kind].astype(np.float64)
    metric = ("manhattan", "euclidean", "sqeuclidean", "chebyshev", "precomputed", uneven)[rng.randint(6)]
    if metric == "precomputed":
        matrix = rng.rand(n, n)
        return matrix, metric, matrix
    if metric is uneven:
        return rows, metric, reference.dissimilarities(rows, rows, uneven)
    return rows, metric, reference.distance_block(rows, rows, metric)


@pytest.mark.parametrize("seed", range(60))
def test_no_medoids_are_better_than_the_bound(seed):
    rng = np.random.RandomState(seed)
    X, metric, matrix = random_case(rng)
    n = len(matrix)
    k = rng.randint(1, n)
    medoids = rng.permutation(n)[:k]
    fixed = medoids[: rng.randint(0, k + 1)] if rng.rand() < 0.5 else medoids[:0]
    weights = rng.choice([0.0, 0.5, 1.0, 7.0], n) if rng.rand() < 0.5 else np.ones(n)
    weights[medoids] += 1  # a row of weight zero cannot be a medoid
    present = np.flatnonzero(weights)
    result = lower_bound(X, medoids, metric=metric, sample_weight=weights, fixed_medoids=fixed)
    optimum = reference.smallest_loss(
        matrix[np.ix_(present, present)], k, weights[present], np.searchsorted(present, fixed).tolist()
    )
    assert result.bound <= optimum * (1 + 1e-12)
    assert result.objective == pytest.approx(reference.loss(matrix, medoids, weights), rel=1e-6)
    if k - len(fixed) <= 1:
        assert result.bound == pytest.approx(optimum, rel=1e-6)


def test_separated_groups_are_proven_optimal():
    X = np.concatenate([np.random.RandomState(0).randn(40, 3) + 100 * group for group in range(5)])
    result = FasterPAM(5, init="k-means++", random_state=0).fit(X).certify(X)
    assert result.gap < 1e-5


def test_a_poor_solution_has_its_own_gap_but_nearly_the_same_bound():
    poor, good = (lower_bound(BLOBS, medoids) for medoids in (np.arange(12), MEDOIDS))
    assert good.gap < 0.01
    assert poor.bound == pytest.approx(good.bound, rel=0.01)
    assert poor.gap > 0.1


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "gower", "levenshtein", "jaccard", "braycurtis"])
def test_every_kind_of_data(metric, rng):
    numbers = np.abs(rng.randn(80, 4))
    X = {
        "gower": pd.DataFrame({"a": numbers[:, 0], "b": rng.choice(["x", "y", "z"], 80)}),
        "levenshtein": ["".join(rng.choice(list("abc"), 6)) for _ in range(80)],
        "jaccard": scipy.sparse.random(80, 30, 0.2, "csr", random_state=0),
    }.get(metric, numbers)
    model = FasterPAM(6, metric=metric, random_state=0).fit(X)
    result = model.certify(X)
    assert 0.9 * model.inertia_ < result.bound <= model.inertia_ == result.objective
    others = RandomMedoids(6, metric=metric, random_state=0).fit(X)
    assert result.bound <= lower_bound(X, others).objective


def test_the_same_bits_from_anywhere(tmp_path, monkeypatch, restored_simd_level):
    np.save(tmp_path / "X.npy", BLOBS)
    expected = lower_bound(BLOBS, MEDOIDS)
    results = [
        lower_bound(BLOBS, MEDOIDS, n_jobs=3),
        lower_bound(tmp_path / "X.npy", MEDOIDS),
        lower_bound(BLOBS, MEDOIDS, memory_limit="1GB"),
        lower_bound(BLOBS, MEDOIDS, metric="euclidean", sample_weight=1.0),
    ]
    monkeypatch.setattr("onebatchpam.metrics.native.CHEAP_FEATURES", 0)
    results += [lower_bound(BLOBS, MEDOIDS), lower_bound(BLOBS, MEDOIDS, memory_limit=10**6)]
    for level in _core.simd_levels():
        _core.force_simd_level(level)
        results.append(lower_bound(BLOBS, MEDOIDS))
    assert {(result.bound, result.n_iter) for result in results} == {(expected.bound, expected.n_iter)}


def test_the_size_of_tiles_changes_nothing(smallest_tiles):
    in_small_tiles = lower_bound(BLOBS, MEDOIDS).bound
    assert in_small_tiles == pytest.approx(lower_bound(BLOBS[:], MEDOIDS).bound, rel=0)


def test_a_core_that_does_not_fit_in_memory_is_cut():
    small = lower_bound(BLOBS, MEDOIDS, memory_limit=0)
    large = lower_bound(BLOBS, MEDOIDS)
    assert 0 < small.bound <= large.bound * 1.001


def test_weights_are_copies():
    weights = np.random.RandomState(1).randint(0, 3, len(BLOBS))
    weights[MEDOIDS] = 1
    copies = np.repeat(np.arange(len(BLOBS)), weights)
    weighted = lower_bound(BLOBS, MEDOIDS, sample_weight=weights)
    copied = lower_bound(BLOBS[copies], np.searchsorted(copies, MEDOIDS))
    assert weighted.objective == pytest.approx(copied.objective)
    assert weighted.bound == pytest.approx(copied.bound, rel=3e-3)


def test_all_distances_zero():
    result = lower_bound(np.ones((30, 2)), [0, 1])
    assert (result.bound, result.gap) == (0, 0)


def test_more_time_raises_the_bound():
    first = lower_bound(BLOBS, MEDOIDS, time_limit=1e-9)
    assert (first.n_rounds, first.n_iter, first.stopped_by) == (1, 0, "time_limit")
    assert str(first).endswith("(stopped by time_limit).")
    whole = lower_bound(BLOBS, MEDOIDS, time_limit=1e9)
    assert whole.stopped_by is None
    assert first.bound <= whole.bound


def test_ctrl_c_returns_the_bound_so_far(monkeypatch):
    climb, climbs = ascent.Ascent.climb, []

    def interrupted(self, *arguments):
        climbs.append(arguments)
        if len(climbs) == 3:
            raise KeyboardInterrupt
        climb(self, *arguments)

    monkeypatch.setattr(ascent.Ascent, "climb", interrupted)
    result = lower_bound(BLOBS, MEDOIDS)
    assert (result.n_rounds, result.stopped_by) == (3, "Ctrl-C")
    assert result.bound > 0


def test_ctrl_c_before_the_first_bound_is_an_interrupt(monkeypatch):
    monkeypatch.setattr(dual, "bound_from", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        lower_bound(BLOBS, MEDOIDS)


def test_a_bar_for_each_stage_on_request(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "SECONDS_BEFORE_A_BAR", 0)
    monkeypatch.setattr(_progress, "are_bars_seen", lambda: True)
    lower_bound(BLOBS, MEDOIDS, verbose=1)
    shown = capsys.readouterr().err
    assert "pricing: 100%" in shown
    assert "dual ascent" in shown
    lower_bound(BLOBS, MEDOIDS)
    assert capsys.readouterr() == ("", "")


def test_a_model_and_its_medoids_give_the_same():
    model = OneBatchPAM(12, metric="manhattan", random_state=0).fit(BLOBS)
    results = [
        model.certify(BLOBS),
        lower_bound(BLOBS, model),
        lower_bound(BLOBS, model.medoid_indices_, metric="manhattan"),
    ]
    assert len({result.bound for result in results}) == 1


@pytest.mark.parametrize(
    ("gap", "sentence"),
    [
        (0.0042, "at most 0.420 %"),
        (0.0420001, "at most 4.21 %"),
        (1.5, "at most 150 %"),
        (2**-16, "at most 0.00153 %"),
    ],
)
def test_the_gap_in_words_is_rounded_up(gap, sentence):
    def make(objective, confidence=None):
        return LowerBound(100.0, objective, confidence is None, confidence, 9, 1, 1, 0.1)

    assert f"The objective {100 * (1 + gap):.6g} is {sentence} above the optimum." == str(make(100 * (1 + gap)))
    assert str(make(100 * (1 + gap), 0.9)).startswith("With 90 % confidence, the objective")
    assert make(99.0).gap == 0
    assert str(make(100 * (1 + 2**-23))) == "The objective 100 is optimal, up to rounding."


def test_a_bound_of_zero_says_nothing():
    result = LowerBound(0.0, 5.0, True, None, 9, 1, 0, 0.1, "time_limit")
    assert result.gap == math.inf
    assert "any distance above the optimum" in str(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 1}, "confidence=1: expected a probability"),
        ({"confidence": 95}, "confidence=95: expected a probability"),
        ({"confidence": True}, "confidence=True"),
        ({"time_limit": 0}, "time_limit=0: expected a positive"),
        ({"time_limit": "1s"}, "time_limit='1s'"),
        ({"memory_limit": "a lot"}, "memory_limit='a lot'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"verbose": -1}, "verbose=-1"),
        ({"metric": "nearness"}, "nearness"),
        ({"medoids": []}, "medoids is empty"),
        ({"medoids": [1, 1]}, "more than once"),
        ({"medoids": [0.5]}, "expected 1 integers"),
        ({"medoids": [-1]}, "medoids holds -1"),
    ],
)
def test_bad_arguments_are_refused_before_the_data_are_read(arguments, message, monkeypatch):
    monkeypatch.setattr(certificate, "open_space", None)
    with pytest.raises(ValueError, match=message):
        lower_bound(**{"X": BLOBS, "medoids": [0], **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"medoids": [600]}, "medoids holds 600: expected row indices from 0 to 599"),
        ({"fixed_medoids": [5]}, "fixed_medoids holds 5, which is not one of the medoids"),
        ({"sample_weight": [1.0] * 3}, "sample_weight has shape"),
        ({"sample_weight": np.r_[0, np.ones(599)]}, "medoids holds row 0, whose weight is zero"),
    ],
)
def test_arguments_that_do_not_fit_the_data(arguments, message, monkeypatch):
    monkeypatch.setattr(certificate, "compare_with_medoids", None)
    with pytest.raises(ValueError, match=message):
        lower_bound(**{"X": BLOBS, "medoids": [0, 1], **arguments})


def test_a_model_must_be_fitted_to_these_data():
    model = FasterPAM(3, random_state=0)
    for judge in (model.certify, lambda X: lower_bound(X, model)):
        with pytest.raises(NotFittedError):
            judge(BLOBS)
    model.fit(BLOBS)
    for other in (BLOBS[::-1] * 1.01, BLOBS[:500]):
        with pytest.raises(
            ValueError, match=r"expected the X and the sample_weight of the fit|expected the X of the fit"
        ):
            model.certify(other)
    with pytest.raises(ValueError, match="sample_weight of the fit"):
        model.certify(BLOBS, sample_weight=2)
    with pytest.raises(ValueError, match="metric and metric_params are those of the estimator"):
        lower_bound(BLOBS, model, metric="manhattan")
