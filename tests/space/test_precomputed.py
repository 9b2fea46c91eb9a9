"""A square matrix of dissimilarities instead of rows."""

from __future__ import annotations

import tracemalloc
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform
from sklearn.model_selection import GridSearchCV

import reference
from onebatchpam import OneBatchPAM, _tiles
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.search.first_medoids import kmeans_plus_plus
from spaces import make_matrix_space, make_run

SIZES = (8, 16, 32, 64)


@pytest.fixture(scope="module")
def matrix(blobs):
    return reference.distance_block(blobs, blobs, "manhattan")


@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "lwcs"])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_same_as_the_rows(matrix, blobs, variant, init):
    parameters = {"n_clusters": 5, "batch_size": 60, "variant": variant, "init": init, "random_state": 0}
    model = OneBatchPAM(metric="precomputed", **parameters).fit(matrix)
    from_rows = OneBatchPAM(metric="manhattan", **parameters).fit(blobs)
    np.testing.assert_array_equal(model.medoid_indices_, from_rows.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, from_rows.labels_)
    np.testing.assert_array_equal(model.batch_weights_, from_rows.batch_weights_)
    assert model.inertia_ == pytest.approx(from_rows.inertia_, rel=1e-12)
    assert model.n_distances_ == from_rows.n_distances_
    assert model.cluster_centers_ is None


def test_methods(matrix):
    model = OneBatchPAM(5, metric="precomputed", random_state=0).fit(matrix)
    np.testing.assert_array_equal(model.predict(matrix), model.labels_)
    np.testing.assert_array_equal(model.transform(matrix), matrix[:, model.medoid_indices_])
    assert model.score(matrix) == -model.inertia_
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(5))


def test_new_points(matrix, blobs):
    model = OneBatchPAM(5, metric="precomputed", random_state=0).fit(matrix)
    new = blobs[:20] + 0.5
    expected = reference.distance_block(new, blobs[model.medoid_indices_], "manhattan")
    np.testing.assert_array_equal(
        model.predict(reference.distance_block(new, blobs, "manhattan")), expected.argmin(axis=1)
    )
    with pytest.raises(ValueError, match="299 features"):
        model.predict(matrix[:, :299])


@pytest.mark.parametrize("seed", range(5))
def test_entry_i_j_is_from_candidate_i_to_point_j(seed):
    matrix = np.random.RandomState(seed).rand(40, 40)
    np.fill_diagonal(matrix, 0)
    model = OneBatchPAM(3, metric="precomputed", batch_size=40, tol=0, random_state=seed).fit(matrix)
    rows = matrix[model.medoid_indices_]
    np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
    assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-12)
    gains = reference.swap_gains(matrix, model.medoid_indices_, np.ones(40))
    assert gains.max() <= 1e-6


def test_grid_search_slices_both_axes(matrix):
    search = GridSearchCV(OneBatchPAM(metric="precomputed", random_state=0), {"n_clusters": [2, 5]}, cv=3)
    search.fit(matrix)
    assert search.best_params_ == {"n_clusters": 5}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


REAL_TYPES = ["float16", "float32", "float64", "longdouble", "bool", *(f"{u}int{b}" for u in ("", "u") for b in SIZES)]


@pytest.mark.parametrize("dtype", REAL_TYPES)
def test_matrix_of_any_type_and_order(matrix, dtype, tmp_path):
    whole = np.round(matrix).astype(dtype)
    expected = OneBatchPAM(4, metric="precomputed", random_state=0).fit(whole.astype(np.float64))
    for each in (whole, np.asfortranarray(whole), whole.tolist(), *memory_mapped(whole, tmp_path)):
        model = OneBatchPAM(4, metric="precomputed", random_state=0).fit(each)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        np.testing.assert_array_equal(model.predict(each.T if isinstance(each, np.ndarray) else each), model.labels_)
        assert model.inertia_ == expected.inertia_


