"""Gower's dissimilarity, for tables with columns of several kinds and missing values.

    d(a, b) = sum_f w_f s_f(a, b) / sum_f w_f,    over the columns f in which both rows have a value

where s_f is |a - b| / range for numbers and for ranks, and 0 or 1 for categories. An asymmetric column holds 0 and 1;
it does not count if both rows have 0. If no column counts, the textbook defines no value; here d is 0 if both rows have
0 in an asymmetric column, as Jaccard's of two empty sets, and otherwise 1, as for rows that differ in every column.

A table is encoded once, as numbers for which s_f = min(|a - b|, 1) in every column: numbers and ranks are divided by
their range, categories become whole numbers, and missing values NaN. The 0 of an asymmetric column becomes infinity: it
is 1 away from every number, and the difference of two infinities is NaN, which does not count. So one native kernel
serves all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import rows_per_tile, tile_bounds
from onebatchpam.data import (
    Rows,
    TableColumn,
    TableRows,
    are_strings,
    as_objects,
    check_table,
    column_names,
    columns_of,
    take_rows,
)
from onebatchpam.metrics.base import Metric, Points
from onebatchpam.metrics.columns import (
    CONSTANT,
    DATES_AS_TEXT,
    FEWEST_ROWS,
    LIKE_IDS,
    ROWS_TO_JUDGE,
    advise_on_columns,
    are_dates_as_text,
    are_numbers_like_ids,
    nearly_all_differ,
)

ASYMMETRIC_CODES = {False: np.inf, True: 0.0}  # Python and NumPy look up 0 and 0.0 as False, 1 and 1.0 as True

MAX_CATEGORIES = 2**24  # float32 holds all whole numbers up to this one


@dataclass(frozen=True)
class NumericEncoder:
    """The encoding of a numeric column: its smallest number becomes 0, its largest 1."""

    low: float
    range: float
    content: str = "a number"

    @classmethod
    def of(cls, column: TableColumn) -> NumericEncoder:
        """Learn the range of the column."""
        numbers = column.as_floats()
        known = numbers[~np.isnan(numbers)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        if not np.isfinite(high - low):
            raise ValueError(
                f"column {column.name!r} ranges from {low} to {high}: expected a range that fits in float64; rescale it"
            )
        return cls(low, high - low, describe_content(column))

    def encode(self, column: TableColumn) -> NDArray[np.float64]:
        content = describe_content(column)
        is_time = {content, self.content} & set(TIMES.values())
        if is_time and content != self.content and column.n_missing() < len(column.values):
            raise ValueError(
                f"column {column.name!r} was {self.content} in the fit; is {content} here: expected {self.content}, as "
                "pandas.to_datetime and pandas.to_timedelta parse them"
            )
        numbers = column.as_floats()
        # A constant column has no range by which to measure other numbers: it adds nothing to any dissimilarity.
        return (numbers - self.low) / self.range if self.range else np.where(np.isnan(numbers), np.nan, 0.0)


# What the types of NumPy for dates and durations hold, in words.
TIMES = {"M": "a date", "m": "a duration"}


def describe_content(column: TableColumn) -> str:
    """Return what the values of a column are, in words."""
    return TIMES.get(column.values.dtype.kind, "a number" if column.holds_numbers else "text")


@dataclass(frozen=True)
class LevelEncoder:
    """The encoding of a column of categories: the code of each category."""

    codes: dict[Any, float]

    @classmethod
    def of(cls, column: TableColumn) -> LevelEncoder:
        """Give each category a whole number."""
        values = column.distinct()
        if len(values) > MAX_CATEGORIES:
            raise ValueError(f"column {column.name!r} has {len(values)} categories: expected at most {MAX_CATEGORIES}")
        return cls({value: float(code) for code, value in enumerate(values)})

    @classmethod
    def ordered(cls, column: TableColumn, levels: list[Any] | None) -> LevelEncoder:
        """Give each category its rank, scaled so that the lowest and the highest that occur differ by 1."""
        present = column.distinct()
        if levels is None and not column.holds_numbers:
            raise ValueError(
                f"the order of the values of column {column.name!r} is not known: expected an ordered categorical, "
                f"numbers, or a list of the values in their order, as kinds={{{column.name!r}: ['low', 'high']}}"
            )
        ranks = {level: rank for rank, level in enumerate(sorted(present) if levels is None else levels)}
        unknown = [value for value in present if value not in ranks]
        if unknown:
            raise ValueError(f"column {column.name!r} holds {unknown[0]!r}: expected one of {list(ranks)}")
        found = [ranks[value] for value in present] or [0]
        extent = max(1, max(found) - min(found))
        return cls({level: rank / extent for level, rank in ranks.items()})

    def encode(self, column: TableColumn) -> NDArray[np.float64]:
        return column.encoded(self.codes)


@dataclass(frozen=True)
class AsymmetricEncoder:
    """The encoding of a column of truth values in which only a common 1 makes rows alike."""

    @classmethod
    def of(cls, column: TableColumn) -> AsymmetricEncoder:
        """Check the values of the column; there is nothing to learn from them."""
        encoder = cls()
        encoder.encode(column)
        return encoder

    def encode(self, column: TableColumn) -> NDArray[np.float64]:
        encoded = column.encoded(ASYMMETRIC_CODES)
        others = [value for value in column.distinct() if value not in ASYMMETRIC_CODES]
        if others:
            raise ValueError(
                f"column {column.name!r} is asymmetric and holds {others[0]!r}: expected 0 and 1, or False and True; "
                f"make it a column of truth values, as X[{column.name!r}] == {others[0]!r}"
            )
        return encoded


Encoder = NumericEncoder | LevelEncoder | AsymmetricEncoder


@dataclass(frozen=True)
class Encoding:
    """The encoding of a table, learnt from the fitted data, and the weights of its columns."""

    names: list[Hashable]
    encoders: list[Encoder]
    weights: NDArray[np.float32]
    # Whether some rows, but not most, lack a value of the column, and it has a weight; None in models of 0.1.0.
    lacking: NDArray[np.bool_] | None = None

    def encode(self, table: Any) -> NDArray[np.float32]:
        """Return a row of numbers for each row of a table."""
        encoded = np.empty(table.shape, dtype=np.float32)
        with np.errstate(over="ignore"):  # a new number far out of range may become infinite, a full mismatch
            for position, column in enumerate(columns_of(table)):
                encoded[:, position] = self.encoders[position].encode(column)
        return encoded


KINDS: dict[str, Callable[[TableColumn], Encoder]] = {
    "numeric": NumericEncoder.of,
    "ordinal": lambda column: LevelEncoder.ordered(column, column.levels),
    "categorical": LevelEncoder.of,
    "asymmetric": AsymmetricEncoder.of,
}


def make_encoder(column: TableColumn, kind: Any) -> Encoder:
    """Learn the encoding of a column of this kind from its values."""
    if isinstance(kind, (list, tuple)):
        return LevelEncoder.ordered(column, list(kind))
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind](column)
    raise ValueError(
        f"kinds[{column.name!r}]={kind!r}: expected one of {', '.join(map(repr, KINDS))}, or a list of values in order"
    )


def check_names(given: Mapping[Hashable, Any], names: list[Hashable], what: str) -> None:
    """Raise if a key of `given` is not the name of a column."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{what} names the column {unknown[0]!r}, which X does not have: expected names among {names}")


