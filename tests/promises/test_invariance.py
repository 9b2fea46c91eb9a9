"""Results do not depend on tiles, threads, SIMD levels, the layout of memory, or the scale of the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onebatchpam import OneBatchPAM, _core, distance_block
from onebatchpam._tiles import tile_bounds
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.metrics.native import NATIVE_METRICS
from spaces import make_space

metrics = pytest.mark.parametrize("metric", NATIVE_METRICS)
variants = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(scope="module", name="X")
def rows():
    """Return so many rows that there are several of the smallest tiles, and several tasks for every thread."""
    rng = np.random.RandomState(0)
    X = (rng.randn(1100, 6) + 4 * rng.randint(0, 3, (1100, 6))).astype(np.float32)
    X.flags.writeable = False
    return X


def fit(X, **parameters):
    return OneBatchPAM(**{"n_clusters": 7, "batch_size": 90, "random_state": 0, **parameters}).fit(X)


def assert_same_fit(model, expected):
    """Require fitted attributes that are equal to the last bit."""
    for name in ("medoid_indices_", "labels_", "batch_indices_", "batch_weights_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
    for name in ("inertia_", "batch_inertia_", "n_iter_", "n_swaps_", "n_distances_"):
        assert getattr(model, name) == getattr(expected, name)


@metrics
@variants
def test_same_seed_twice(X, metric, variant):
    assert_same_fit(fit(X, metric=metric, variant=variant), fit(X, metric=metric, variant=variant))


def test_other_seed(X):
    assert fit(X, random_state=1).batch_indices_.tolist() != fit(X).batch_indices_.tolist()


@metrics
@variants
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_threads(X, metric, variant, init):
    expected = fit(X, metric=metric, variant=variant, init=init)
    for n_jobs in (2, 3, -1):
        assert_same_fit(fit(X, metric=metric, variant=variant, init=init, n_jobs=n_jobs), expected)


@metrics
@pytest.mark.parametrize("n_features", [6, 48])
def test_simd_level(metric, n_features, restored_simd_level):
    rows = np.random.RandomState(0).randn(600, n_features).astype(np.float32)
    models = []
    for level in _core.simd_levels():
        _core.force_simd_level(level)
        models.append(fit(rows, metric=metric))
    for model in models[1:]:
        assert_same_fit(model, models[0])


class TestTiles:
    @pytest.mark.parametrize("metric", [*NATIVE_METRICS, "canberra", "seuclidean"])
    @variants
    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_fit(self, X, metric, variant, init, request):
        expected = fit(X, metric=metric, variant=variant, init=init)
        request.getfixturevalue("smallest_tiles")
        assert_same_fit(fit(X, metric=metric, variant=variant, init=init), expected)

    @pytest.mark.parametrize("k", [1, 7])
    def test_precomputed(self, X, k, request):
        matrix = distance_block(X, X, "manhattan")
        expected = fit(matrix, metric="precomputed", n_clusters=k)
        request.getfixturevalue("smallest_tiles")
        assert_same_fit(fit(matrix, metric="precomputed", n_clusters=k), expected)

    @pytest.mark.parametrize("metric", [*NATIVE_METRICS, "canberra"])
    @pytest.mark.parametrize("rows", [1, 7, 96, 97])
    def test_distances_in_tiles_of_any_size(self, X, metric, rows, monkeypatch, smallest_tiles):
        monkeypatch.setattr(_core, "SWEEP_CHUNK", 10_000)
        expected = distance_block(X, X[:20], metric)
        monkeypatch.setattr(_core, "SWEEP_CHUNK", rows)
        np.testing.assert_array_equal(distance_block(X, X[:20], metric), expected)

    def test_methods(self, X, request):
        model = fit(X)
        expected = model.predict(X), model.transform(X), model.score(X)
        request.getfixturevalue("smallest_tiles")
        for actual, whole in zip((model.predict(X), model.transform(X), model.score(X)), expected, strict=True):
            np.testing.assert_array_equal(actual, whole)

    @pytest.mark.parametrize("n", [1, 255, 256, 257, 5000])
    @pytest.mark.parametrize("tile_rows", [0, 1, 256, 700, 10**9])
    def test_bounds_cover_all_rows_once(self, n, tile_rows):
        tiles = list(tile_bounds(n, tile_rows))
        assert np.concatenate([np.arange(n)[tile] for tile in tiles]).tolist() == list(range(n))
        assert all(tile.start % _core.SWEEP_CHUNK == 0 for tile in tiles)

    def test_the_fixture_makes_several(self, X, smallest_tiles):
        distances = make_space(X).distances_to(np.arange(3))
        assert len(list(distances.tiles())) == 5
        np.testing.assert_array_equal(distances.compute(), distance_block(X, X[:3]))


def as_memmap(X, path):
    np.save(path / "rows.npy", X)
    return np.load(path / "rows.npy", mmap_mode="r")


def as_strided(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


LAYOUTS = {
    "C": lambda X, _: X.copy(),
    "Fortran": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: as_strided(X),
    "reversed": lambda X, _: X[::-1].copy()[::-1],
    "read-only": lambda X, _: X,
    "memmap": as_memmap,
    "other byte order": lambda X, _: X.astype(X.dtype.newbyteorder()),
    "pandas": lambda X, _: pd.DataFrame(X),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "canberra"])
@pytest.mark.parametrize("variant", ["nniw", "lwcs"])
def test_memory(X, layout, metric, variant, tmp_path):
    model = fit(LAYOUTS[layout](X, tmp_path), metric=metric, variant=variant)
    expected = fit(X, metric=metric, variant=variant)
    assert_same_fit(model, expected)
    assert type(model.cluster_centers_) is np.ndarray
    np.testing.assert_array_equal(model.predict(LAYOUTS[layout](X, tmp_path)), expected.labels_)


def test_lists_are_float64(X):
    assert_same_fit(fit(X.tolist()), fit(X.astype(np.float64)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64"])
@metrics
def test_data_are_left_alone(X, dtype, metric):
    rows = np.abs(X * 10).astype(dtype)
    before = rows.copy()
    model = fit(rows, metric=metric)
    model.cluster_centers_[:] = 0
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_type_of_bytes(X, dtype, metric):
    """Bytes give the same result in every type, because sums of whole numbers are exact."""
    rows = np.clip(X * 10 + 100, 0, 255).astype(np.uint8)
    model, expected = fit(rows.astype(dtype), metric=metric), fit(rows, metric=metric)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert (model.inertia_, model.batch_inertia_) == (expected.inertia_, expected.batch_inertia_)


@pytest.mark.parametrize("factor", [0.25, 1024])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@metrics
@variants
def test_scale(X, factor, dtype, metric, variant):
    rows = X.astype(dtype)
    model = fit(rows * dtype_of(rows, factor), metric=metric, variant=variant, init="k-means++")
    expected = fit(rows, metric=metric, variant=variant, init="k-means++")
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    power = {"cosine": 0, "sqeuclidean": 2}.get(metric, 1)
    assert model.inertia_ == expected.inertia_ * factor**power


def dtype_of(rows, factor):
    return rows.dtype.type(factor)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_shift(X, metric):
    rows = np.round(X.astype(np.float64) * 10)
    assert fit(rows + 1000, metric=metric).inertia_ == fit(rows, metric=metric).inertia_


class TestBatchOfAllRows:
    """A batch of all rows needs no correction, so that all variants give the same result."""

    @metrics
    @pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "unif"])
    def test_variants(self, X, metric, variant):
        expected = fit(X, metric=metric, variant="unif", batch_size=len(X))
        model = fit(X, metric=metric, variant=variant, batch_size=len(X))
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert model.batch_inertia_ == pytest.approx(model.inertia_, rel=1e-6)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_weights_are_one(self, variant):
        duplicates = np.repeat(np.eye(5), 4, axis=0)
        model = fit(duplicates, n_clusters=5, variant=variant, batch_size=20)
        np.testing.assert_array_equal(model.batch_weights_, np.ones(20))

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_weights_are_one_where_a_row_is_not_nearest_to_itself(self, variant):
        rows = np.random.RandomState(0).rand(60, 12) < 0.5
        model = fit(rows, n_clusters=1, metric="russellrao", variant=variant, batch_size=60)
        np.testing.assert_array_equal(model.batch_weights_, np.ones(60))
