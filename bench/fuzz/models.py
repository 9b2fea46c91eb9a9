"""What must hold for a fitted estimator, whatever the data: each function here checks one promise.

Computed dissimilarities differ from the naive ones by rounding, so every comparison with these has a tolerance;
everything that the package computes twice must be equal to the last bit.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.sparse import issparse

import naive
from bench.fuzz.case import Case
from bench.fuzz.data import is_asymmetric, rows_of_table
from bench.fuzz.metrics import COMPILED, correlate
from onebatchpam import DynMSC, FasterMSC, _core
from onebatchpam.algorithms import MedoidEstimator

OTHER_THREADS = {None: 2, 1: 5, 2: 1, 5: 2}
# 1 - cos is a small difference of large numbers, and so is the distance of nearly parallel rows under these metrics.
CANCELLING = ("cosine", "correlation", "jensenshannon", "haversine", "yule")


def tolerances(case: Case) -> tuple[float, float]:
    """Return the relative and the absolute error that a computed dissimilarity may have."""
    distances = case.distances
    is_double = np.dtype(getattr(case.data.plain, "dtype", np.float32)) in (np.float64, np.int32, np.int64)
    largest = float(np.max(distances, where=np.isfinite(distances), initial=0))
    if case.drawn.name == "nan_euclidean":  # scikit-learn subtracts squares, which loses half of the digits
        size = float(np.abs(np.asarray(case.data.plain, np.float64)).max()) * case.data.plain.shape[1] ** 0.5
        return (1e-7, 1e-6 * size) if is_double else (1e-3, 1e-2 * size)
    if case.drawn.name == "mahalanobis":  # the inverse of a covariance loses digits where columns nearly agree
        correlation, _ = correlate(np.asarray(case.data.plain, np.float64), case.weights)
        lost = np.finfo(np.float64).eps * min(np.linalg.cond(correlation), 1e15)
        return 1e-4 + lost, (3e-4 + lost) * max(1.0, largest)
    if case.drawn.name in CANCELLING:
        return (1e-7, 1e-7 * max(1.0, largest)) if is_double else (1e-4, 3e-4 * max(1.0, largest))
    return (1e-9, 1e-12 * largest) if is_double else (2e-5, 1e-6 * largest)


def rounded(distances: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return naive distances as far as a type can hold them: one that is too large for float32 is infinite there."""
    with np.errstate(over="ignore"):
        return distances.astype(dtype).astype(np.float64)


def rows_to_predict(case: Case) -> Any:
    """Return the X with which `predict` must repeat the labels: the transpose of an asymmetric matrix."""
    if case.data.kind == "matrix" and is_asymmetric(case.data.plain):
        return np.ascontiguousarray(case.data.plain.T)
    return case.data.X


def count_medoids(case: Case, model: MedoidEstimator) -> int:
    """Return how many medoids a model must have; DynMSC has chosen their number itself."""
    if not isinstance(model, DynMSC):
        return case.k
    tried = np.arange(min(case.k, max(case.parameters["min_clusters"], len(case.fixed_medoids or []))), case.k + 1)
    assert_array_equal(model.k_tried_, tried)
    assert model.n_clusters_ in tried
    return int(model.n_clusters_)


def check_shapes(case: Case, model: MedoidEstimator) -> None:
    """The medoids are distinct rows that may be medoids, the fixed ones first; every row has a label."""
    medoids, k = model.medoid_indices_, count_medoids(case, model)
    assert medoids.shape == (k,)
    assert len(np.unique(medoids)) == k
    assert case.may_be_medoids[medoids].all()
    assert medoids[: len(case.fixed_medoids or [])].tolist() == (case.fixed_medoids or [])
    assert model.labels_.shape == (case.data.n,)
    assert 0 <= model.labels_.min() <= model.labels_.max() < k


def check_centers(case: Case, model: MedoidEstimator) -> None:
    """The centers are the rows of the medoids."""
    centers, medoids = model.cluster_centers_, model.medoid_indices_
    if case.data.kind == "matrix":
        assert centers is None
    elif case.data.kind in ("numbers", "sparse"):
        assert_array_equal(centers.toarray() if issparse(centers) else centers, case.data.plain[medoids])
    elif case.data.kind in ("strings", "objects"):
        assert len(centers) == len(medoids)
        for center, medoid in zip(centers, medoids, strict=True):
            assert_array_equal(center, case.data.plain[medoid])
    else:
        assert rows_of_table(centers) == [case.data.plain[medoid] for medoid in medoids]