def check_column_weights(weights: Any, names: list[Hashable]) -> NDArray[np.float32]:
    """Return the weights of all columns, scaled so that the largest is 1; a column without a weight has weight 1."""
    if isinstance(weights, Mapping):
        check_names(weights, names, "weights")
        weights = [weights.get(name, 1.0) for name in names]
    array = np.ones(len(names)) if weights is None else np.asarray(weights, dtype=np.float64)
    if array.shape != (len(names),) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError(
            f"weights={weights!r}: expected {len(names)} finite weights that are not negative and not all zero, or a "
            "dictionary as {column name: weight}"
        )
    return (array / array.max()).astype(np.float32)


@dataclass(frozen=True)
class TableSummary:
    """What a fit must know of a table, or of a part of it."""

    columns: list[TableColumn]  # short columns that have the same encoding
    n_rows: int
    n_known: NDArray[np.int64]  # number of values of each column that are not missing
    are_ids: list[bool | None]  # whether the numbers of each column look like ids; None if that cannot be told

    @classmethod
    def of(cls, table: Any, kinds: Mapping[Hashable, Any]) -> TableSummary:
        """Summarise a table in memory."""
        short, n_known, are_ids = [], [], []
        for column in columns_of(table):
            short.append(shorten(column, kinds))
            n_known.append(len(column.values) - column.n_missing())
            are_ids.append(holds_ids(column))
        return cls(short, table.shape[0], np.array(n_known), are_ids)

    @classmethod
    def joined(cls, parts: list[TableSummary]) -> TableSummary:
        """Return the summary of a table, given those of its parts."""
        columns = [merge_columns(list(column)) for column in zip(*(part.columns for part in parts), strict=True)]
        judged = [set(column) - {None} for column in zip(*(part.are_ids for part in parts), strict=True)]
        n_rows, n_known = sum(part.n_rows for part in parts), np.sum([part.n_known for part in parts], axis=0)
        return cls(columns, n_rows, n_known, [all(each) if each else None for each in judged])

    def find_oddity(self, position: int, encoder: Encoder) -> str | None:
        """Return why a column, given with its encoder, may spoil a clustering; None if there is no reason."""
        if self.n_rows < FEWEST_ROWS or isinstance(encoder, AsymmetricEncoder):
            return None
        if isinstance(encoder, NumericEncoder):
            return CONSTANT if encoder.range == 0 else LIKE_IDS if self.are_ids[position] else None
        categories = list(encoder.codes)
        if len(categories) < 2:
            return CONSTANT
        if are_dates_as_text(categories[:ROWS_TO_JUDGE]):
            return DATES_AS_TEXT
        return LIKE_IDS if nearly_all_differ(len(categories), int(self.n_known[position])) else None


