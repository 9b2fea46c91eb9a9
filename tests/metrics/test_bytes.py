"""Numbers that are bytes are recognised and compared as bytes, with the same dissimilarities as other numbers."""

import numpy as np
import pytest

import reference
from onebatchpam import OneBatchPAM, distance_block
from onebatchpam.data import ArrayRows, check_rows
from onebatchpam.metrics.native import BYTE_METRICS, NativeMetric, find_byte_divisor

TYPES = {"float16": 1, "float32": 1, "float64": 1, "int16": 1, "int64": 1, "bool": 1, "uint8": None}


def pixels(n: int = 60, p: int = 40, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).integers(0, 256, size=(n, p), dtype=np.uint8)
    rows[:, 0], rows[0, 1:3] = 255, (0, 255)  # a constant feature, and the extreme values
    return rows


def divisor_of(X):
    return find_byte_divisor(ArrayRows(X))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("metric", BYTE_METRICS)
@pytest.mark.parametrize("n_features", [32, 33, 131])
@pytest.mark.parametrize("divisor", [1, 255])
def test_dissimilarities_are_those_of_other_numbers(dtype, metric, n_features, divisor):
    X = pixels(p=n_features).astype(dtype) / np.dtype(dtype).type(divisor)
    assert NativeMetric(metric).fit(ArrayRows(X)).byte_divisor == divisor
    block = distance_block(X, X[:17], metric)
    assert block.dtype == dtype
    precision = 1e-14 if dtype == "float64" else 2e-6
    expected = reference.distance_block(X.astype(np.float64), X[:17].astype(np.float64), metric)
    np.testing.assert_allclose(block, expected, rtol=precision, atol=precision)


@pytest.mark.parametrize("metric", BYTE_METRICS)
def test_the_type_in_which_bytes_come_does_not_matter(metric):
    X = pixels()
    expected = distance_block(X, X[:17], metric)
    for dtype in ("float16", "float32", "int16"):
        np.testing.assert_array_equal(distance_block(X.astype(dtype), X[:17].astype(dtype), metric), expected)


@pytest.mark.parametrize(("dtype", "divisor"), TYPES.items())
def test_types(dtype, divisor):
    assert divisor_of((pixels() > 100).astype(dtype)) == divisor


@pytest.mark.parametrize("value", [-1.0, 0.5, 255.5, 256.0, 1e30, np.nan, 1 / 255, 2 / 255 + 1e-7])
def test_one_other_number_is_seen_wherever_it_is(value):
    for row, column in ((0, 0), (59, 39), (31, 7)):
        X = pixels().astype(np.float32)
        X[row, column] = value
        assert divisor_of(X) is None
        X = pixels() / np.float32(255)
        X[row, column] = value if value > 0.5 else value + 1e-3
        assert divisor_of(X) is None


def test_divided_bytes_need_many_features():
    assert divisor_of(pixels(p=31) / np.float32(255)) is None


def test_files_are_not_read_for_it(tmp_path):
    np.save(tmp_path / "X.npy", pixels().astype(np.float32))
    assert find_byte_divisor(check_rows(tmp_path / "X.npy", "X")) is None


def test_a_tile_beyond_the_first_row_is_looked_at(monkeypatch):
    monkeypatch.setattr("onebatchpam._tiles.TILE_ENTRIES", 1)
    X = np.vstack([pixels(300), pixels(1) + 0.5]).astype(np.float32)
    assert divisor_of(X[:300]) == 1
    assert divisor_of(X) is None


@pytest.mark.parametrize("metric", BYTE_METRICS)
@pytest.mark.parametrize("divisor", [1, 255])
def test_a_fit_is_that_of_bytes(metric, divisor):
    X = pixels(300)
    of_bytes = OneBatchPAM(5, metric=metric, random_state=0).fit(X)
    model = OneBatchPAM(5, metric=metric, random_state=0).fit(X / np.float32(divisor))
    np.testing.assert_array_equal(model.medoid_indices_, of_bytes.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, model.predict(X / np.float32(divisor)))
    assert model.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(model.cluster_centers_, (X / np.float32(divisor))[model.medoid_indices_])


@pytest.mark.parametrize("metric", BYTE_METRICS)
def test_points_may_be_other_numbers(metric):
    X = pixels().astype(np.float64)
    points = X[:5] + 0.25
    expected = reference.distance_block(X, points, metric)
    np.testing.assert_allclose(distance_block(X, points, metric), expected, rtol=1e-12)
    np.testing.assert_allclose(distance_block(points, X, metric), expected.T, rtol=1e-12)


def test_new_rows_may_be_other_numbers():
    X = pixels(300).astype(np.float32)
    model = OneBatchPAM(5, metric="manhattan", random_state=0).fit(X)
    new = X[:20] + np.float32(0.25)
    expected = reference.distance_block(new, model.cluster_centers_, "manhattan")
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X[:20].astype(np.uint8)), model.labels_[:20])


@pytest.mark.parametrize("metric", BYTE_METRICS)
@pytest.mark.parametrize("n_columns", [2, 17])
def test_columns_that_are_all_the_same(metric, n_columns):
    X = pixels()
    Y = np.repeat(X[:1], n_columns, axis=0)
    np.testing.assert_array_equal(
        distance_block(X, Y, metric), distance_block(X, X[:1], metric).repeat(n_columns, axis=1)
    )
