"""Frames of every library give the same rows, and a column that a metric cannot compare is named in one sentence."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from onebatchpam import OneBatchPAM, distance_block
from onebatchpam.data import frames

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N = 20
NUMBERS = np.random.RandomState(0).rand(N, 2)
LIBRARIES = {"pandas": pd.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}

TEXT = [*"abcd"] * 5
DATES = [datetime.datetime(2020, 1, 1 + day) for day in range(N)]


@pytest.fixture(params=LIBRARIES)
def make(request):
    """Return a function that makes a frame of one of the libraries from a dictionary of columns."""
    return LIBRARIES[request.param]


def fit(X, metric="euclidean", **params):
    return OneBatchPAM(2, metric=metric, random_state=0, **params).fit(X)


class TestNumbers:
    def test_same_as_an_array(self, make):
        frame = make({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]})
        model = fit(frame)
        np.testing.assert_array_equal(model.labels_, fit(NUMBERS).labels_)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        assert list(model.feature_names_in_) == ["a", "b"]

    def test_truth_values_and_whole_numbers(self, make):
        frame = make({"a": [True, False] * 10, "b": list(range(N))})
        expected = np.column_stack([np.tile([1.0, 0.0], 10), np.arange(N)])
        np.testing.assert_array_equal(fit(frame).labels_, fit(expected).labels_)

    def test_numbers_in_a_column_of_objects(self):
        frame = pd.DataFrame({"a": NUMBERS[:, 0].astype(object), "b": NUMBERS[:, 1]})
        np.testing.assert_array_equal(fit(frame).labels_, fit(NUMBERS).labels_)


class TestColumnsThatAreNotNumbers:
    @pytest.mark.parametrize(
        ("values", "held"),
        [(TEXT, "text"), (DATES, "dates"), ([datetime.timedelta(days) for days in range(N)], "times")],
        ids=["text", "dates", "times"],
    )
    def test_every_library(self, make, values, held):
        message = (
            rf"^column 'b' of X holds {held}: expected numbers; pass metric='gower', which compares mixed tables, or "
            "leave the column out$"
        )
        with pytest.raises(ValueError, match=message):
            fit(make({"a": NUMBERS[:, 0], "b": values}))

    @pytest.mark.parametrize(
        "column",
        [
            pd.Categorical(TEXT),
            pd.Categorical(TEXT, ordered=True),
            polars.Series(TEXT, dtype=polars.Categorical),
            polars.Series(TEXT, dtype=polars.Enum([*"abcd"])),
            pyarrow.array(TEXT).dictionary_encode(),
        ],
        ids=["pandas", "pandas ordered", "polars", "polars Enum", "Arrow"],
    )
    def test_categories(self, column):
        library = type(column).__module__.partition(".")[0].replace("pyarrow", "arrow")
        frame = LIBRARIES[library]({"a": NUMBERS[:, 0], "b": column})
        with pytest.raises(ValueError, match="column 'b' of X holds categories: expected numbers"):
            fit(frame)

    def test_objects_of_pandas(self):
        frame = pd.DataFrame({"a": NUMBERS[:, 0], "b": [1, "x"] * 10})
        with pytest.raises(ValueError, match="column 'b' of X holds 'x' of type str: expected numbers"):
            fit(frame)

    @pytest.mark.parametrize("metric", ["manhattan", "cosine", "canberra"])
    def test_every_metric_of_numbers(self, metric):
        with pytest.raises(ValueError, match="column 'b' of X holds text"):
            fit(pd.DataFrame({"a": NUMBERS[:, 0], "b": TEXT}), metric)

    def test_new_rows(self):
        model = fit(pd.DataFrame(NUMBERS, columns=["a", "b"]))
        with pytest.raises(ValueError, match="column 'b' of X holds text"):
            model.predict(pd.DataFrame({"a": NUMBERS[:, 0], "b": TEXT}))

    @pytest.mark.parametrize("X", [[["a", 1]] * N, np.array([["a", "b"]] * N), np.array([["a", 1]] * N, dtype=object)])
    def test_text_in_an_array(self, X):
        with pytest.raises(ValueError, match=r"^X\[0, 0\] is 'a': expected numbers; pass metric='gower'"):
            fit(X)

    @pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]"])
    def test_an_array_of_dates(self, kind):
        with pytest.raises(ValueError, match=r"X is of type \w+64\[s\]: expected numbers"):
            fit(np.arange(40).reshape(N, 2).astype(kind))


class TestMissingValues:
    def test_a_frame_names_the_column(self, make):
        frame = make({"a": NUMBERS[:, 0].tolist(), "b": [None, 1.5, None, 2.5] * 5})
        message = (
            r"^column 'b' of X lacks 10 of 20 values \(NaN\): pass metric='nan_euclidean' or 'gower', which take "
            "missing values, or fill them in$"
        )
        with pytest.raises(ValueError, match=message):
            fit(frame)
        fit(frame, "gower")
        fit(frame, "nan_euclidean")

    @pytest.mark.parametrize("column", [[np.nan, 1.5] * 10, pd.array([None, 1] * 10, dtype="Int64"), [None, True] * 10])
    def test_pandas(self, column):
        with pytest.raises(ValueError, match="column 'b' of X lacks 10 of 20 values"):
            fit(pd.DataFrame({"a": NUMBERS[:, 0], "b": column}))

    def test_an_array_names_the_entry(self):
        X = NUMBERS.copy()
        X[4, 1] = np.nan
        with pytest.raises(ValueError, match=r"^X\[4, 1\] is missing \(NaN\): expected numbers; pass metric='nan_euc"):
            fit(X)
        X[3, 0] = np.inf
        for metric in ("euclidean", "nan_euclidean"):
            with pytest.raises(ValueError, match=r"^X\[3, 0\] is inf: expected finite numbers$"):
                fit(X, metric)


class TestVectors:
    """A column of vectors, such as embeddings, is the matrix."""

    @pytest.mark.parametrize(
        "X",
        [
            pd.Series([*NUMBERS]),
            pd.DataFrame({"embedding": [*NUMBERS]}),
            pd.Series(NUMBERS.tolist()),
            polars.Series(NUMBERS.tolist()),
            polars.Series(NUMBERS.tolist(), dtype=polars.Array(polars.Float64, 2)),
            polars.DataFrame({"embedding": NUMBERS.tolist()}),
            pyarrow.array(NUMBERS.tolist()),
            pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(NUMBERS.ravel()), 2),
            pyarrow.table({"embedding": NUMBERS.tolist()}),
            np.fromiter(NUMBERS, dtype=object, count=N),
        ],
        ids=lambda X: type(X).__module__.partition(".")[0] + type(X).__name__,
    )
    def test_same_as_a_matrix(self, X):
        model, expected = fit(X), fit(NUMBERS)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)

    def test_different_lengths(self):
        with pytest.raises(ValueError, match=r"X\[0\] has 2 numbers and X\[3\] has 4: expected vectors"):
            fit(pd.Series([[1, 2], [3, 4], [5, 6], [1, 2, 3, 4]]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (polars.DataFrame({"a": [1.0]}).lazy(), r"X is a lazy frame of polars: expected data in memory; pass X\.coll"),
        (pd.DataFrame(NUMBERS, columns=["a", "a"]), "X has several columns 'a': expected distinct names"),
        ([[1, 2], [3]], "X holds rows of different lengths: expected rows of numbers, all of the same length"),
        (
            NUMBERS[:, 0],
            r"X has shape \(20,\): expected a table with rows and features. Reshape your data by X",
        ),
        (NUMBERS[:, :2, None], r"X has shape \(20, 2, 1\): expected a table .*, such as X\.reshape\(len\(X\), -1\)"),
        (5, r"X is of type int: expected rows of numbers"),
        ("rows.csv", r"X is the path 'rows\.csv': .*; load it with pandas\.read_csv\('rows\.csv'\)"),
    ],
    ids=str,
)
def test_what_is_not_a_table(X, message):
    with pytest.raises(ValueError, match=message):
        fit(X)


class Tensor:
    """Stands for an array of torch, on a device from which NumPy cannot read."""

    def __array__(self, *arguments, **keywords):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def detach(self):
        return self


def test_a_tensor_that_numpy_cannot_read(monkeypatch):
    monkeypatch.setattr(Tensor, "__module__", "torch")
    with pytest.raises(ValueError, match=r"X is of type Tensor, which NumPy cannot read \(can't .* pass X\.cpu\(\)"):
        fit(Tensor())


def test_rows_of_a_frame_keep_its_index(make):
    frame = make({"a": NUMBERS[:, 0], "b": TEXT})
    rows = frames.take_rows(frame, np.array([3, 1]))
    assert type(rows) is type(frame)
    assert frames.open_frame(rows, "X")["b"].to_list() == ["d", "b"]


def test_dates_as_objects_are_dates(make):
    """An array of objects and a frame of dates have the same dissimilarities."""
    X = np.array([[date, value] for date, value in zip(DATES, NUMBERS[:, 0], strict=True)], dtype=object)
    frame = make({"date": DATES, "value": NUMBERS[:, 0]})
    np.testing.assert_array_equal(distance_block(X, X, "gower"), distance_block(frame, frame, "gower"))


def test_times_with_a_zone():
    east = datetime.timezone(datetime.timedelta(hours=1))
    plain, zoned = (np.array([[date] for date in dates], dtype=object) for dates in (DATES, map_zone(DATES, east)))
    np.testing.assert_array_equal(distance_block(plain, plain, "gower"), distance_block(zoned, zoned, "gower"))


def map_zone(dates, zone):
    """Return the same instants in another time zone."""
    return [date.replace(tzinfo=datetime.UTC).astimezone(zone) for date in dates]
