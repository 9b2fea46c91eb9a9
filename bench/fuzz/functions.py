"""What must hold for the results of public functions, whatever the data: a check for each function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse

import naive
from bench.fuzz.case import Case
from bench.fuzz.models import rounded, rows_to_predict, tolerances
from onebatchpam import (
    FasterPAM,
    OneBatchPAM,
    batch_size,
    cluster_statistics,
    collapse_duplicates,
    distance_block,
    medoid_silhouette,
    medoids_of,
    required_batch_size,
    select_k,
    select_representatives,
    swap_search,
)


def check_medoids_of(case: Case) -> None:
    """The medoid of each cluster has the smallest naive sum over its cluster, up to rounding."""
    labels = case.rng.integers(-1, case.k, case.data.n)
    labels[0] = 0
    params = case.drawn.params or None
    found = medoids_of(case.data.X, labels, case.drawn.metric, metric_params=params, candidates="all", random_state=0)
    assert_array_equal(found.labels, np.unique(labels[labels >= 0]))
    rtol, atol = tolerances(case)
    for label, index, inertia, size in zip(found.labels, found.indices, found.inertias, found.sizes, strict=True):
        members = np.flatnonzero(labels == label)
        block = case.distances[np.ix_(members, members)]
        assert size == len(members)
        assert labels[index] == label
        assert_allclose(inertia, block[members == index].sum(), rtol=rtol, atol=atol * size)
        assert_allclose(inertia, naive.medoid_of(block)[1], rtol=4 * rtol, atol=4 * atol * size)


def check_cluster_statistics(case: Case) -> None:
    """Diameters and separations are those of the naive distances, and silhouettes lie between -1 and 1."""
    n, labels = case.data.n, case.rng.integers(0, max(2, case.k), case.data.n)
    if n < 2 or not np.all(case.distances < np.finfo(np.float32).max):
        return  # dissimilarities that are too large for float32, and NaN, are refused
    labels[:2] = 0, 1
    found = cluster_statistics(case.data.X, labels, case.drawn.metric, metric_params=case.drawn.params or None)
    assert_array_equal(found.sizes, np.bincount(labels)[found.labels])
    block, (rtol, atol) = np.where(np.eye(n, dtype=bool), 0, case.distances), tolerances(case)
    for label, diameter, separation in zip(found.labels, found.diameters, found.separations, strict=True):
        inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        assert_allclose(diameter, block[np.ix_(inside, inside)].max(), rtol=rtol, atol=atol)
        assert_allclose(separation, block[np.ix_(outside, inside)].min(), rtol=rtol, atol=atol)
    assert np.all(np.abs(found.silhouettes) <= 1)
    assert repr(found)


def check_select_k(case: Case) -> None:
    """Inertia and silhouette of every k are those of its medoids by the naive distances."""
    template = OneBatchPAM(metric=case.drawn.metric, metric_params=case.drawn.params or None, random_state=0)
    selection = select_k(case.data.X, range(1, case.k + 1), template)
    rtol, atol = tolerances(case)
    for k, medoids, inertia in zip(selection.k, selection.medoids, selection.inertia, strict=True):
        assert len(np.unique(medoids)) == k
        expected = naive.loss(case.distances, medoids)
        assert_allclose(inertia, expected, rtol=rtol, atol=atol * case.data.n)
    for medoids, silhouette in zip(selection.medoids[1:], selection.silhouette[1:], strict=True):
        assert -1e-6 <= silhouette <= 1 + 1e-6
        if atol == 0 or case.distances[medoids].max() > 1e6 * atol:
            block = case.distances[medoids]
            is_sure = np.all((block == 0) | (block > 1e3 * atol))
            assert not is_sure or abs(silhouette - naive.medoid_silhouette(block)) < 1e-2
    assert selection.advice()
    assert repr(selection)
    model = selection.model
    assert (model is None) == (selection.suggested_k is None)
    if model is not None:
        assert model.inertia_ <= selection.inertia[model.n_clusters - 1] * (1 + 1e-6)


def check_select_representatives(case: Case) -> None:
    """Losses, counts and labels are those of the chosen rows by the naive distances, and no loss grows."""
    found = select_representatives(
        case.data.X,
        case.k,
        metric=case.drawn.metric,
        metric_params=case.drawn.params or None,
        sample_weight=case.sample_weight,
        with_labels=True,
        random_state=0,
    )
    rtol, atol = tolerances(case)
    assert found.labels is not None
    assert len(np.unique(found.indices)) == case.k
    assert case.weights[found.indices].min() > 0
    block, total = case.distances[found.indices], case.weights.sum()
    for j, actual in enumerate(found.losses):
        expected = naive.loss(block, np.arange(j + 1), case.weights)
        assert_allclose(actual, expected, rtol=4 * rtol, atol=4 * atol * total)
    assert np.all(np.diff(found.losses) <= 0)
    assert_allclose(found.counts, np.bincount(found.labels, case.weights, minlength=case.k), rtol=1e-9)
    nearest = block[found.labels, np.arange(case.data.n)]
    assert_allclose(nearest, block.min(axis=0), rtol=4 * rtol, atol=4 * atol)
    assert repr(found)


def check_distance_block(case: Case) -> None:
    """A block is that of the naive distances, for any number of threads."""
    if case.data.kind == "matrix":
        return
    if case.drawn.name == "nan_euclidean" and not np.isfinite(case.distances).all():
        return  # squares overflow in scikit-learn, whose differences are then NaN
    made = [
        distance_block(case.data.X, case.data.X, case.drawn.metric, metric_params=case.drawn.params or None, n_jobs=n)
        for n in (1, 3)
    ]
    assert_array_equal(made[0], made[1])
    rtol, atol = tolerances(case)
    assert_allclose(made[0], rounded(case.distances, made[0].dtype), rtol=rtol, atol=atol)


def check_swap_search(case: Case) -> None:
    """The loss is that of the medoids in the naive block, and a converged search is a local optimum."""
    block, weights = case.distances, case.weights
    if not np.all((block >= 0) & (block < 1e30)):
        return
    m = int(case.rng.integers(1, case.data.n + 1))
    found = swap_search(block[:, :m], case.k, weights=weights[:m] if weights[:m].any() else None, random_state=0)
    used = weights[:m] if weights[:m].any() else np.ones(m)
    slack = 1e-6 * block.max() * used.sum() + 1e-30
    assert_allclose(found.loss, naive.loss(block[:, :m], found.medoids, used), rtol=1e-5, atol=slack)
    gains = naive.swap_gains(block[:, :m], found.medoids, used)
    assert not found.converged or gains.max() <= 3e-5 * found.loss + 4 * slack


def check_collapse_duplicates(case: Case) -> None:
    """The inverse leads back to equal rows, and the weights add up."""
    rows, weights, inverse = collapse_duplicates(case.data.X, case.sample_weight)
    assert_allclose(weights.sum(), case.weights.sum(), rtol=1e-9)
    assert inverse.shape == (case.data.n,)
    assert inverse.max() + 1 == len(weights)
    if case.data.kind == "numbers" and isinstance(rows, np.ndarray):
        assert_array_equal(rows[inverse], case.data.plain)
        assert len(rows) == len(np.unique(case.data.plain, axis=0))
    elif issparse(rows):
        assert_array_equal(rows.toarray()[inverse], case.data.plain)


def check_silhouette(case: Case) -> None:
    """The silhouette of a model is that of its medoids."""
    if case.k > 1:
        model = FasterPAM(case.k, metric=case.drawn.metric, metric_params=case.drawn.params or None)
        value = medoid_silhouette(rows_to_predict(case), model.fit(case.data.X))
        assert -1e-6 <= value <= 1 + 1e-6


def check_batch_size(case: Case) -> None:
    """The batch of the rule has a point for each medoid, and at most as many points as there are rows."""
    n = int(case.rng.integers(case.k, 10**9))
    assert case.k <= batch_size(n, case.k) <= n
    assert batch_size(case.k, case.k) == case.k


def check_required_batch_size(case: Case) -> None:
    """The batch that suffices grows with the certainty that is asked for."""
    gap, delta = case.rng.uniform(0.01, 1, 2)
    sizes = [required_batch_size(case.data.n, diameter=1.0, gap=gap, n_swaps=case.k, delta=each) for each in (delta, 1)]
    assert 1 <= sizes[1] <= sizes[0]


CHECKS: dict[str, Callable[[Case], Any]] = {
    "medoids_of": check_medoids_of,
    "cluster_statistics": check_cluster_statistics,
    "select_k": check_select_k,
    "select_representatives": check_select_representatives,
    "distance_block": check_distance_block,
    "swap_search": check_swap_search,
    "collapse_duplicates": check_collapse_duplicates,
    "medoid_silhouette": check_silhouette,
    "batch_size": check_batch_size,
    "required_batch_size": check_required_batch_size,
}