def memory_mapped(matrix, folder):
    """Return the matrix as memory maps of a file without a header, and of .npy files in both orders."""
    bare = np.memmap(folder / "bare", mode="w+", dtype=matrix.dtype, shape=matrix.shape)
    bare[:] = matrix
    np.save(folder / "rows.npy", matrix)
    np.save(folder / "columns.npy", np.asfortranarray(matrix))
    return bare, *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("rows", "columns"))


class TestReading:
    """Only the entries that are needed are read and copied."""

    parameters: ClassVar = {"n_clusters": 5, "metric": "precomputed", "batch_size": 40, "random_state": 0}

    @pytest.mark.parametrize("init", ["random", "k-means++"])
    def test_entries(self, matrix, init):
        expected = OneBatchPAM(init=init, refine=0, **self.parameters).fit(matrix)
        needed = np.full_like(matrix, np.nan)
        needed[:, expected.batch_indices_] = matrix[:, expected.batch_indices_]
        for medoids in (expected.medoid_indices_, kmeans_plus_plus_medoids(matrix) if init == "k-means++" else []):
            needed[medoids] = matrix[medoids]
        model = OneBatchPAM(init=init, refine=0, **self.parameters).fit(needed)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert model.inertia_ == expected.inertia_

    def test_columns_of_new_points(self, matrix):
        model = OneBatchPAM(**self.parameters).fit(matrix)
        needed = np.full_like(matrix, np.nan)
        needed[:, model.medoid_indices_] = matrix[:, model.medoid_indices_]
        np.testing.assert_array_equal(model.predict(needed), model.labels_)
        np.testing.assert_array_equal(model.transform(needed), matrix[:, model.medoid_indices_])

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_bad_entries_are_named(self, matrix, value):
        model = OneBatchPAM(**self.parameters).fit(matrix)
        column = model.medoid_indices_[2]
        bad = matrix.copy()
        bad[7, column] = value
        for method in (model.predict, model.transform, model.score):
            with pytest.raises(ValueError, match=rf"X\[7, {column}\] is {value}: .*NaN or infinity"):
                method(bad)
        bad = matrix.copy()
        point = np.setdiff1d(np.arange(300), model.batch_indices_)[0]
        bad[column, point] = value  # the entry is in the row of a medoid, but not in a column of the batch
        with pytest.raises(ValueError, match=rf"X\[{column}, {point}\] is {value}"):
            OneBatchPAM(**self.parameters).fit(bad)

    @pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "uint8"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_no_copy(self, dtype, order, monkeypatch):
        monkeypatch.setattr(_tiles, "TILE_ENTRIES", 10_000)
        n = 3000
        points = np.arange(n) % 97
        big = np.asarray(abs(points[:, None] - points), dtype=dtype, order=order)
        model = OneBatchPAM(**self.parameters)
        tracemalloc.start()
        try:
            model.fit(big).predict(big)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # The fit holds the block, as much again for refinement, and smaller arrays; a copy takes n^2 bytes or more.
        assert peak < 5 * 4 * n * 40 < n * n


def kmeans_plus_plus_medoids(matrix):
    """Return the medoids from which the search of these tests starts with init="k-means++"."""
    return kmeans_plus_plus(make_matrix_space(matrix), 5, make_run(0))


def with_entry(matrix, value):
    changed = matrix.copy()
    changed[3, 5] = value
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda matrix: matrix[:, :200], r"\(300, 200\): .*square.*swap_search"),
        (lambda matrix: with_entry(matrix, np.nan), "NaN"),
        (lambda matrix: with_entry(matrix, np.inf), "infinity"),
        (lambda matrix: with_entry(matrix, -1), r"X\[3, 5\] is -1.0: .*negative"),
        (lambda matrix: with_entry(matrix, 1e39), r"X\[3, 5\] is 1e\+39: .*fit in float32"),
    ],
    ids=["not square", "NaN", "infinity", "negative", "beyond float32"],
)
def test_errors(matrix, change, message):
    with pytest.raises(ValueError, match=message):
        OneBatchPAM(3, metric="precomputed", batch_size=300).fit(change(matrix))


