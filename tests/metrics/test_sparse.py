"""Sparse rows have the same dissimilarities as dense rows, and are never made dense."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV

import reference
from onebatchpam import OneBatchPAM, distance_block
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.metrics.registry import METRICS, SPARSE_METRICS
from spaces import make_space

metrics = pytest.mark.parametrize("metric", SPARSE_METRICS)
ROUNDING = {"cosine": 1e-15}


def make_rows(n=400, p=60, dtype=np.float64, seed=0):
    """Draw groups of rows that share features; every fortieth row is empty."""
    rng = np.random.RandomState(seed)
    group = rng.randint(0, 5, n)
    dense = rng.randint(1, 9, (n, p)) * (rng.rand(n, p) < np.where(np.arange(p) % 5 == group[:, None], 0.5, 0.04))
    dense[::40] = 0
    return dense.astype(dtype)


@pytest.fixture(scope="module", name="dense")
def rows_of_groups():
    return make_rows()


def assert_close(block, expected, metric, rtol=1e-9):
    np.testing.assert_allclose(block, expected, rtol=rtol, atol=ROUNDING.get(metric, 0))


@metrics
@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8", "bool"])
def test_equals_the_reference(metric, container, dtype):
    dense = make_rows(dtype=dtype)
    block = distance_block(container(dense), container(dense[:30]), metric)
    assert block.dtype == (np.float64 if dtype in ("float64", "int64") else np.float32)
    rtol = 1e-9 if block.dtype == np.float64 else 1e-6
    assert_close(block, reference.distance_block(dense, dense[:30], metric), metric, rtol)


@metrics
def test_equals_scipy(metric, dense):
    rows = dense[dense.any(axis=1)]  # scipy defines no cosine for a row of zeros
    expected = cdist(
        rows != 0 if metric == "jaccard" else rows,
        (rows != 0 if metric == "jaccard" else rows)[:30],
        {"manhattan": "cityblock"}.get(metric, metric),
    )
    assert_close(distance_block(scipy.sparse.csr_array(rows), rows[:30], metric), expected, metric)


entries = st.one_of(st.just(0.0), st.sampled_from([1.0, -2.5, 1e6, 1e-3, 7.0]), st.floats(-100, 100, width=32))


@settings(deadline=None, max_examples=60)
@given(
    arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 7)), elements=entries),
    st.sampled_from(SPARSE_METRICS),
)
def test_any_rows(dense, metric):
    block = distance_block(scipy.sparse.csr_array(dense), dense, metric)
    expected = reference.distance_block(dense, dense, metric)
    np.testing.assert_allclose(block, expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(block, block.T)
    np.testing.assert_array_equal(np.diag(block), 0)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan"])
@pytest.mark.parametrize("shift", [1e-3, 1e-6, 1e-9, 1e-12])
def test_close_rows(metric, shift):
    """The formula size(a) + size(b) - overlap(a, b) would lose all digits of such distances."""
    dense = np.random.RandomState(0).rand(20, 30)
    moved = dense.copy()
    moved[:, 3] += shift
    block = distance_block(scipy.sparse.csr_array(dense), scipy.sparse.csr_array(moved), metric)
    assert_close(block, reference.distance_block(dense, moved, metric), metric, 1e-6)


@pytest.mark.parametrize(
    ("metric", "scale"),
    [
        *((metric, scale) for metric in ("manhattan", "cosine", "jaccard") for scale in (1e-200, 1e200)),
        *((metric, scale) for metric in ("euclidean", "sqeuclidean") for scale in (1e-30, 1e30)),
    ],
)
def test_scale(metric, scale, dense):
    rows = scipy.sparse.csr_array(dense * scale)
    power = {"cosine": 0, "jaccard": 0, "sqeuclidean": 2}.get(metric, 1)
    expected = reference.distance_block(dense, dense[:30], metric)
    assert_close(distance_block(rows, rows[:30], metric) / scale**power, expected, metric)


def with_explicit_zeros(dense):
    rows = scipy.sparse.csr_array(dense + 1.0)
    rows.data -= 1
    return rows


def with_unsorted_indices(dense):
    rows = scipy.sparse.csr_array(dense)
    for start, stop in zip(rows.indptr, rows.indptr[1:], strict=False):
        rows.indices[start:stop] = rows.indices[start:stop][::-1].copy()
        rows.data[start:stop] = rows.data[start:stop][::-1].copy()
    rows.has_sorted_indices = False
    return rows


def with_duplicates(dense):
    half = scipy.sparse.coo_array(dense / 2)
    row, column = np.tile([half.row, half.col], 2)
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(dense)))])
    return scipy.sparse.csr_array((np.tile(half.data, 2)[order], column[order], indptr), shape=dense.shape)


def with_long_indices(dense):
    rows = scipy.sparse.csr_array(dense)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


FORMS = {
    "explicit zeros": with_explicit_zeros,
    "unsorted": with_unsorted_indices,
    "duplicates": with_duplicates,
    "long indices": with_long_indices,
    **{name: getattr(scipy.sparse, f"{name}_array") for name in ("csc", "coo", "lil", "dok", "bsr")},
}


@metrics
@pytest.mark.parametrize("form", FORMS)
def test_any_form(metric, form, dense):
    rows = FORMS[form](dense)
    before = rows.copy()
    model = OneBatchPAM(5, metric=metric, random_state=0).fit(rows)
    expected = OneBatchPAM(5, metric=metric, random_state=0).fit(scipy.sparse.csr_array(dense))
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(model.predict(rows), expected.labels_)
    assert model.inertia_ == expected.inertia_
    for part in ("data", "indices", "indptr"):  # the arrays of the user are not changed
        if hasattr(rows, part):
            np.testing.assert_array_equal(getattr(rows, part), getattr(before, part))


@metrics
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_fit(metric, variant, init, dense):
    rows = scipy.sparse.csr_array(dense)
    model = OneBatchPAM(5, metric=metric, variant=variant, init=init, batch_size=60, random_state=0).fit(rows)
    block = reference.distance_block(dense, dense[model.medoid_indices_], metric)
    assert model.inertia_ == pytest.approx(block.min(axis=1).sum(), rel=1e-9)
    assert_close(model.transform(rows), block, metric)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.score(rows) == -model.inertia_
    assert scipy.sparse.issparse(model.cluster_centers_)
    assert model.cluster_centers_.format == "csr"
    np.testing.assert_array_equal(model.cluster_centers_.toarray(), dense[model.medoid_indices_])


@pytest.mark.parametrize("metric", [metric for metric in SPARSE_METRICS if metric != "jaccard"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_same_objective_as_dense_rows(metric, variant, dense):
    parameters = {"n_clusters": 5, "metric": metric, "variant": variant, "batch_size": 60, "random_state": 0}
    parameters["refine"] = 0  # because refinement has many ties, which other rounding errors may break differently
    model = OneBatchPAM(**parameters).fit(scipy.sparse.csr_array(dense))
    expected = OneBatchPAM(**parameters).fit(dense)
    assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)
    np.testing.assert_array_equal(model.batch_indices_, expected.batch_indices_)


@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_medoids_are_of_the_class_of_the_rows(container, dense):
    assert type(OneBatchPAM(3, random_state=0).fit(container(dense)).cluster_centers_) is container


@metrics
def test_dense_new_rows(metric, dense):
    rows = scipy.sparse.csr_array(dense)
    model = OneBatchPAM(5, metric=metric, random_state=0).fit(rows)
    np.testing.assert_array_equal(model.transform(dense), model.transform(rows))


@metrics
def test_threads_and_tiles(metric, request):
    rows = scipy.sparse.csr_array(make_rows(1100))
    parameters = {"n_clusters": 5, "metric": metric, "batch_size": 80, "random_state": 0}
    expected = OneBatchPAM(**parameters).fit(rows)
    request.getfixturevalue("smallest_tiles")
    for n_jobs in (1, 3):
        model = OneBatchPAM(n_jobs=n_jobs, **parameters).fit(rows)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert (model.inertia_, model.batch_inertia_) == (expected.inertia_, expected.batch_inertia_)


@metrics
def test_a_range_of_columns_can_be_filled(metric, dense):
    rows = scipy.sparse.csr_array(dense)
    wide = np.full((400, 50), -1.0)
    make_space(rows, metric).distances_to(np.arange(30)).fill(slice(0, 400), wide[:, 10:40])
    np.testing.assert_array_equal(wide[:, 10:40], distance_block(rows, rows[:30], metric))
    np.testing.assert_array_equal(np.delete(wide, np.s_[10:40], axis=1), -1)


def test_copies_and_grid_search(dense):
    rows = scipy.sparse.csr_array(dense)
    model = OneBatchPAM(5, metric="cosine", random_state=0).fit(rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.labels_)
    search = GridSearchCV(OneBatchPAM(metric="cosine", random_state=0), {"n_clusters": [2, 5]}, cv=3)
    assert np.isfinite(search.fit(rows).cv_results_["mean_test_score"]).all()


def test_rows_are_never_made_dense():
    n, p, m = 4_000, 100_000, 50
    rng = np.random.RandomState(0)
    rows = scipy.sparse.csr_array(
        (rng.rand(n * 50), rng.randint(0, p, n * 50), np.arange(0, n * 50 + 1, 50)), shape=(n, p)
    )
    rows.sum_duplicates()
    for metric in SPARSE_METRICS:
        model = OneBatchPAM(5, metric=metric, batch_size=m, random_state=0)
        tracemalloc.start()
        try:
            model.fit(rows).predict(rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 4 * rows.data.nbytes + 16 * n * m < 8 * p * m


class TestErrors:
    @pytest.mark.parametrize("metric", sorted(name for name, metric in METRICS.items() if not metric.tags.takes_sparse))
    def test_metrics_without_sparse_rows(self, metric, dense):
        with pytest.raises(ValueError, match=r"does not compare sparse rows: expected one of|X is sparse, but"):
            OneBatchPAM(3, metric=metric).fit(scipy.sparse.csr_array(dense))

    def test_parameters(self, dense):
        with pytest.raises(ValueError, match="takes no parameters for sparse rows"):
            OneBatchPAM(3, metric="jaccard", metric_params={"w": 1}).fit(scipy.sparse.csr_array(dense))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_values(self, value, dense):
        rows = scipy.sparse.csr_array(dense)
        rows.data[3] = value
        with pytest.raises(ValueError, match=r"^X\[1, 25\] is (missing \(NaN\)|inf): expected"):
            OneBatchPAM(3).fit(rows)

    def test_overflow(self, dense):
        with pytest.raises(ValueError, match="is inf"):
            OneBatchPAM(3).fit(scipy.sparse.csr_array(dense * 1e200))

    def test_sparse_new_rows_of_a_dense_fit(self, dense):
        model = OneBatchPAM(3, metric="chebyshev", random_state=0).fit(dense)
        with pytest.raises(ValueError, match=r"metric='chebyshev' does not compare sparse rows.*toarray"):
            model.predict(scipy.sparse.csr_array(dense))

    def test_another_number_of_features(self, dense):
        model = OneBatchPAM(3, random_state=0).fit(scipy.sparse.csr_array(dense))
        with pytest.raises(ValueError, match="59 features"):
            model.predict(scipy.sparse.csr_array(dense[:, :59]))

    def test_too_many_features(self):
        wide = scipy.sparse.csr_array(([1.0], ([0], [2**32])), shape=(1, 2**33))
        with pytest.raises(ValueError, match="expected at most 2147483647"):
            OneBatchPAM(1).fit(wide)


@metrics
def test_sparse_rows_after_a_fit_on_dense_rows(metric):
    rows = make_rows()
    rows = rows if scipy.sparse.issparse(rows) else scipy.sparse.csr_array(rows)
    dense = rows.toarray().astype(bool) if metric == "jaccard" else rows.toarray()
    model = OneBatchPAM(4, metric=metric, random_state=0).fit(dense)
    sparse = scipy.sparse.csr_matrix(dense)
    np.testing.assert_allclose(model.transform(sparse), model.transform(dense), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.score(sparse), model.score(dense), rtol=1e-6)
    with pytest.raises(ValueError, match="features"):
        model.predict(sparse[:, :-1])


class TestFramesWithSparseColumns:
    @pytest.fixture
    def frame(self):
        pd = pytest.importorskip("pandas")
        matrix = scipy.sparse.random(200, 5, 0.3, format="csr", random_state=0)
        return pd.DataFrame.sparse.from_spmatrix(matrix, columns=list("abcde"))

    @metrics
    def test_same_as_the_matrix(self, frame, metric):
        model = OneBatchPAM(3, metric=metric, random_state=0).fit(frame)
        expected = OneBatchPAM(3, metric=metric, random_state=0).fit(frame.sparse.to_coo().tocsr())
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        assert model.inertia_ == expected.inertia_
        assert list(model.feature_names_in_) == list("abcde")
        assert model.medoids_.equals(frame.iloc[model.medoid_indices_])
        assert scipy.sparse.issparse(model.cluster_centers_)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame.rename(columns={"a": "z"}))

    def test_after_a_fit_on_dense_rows(self, frame):
        model = OneBatchPAM(3, random_state=0).fit(frame.sparse.to_dense())
        np.testing.assert_array_equal(model.predict(frame), model.labels_)

    @pytest.mark.parametrize("fill", [np.nan, 1.0])  # NaN is what `astype("Sparse")` takes for floats
    def test_columns_that_leave_out_something_else_than_zeros(self, frame, fill):
        pd = pytest.importorskip("pandas")
        other = frame.sparse.to_dense().astype(pd.SparseDtype(float, fill))
        model, expected = (OneBatchPAM(3, random_state=0).fit(each) for each in (other, frame))
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(expected.predict(other), expected.labels_)
        lacking = other.mask(other > 0.9).astype(pd.SparseDtype(float, fill))
        with pytest.raises(ValueError, match="NaN"):
            OneBatchPAM(3).fit(lacking)

    def test_distance_block(self, frame):
        expected = distance_block(frame.sparse.to_dense(), frame.sparse.to_dense())
        np.testing.assert_allclose(distance_block(frame, frame), expected, atol=1e-7)
