"""The kind that a column of a table has by default or by the choice of the user, and its missing values."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from onebatchpam import OneBatchPAM, distance_block
from onebatchpam.data import tables

SIZES = ["S", "M", "L", "XL"]


class TestKinds:
    def block(self, X, **params):
        return distance_block(X, X, "gower", metric_params=params)

    def test_numbers_as_categories(self):
        X = np.array([[0.0], [1], [10], [np.nan]])
        np.testing.assert_array_equal(self.block(X[:3], kinds={0: "categorical"}), 1 - np.eye(3))

    def test_numbers_as_ranks(self):
        X = np.array([[0.0], [1], [10], [10]])
        np.testing.assert_array_equal(self.block(X, kinds={0: "ordinal"})[0], [0, 0.5, 1, 1])

    def test_strings_with_an_order(self):
        X = np.array([["low"], ["high"], ["mid"]], dtype=object)
        order = ["very low", "low", "mid", "high"]
        np.testing.assert_array_equal(self.block(X, kinds={0: order})[0], [0, 1, 0.5])
        with pytest.raises(ValueError, match="order of the values of column 0 is not known"):
            self.block(X, kinds={0: "ordinal"})
        with pytest.raises(ValueError, match="holds 'mid': expected one of"):
            self.block(X, kinds={0: ["low", "high"]})

    def test_ordered_categories_as_plain_ones(self):
        X = pd.DataFrame({"size": pd.Categorical(["S", "M", "L"], SIZES, ordered=True)})
        np.testing.assert_array_equal(self.block(X)[0], [0, 0.5, 1])
        np.testing.assert_array_equal(self.block(X, kinds={"size": "categorical"}), 1 - np.eye(3))

    def test_strings_of_digits_as_numbers(self):
        X = pd.DataFrame({"year": ["2000", "2010", "2040"]})
        np.testing.assert_allclose(self.block(X, kinds={"year": "numeric"})[0], [0, 0.25, 1])

    @pytest.mark.parametrize("unit", ["s", "ns"])
    def test_dates_and_durations_are_numeric(self, unit):
        days = np.array([0, 10, 40, "NaT"], dtype="datetime64[D]")
        frame = pd.DataFrame({"day": days.astype(f"datetime64[{unit}]"), "same": 1})
        frame["span"] = frame["day"] - frame["day"].min()
        np.testing.assert_allclose(self.block(frame[["day", "span", "same"]])[0], [0, 1 / 6, 2 / 3, 0], rtol=1e-6)
        frame["day"] = frame["day"].dt.tz_localize("Europe/Paris")
        np.testing.assert_allclose(self.block(frame[["day", "span", "same"]])[0], [0, 1 / 6, 2 / 3, 0], rtol=1e-3)

    def test_dates_of_new_rows_may_be_in_another_unit(self):
        days = np.array([0, 10, 40, "NaT"], dtype="datetime64[D]")
        frame = pd.DataFrame({"day": days.astype("datetime64[ns]"), "same": 1})
        model = OneBatchPAM(2, metric="gower").fit(frame, fixed_medoids=[0, 2])
        for unit in ("s", "ms", "us"):
            new = frame.assign(day=days.astype(f"datetime64[{unit}]"))
            np.testing.assert_allclose(model.transform(new), model.transform(frame), rtol=1e-6)

    @pytest.mark.parametrize(
        ("column", "kind"),
        [
            (pd.Series([1, 2, None], dtype="Int64"), "numeric"),
            (pd.Series([1.5, 2, None]), "numeric"),
            (pd.Series([1, 2.5, None], dtype=object), "numeric"),
            (pd.Series([decimal.Decimal("1.5"), 2, None], dtype=object), "numeric"),
            (pd.Series([1, "2", None], dtype=object), "categorical"),
            (pd.Series([True, False, None], dtype="boolean"), "categorical"),
            (pd.Series([True, False]), "categorical"),
            (pd.Series([None, None], dtype=object), "categorical"),
            (pd.Series(["a", None], dtype="string"), "categorical"),
            (pd.Series([datetime.date(2000, 1, 1), None], dtype=object), "numeric"),
            (pd.Series([1, 2], dtype="category"), "categorical"),
            (pd.Series(pd.Categorical([1, 2], ordered=True)), "ordinal"),
        ],
        ids=str,
    )
    def test_kind_by_default(self, column, kind):
        assert [each.kind for each in tables.columns_of(pd.DataFrame({"x": column}))] == [kind]


def test_integers_are_rounded_as_numpy_does():
    """Arrow would refuse those that float64 cannot hold."""
    large = np.array([2**53 + 1, 2**62, 3, -(2**60)])
    frame = pd.DataFrame({"x": large})
    expected = distance_block(frame, frame, "gower")
    for other in (pa.table({"x": large}), frame.convert_dtypes(dtype_backend="pyarrow"), pl.DataFrame(frame)):
        np.testing.assert_array_equal(distance_block(other, other, "gower"), expected)


def test_integers_that_are_missing():
    values = [1, None, 2**60, 4]
    table = pa.table({"x": values, "y": [1, 2, 3, 4]})
    expected = distance_block(table.to_pandas(), table.to_pandas(), "gower")
    pandas = table.to_pandas(types_mapper=pd.ArrowDtype)
    for other in (table, pandas, pandas.convert_dtypes(dtype_backend="numpy_nullable"), pl.from_arrow(table)):
        np.testing.assert_array_equal(distance_block(other, other, "gower"), expected)


@pytest.mark.parametrize(
    "X",
    [np.array([["a", "x"], ["a", "y"]]), np.array([[True, True], [True, False]]), [["a", 1], ["a", 2]]],
    ids=["strings", "truth values", "lists"],
)
def test_arrays(X):
    np.testing.assert_array_equal(distance_block(X, X, "gower"), [[0, 0.5], [0.5, 0]])


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_every_missing_value_is_one(missing):
    X = np.array([["a", 1], [missing, 1], ["b", 2]], dtype=object)
    block = distance_block(X, X, "gower")
    np.testing.assert_array_equal(block, [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


@pytest.mark.parametrize("missing", [False, 0, "", "nan"])
def test_what_is_not_missing(missing):
    X = np.array([["a", 1], [missing, 1], ["b", 2]], dtype=object)
    assert distance_block(X, X, "gower")[0, 1] == 0.5


def test_polars():
    table = pl.DataFrame(
        {
            "number": [1, None],
            "text": ["a", None],
            "flag": [True, None],
            "enum": pl.Series(["S", None], dtype=pl.Enum(SIZES)),
            "day": [datetime.date(2000, 1, 1), None],
        }
    )
    kinds = {column.name: column.kind for column in tables.columns_of(table)}
    assert kinds == {
        "number": "numeric",
        "text": "categorical",
        "flag": "categorical",
        "enum": "categorical",
        "day": "numeric",
    }


WORDS = ["b", None, "a", "b"]
CODED = {
    "text of pandas": pd.DataFrame({"x": WORDS}),
    "objects of pandas": pd.DataFrame({"x": pd.Series(WORDS, dtype=object)}),
    "categories of pandas": pd.DataFrame({"x": pd.Categorical(WORDS, categories=["a", "b", "c"])}),
    "text of polars": pl.DataFrame({"x": WORDS}),
    "categories of polars": pl.DataFrame({"x": pl.Series(WORDS, dtype=pl.Categorical)}),
    "enum of polars": pl.DataFrame({"x": pl.Series(WORDS, dtype=pl.Enum(["a", "b", "c"]))}),
    "text of Arrow": pa.table({"x": WORDS}),
    "categories of Arrow": pa.table({"x": pa.array(WORDS).dictionary_encode()}),
    "array": np.array(WORDS, dtype=object)[:, np.newaxis],
}


@pytest.mark.parametrize("table", CODED.values(), ids=CODED)
def test_values_are_coded_alike_by_every_library(table):
    (column,) = tables.columns_of(table)
    assert column.values.tolist() == WORDS
    assert column.distinct() == ["b", "a"]
    assert column.n_missing() == 1
    np.testing.assert_array_equal(column.encoded({"a": 5.0}), [tables.UNSEEN, np.nan, 5, tables.UNSEEN])


TRUTHS = [True, None, False, True]


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"x": pd.array(TRUTHS, "boolean")}), pl.DataFrame({"x": TRUTHS}), pa.table({"x": TRUTHS})],
    ids=["pandas", "polars", "Arrow"],
)
def test_truth_values_are_coded_alike_by_every_library(table):
    (column,) = tables.columns_of(table)
    assert column.values.tolist() == TRUTHS
    np.testing.assert_array_equal(column.encoded({True: 1.0, False: 0.0}), [1, np.nan, 0, 1])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": pd.Series([None, None], dtype="str")}),
        pl.DataFrame({"x": [None, None]}, schema={"x": pl.String}),
        pa.table({"x": pa.array([None, None], pa.string())}),
    ],
    ids=["pandas", "polars", "Arrow"],
)
def test_text_of_which_nothing_is_known(table):
    (column,) = tables.columns_of(table)
    assert column.distinct() == []
    assert column.n_missing() == 2
    assert np.isnan(column.encoded({})).all()