def check_labels(case: Case, model: MedoidEstimator) -> None:
    """`predict` repeats the labels, and each is the nearest medoid by `transform` and by the naive distances."""
    X, rows = rows_to_predict(case), np.arange(case.data.n)
    out = np.full(case.data.n, -1)
    assert model.predict(X, out=out) is out
    assert_array_equal(out, model.labels_)
    computed = model.transform(X)
    expected = rounded(case.distances[model.medoid_indices_].T, computed.dtype)
    rtol, atol = tolerances(case)
    assert_allclose(computed, expected, rtol=rtol, atol=atol)
    assert_array_equal(computed[rows, model.labels_], computed.min(axis=1))
    assert_allclose(expected[rows, model.labels_], expected.min(axis=1), rtol=2 * rtol, atol=2 * atol)


def check_inertia(case: Case, model: MedoidEstimator) -> None:
    """The inertia is the weighted sum of the naive distances to the nearest medoids, and minus the score."""
    rtol, atol = tolerances(case)
    expected = naive.loss(case.distances, model.medoid_indices_, case.weights)
    assert_allclose(model.inertia_, expected, rtol=rtol, atol=atol * case.weights.sum())
    assert model.score(rows_to_predict(case), sample_weight=case.sample_weight) == -model.inertia_


def check_rows(case: Case, model: MedoidEstimator) -> None:
    """Distances and second nearest medoids of all rows are those of `transform`; the clusters add up to the inertia."""
    X, each = rows_to_predict(case), np.arange(case.data.n)
    computed = model.transform(X)
    assert_allclose(model.cluster_sizes_ @ model.mean_distances_, model.inertia_, rtol=1e-9)
    if not np.all(computed < np.finfo(np.float32).max):
        return  # an assessment refuses what a fit need not look at
    rows = model.assess_rows(X)
    assert_array_equal(rows.labels, model.labels_)
    assert_array_equal(rows.distances, model.distances_)
    assert_array_equal(-model.score_samples(X), model.distances_)
    if len(model.medoid_indices_) == 1:
        assert rows.silhouettes is None
        return
    assert_array_equal(rows.second_distances, np.sort(computed, axis=1)[:, 1])
    assert_array_equal(computed[each, rows.second_labels], rows.second_distances)
    assert (rows.labels != rows.second_labels).all()


def has_chosen_candidates(case: Case, model: MedoidEstimator) -> bool:
    """Tell whether the metric has chosen complete rows, which the case does not know."""
    return case.candidates is None and model.n_candidates_ < np.count_nonzero(case.may_be_medoids)


def check_distinct_medoids(case: Case, model: MedoidEstimator) -> None:
    """No cluster is empty while a row that may be a medoid is away from all medoids, unless its medoid is fixed."""
    if case.distances.diagonal().any():
        return  # a row of missing values, or of an arbitrary matrix, is away from itself
    if has_chosen_candidates(case, model):
        return
    present = case.weights > 0
    sizes = np.bincount(model.labels_[present], minlength=len(model.medoid_indices_))[len(case.fixed_medoids or []) :]
    _, atol = tolerances(case)
    nearest = np.where(case.may_be_medoids, case.distances[model.medoid_indices_].min(axis=0), 0)
    nearest[model.medoid_indices_] = 0
    assert sizes.min(initial=1) > 0 or nearest.max() <= 10 * atol


def check_sizes(case: Case, model: MedoidEstimator) -> None:
    """With a minimum size, clusters lack no more in total than without, and nothing changes if all are large enough."""
    least = case.parameters.get("min_cluster_size")
    if least is None:
        return
    plain = case.fit(min_cluster_size=None)
    sizes, plainly = (np.bincount(each.labels_, case.weights, minlength=case.k) for each in (model, plain))
    if plainly.min() >= least:
        assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    else:
        lack, plain_lack = (np.maximum(least - each, 0).sum() for each in (sizes, plainly))
        assert lack <= plain_lack + 1e-9 * case.weights.sum(), f"clusters lack {lack}, and {plain_lack} without a limit"