def test_a_bad_entry_has_the_place_that_the_user_knows(matrix):
    model = OneBatchPAM(3, metric="precomputed", batch_size=50, random_state=0)
    column = model.fit(matrix).batch_indices_[20]
    changed = matrix.copy()
    changed[7, column] = -2
    with pytest.raises(ValueError, match=rf"X\[7, {column}\] is -2.0"):
        model.fit(changed)


def test_parameters_of_a_metric_that_is_not_computed(matrix):
    with pytest.raises(ValueError, match="takes no parameters"):
        OneBatchPAM(3, metric="precomputed", metric_params={"p": 2}).fit(matrix)


def test_negative_dissimilarities_outside_the_batch(matrix):
    parameters = {"n_clusters": 3, "metric": "precomputed", "batch_size": 50, "random_state": 0}
    batch = OneBatchPAM(**parameters).fit(matrix).batch_indices_
    bad = matrix.copy()
    bad[:, np.setdiff1d(np.arange(300), batch)] = -1
    with pytest.raises(ValueError, match="negative"):
        OneBatchPAM(**parameters).fit(bad)


class TestOtherForms:
    """Matrices as other packages hand them out, and matrices that mean something else."""

    def test_condensed_after_the_fit(self):
        condensed = np.random.RandomState(0).rand(190) + 1
        model = OneBatchPAM(3, metric="precomputed").fit(condensed)
        np.testing.assert_array_equal(model.predict(condensed), model.labels_)
        np.testing.assert_array_equal(model.assess_rows(condensed).distances, model.distances_)
        with pytest.raises(ValueError, match=r"\(21,\): expected a row of 20 dissimilarities .* or the 190 distances"):
            model.predict(condensed[:21])  # the distances of seven rows
        with pytest.raises(ValueError, match=r"Reshape your data by X.reshape\(1, -1\) if it is a single row"):
            model.predict(condensed[:20])

    def test_negative_numbers_are_refused_by_the_tag_of_scikit_learn(self):
        assert OneBatchPAM(metric="precomputed").__sklearn_tags__().input_tags.positive_only
        assert not OneBatchPAM().__sklearn_tags__().input_tags.positive_only

    def test_condensed(self, matrix):
        model = OneBatchPAM(5, metric="precomputed", random_state=0).fit(squareform(matrix, checks=False))
        expected = OneBatchPAM(5, metric="precomputed", random_state=0).fit(matrix)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.inertia_ == expected.inertia_

    @pytest.mark.parametrize("n_pairs", [0, 2, 4, 100])
    def test_a_length_that_no_condensed_matrix_has(self, n_pairs):
        with pytest.raises(ValueError, match=r"X has shape \(\d+,\): expected a square matrix .*pdist returns them"):
            OneBatchPAM(2, metric="precomputed").fit(np.ones(n_pairs))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_similarities(self, matrix):
        with pytest.warns(UserWarning, match="the largest entries of X are on its diagonal, as in a matrix of simil"):
            OneBatchPAM(5, metric="precomputed").fit(np.exp(-matrix))

    def test_a_diagonal_that_is_not_zero_but_small(self, matrix):
        OneBatchPAM(5, metric="precomputed").fit(matrix + 1)  # no warning

    def test_a_sparse_graph(self, matrix):
        with pytest.raises(ValueError, match="X is sparse, but metric='precomputed' needs the dissimilarities of all"):
            OneBatchPAM(5, metric="precomputed").fit(csr_array(matrix * (matrix < 3)))

    def test_a_matrix_that_is_not_symmetric_is_told_in_predict(self):
        matrix = np.random.RandomState(0).rand(30, 30)
        model = OneBatchPAM(3, metric="precomputed", random_state=0).fit(matrix)
        for method in (model.predict, model.transform, model.score):
            with pytest.warns(UserWarning, match=r"X is the matrix of the fit, .* not symmetric: .* pass X\.T"):
                method(matrix)
        np.testing.assert_array_equal(model.predict(matrix.T), model.labels_)  # no warning
        assert model.score(matrix.T) == pytest.approx(-model.inertia_)
        model.predict(np.random.RandomState(1).rand(30, 30))  # other rows: no warning
