"""cluster_statistics: diameters, separations, isolation and silhouettes by all pairs, as R prints them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_samples

import reference
from onebatchpam import cluster_statistics, pair_metric
from onebatchpam.algorithms import cluster_medoids


def assert_equals_reference(found, block, labels):
    clusters, rows = reference.cluster_statistics(block, labels)
    diameters, separations, isolations = zip(*clusters, strict=True)
    silhouettes, neighbours = zip(*rows, strict=True)
    np.testing.assert_allclose(found.diameters, diameters, rtol=1e-6)
    np.testing.assert_allclose(found.separations, separations, rtol=1e-6)
    np.testing.assert_array_equal(found.isolations, isolations)
    np.testing.assert_allclose(found.silhouettes, silhouettes, atol=1e-6)
    np.testing.assert_array_equal(found.neighbours, neighbours)
    means = [np.mean([each for each, own in zip(silhouettes, labels, strict=True) if own == c]) for c in found.labels]
    np.testing.assert_allclose(found.mean_silhouettes, means, atol=1e-6)
    assert found.silhouette == pytest.approx(np.mean(silhouettes), abs=1e-6)


class TestReference:
    @pytest.mark.parametrize("metric", ["manhattan", "euclidean", "cosine"])
    def test_metrics(self, metric, rng):
        X, labels = rng.randn(60, 3), np.append(rng.randint(0, 4, 59), 4)  # the last row is alone
        found = cluster_statistics(X, labels, metric)
        assert_equals_reference(found, reference.distance_block(X, X, metric), labels.tolist())
        np.testing.assert_array_equal(found.sizes, np.bincount(labels))

    def test_every_kind_of_isolation(self):
        X = np.array([[0.0], [1.0], [20.0], [24.0], [28.0], [33.5], [36.0], [100.0]])
        labels = [0, 0, 1, 1, 1, 2, 2, 3]
        found = cluster_statistics(X, labels)
        assert found.isolations.tolist() == ["L*", "no", "L*", "no"]
        assert_equals_reference(found, reference.distance_block(X, X, "euclidean"), labels)
        # Rows 0 and 1 are farther apart than row 2 is from row 3, but nearer to each other than to rows 3 and 4.
        upper = np.zeros((5, 5))
        upper[np.triu_indices(5, 1)] = [10, 5, 11, 11, 5, 11, 11, 6, 7, 1]
        found = cluster_statistics(upper + upper.T, [0, 0, 0, 1, 1], "precomputed")
        assert found.isolations.tolist() == ["L", "L*"]
        assert_equals_reference(found, upper + upper.T, [0, 0, 0, 1, 1])

    def test_a_matrix_that_is_not_symmetric(self, rng):
        matrix, labels = rng.rand(30, 30).astype(np.float32), rng.randint(0, 3, 30)
        found = cluster_statistics(matrix, labels, "precomputed")
        assert_equals_reference(found, np.where(np.eye(30), 0, matrix), labels.tolist())

    def test_parts_and_threads_change_nothing(self, rng, monkeypatch):
        X, labels = rng.randn(500, 5), rng.randint(0, 3, 500)
        expected = cluster_statistics(X, labels, n_jobs=1)
        np.testing.assert_allclose(expected.silhouettes, silhouette_samples(X, labels), atol=1e-9)
        np.testing.assert_array_equal(cluster_statistics(X, labels, n_jobs=3).silhouettes, expected.silhouettes)
        monkeypatch.setattr(cluster_medoids, "MOST_POINT_ENTRIES", 100)
        np.testing.assert_allclose(cluster_statistics(X, labels).silhouettes, expected.silhouettes, atol=1e-12)

    def test_kinds_of_data(self, tmp_path, rng):
        X, labels = rng.randn(90, 4), rng.randint(0, 3, 90)
        np.save(tmp_path / "rows.npy", X)
        expected = cluster_statistics(X, labels).to_frame()
        pd.testing.assert_frame_equal(cluster_statistics(tmp_path / "rows.npy", labels).to_frame(), expected)
        words = ["a", "ab", "abc", "xyz", "xy"]
        found = cluster_statistics(words, ["x", "x", "x", "y", "y"], "levenshtein")
        assert found.diameters.tolist() == [2, 1]
        assert found.separations.tolist() == [2, 2]
        assert found.labels.tolist() == ["x", "y"]

    def test_noise_is_left_out(self, rng):
        X, labels = rng.randn(50, 2), rng.randint(-1, 3, 50)
        found, kept = cluster_statistics(X, labels), labels >= 0
        expected = cluster_statistics(X[kept], labels[kept])
        np.testing.assert_allclose(found.silhouettes[kept], expected.silhouettes, rtol=1e-9)
        np.testing.assert_array_equal(found.neighbours[kept], expected.neighbours)
        assert np.isnan(found.silhouettes[~kept]).all()
        assert (found.neighbours[~kept] == -1).all()
        pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())

    def test_a_single_cluster(self, recwarn):
        found = cluster_statistics([[0.0], [3.0]], [5, 5])
        assert found.labels.tolist() == [5]
        assert found.isolations.tolist() == ["no"]
        assert np.isnan([*found.separations, *found.silhouettes, found.silhouette]).all()
        assert not recwarn.list

    def test_equal_rows(self):
        found = cluster_statistics(np.zeros((4, 1)), [0, 0, 1, 1])
        assert found.silhouettes.tolist() == [0] * 4


class TestPublished:
    def test_silhouettes_of_iris(self):
        """The test silhouette-default of R's package cluster: correlations of iris, the first species apart."""
        X, species = load_iris(return_X_y=True)
        found = cluster_statistics(X, species > 0, "correlation")
        np.testing.assert_allclose(found.mean_silhouettes, [0.9829965, 0.9362626], atol=5e-7)
        assert found.silhouette == pytest.approx(0.9518406, abs=5e-7)
        quantiles = np.quantile(found.silhouettes, [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(quantiles, [0.5884, 0.9437, 0.9611, 0.9815, 0.9918], atol=5e-5)


class TestErrors:
    def test_labels_of_other_rows(self):
        with pytest.raises(ValueError, match=r"labels has shape \(2,\): expected \(3,\), a label for each row of X"):
            cluster_statistics(np.zeros((3, 1)), [0, 1])

    def test_the_pair_at_fault_is_named(self):
        metric = pair_metric(lambda a, b: -1.0 if a[0] + b[0] == 3 else abs(a[0] - b[0]))
        with pytest.raises(ValueError, match=r"\(X\[1\], X\[2\]\) is -1.0: expected a finite number"):
            cluster_statistics(np.arange(4.0)[:, None], [0, 0, 1, 1], metric)


def test_it_prints_as_a_table():
    text = str(cluster_statistics(np.arange(30.0)[:, None], np.arange(30)))
    assert text.splitlines()[0].split() == ["cluster", "size", "diameter", "separation", "isolation", "silhouette"]
    assert text.endswith("and 10 more clusters")