def uses_all_rows(case: Case) -> bool:
    """Tell whether the swap search sees the objective itself, and nothing else: its batch or sample is all rows."""
    if case.parameters.get("min_cluster_size") is not None:
        return False
    n = int(np.count_nonzero(case.weights))
    if case.target == "OneBatchPAM":
        size = case.parameters["batch_size"]
        return bool(size == "auto" or size >= n)  # the data are so small that "auto" takes all rows
    return case.target in ("FasterPAM", "PAM", "Alternate")


def has_ordinary_scale(case: Case) -> bool:
    """Tell whether float32, in which swaps are compared, holds all distances that are not zero."""
    positive = case.distances[case.distances > 0]
    return bool(len(positive) == 0 or (positive.max() < 1e30 and positive.max() > 1e-9))


def check_start(case: Case, model: MedoidEstimator) -> None:
    """The result is not worse than the medoids from which the search started."""
    start = case.parameters.get("init", "auto")
    if isinstance(start, str) or not uses_all_rows(case):
        return
    rtol, atol = tolerances(case)
    limit = naive.loss(case.distances, start, case.weights)
    assert model.inertia_ <= limit * (1 + 10 * rtol + 1e-6) + 10 * atol * case.weights.sum()


def check_local_optimum(case: Case, model: MedoidEstimator) -> None:
    """After a converged search over all rows, no swap lowers the objective by more than `tol` and rounding."""
    if case.target == "Alternate" or not uses_all_rows(case) or not has_ordinary_scale(case):
        return
    if model.n_iter_ >= case.parameters["max_iter"]:
        return
    if has_chosen_candidates(case, model):
        return
    allowed, free = case.may_be_medoids, slice(len(case.fixed_medoids or []), None)
    gains = naive.swap_gains(case.distances, model.medoid_indices_, case.weights)[allowed, free]
    rtol, atol = tolerances(case)
    slack = (case.parameters["tol"] + 2 * rtol + 1e-5) * model.inertia_ + 4 * (atol + 1e-9) * case.weights.sum()
    assert gains.max(initial=0) <= slack, f"a swap gains {gains.max()} of {model.inertia_}"


def check_lower_bound(case: Case, model: MedoidEstimator) -> None:
    """The exact bound is at most the naive objective of any medoids: those of the model, and random ones."""
    if not has_ordinary_scale(case) or not np.isfinite(case.distances).all():
        return  # dissimilarities that float32 would lose are refused, and NaN, which a fit need not look at
    result = model.certify(case.data.X, case.sample_weight, fixed_medoids=case.fixed_medoids)
    assert result.is_exact
    rtol, atol = tolerances(case)
    assert_allclose(result.objective, model.inertia_, rtol=1e-4, atol=atol * case.weights.sum())
    fixed, present = case.fixed_medoids or [], np.flatnonzero(case.weights)
    others = case.rng.permutation(np.setdiff1d(present, fixed))[: len(model.medoid_indices_) - len(fixed)].tolist()
    for medoids in (model.medoid_indices_, [*fixed, *others]):
        objective = naive.loss(case.distances, np.asarray(medoids), case.weights)
        assert result.bound <= objective * (1 + rtol) + atol * case.weights.sum(), f"{result.bound} > {objective}"


def check_counts(case: Case, model: MedoidEstimator) -> None:
    """At least n k dissimilarities were computed, and not many more than the algorithm can ask for."""
    n, k = case.data.n, len(model.medoid_indices_)
    n_starts = max(case.parameters.get("n_init", 1), case.parameters.get("n_samplings", 1))
    n_starts = n_starts if case.parameters.get("effort", "fast") == "fast" else max(n_starts, 3)
    n_starts *= len(model.k_tried_) if isinstance(model, DynMSC) else 1
    assert model.n_distances_ >= n * k
    n_passes = max(1, model.n_iter_) + (k if case.parameters.get("init") == "build" else 0)
    assert model.n_distances_ <= (n_starts + 4) * (25 * n * (n + k) + 2000) * n_passes
    assert model.n_iter_ <= case.parameters.get("max_iter", model.n_iter_) * n_starts
    assert model.n_swaps_ >= 0


def check_batch(case: Case, model: MedoidEstimator) -> None:
    """The batch points are rows of positive weight, and their weights have the mean of all positive weights."""
    if case.target != "OneBatchPAM":
        return
    assert case.weights[model.batch_indices_].min() > 0
    assert model.batch_weights_.shape == model.batch_indices_.shape
    assert model.batch_weights_.min() >= 0
    if case.parameters["variant"] != "lwcs":
        assert_allclose(model.batch_weights_.mean(), case.weights[case.weights > 0].mean(), rtol=1e-9)


