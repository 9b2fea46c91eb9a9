"""Medoids of a given labelling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import HDBSCAN

import reference
from onebatchpam import distance_block, medoids_of


def expected_medoids(X, labels, metric):
    """Return the label, medoid and inertia of each cluster, by comparing all pairs of its rows."""
    found = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        best, inertia = reference.medoid_of(distance_block(X[rows], X[rows], metric))
        found.append((label, rows[best], inertia))
    return [np.array(column) for column in zip(*found, strict=True)]


def make_rows(kind, n=2500, seed=0):
    """Draw rows of which a sample may give a wrong picture, in a different way for each kind."""
    rng = np.random.RandomState(seed)
    if kind == "plane":
        return rng.rand(n, 2)
    if kind == "many features":
        return rng.randn(n, 50).astype(np.float32)
    if kind == "heavy tails":
        return np.exp(2 * rng.randn(n, 3))
    if kind == "far group":  # a small sample has no row of this group
        X = rng.randn(n, 2)
        X[:20] += [0, 10_000]
        return X
    if kind == "duplicates":
        return rng.randint(0, 3, (n, 2)).astype(float)
    return np.full((n, 2), 7.0)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
@pytest.mark.parametrize("kind", ["plane", "many features", "heavy tails", "far group", "duplicates", "constant"])
def test_exact(kind, metric):
    X = make_rows(kind)
    labels = np.where(np.arange(len(X)) < 2000, 3, 1)
    names, indices, inertias = expected_medoids(X, labels, metric)
    for seed in range(3):
        found = medoids_of(X, labels, metric, random_state=seed)
        np.testing.assert_array_equal(found.labels, names)
        np.testing.assert_allclose(found.inertias, inertias, rtol=1e-6)
        if kind != "many features":  # in float32 several rows may have the same sum
            np.testing.assert_array_equal(found.indices, indices)
        assert found.sizes.tolist() == [500, 2000]


def test_most_rows_are_dismissed_early():
    X = make_rows("many features", 6000)[:, :10]
    found = medoids_of(X, np.zeros(6000, int), random_state=0)
    assert found.n_distances < 0.5 * 6000**2


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 255, 256, 257, 1024, 1025])
def test_sizes(n):
    X = make_rows("plane", n)
    found = medoids_of(X, np.zeros(n, int), random_state=0)
    assert found.indices.tolist() == [reference.medoid_of(reference.distance_block(X, X, "euclidean"))[0]]
    assert found.sizes.tolist() == [n]


def test_many_clusters_and_noise():
    X = make_rows("plane", 900)
    labels = np.random.RandomState(0).randint(-3, 40, 900)
    found = medoids_of(X, labels, random_state=0)
    names, indices, inertias = expected_medoids(X, labels, "euclidean")
    np.testing.assert_array_equal(found.labels, np.arange(40))
    np.testing.assert_array_equal(found.indices, indices[names >= 0])
    np.testing.assert_allclose(found.inertias, inertias[names >= 0])


def test_hdbscan(blobs):
    labels = HDBSCAN(min_cluster_size=15, copy=True).fit_predict(blobs)
    found = medoids_of(blobs, labels, random_state=0)
    assert found.labels.tolist() == sorted(set(labels) - {-1})
    np.testing.assert_array_equal(labels[found.indices], found.labels)


@pytest.mark.parametrize("container", [list, np.array, pd.Series, lambda labels: np.array(labels, dtype=object)])
def test_labels_of_any_kind(container):
    found = medoids_of([[0.0], [1.0], [2.0], [9.0]], container(["b", "b", "b", "a"]))
    assert found.labels.tolist() == ["a", "b"]
    assert found.indices.tolist() == [3, 1]
    for noise in (np.array([4.0, -1.0]), np.array([4, -1], dtype=object)):
        assert medoids_of([[0.0], [1.0]], noise).labels.tolist() == [4]


def test_precomputed_and_asymmetric():
    rng = np.random.RandomState(0)
    matrix = rng.rand(700, 700)
    labels = np.arange(700) % 2
    found = medoids_of(matrix, labels, "precomputed", random_state=0)
    by_function = medoids_of([(i,) for i in range(700)], labels, lambda a, b: matrix[a[0], b[0]], random_state=0)
    for label in (0, 1):
        best, inertia = reference.medoid_of(matrix[label::2, label::2])
        assert found.indices[label] == by_function.indices[label] == 2 * best + label
        assert found.inertias[label] == pytest.approx(inertia)
        assert by_function.inertias[label] == pytest.approx(inertia)


def test_strings():
    pytest.importorskip("rapidfuzz")
    found = medoids_of(["swapa", "swap", "bswap", "batch", "batches"], [0, 0, 0, 1, 1], "levenshtein")
    assert found.indices.tolist() == [1, 3]


def test_threads_and_tiles_do_not_matter(smallest_tiles):
    X, labels = make_rows("plane", 1500), np.zeros(1500, int)
    one, three = (medoids_of(X, labels, n_jobs=jobs, random_state=0) for jobs in (1, 3))
    assert one.indices == three.indices
    assert one.inertias == three.inertias
    assert one.n_distances == three.n_distances


def test_points_are_compared_in_parts(monkeypatch):
    X, labels = np.random.RandomState(0).randn(3000, 3), np.arange(3000) % 2
    expected = medoids_of(X, labels, random_state=0)
    monkeypatch.setattr("onebatchpam.algorithms.cluster_medoids.MOST_POINT_ENTRIES", 3 * 100)
    found = medoids_of(X, labels, random_state=0)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.inertias, expected.inertias)
    assert found.n_distances >= expected.n_distances


def test_the_bound_holds_where_a_plain_sample_errs():
    """A candidate that is better only because of rare far rows must not be dismissed before they are seen."""
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.randn(3000, 1), 3000 + rng.randn(901, 1)])
    best, _ = reference.medoid_of(reference.distance_block(X, X, "euclidean"))
    for seed in range(5):
        assert medoids_of(X, np.zeros(len(X), int), random_state=seed).indices == [best]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"labels has shape \(2,\): expected \(3,\)"),
        ([-1, -1, -1], "all labels are negative"),
        ([0, 0.5, 1], r"labels\[1\]=0.5: expected integers"),
        ([0, np.nan, 1], r"labels\[1\]=nan: expected integers"),
        (["a", None, "a"], "labels cannot be sorted"),
    ],
)
def test_errors(labels, message):
    with pytest.raises(ValueError, match=message):
        medoids_of(np.eye(3), labels)


def test_bad_dissimilarities():
    matrix = np.ones((3, 3))
    matrix[1, 2] = -1
    with pytest.raises(ValueError, match=r"X\[1, 2\] is -1"):
        medoids_of(matrix, [0, 0, 0], "precomputed")
    with pytest.raises(ValueError, match=r"<lambda>\(X\[0\], X\[\d\]\) is nan"):
        medoids_of(["a", "b"], [0, 0], lambda a, b: np.nan)


class TestCandidates:
    def test_the_best_candidate_of_each_cluster(self, rng):
        X, labels = rng.standard_normal((1200, 3)), rng.randint(0, 3, 1200)
        is_candidate = rng.rand(1200) < 0.2
        found = medoids_of(X, labels, candidates=is_candidate, random_state=0)
        for label, index, inertia in zip(found.labels, found.indices, found.inertias, strict=True):
            members = np.flatnonzero(labels == label)
            sums = reference.distance_block(X[members], X[members], "euclidean").sum(axis=1)
            sums[~is_candidate[members]] = np.inf
            assert index == members[np.argmin(sums)]
            assert inertia == pytest.approx(sums.min())

    def test_a_cluster_without_candidates(self):
        with pytest.raises(ValueError, match="no candidate has the label 1: expected at least one candidate in each"):
            medoids_of([[0.0], [1.0], [5.0]], [0, 0, 1], candidates=[0, 1])
