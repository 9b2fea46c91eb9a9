"""Errors about data on disk name the file, the column or the value at fault."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from onebatchpam import OneBatchPAM
from onebatchpam.data.stored import open_stored_rows
from stored import Recorded, as_memmap, as_npy, as_parquet, parquet, pyarrow

pytestmark = pytest.mark.usefixtures("small_windows")


class TestErrors:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_what_is_not_finite_is_found(self, value, X, tmp_path):
        X[470, 2] = value
        model = OneBatchPAM(3, batch_size=60)
        with pytest.raises(ValueError, match=rf"X\[470, 2\] is {value}: expected finite numbers$"):
            model.fit(as_parquet(X, tmp_path))
        assert not hasattr(model, "labels_")

    def test_nan_where_it_is_allowed(self, X, tmp_path):
        X[470, 2] = np.nan
        model = OneBatchPAM(3, metric="nan_euclidean", batch_size=60, random_state=0)
        expected = model.fit(X).labels_
        np.testing.assert_array_equal(model.fit(as_npy(X, tmp_path)).labels_, expected)
        X[471, 2] = np.inf
        with pytest.raises(ValueError, match=r"X\[471, 2\] is inf: expected finite numbers or NaN"):
            model.fit(as_npy(X, tmp_path))

    def test_large_numbers_are_no_infinity(self, X, tmp_path):
        X = np.full((50, 6), 1e38, np.float32)
        np.testing.assert_array_equal(open_stored_rows(as_memmap(X, tmp_path), "X").in_memory().values, X)

    def test_a_file_that_cannot_be_read_to_its_end(self, X):
        class Broken(Recorded):
            def __getitem__(self, rows):
                if rows.stop > 500:
                    raise OSError("the disk is gone")
                return super().__getitem__(rows)

        model = OneBatchPAM(3, batch_size=60, random_state=0)
        with pytest.raises(OSError, match="the disk is gone"):
            model.fit(Broken(X))
        assert not hasattr(model, "labels_")

    @pytest.mark.parametrize(
        ("change", "found"),
        [
            (lambda rows: rows[:-1], r"has shape \(\d+, 6\) and type float64"),
            (lambda rows: np.hstack([rows, rows]), r"has shape \(\d+, 12\) and type float64"),
            (lambda rows: None, r"has shape \(\) and type object"),
            (lambda rows: rows + 1j, r"has shape \(\d+, 6\) and type complex128"),
            (lambda rows: rows.astype(str), r"has shape \(\d+, 6\) and type <U\d+"),
        ],
        ids=["fewer rows", "more columns", "nothing", "complex", "text"],
    )
    def test_an_array_that_is_not_what_it_declares(self, change, found, X):
        class Lying(Recorded):
            def __getitem__(self, rows):
                return change(super().__getitem__(rows))

        with pytest.raises(ValueError, match=rf"X\[\d+:\d+\] {found}: expected \(\d+, 6\) and float64, as X declares"):
            OneBatchPAM(3, batch_size=60).fit(Lying(X.astype(float)))

    def test_an_array_of_a_negative_size(self, X):
        array = Recorded(X)
        array.shape = (-5, 6)
        with pytest.raises(ValueError, match=r"X has shape \(-5, 6\): a minimum of 1 row"):
            OneBatchPAM(3).fit(array)

    @pytest.mark.parametrize("name", ["table.csv", "nothing"])
    def test_other_files(self, name):
        with pytest.raises(ValueError, match=rf"X is the path '{name}': expected a \.npy file, a Parquet file"):
            OneBatchPAM().fit(name)

    @pytest.mark.parametrize("name", ["missing.npy", "missing.parquet"])
    def test_missing_files(self, name, tmp_path):
        with pytest.raises(FileNotFoundError, match=name):
            OneBatchPAM().fit(tmp_path / name)

    def test_a_folder_without_tables(self, tmp_path):
        with pytest.raises(ValueError, match="there is no Parquet file in the folder"):
            OneBatchPAM().fit(tmp_path)

    @pytest.mark.parametrize("array", [np.zeros(5), np.zeros((5, 2), complex)], ids=str)
    def test_not_rows_of_numbers(self, array, tmp_path):
        with pytest.raises(ValueError, match=r"X\.npy' of shape .*: expected rows of numbers"):
            OneBatchPAM().fit(as_npy(array, tmp_path))

    def test_no_rows(self, tmp_path):
        with pytest.raises(ValueError, match=r"X has shape \(0, 6\): a minimum of 1 row"):
            OneBatchPAM().fit(as_parquet(np.zeros((0, 6)), tmp_path))

    def test_columns_that_are_not_numeric(self, tmp_path):
        parquet.write_table(pyarrow.table({"a": [1.0], "city": ["Rome"]}), tmp_path / "X.parquet")
        with pytest.raises(ValueError, match="column 'city' of X is of type string: expected numbers"):
            OneBatchPAM().fit(tmp_path / "X.parquet")

    @pytest.mark.parametrize("values", [pd.Categorical(["Rome"]), pd.to_datetime(["2025-01-01"], utc=True)])
    def test_columns_that_numpy_does_not_know(self, values, tmp_path):
        pd.DataFrame({"a": [1.0], "b": values}).to_parquet(tmp_path / "X.parquet")
        with pytest.raises(ValueError, match=r"column 'b' of X is of type (dictionary|timestamp).*: expected numbers"):
            OneBatchPAM().fit(tmp_path / "X.parquet")

    def test_missing_values(self, tmp_path):
        table = pyarrow.table({"a": [1, None, 3], "b": [1, 2, 3]})
        parquet.write_table(table, tmp_path / "integers.parquet")
        with pytest.raises(ValueError, match=r"column 'a' lacks 1 values in row group 0 of .*integers"):
            OneBatchPAM(1).fit(tmp_path / "integers.parquet")
        table = pyarrow.table({"a": [1.0, None, 3.0], "b": [1, 2, 3]})
        parquet.write_table(table, tmp_path / "floats.parquet")
        with pytest.raises(ValueError, match=r"X\[1, 0\] is nan"):
            OneBatchPAM(1).fit(tmp_path / "floats.parquet")
        assert OneBatchPAM(1, metric="nan_euclidean").fit(tmp_path / "floats.parquet").labels_.tolist() == [0, 0, 0]

    def test_files_of_one_folder_that_differ(self, tmp_path):
        parquet.write_table(pyarrow.table({"a": [1.0]}), tmp_path / "1.parquet")
        parquet.write_table(pyarrow.table({"b": [1.0]}), tmp_path / "2.parquet")
        with pytest.raises(ValueError, match=r"X has the columns b \(double\) in .*2\.parquet: expected those of"):
            OneBatchPAM().fit(tmp_path)

    def test_without_pyarrow(self, X, tmp_path, monkeypatch):
        path = as_parquet(X, tmp_path)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'pyarrow>=18'"):
            OneBatchPAM().fit(path)


def test_an_empty_path():
    with pytest.raises(ValueError, match=r"X is an empty string: expected data, or the path of a \.npy file"):
        OneBatchPAM(2).fit("")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"a,b\n1,2\n"])
def test_a_broken_parquet_file_is_named(content, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"the file '.*rows.parquet' cannot be read as Parquet"):
        OneBatchPAM(2).fit(path)


def test_a_row_group_that_cannot_be_decoded_is_named(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pd.DataFrame(np.random.RandomState(0).rand(500, 3), columns=list("abc")).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:5000] = bytes(4996)  # the metadata at the end of the file stay whole
    path.write_bytes(content)
    assert parquet.read_metadata(path).num_rows == 500
    with pytest.raises(ValueError, match=r"the file '.*rows.parquet' cannot be read as Parquet"):
        OneBatchPAM(2).fit(path)


def test_an_array_of_dask_is_better_fitted_by_the_class_for_dask(X):
    dask_array = pytest.importorskip("dask.array")
    with pytest.warns(UserWarning, match=r"X is an array of Dask.*: use onebatchpam\.dask, .* or pass X\.compute\(\)"):
        model = OneBatchPAM(4, random_state=0).fit(dask_array.from_array(X))
    assert model.inertia_ == pytest.approx(OneBatchPAM(4, random_state=0).fit(X).inertia_)
