"""metric="gower" warns of columns that may only blur the clusters: ids, constants, dates as text."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from onebatchpam import OneBatchPAM, RandomMedoids, select_k
from onebatchpam.metrics.columns import (
    are_dates_as_text,
    are_numbers_like_ids,
    describe_dominant,
    nearly_all_differ,
)

N = 300


def make_table(**columns):
    rng = np.random.RandomState(1)
    return pd.DataFrame(
        {
            "age": rng.randint(18, 80, N),
            "income": rng.lognormal(10, 0.5, N).round(),
            "town": rng.choice(["Paris", "Lyon", "Nice"], N),
            "member": rng.rand(N) < 0.5,
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D"),
            **columns,
        }
    )


def texts_of_fit(X, metric_params=None, **arguments):
    """Return the texts of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RandomMedoids(3, metric="gower", metric_params=metric_params, random_state=0).fit(X, **arguments)
    return [str(warning.message) for warning in caught]


def test_a_good_table():
    assert texts_of_fit(make_table()) == []


SHUFFLED = np.random.RandomState(0).permutation(N)
ODD = {
    "ascending": (np.arange(N) + 10**9, "like ids: 'ascending'"),
    "sparse": (np.arange(N) ** 3, "like ids: 'sparse'"),
    "descending": (-np.arange(N), "like ids: 'descending'"),
    "shuffled": (SHUFFLED, "like ids: 'shuffled'"),
    "floats": (SHUFFLED.astype(float), "like ids: 'floats'"),
    "names": ([f"name {i}" for i in SHUFFLED], "like ids: 'names'"),
    "almost": ([f"name {i % 280}" for i in SHUFFLED], "like ids: 'almost'"),
    "categories": (pd.Categorical([f"name {i}" for i in SHUFFLED]), "like ids: 'categories'"),
    "currency": (["EUR"] * N, "constant: 'currency'"),
    "one": (np.ones(N), "constant: 'one'"),
    "always": (np.ones(N, dtype=bool), "constant: 'always'"),
    "unknown": ([None] * N, "constant: 'unknown'"),
    "day": (pd.date_range("2018-05-20", periods=N).strftime("%Y-%m-%d"), "dates as text: 'day'"),
    "moment": (["2018-05-20 10:30:00", "2019-01-02T00:00:01+02:00", None] * (N // 3), "dates as text: 'moment'"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_columns(name):
    values, message = ODD[name]
    (text,) = texts_of_fit(make_table(**{name: values}), candidates="all")
    assert f"may only blur the clusters ({message}): drop them" in text
    assert f"metric_params={{'weights': {{{name!r}: 0}}}}" in text
    assert "pandas.to_datetime" in text


@pytest.mark.parametrize(
    "values",
    [
        np.random.RandomState(0).randint(0, 1000, N),  # whole numbers, some of which coincide
        np.random.RandomState(0).choice(10**6, N, replace=False),  # so large that they differ by chance
        np.random.RandomState(0).rand(N),
        [f"name {i % 200}" for i in range(N)],
        ["20180520", "2018-05-20", "soon"] * (N // 3),
    ],
    ids=["coincident", "large", "fractions", "names", "texts"],
)
def test_columns_that_are_not_odd(values):
    assert texts_of_fit(make_table(column=values)) == []


def test_one_warning_names_all():
    table = make_table(id=np.arange(N), mail=[f"{i}@x.org" for i in range(N)], currency="EUR", day="2018-05-20")
    table.loc[5, "day"] = "2018-05-21"
    (text,) = texts_of_fit(table)
    assert "(like ids: 'id', 'mail'; constant: 'currency'; dates as text: 'day')" in text
    for same in (pl.from_pandas(table), np.array(table.astype(object))):
        assert len(texts_of_fit(same)) == 1


def test_columns_of_which_the_user_speaks():
    table = make_table(id=np.arange(N), rank=SHUFFLED)
    assert texts_of_fit(table, {"weights": {"id": 0}, "kinds": {"rank": "ordinal"}}) == []
    assert "'rank'" in texts_of_fit(table, {"weights": {"id": 0}})[0]


def test_small_tables_are_not_judged():
    table = make_table(id=np.arange(N), currency="EUR", day="2018-05-20")
    assert texts_of_fit(table[:19]) == []
    assert len(texts_of_fit(table[:20])) == 1


def test_parquet(tmp_path, small_windows):
    table = make_table(id=np.arange(N), currency="EUR", name=[f"name {i % 40}" for i in range(N)])
    table.to_parquet(tmp_path / "table.parquet", row_group_size=40)  # within a row group, all names differ
    assert texts_of_fit(tmp_path / "table.parquet") == texts_of_fit(table)
    assert "(like ids: 'id'; constant: 'currency')" in texts_of_fit(table)[0]


def test_select_k():
    with pytest.warns(UserWarning, match="like ids: 'id'"):
        select_k(make_table(id=np.arange(N)), [2, 3], OneBatchPAM(metric="gower", random_state=0))


def test_numbers_that_look_like_ids():
    assert are_numbers_like_ids(np.arange(19.0)) is None
    assert are_numbers_like_ids(np.r_[np.full(30, np.nan), np.arange(19)]) is None
    assert are_numbers_like_ids(np.r_[np.arange(20.0), np.nan])
    assert not are_numbers_like_ids(np.r_[np.arange(20.0), 0])
    assert not are_numbers_like_ids(np.arange(20) + 0.5)


def test_dates_as_text():
    assert are_dates_as_text(["2018-05-20", "2018-05-20 11:00"])
    for values in ([], ["2018-05"], ["2018-05-20", "x"], ["2018-05-20", None], [20180520], ["2018-05-20-7"]):
        assert not are_dates_as_text(values)


class TestNewRows:
    def fit(self):
        return OneBatchPAM(3, metric="gower", random_state=0).fit(make_table())

    @pytest.mark.parametrize(
        ("column", "values", "message"),
        [
            (
                "joined",
                "2018-05-20",
                "column 'joined' was a date in the fit; is text here: expected a date, as pandas.to_d",
            ),
            ("joined", 17.0, "column 'joined' was a date in the fit; is a number here"),
            ("joined", pd.Timedelta("1D"), "column 'joined' was a date in the fit; is a duration here"),
            ("age", pd.Timestamp("2018-05-20"), "column 'age' was a number in the fit; is a date here"),
        ],
    )
    def test_another_content_than_in_the_fit(self, column, values, message):
        with pytest.raises(ValueError, match=message):
            self.fit().predict(make_table(**{column: values}))

    def test_missing_dates(self):
        model, table = self.fit(), make_table()
        expected = model.predict(table.assign(joined=pd.NaT))
        for missing in (None, np.nan):
            np.testing.assert_array_equal(model.predict(table.assign(joined=missing)), expected)


@pytest.mark.parametrize(
    ("n_distinct", "n", "expected"), [(20, 20, True), (19, 19, False), (18, 20, True), (17, 20, False)]
)
def test_nearly_all_differ(n_distinct, n, expected):
    assert nearly_all_differ(n_distinct, n) == expected


class TestDominant:
    @pytest.mark.parametrize(
        ("metric", "words"),
        [
            ("euclidean", "makes up 90% of the squared euclidean distances"),
            ("sqeuclidean", "makes up 90% of the squared euclidean distances"),
            ("l2", "makes up 90% of the squared euclidean distances"),
        ],
    )
    def test_squares(self, metric, words):
        name, why = describe_dominant({"small": 1.0, "large": 3.0}, metric)
        assert (name, why.startswith(words)) == ("large", True)

    def test_a_manhattan_distance_adds_up_differences(self):
        assert describe_dominant({"small": 1.0, "large": 3.0}, "manhattan") is None
        assert describe_dominant({"small": 1.0, "large": 9.0}, "l1")[1].startswith("makes up 90% of the manhattan")

    @pytest.mark.parametrize("spreads", [{}, {"a": 1.0}, {"a": 0.0, "b": 0.0}, {"a": np.nan, "b": 1.0}])
    def test_nothing_to_compare(self, spreads):
        assert describe_dominant(spreads, "euclidean") is None

    @pytest.mark.parametrize("metric", ["gower", "seuclidean", "cosine", "a function"])
    def test_other_metrics(self, metric):
        assert describe_dominant({"small": 1.0, "large": 1000.0}, metric) is None
