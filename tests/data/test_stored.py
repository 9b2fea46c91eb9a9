"""Data on disk give the same results as the same data in memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import manhattan_distances

from onebatchpam import (
    Alternate,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    OneBatchPAM,
    _tiles,
    block_metric,
    distance_block,
    medoids_of,
    pair_metric,
)
from stored import SOURCES, as_hdf5, as_memmap, as_npy, as_parquet, as_parquet_folder, as_table, parquet

pytestmark = pytest.mark.usefixtures("small_windows")


def assert_same(model, other, X, stored):
    """Check that two models agree: `model` fitted from memory, `other` from disk."""
    np.testing.assert_array_equal(model.medoid_indices_, other.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)
    assert isinstance(other.cluster_centers_, np.ndarray)
    assert model.inertia_ == other.inertia_
    assert model.n_distances_ == other.n_distances_
    np.testing.assert_array_equal(model.predict(X), other.predict(stored))
    np.testing.assert_array_equal(model.transform(X), other.transform(stored))
    assert model.score(X) == other.score(stored)


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64", ">f4"])
def test_the_same_as_from_memory(make, dtype, X, tmp_path):
    X = (10 * np.abs(X)).astype(dtype)
    if dtype == ">f4" and make in (as_parquet, as_parquet_folder):
        pytest.skip("Arrow has no such type")
    stored = make(X, tmp_path)
    model, other = (OneBatchPAM(4, metric="manhattan", batch_size=60, random_state=0).fit(x) for x in (X, stored))
    assert other.n_features_in_ == 6
    assert_same(model, other, X, stored)


PARAMETERS = [
    {"variant": "lwcs"},
    {"variant": "nniw", "refine": 0, "init": "k-means++"},
    {"n_jobs": 2, "n_init": 2},
    {"memory_limit": 0},
    {"memory_limit": 100_000, "n_jobs": 2},
    {"metric": "canberra"},
    {"metric": "seuclidean"},
    {"metric": "mahalanobis", "variant": "lwcs"},
    {"metric": "hamming"},
    {"metric": "nan_euclidean", "variant": "lwcs"},
    {"metric": "cosine"},
    {"metric": block_metric(manhattan_distances)},
    {"metric": manhattan_distances, "batch_size": 20},
    {"metric": pair_metric(lambda a, b: abs(a[0] - b[0])), "batch_size": 10, "refine": 0},
    {"metric": "gower"},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_every_stage_and_metric(parameters, X, tmp_path, monkeypatch):
    monkeypatch.setattr("onebatchpam.metrics.base.SUMMED_ROWS", 100)
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 5000)
    monkeypatch.setattr("onebatchpam.batch.sample.MANY_ROWS", 300)
    stored = as_memmap(X, tmp_path)
    models = [OneBatchPAM(4, **{"batch_size": 60, **parameters}, random_state=0).fit(x) for x in (X, stored)]
    assert_same(*models, X, stored)


@pytest.mark.parametrize("estimator", [FasterPAM, FasterCLARA, Alternate, KMeansPlusPlus])
def test_every_algorithm(estimator, X, tmp_path):
    stored = as_parquet(X, tmp_path)
    assert_same(*(estimator(4, random_state=0).fit(x) for x in (X, stored)), X, stored)


def test_weights(X, tmp_path):
    weights = np.arange(len(X)) % 3
    models = [
        OneBatchPAM(4, batch_size=60, random_state=0).fit(x, sample_weight=weights) for x in (X, as_npy(X, tmp_path))
    ]
    assert_same(*models, X, as_npy(X, tmp_path))


def test_functions_take_it_too(X, tmp_path):
    stored = as_parquet(X, tmp_path)
    np.testing.assert_array_equal(distance_block(stored, stored), distance_block(X, X))
    labels = np.arange(len(X)) % 3
    np.testing.assert_array_equal(medoids_of(stored, labels).indices, medoids_of(X, labels).indices)


def test_precomputed(X, tmp_path):
    block = distance_block(X, X)
    path = as_npy(block, tmp_path)
    models = [OneBatchPAM(4, metric="precomputed", batch_size=60, random_state=0).fit(x) for x in (block, path)]
    np.testing.assert_array_equal(*(model.labels_ for model in models))
    np.testing.assert_array_equal(*(model.predict(x) for model, x in zip(models, (block, path), strict=True)))
    with pytest.raises(ValueError, match=r"X\.parquet': expected a \.npy file"):
        models[0].fit(as_parquet(X, tmp_path))


class TestNamesOfFeatures:
    def test_parquet_has_them(self, X, tmp_path):
        model = OneBatchPAM(3, random_state=0).fit(as_parquet(X, tmp_path))
        assert model.feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
        other = as_table(X).rename_columns(list("abcdef"))
        parquet.write_table(other, tmp_path / "other.parquet")
        with pytest.raises(ValueError, match="feature names"):
            model.predict(tmp_path / "other.parquet")

    @pytest.mark.parametrize("name", [None, "customer"])
    def test_the_index_of_a_frame_is_no_feature(self, name, X, tmp_path):
        frame = pd.DataFrame(X, columns=list("abcdef")).rename_axis(name)[::2]
        frame.to_parquet(tmp_path / "X.parquet")
        model = OneBatchPAM(3, random_state=0).fit(tmp_path / "X.parquet")
        assert model.feature_names_in_.tolist() == list("abcdef")
        np.testing.assert_array_equal(model.cluster_centers_, X[::2][model.medoid_indices_])

    def test_arrays_do_not(self, X, tmp_path):
        model = OneBatchPAM(3, random_state=0).fit(as_hdf5(X, tmp_path))
        assert not hasattr(model, "feature_names_in_")
        with pytest.raises(ValueError, match="X has 5 features, but OneBatchPAM is expecting 6"):
            model.predict(as_npy(X[:, :5], tmp_path))


WITHOUT_OPTIONAL_PACKAGES = """
import sys
sys.modules.update(dict.fromkeys(["pyarrow", "zarr", "h5py"]))
import numpy, onebatchpam
print(onebatchpam.OneBatchPAM(2).fit(sys.argv[1]).labels_.shape)
"""


def test_optional_packages_are_not_needed(X, tmp_path):
    command = [sys.executable, "-c", WITHOUT_OPTIONAL_PACKAGES, as_npy(X, tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "(700,)"