def holds_ids(column: TableColumn) -> bool | None:
    """Tell whether the numbers of a column look like ids, to judge by its first rows; None if that cannot be told."""
    head = column.with_values(column.values[:ROWS_TO_JUDGE])
    is_number = head.kind == "numeric" and head.values.dtype.kind not in TIMES
    return are_numbers_like_ids(head.as_floats()) if is_number else None


def shorten(column: TableColumn, kinds: Mapping[Hashable, Any]) -> TableColumn:
    """Return a short column that has the same encoding: the smallest and the largest number, or all distinct values."""
    if column.values.dtype.kind in "iufmM" and kinds.get(column.name, "numeric") == "numeric":
        known = column.values[~np.isnat(column.values)] if column.values.dtype.kind in "mM" else column.values
        known = known[known == known]
        extremes = column.with_values(np.array([known.min(), known.max()]) if len(known) else known)
        extremes.as_floats()  # raises if a number is infinite: here, because the caller knows to which part it belongs
        return extremes
    return column.with_values(as_objects(column.distinct()))


def merge_columns(parts: list[TableColumn]) -> TableColumn:
    """Join the parts of a column; its levels are those of the part that has the most levels."""
    known = [part for part in parts if len(part.values)] or parts[:1]
    levels = max((part.levels for part in known if part.levels is not None), key=len, default=None)
    values = np.concatenate([part.values for part in known])
    return TableColumn(known[0].name, values, levels, all(part.is_ordered for part in known))


