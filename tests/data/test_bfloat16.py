"""Numbers in bfloat16 and float16: stored as they are, compared in float32."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from onebatchpam import FasterPAM, OneBatchPAM, block_metric, distance_block
from onebatchpam.data import bfloat16

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 without ml_dtypes")
X = np.random.RandomState(0).randn(200, 12).astype(ml_dtypes.bfloat16)


def test_every_number_is_widened_to_itself():
    bits = np.arange(2**16, dtype=np.uint16)
    expected = bits.view(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(bfloat16.widen(bits).view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "canberra", "seuclidean", "nan_euclidean"])
def test_a_fit_is_that_of_the_same_numbers_in_float32(metric):
    half, full = (OneBatchPAM(4, metric=metric, random_state=0).fit(each) for each in (X, X.astype(np.float32)))
    np.testing.assert_array_equal(half.medoid_indices_, full.medoid_indices_)
    assert half.inertia_ == full.inertia_
    assert half.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(half.cluster_centers_, full.cluster_centers_)
    np.testing.assert_array_equal(half.predict(X), full.labels_)
    np.testing.assert_array_equal(half.transform(X[:7]), full.transform(X[:7].astype(np.float32)))
    assert half.n_features_in_ == 12


def test_functions_get_float32():
    seen = set()

    def manhattan(A, B):
        seen.update((A.dtype, B.dtype))
        return np.abs(A[:, np.newaxis] - B).sum(axis=2)

    FasterPAM(3, metric=block_metric(manhattan), random_state=0).fit(X)
    assert seen == {np.dtype(np.float32)}


@pytest.mark.parametrize("values", [X.T.copy().T, X[::2], X[:, ::3]], ids=["by columns", "some rows", "some columns"])
def test_any_order_in_memory(values):
    np.testing.assert_array_equal(distance_block(values, values), distance_block(*[values.astype(np.float32)] * 2))


@pytest.mark.parametrize(("value", "message"), [(np.nan, "is missing"), (np.inf, "is inf"), (-np.inf, "is -inf")])
def test_numbers_that_are_not_finite(value, message):
    bad = X.copy()
    bad[150, 7] = value
    with pytest.raises(ValueError, match=rf"^X\[150, 7\] {message}"):
        OneBatchPAM(4).fit(bad)


def test_nan_is_allowed_where_the_metric_allows_it():
    some = X.copy()
    some[3, 4] = np.nan
    assert np.isfinite(distance_block(some, some, "nan_euclidean")).all()
    some[5, 6] = np.inf
    with pytest.raises(ValueError, match=r"^X\[5, 6\] is inf"):
        distance_block(some, some, "nan_euclidean")


def test_a_file_is_mapped_and_viewed(tmp_path):
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"if they are of type bfloat16, pass numpy\.load\(path, mmap_mode='r'\)"):
        OneBatchPAM(4).fit(tmp_path / "X.npy")
    with pytest.raises(ValueError, match=r"pass X\.view\(ml_dtypes\.bfloat16\) if that is their type"):
        OneBatchPAM(4).fit(np.load(tmp_path / "X.npy"))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r").view(ml_dtypes.bfloat16)
    assert OneBatchPAM(4, random_state=0).fit(mapped).inertia_ == OneBatchPAM(4, random_state=0).fit(X).inertia_


def test_other_types_that_numpy_does_not_know():
    with pytest.raises(ValueError, match=r"X is of type float8_e4m3fn: expected numbers; pass X\.astype\('float32'\)"):
        OneBatchPAM(4).fit(X.astype(ml_dtypes.float8_e4m3fn))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_no_whole_copy_in_float32(dtype):
    rows = np.random.RandomState(0).randn(20_000, 256).astype(dtype)
    tracemalloc.start()
    OneBatchPAM(3, metric="cosine", batch_size=16, refine=0, random_state=0).fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * rows.size  # bytes of a copy in float32


class TestOtherLibraries:
    def test_torch(self):
        torch = pytest.importorskip("torch", reason="torch is large, and not needed")
        tensor = torch.from_numpy(X.astype(np.float32))
        expected = OneBatchPAM(4, metric="cosine", random_state=0).fit(X.astype(np.float32))
        for each in (tensor, tensor.bfloat16(), tensor.clone().requires_grad_(), torch.nn.Parameter(tensor)):
            model = OneBatchPAM(4, metric="cosine", random_state=0).fit(each)
            np.testing.assert_array_equal(model.labels_, expected.labels_)
            np.testing.assert_array_equal(model.predict(each), expected.labels_)
        with pytest.raises(ValueError, match=r"pass X\.cpu\(\), and X\.to_dense\(\) if it is sparse$"):
            OneBatchPAM(4).fit(tensor.to_sparse())

    def test_jax(self):
        jax = pytest.importorskip("jax", reason="jax is large, and not needed")
        expected = OneBatchPAM(4, metric="cosine", random_state=0).fit(X)
        for dtype in (jax.numpy.float32, jax.numpy.bfloat16):
            array = jax.numpy.asarray(X.astype(np.float32)).astype(dtype)
            np.testing.assert_array_equal(
                OneBatchPAM(4, metric="cosine", random_state=0).fit(array).labels_, expected.labels_
            )

    def test_xarray(self):
        xarray = pytest.importorskip("xarray", reason="xarray is not needed")
        labels = [OneBatchPAM(4, random_state=0).fit(each).labels_ for each in (X, xarray.DataArray(X))]
        np.testing.assert_array_equal(*labels)
        with pytest.raises(ValueError, match="X is of type Dataset, which NumPy cannot read"):
            OneBatchPAM(4).fit(xarray.Dataset({"a": ("row", np.arange(9.0))}))

    def test_cupy_is_named(self, monkeypatch):
        class Array:
            shape, dtype = (200, 12), np.dtype(np.float32)

            def __array__(self, *arguments, **keywords):
                raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        monkeypatch.setattr(Array, "__module__", "cupy")
        with pytest.raises(ValueError, match=r"X is of type Array, which NumPy cannot read .*: pass X\.get\(\)$"):
            OneBatchPAM(4).fit(Array())
