"""What columns are taken for: by default, and by the options."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from onebatchpam import OneBatchPAM
from onebatchpam.cli.columns import ColumnOptions, choose_metric, describe_uses, judge_columns, parse_kinds
from onebatchpam.cli.formats import Table
from onebatchpam.cli.messages import UsageError

N = 60


def make(**columns):
    return Table(pa.table(columns))


def uses_of(table, **options):
    return {use.name: use.use for use in judge_columns(table, ColumnOptions(**options))}


MIXED = make(
    user_id=list(range(N)),
    name=[f"person {i}" for i in range(N)],
    age=[20 + i % 30 for i in range(N)],
    size=["S", "M", "L"] * (N // 3),
    when=[datetime.date(2020, 1, 1 + i % 28) for i in range(N)],
    same=["x"] * N,
    nothing=pa.nulls(N),
    copies=[1.0 + i % 2 for i in range(N)],
    extra=[{"a": 1}] * N,
)


def test_by_default():
    assert uses_of(MIXED) == {
        "user_id": "id",
        "name": "left out",
        "age": "number",
        "size": "category",
        "when": "date",
        "same": "left out",
        "nothing": "left out",
        "copies": "number",
        "extra": "left out",
    }


def test_by_options():
    uses = uses_of(MIXED, columns=["age", "size", "same"], id="name", weight="copies", kinds={"size": ["S", "M", "L"]})
    assert uses["name"] == "id"
    assert uses["copies"] == "weight"
    assert uses["size"] == "ordinal"
    assert uses["same"] == "category"
    assert uses["user_id"] == uses["when"] == "left out"
    assert uses_of(MIXED, drop=["age"])["age"] == "left out"


@pytest.mark.parametrize("name", ["id", "user_id", "userId", "UserID", "Order Key", "index", "Unnamed: 0", ""])
def test_names_of_ids(name):
    assert uses_of(make(**{name: list(range(N)), "x": np.arange(N) % 7}))[name] == "id"


@pytest.mark.parametrize("name", ["paid", "idea", "keys", "width", "unnamed"])
def test_names_of_numbers(name):
    assert uses_of(make(**{name: list(range(N)), "x": np.arange(N) % 7}))[name] == "number"


def test_declared_kinds_are_said():
    kinds = {"a": "asymmetric", "b": "categorical", "c": "ordinal", "d": ["1", "0"], "e": "numeric"}
    uses = judge_columns(make(**{name: [0, 1] * 30 for name in kinds}), ColumnOptions(kinds=kinds))
    said = [" ".join(line.split()) for line in describe_uses(uses)]
    assert said == ["numbers e", "categories b", "in order c, d", "asymmetric a"]


def test_declared_kinds_choose_the_metric():
    uses = judge_columns(MIXED, ColumnOptions(columns=["age"], kinds={"age": "numeric"}))
    assert choose_metric(uses, ColumnOptions(kinds={"age": "numeric"}))[0] == "gower"


def test_a_second_id_is_left_out():
    table = make(a_id=list(range(N)), b_id=list(range(N)), x=np.arange(N) % 7)
    assert uses_of(table) == {"a_id": "id", "b_id": "left out", "x": "number"}
    assert uses_of(table, id="b_id") == {"a_id": "left out", "b_id": "id", "x": "number"}


def test_an_id_that_repeats_is_a_number():
    assert uses_of(make(group_id=np.arange(N) % 7, x=np.arange(N) % 5))["group_id"] == "number"


def test_text_alone_is_compared_as_text():
    table = make(id=list(range(N)), text=[f"text {i}" for i in range(N)])
    uses = judge_columns(table, ColumnOptions())
    assert [use.use for use in uses] == ["id", "text"]
    assert choose_metric(uses, ColumnOptions())[0] == "levenshtein"


@pytest.mark.parametrize(
    ("columns", "metric"),
    [
        ({"a": [1, 2, 3], "b": [1.5, 2.5, 3.0]}, "euclidean"),
        ({"a": [1, None, 3], "b": [1.5, 2.5, 3.0]}, "gower"),
        ({"a": [1.0, np.nan, 3.0], "b": [1.5, 2.5, 3.0]}, "gower"),
        ({"a": [1, 2, 3], "b": ["x", "y", "x"]}, "gower"),
        ({"a": [1, 2, 3], "b": [True, False, True]}, "gower"),
        ({"a": [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]], "b": ["x", "y", "x"]}, "euclidean"),
    ],
)
def test_the_metric_that_is_chosen_works(columns, metric):
    table = make(**columns)
    uses = judge_columns(table, ColumnOptions())
    assert choose_metric(uses, ColumnOptions())[0] == metric
    compared = [use.name for use in uses if use.is_compared]
    X = np.array(table.column("a").to_pylist()) if compared == ["a"] else table.chosen(compared)
    OneBatchPAM(2, metric=metric).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"columns": ["agee"]},
            r"there is no column 'agee' \(did you mean 'age'\?\): expected names among user_id, name",
        ),
        ({"drop": ["x"]}, "there is no column 'x'"),
        ({"id": "x"}, "there is no column 'x'"),
        ({"columns": ["extra"]}, "column 'extra' holds values of type struct"),
        ({"columns": ["age"], "drop": ["age"]}, "no column is left"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        judge_columns(MIXED, ColumnOptions(**options))


def test_kinds():
    assert parse_kinds(["a=ordinal", "b=S<M<L"]) == {"a": "ordinal", "b": ["S", "M", "L"]}
    for wrong in ("a", "=ordinal", "a=", "a=text"):
        with pytest.raises(UsageError, match="expected COLUMN=KIND"):
            parse_kinds([wrong])