@dataclass(frozen=True)
class Gower(Metric):
    """Gower's dissimilarity; `encoding` is None until it is fitted."""

    kinds: Mapping[Hashable, Any]
    weights: Any = None
    encoding: Encoding | None = None
    advice: str | None = None

    @classmethod
    def with_params(cls, params: Mapping[str, Any]) -> Gower:
        """Return the metric with these `metric_params`."""
        unknown = [name for name in params if name not in ("kinds", "weights")]
        if unknown:
            raise ValueError(
                f"metric='gower' has no parameter {unknown[0]!r}: expected metric_params among ['kinds', 'weights']"
            )
        kinds = params.get("kinds")
        if kinds is not None and not isinstance(kinds, Mapping):
            raise ValueError(f"kinds={kinds!r}: expected a dictionary as {{column name: kind}}")
        return cls(kinds or {}, params.get("weights"))

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> TableRows:
        if are_strings(X):
            raise ValueError(f"{name} holds strings: expected a table, or a metric of text like 'levenshtein'")
        rows = check_table(X, name, estimator)
        if self.encoding is not None and estimator is None:  # an estimator checks the names itself
            names = column_names(rows.header)
            if names is not None and names != self.encoding.names:
                raise ValueError(f"{name} has the columns {names}: expected those of X, {self.encoding.names}")
        return rows

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Gower:
        return self.fit_parts([self.summarise(rows, weights)])

    def summarise(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> TableSummary:
        assert isinstance(rows, TableRows)  # `check` returns such rows
        parts = []
        for part, table in rows.parts():
            if weights is not None and not weights[part].all():  # rows of weight zero do not count
                table = take_rows(table, np.flatnonzero(weights[part]))
            parts.append(TableSummary.of(table, self.kinds))
        return TableSummary.joined(parts)

    def fit_parts(self, summaries: list[TableSummary]) -> Gower:
        summary = TableSummary.joined(summaries)
        names = [column.name for column in summary.columns]
        check_names(self.kinds, names, "kinds")
        encoders = [make_encoder(column, self.kinds.get(column.name, column.kind)) for column in summary.columns]
        weights, n_rows, n_known = check_column_weights(self.weights, names), summary.n_rows, summary.n_known
        # A row can be typical although it lacks a value that most rows lack.
        lacking = (weights > 0) & (n_known < n_rows) & (2 * n_known > n_rows)
        oddities = {
            name: summary.find_oddity(position, encoders[position])
            for position, name in enumerate(names)
            if weights[position] > 0 and name not in self.kinds
        }
        encoding = Encoding(names, encoders, weights, lacking)
        return replace(self, encoding=encoding, advice=advise_on_columns(oddities))

    @property
    def lacks_values(self) -> bool:  # type: ignore[override]
        lacking = None if self.encoding is None else self.encoding.lacking
        return lacking is not None and bool(lacking.any())

    def are_complete(self, rows: Rows) -> NDArray[np.bool_]:
        assert self.encoding is not None  # the metric is fitted
        complete = np.empty(rows.n, dtype=bool)
        for part in tile_bounds(rows.n, _tiles.TILE_ENTRIES // rows.row_size):
            complete[part] = ~np.isnan(rows.tile(part)[:, self.encoding.lacking]).any(axis=1)
        return complete

    def encode(self, rows: Rows) -> Rows:
        assert isinstance(rows, TableRows) and self.encoding is not None  # noqa: PT018 (checked rows, fitted metric)
        return rows.encoded(self.encoding.encode)

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        raise ValueError("variant='lwcs' needs the mean of the rows, and metric='gower' has none: use another variant")

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        assert self.encoding is not None  # the metric is fitted
        return GowerPoints(points, self.encoding.weights, n_jobs)


class GowerPoints(Points):
    """Encoded points, packed for the native kernel."""

    dtype = np.dtype(np.float32)

    def __init__(self, points: Rows, weights: NDArray[np.float32], n_jobs: int) -> None:
        self.n = points.n
        self.tile_rows = rows_per_tile(points.n, points.row_size, _tiles.NATIVE_TILE_WORK)
        self._packed = _core.GowerColumns(np.ascontiguousarray(points.tile(slice(0, points.n))), weights)
        self.n_jobs = n_jobs

    def fill(self, tile: NDArray[np.float32], out: NDArray[Any]) -> None:
        self._packed.fill(np.ascontiguousarray(tile), out, self.n_jobs)
