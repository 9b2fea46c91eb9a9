"""Compiled functions as a metric, called through a pointer."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess

import numpy as np
import pytest
from scipy import LowLevelCallable
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import reference
from onebatchpam import OneBatchPAM, distance_block, native_metric

SOURCE = """
#include <math.h>
#include <stddef.h>
double uphill(double *a, double *b, ptrdiff_t n) {
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; ++i) sum += b[i] > a[i] ? 4 * (b[i] - a[i]) : a[i] - b[i];
    return sum;
}
double weighted(double *a, double *b, ptrdiff_t n, void *data) {
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; ++i) sum += ((double *)data)[i] * fabs(a[i] - b[i]);
    return sum;
}
double bad(double *a, double *b, ptrdiff_t n) { return n ? NAN : 0; }
"""
DOUBLES = ctypes.POINTER(ctypes.c_double)


def uphill(a, b):
    return np.where(b > a, 4 * (b - a), a - b).sum()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("metric")
    (folder / "metric.c").write_text(SOURCE)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "metric.so", folder / "metric.c"], check=True)
    library = ctypes.CDLL(str(folder / "metric.so"))
    for name in ("uphill", "weighted", "bad"):
        function = getattr(library, name)
        function.restype = ctypes.c_double
        function.argtypes = [DOUBLES, DOUBLES, ctypes.c_ssize_t]
    library.weighted.argtypes = [DOUBLES, DOUBLES, ctypes.c_ssize_t, ctypes.c_void_p]
    return library


@pytest.mark.parametrize("wrap", [LowLevelCallable, native_metric, lambda f: native_metric(LowLevelCallable(f))])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_candidate_first_and_point_second(library, wrap, n_jobs, dtype, blobs):
    X = (5 * (blobs - blobs.min())).astype(dtype)
    metric = wrap(library.uphill)
    model = OneBatchPAM(4, metric=metric, batch_size=60, n_jobs=n_jobs, random_state=0).fit(X)
    rows = reference.dissimilarities(X[model.medoid_indices_].astype(float), X.astype(float), uphill)
    np.testing.assert_allclose(model.transform(X), rows.T, rtol=1e-6)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-6)
    assert model.cluster_centers_.dtype == dtype
    block = distance_block(X, X[:100], metric, n_jobs=n_jobs)
    np.testing.assert_allclose(block[:20, :20], reference.dissimilarities(X[:20] * 1.0, X[:20] * 1.0, uphill), 1e-6)


def test_same_as_the_python_function(library, blobs):
    compiled = OneBatchPAM(4, metric=native_metric(library.uphill), batch_size=60, random_state=0).fit(blobs)
    python = OneBatchPAM(4, metric=uphill, batch_size=60, random_state=0).fit(blobs)
    np.testing.assert_array_equal(compiled.medoid_indices_, python.medoid_indices_)
    np.testing.assert_array_equal(compiled.labels_, python.labels_)


def test_the_number_of_threads_does_not_matter(library, blobs, smallest_tiles):
    one, three = (distance_block(blobs, blobs[:200], native_metric(library.uphill), n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_user_data(library, blobs):
    weights = np.array([1.0, 0, 2, 0.5])
    callback = LowLevelCallable(library.weighted, weights.ctypes.data_as(ctypes.c_void_p))
    expected = distance_block(blobs, blobs[:9], "minkowski", metric_params={"p": 1, "w": weights})
    np.testing.assert_allclose(distance_block(blobs, blobs[:9], callback), expected, rtol=1e-12)


def test_clone_and_pickle(library, blobs):
    model = OneBatchPAM(3, metric=native_metric(library.uphill), random_state=0)
    np.testing.assert_array_equal(clone(model).fit(blobs).labels_, model.fit(blobs).labels_)
    assert GridSearchCV(model, {"n_clusters": [2, 5]}, cv=3).fit(blobs).best_params_ == {"n_clusters": 5}
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)


def test_bad_values(library, blobs):
    with pytest.raises(ValueError, match=r"the compiled metric\(X\[0\], X\[\d+\]\) is nan"):
        OneBatchPAM(3, metric=native_metric(library.bad)).fit(blobs)


def test_other_signatures(library):
    signature = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    with pytest.raises(ValueError, match=r"is 'double \(double, double\)': expected 'double \(double \*"):
        native_metric(signature(lambda a, b: 0.0))
    with pytest.raises(ValueError, match="expected a compiled function"):
        native_metric(lambda a, b: 0.0)
    with pytest.raises(ValueError, match="takes no metric_params"):
        OneBatchPAM(1, metric=native_metric(library.uphill), metric_params={"p": 1}).fit(np.eye(3))


def test_numba(blobs):
    numba = pytest.importorskip("numba")
    pointer = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.float64(pointer, pointer, numba.types.intp))
    def compiled(a, b, n):
        total = 0.0
        for i in range(n):
            total += 4 * (b[i] - a[i]) if b[i] > a[i] else a[i] - b[i]
        return total

    expected = reference.dissimilarities(blobs, blobs[:20], uphill)
    for metric in (compiled, native_metric(compiled), LowLevelCallable(compiled.ctypes)):
        np.testing.assert_allclose(distance_block(blobs, blobs[:20], metric, n_jobs=2), expected, rtol=1e-12)
        OneBatchPAM(3, metric=metric, random_state=0).fit(blobs)
