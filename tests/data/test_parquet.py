"""Parquet files: the user chooses columns, and vectors are the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onebatchpam import FasterPAM, OneBatchPAM, scan_parquet

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("small_windows")

N = 300
VECTORS = np.random.RandomState(0).rand(N, 6).astype(np.float32)


def as_lists(vectors):
    return pyarrow.array(list(vectors), pyarrow.list_(pyarrow.from_numpy_dtype(vectors.dtype)))


def as_fixed_lists(vectors):
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1])


@pytest.fixture
def items(tmp_path):
    """A file with ids, titles and vectors."""
    path = tmp_path / "items.parquet"
    titles = [f"title {i % 7}" for i in range(N)]
    table = pyarrow.table({"id": np.arange(N), "title": titles, "vector": as_lists(VECTORS), "price": VECTORS[:, 0]})
    parquet.write_table(table, path, row_group_size=70)
    return path


def fit(X, **parameters):
    return OneBatchPAM(4, batch_size=50, random_state=0, **parameters).fit(X)


@pytest.mark.parametrize("make", [as_lists, as_fixed_lists])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_vectors_are_the_rows(make, dtype, tmp_path):
    vectors = (10 * VECTORS).astype(dtype)
    parquet.write_table(pyarrow.table({"vector": make(vectors)}), tmp_path / "v.parquet", row_group_size=70)
    found, expected = fit(tmp_path / "v.parquet"), fit(vectors)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert found.cluster_centers_.dtype == dtype
    assert found.n_features_in_ == 6
    np.testing.assert_array_equal(found.predict(tmp_path / "v.parquet"), expected.labels_)


def test_columns_that_are_left_out_are_told(items):
    with pytest.warns(UserWarning, match=r"the vectors in column 'vector'; .* left out: 'id', 'title', 'price'"):
        found = fit(items)
    np.testing.assert_array_equal(found.labels_, fit(VECTORS).labels_)


class TestChosenColumns:
    def test_vectors(self, items):
        found = fit(scan_parquet(items, columns="vector"))
        np.testing.assert_array_equal(found.labels_, fit(VECTORS).labels_)

    def test_numbers(self, items):
        X = pd.read_parquet(items)[["price", "id"]]
        found = fit(scan_parquet(str(items), columns=["price", "id"]))
        np.testing.assert_array_equal(found.labels_, fit(X.to_numpy()).labels_)
        assert list(found.feature_names_in_) == ["price", "id"]

    def test_strings(self, items):
        pytest.importorskip("rapidfuzz")
        titles = pd.read_parquet(items)["title"].tolist()
        found = fit(scan_parquet(items, "title"), metric="levenshtein")
        np.testing.assert_array_equal(found.labels_, fit(titles, metric="levenshtein").labels_)

    def test_a_mixed_table(self, items):
        X = pd.read_parquet(items)[["title", "price"]]
        chosen = scan_parquet(items, ["title", "price"])
        found, expected = fit(chosen, metric="gower"), fit(X, metric="gower")
        np.testing.assert_array_equal(found.labels_, expected.labels_)
        np.testing.assert_array_equal(found.predict(chosen), expected.labels_)
        assert list(found.cluster_centers_.columns) == ["title", "price"]

    def test_a_folder(self, items):
        found = fit(scan_parquet(items.parent, "vector"))
        np.testing.assert_array_equal(found.labels_, fit(VECTORS).labels_)


class TestMedoids:
    """`medoids_` are the rows as the user knows them."""

    def test_all_columns_of_a_file(self, items):
        model = fit(scan_parquet(items, "vector"))
        assert model.medoids_["id"].tolist() == model.medoid_indices_.tolist()
        assert list(model.medoids_.columns) == ["id", "title", "vector", "price"]

    @pytest.mark.parametrize("metric", ["euclidean", "gower"])
    def test_rows_of_a_frame(self, metric):
        frame = pd.DataFrame(VECTORS, columns=list("abcdef"), index=np.arange(N) + 1000)
        model = fit(frame, metric=metric)
        pd.testing.assert_frame_equal(model.medoids_, frame.iloc[model.medoid_indices_])

    def test_rows_of_other_data(self):
        model = FasterPAM(3, random_state=0).fit(VECTORS)
        np.testing.assert_array_equal(model.medoids_, VECTORS[model.medoid_indices_])
        words = ["a", "ab", "xyz", "xy"]
        model = FasterPAM(2, metric=lambda a, b: abs(len(a) - len(b))).fit(words)
        assert model.medoids_.tolist() == [words[i] for i in model.medoid_indices_]
        assert FasterPAM(2, metric="precomputed").fit(1 - np.eye(5)).medoids_ is None


class TestErrors:
    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            (
                ["vector", "price"],
                "expected one column of vectors, or columns of numbers; choose one, as scan_p",
            ),
            ("text", r"columns names 'text', which X does not have: expected names among \['id', 'title', 'vector'"),
            (["price", "title"], "column 'title' of X is of type string: expected numbers"),
        ],
    )
    def test_columns(self, items, columns, message):
        with pytest.raises(ValueError, match=message):
            fit(scan_parquet(items, columns))

    def test_several_columns_of_vectors(self, tmp_path):
        table = pyarrow.table({"a": as_lists(VECTORS), "b": as_lists(VECTORS)})
        parquet.write_table(table, tmp_path / "v.parquet")
        with pytest.raises(ValueError, match=r"choose one, as scan_parquet\('.*v.parquet', columns='a'\)"):
            fit(tmp_path / "v.parquet")

    @pytest.mark.parametrize(("bad", "found"), [([1.0], "has 1 numbers"), (None, "is missing")])
    def test_a_vector_of_another_length(self, tmp_path, bad, found):
        vectors = VECTORS.tolist()
        vectors[123] = bad
        parquet.write_table(pyarrow.table({"v": vectors}), tmp_path / "v.parquet", row_group_size=70)
        with pytest.raises(ValueError, match=rf"the vector of row 123 in column 'v' {found}: expected 6, as in"):
            fit(tmp_path / "v.parquet")

    @pytest.mark.parametrize("first", [[], None])
    def test_a_first_vector_without_numbers(self, first, tmp_path):
        parquet.write_table(pyarrow.table({"v": [first, [1.0, 2.0]]}), tmp_path / "v.parquet")
        with pytest.raises(ValueError, match="the vector of row 0 in column 'v' is missing or empty: expected numbers"):
            fit(tmp_path / "v.parquet")

    def test_a_number_that_is_missing(self, tmp_path):
        vectors = VECTORS.tolist()
        vectors[123][2] = None
        parquet.write_table(pyarrow.table({"v": vectors}), tmp_path / "v.parquet", row_group_size=70)
        with pytest.raises(ValueError, match=r"X\[123, 2\] is nan"):
            fit(tmp_path / "v.parquet")

    @pytest.mark.parametrize("kind", [pyarrow.int64(), pyarrow.uint8(), pyarrow.bool_()], ids=str)
    @pytest.mark.parametrize("length", [-1, 2], ids=["lists", "arrays"])
    def test_a_number_that_is_missing_among_integers(self, tmp_path, kind, length):
        vectors = pyarrow.array([[0, 1], [1, 0], [1, None]] * 2, pyarrow.list_(pyarrow.int64(), length))
        table = pyarrow.table({"v": vectors.cast(pyarrow.list_(kind, length))})
        parquet.write_table(table, tmp_path / "v.parquet", row_group_size=2)
        message = r"column 'v' lacks 1 values in row group 1 of .*v.parquet: .* fill them in, or leave these rows out"
        with pytest.raises(ValueError, match=message):
            FasterPAM(2, metric="hamming").fit(tmp_path / "v.parquet")


def test_a_column_that_looks_like_an_id(tmp_path):
    table = pd.DataFrame(VECTORS, columns=["customer_id", *"abcde"])
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="the column 'customer_id' of X counts as a feature like the others"):
        fit(tmp_path / "t.parquet")
    fit(scan_parquet(tmp_path / "t.parquet", ["customer_id", "a"]))  # chosen by the user: no warning


def test_how_it_shows_itself():
    assert repr(scan_parquet("items.parquet", "a")) == "scan_parquet('items.parquet', columns=['a'])"