def same_fit(model: MedoidEstimator, expected: MedoidEstimator) -> None:
    """Require fitted attributes that are equal to the last bit."""
    for name in ("medoid_indices_", "labels_", "batch_indices_", "batch_weights_"):
        if hasattr(expected, name):
            assert_array_equal(getattr(model, name), getattr(expected, name), name)
    for name in ("inertia_", "n_iter_", "n_swaps_", "n_distances_", "batch_inertia_"):
        assert getattr(model, name, 0) == getattr(expected, name, 0), f"another {name}"


def check_silhouette(case: Case, model: MedoidEstimator) -> None:
    """The average medoid silhouette is that of the distances that `transform` returns."""
    if not isinstance(model, FasterMSC) or len(model.medoid_indices_) == 1:
        return
    expected = naive.medoid_silhouette(model.transform(rows_to_predict(case)).T, case.weights)
    assert_allclose(model.medoid_silhouette_, expected, rtol=1e-6, atol=1e-6)


def check_again(case: Case, model: MedoidEstimator) -> None:
    """Another fit with the same seed gives the same result, sometimes with another number of threads."""
    n_jobs = case.parameters.get("n_jobs")
    changes_threads = case.seed % (4 if case.drawn.is_native else 40) == 0  # which are slow to start
    same_fit(case.fit(n_jobs=OTHER_THREADS[n_jobs] if changes_threads else n_jobs), model)


def check_simd(case: Case, model: MedoidEstimator) -> None:
    """The result is the same at every SIMD level."""
    best = _core.simd_level()
    try:
        for level in set(_core.simd_levels()) - {best}:
            _core.force_simd_level(level)
            same_fit(case.fit(n_jobs=1), model)
    finally:
        _core.force_simd_level(best)


def check_in_memory(case: Case, model: MedoidEstimator) -> None:
    """Rows on disk give the same result as the same rows in memory."""
    if case.data.in_memory is None:
        return
    other = case.fit(case.data.in_memory)
    # Only in memory are whole numbers of a larger type recognised as bytes, which are compared more exactly.
    if getattr(other._metric, "byte_divisor", None) is None:
        same_fit(other, model)


def check_storage(case: Case, model: MedoidEstimator) -> None:
    """A block that is held as a whole, reduced to some entries or computed again leads to the same swaps.

    The native metrics round a distance by the other points that it is computed with, so that with them the search may
    also choose among candidates that are equally good. The memory limits how many swaps are tried for larger clusters.
    """
    if case.target != "OneBatchPAM" or case.parameters.get("min_cluster_size") is not None:
        return
    for limit in {None, 0, 500, 3000} - {case.parameters["memory_limit"]}:
        other = case.fit(n_jobs=1, memory_limit=limit)
        if case.drawn.is_native and not np.array_equal(other.medoid_indices_, model.medoid_indices_):
            rounding = np.finfo(np.float64).eps * case.distances.max() * case.weights.sum()
            assert_allclose(other.inertia_, model.inertia_, rtol=1e-6, atol=rounding, err_msg=f"with {limit} bytes")
            continue
        assert_array_equal(other.medoid_indices_, model.medoid_indices_, f"with {limit} bytes")
        assert other.inertia_ == model.inertia_, f"with {limit} bytes"
        assert case.drawn.is_native or other.n_swaps_ == model.n_swaps_, f"other swaps with {limit} bytes"


def check_pickle(case: Case, model: MedoidEstimator) -> None:
    """A model that was pickled predicts the same; a compiled metric cannot be pickled."""
    if case.drawn.metric is COMPILED:
        return
    X = rows_to_predict(case)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


Check = Callable[[Case, MedoidEstimator], None]
CHECKS: tuple[Check, ...] = (
    check_shapes,
    check_centers,
    check_labels,
    check_inertia,
    check_rows,
    check_distinct_medoids,
    check_sizes,
    check_start,
    check_local_optimum,
    check_lower_bound,
    check_counts,
    check_batch,
    check_silhouette,
    check_again,
    check_simd,
    check_in_memory,
    check_storage,
    check_pickle,
)

# Checks that take longer than a fit: each looks at one case in so many.
SELDOM: dict[Check, int] = {check_lower_bound: 10, check_pickle: 4, check_rows: 2, check_storage: 3}
