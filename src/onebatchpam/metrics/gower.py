"""Gower's dissimilarity, for tables whose columns are of several kinds and may lack values.

    d(a, b) = sum_f w_f s_f(a, b) / sum_f w_f,    over the columns f in which both rows have a value

where s_f is |a - b| / range for numbers and for ranks, and 0 or 1 for categories. Rows without a column in common, for
which the textbook has no value, are at distance 1: as far apart as rows can be. A table is encoded once, each column
such that s_f = min(|a - b|, 1): numbers and ranks divided by their range, categories as whole numbers, missing values
as NaN. So one native kernel serves all kinds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import rows_per_tile
from onebatchpam.data import Rows, TableColumn, TableRows, check_table, column_names, columns_of, take_rows
from onebatchpam.metrics.base import Metric, Points

KINDS = ("numeric", "ordinal", "categorical")

MAX_CATEGORIES = 2**24  # float32 holds whole numbers up to here


@dataclass(frozen=True)
class Numbers:
    """How a numeric column is encoded: 0 is its smallest number, 1 its largest."""

    low: float
    range: float

    @classmethod
    def of(cls, column: TableColumn) -> Numbers:
        numbers = column.numbers()
        known = numbers[~np.isnan(numbers)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        if not np.isfinite(high - low):
            raise ValueError(f"column {column.name!r} ranges from {low} to {high}: rescale it")
        return cls(low, high - low)

    def encode(self, column: TableColumn) -> NDArray[np.float64]:
        numbers = column.numbers()
        # A constant has no scale to measure other numbers by: it adds nothing.
        return (numbers - self.low) / self.range if self.range else np.where(np.isnan(numbers), np.nan, 0.0)


@dataclass(frozen=True)
class Levels:
    """How a column of categories is encoded."""

    codes: dict[Any, float]

    @classmethod
    def of(cls, column: TableColumn) -> Levels:
        """Give each category a whole number."""
        values = column.distinct()
        if len(values) > MAX_CATEGORIES:
            raise ValueError(f"column {column.name!r} has {len(values)} categories: expected at most {MAX_CATEGORIES}")
        return cls({value: float(code) for code, value in enumerate(values)})

    @classmethod
    def ordered(cls, column: TableColumn, levels: list[Any] | None) -> Levels:
        """Give each category its rank, with a difference of 1 between the lowest and the highest that occur."""
        present = column.distinct()
        if levels is None and not column.holds_numbers:
            raise ValueError(
                f"the order of the values of column {column.name!r} is not known: expected an ordered categorical, "
                "numbers, or the list of its values in their order, as kinds={...: ['low', 'high']}"
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
class Encoding:
    """What the fitted data said: the columns, their ranges and categories; and how much each column weighs."""

    names: list[Hashable]
    encoders: list[Numbers | Levels]
    weights: NDArray[np.float32]

    def encode(self, table: Any) -> NDArray[np.float32]:
        """Return a row of numbers for each row of a table."""
        encoded = np.empty(table.shape, dtype=np.float32)
        with np.errstate(over="ignore"):  # a new number far out of range is as far as can be
            for position, column in enumerate(columns_of(table)):
                encoded[:, position] = self.encoders[position].encode(column)
        return encoded


def make_encoder(column: TableColumn, kind: Any) -> Numbers | Levels:
    """Learn from a column how to encode values of this kind."""
    if isinstance(kind, (list, tuple)):
        return Levels.ordered(column, list(kind))
    if isinstance(kind, str) and kind in KINDS:
        if kind == "numeric":
            return Numbers.of(column)
        return Levels.of(column) if kind == "categorical" else Levels.ordered(column, column.levels)
    raise ValueError(
        f"kinds[{column.name!r}]={kind!r}: expected one of {', '.join(map(repr, KINDS))}, or a list of values in order"
    )


def check_names(given: Mapping[Hashable, Any], names: list[Hashable], what: str) -> None:
    """Check that these are names of columns."""
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(f"{what} names the column {unknown[0]!r}, which X does not have: expected some of {names}")


def check_column_weights(weights: Any, names: list[Hashable]) -> NDArray[np.float32]:
    """Return a weight for each column, 1 where none is given."""
    if isinstance(weights, Mapping):
        check_names(weights, names, "weights")
        weights = [weights.get(name, 1.0) for name in names]
    array = np.ones(len(names)) if weights is None else np.asarray(weights, dtype=np.float64)
    if array.shape != (len(names),) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise ValueError(
            f"weights={weights!r}: expected {len(names)} finite weights that are not negative and not all zero, or a "
            "dictionary of some columns' weights"
        )
    return (array / array.max()).astype(np.float32)


def summarise_column(column: TableColumn, kinds: Mapping[Hashable, Any]) -> TableColumn:
    """Return a column of the few values from which the same encoding is learnt as from all of them."""
    if column.values.dtype.kind in "iufmM" and kinds.get(column.name, "numeric") == "numeric":
        known = column.values[~np.isnat(column.values)] if column.values.dtype.kind in "mM" else column.values
        known = known[known == known]
        return replace(column, values=np.array([known.min(), known.max()]) if len(known) else known)
    distinct = column.distinct()
    return replace(column, values=np.fromiter(distinct, dtype=object, count=len(distinct)))


def merge_columns(parts: list[TableColumn]) -> TableColumn:
    """Return a column that holds the values of all parts of it; its levels are those of the part that has most."""
    known = [part for part in parts if len(part.values)] or parts[:1]
    levels = max((part.levels for part in known if part.levels is not None), key=len, default=None)
    values = np.concatenate([part.values for part in known])
    return TableColumn(known[0].name, values, levels, all(part.is_ordered for part in known))


@dataclass(frozen=True)
class Gower(Metric):
    """Gower's dissimilarity; with an encoding once it is fitted."""

    kinds: Mapping[Hashable, Any]
    weights: Any = None
    encoding: Encoding | None = None

    @classmethod
    def with_params(cls, params: Mapping[str, Any]) -> Gower:
        """Return the metric for `metric_params`."""
        unknown = [name for name in params if name not in ("kinds", "weights")]
        if unknown:
            raise ValueError(
                f"metric='gower' has no parameter {unknown[0]!r}: expected metric_params among ['kinds', 'weights']"
            )
        kinds = params.get("kinds")
        if kinds is not None and not isinstance(kinds, Mapping):
            raise ValueError(f"kinds={kinds!r}: expected a dictionary of some columns' kinds")
        return cls(kinds or {}, params.get("weights"))

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> TableRows:
        rows = check_table(X, name, estimator)
        if self.encoding is not None and estimator is None:  # an estimator compares the names itself
            names = column_names(rows.header)
            if names is not None and names != self.encoding.names:
                raise ValueError(f"{name} has the columns {names}: expected those of X, {self.encoding.names}")
        return rows

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Gower:
        return self.fit_parts([self.summarise(rows, weights)])

    def summarise(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> list[TableColumn]:
        assert isinstance(rows, TableRows)  # as `check` returned them
        parts = []
        for part, table in rows.parts():
            if weights is not None and not weights[part].all():  # rows without a weight do not count
                table = take_rows(table, np.flatnonzero(weights[part]))
            parts.append([summarise_column(column, self.kinds) for column in columns_of(table)])
        return [merge_columns(list(column)) for column in zip(*parts, strict=True)]

    def fit_parts(self, summaries: list[list[TableColumn]]) -> Gower:
        columns = [merge_columns(list(parts)) for parts in zip(*summaries, strict=True)]
        names = [column.name for column in columns]
        check_names(self.kinds, names, "kinds")
        encoders = [make_encoder(column, self.kinds.get(column.name, column.kind)) for column in columns]
        return replace(self, encoding=Encoding(names, encoders, check_column_weights(self.weights, names)))

    def encode(self, rows: Rows) -> Rows:
        assert isinstance(rows, TableRows) and self.encoding is not None  # noqa: PT018 (checked, and fitted)
        return rows.encoded(self.encoding.encode)

    def mean(self, rows: Rows, weights: NDArray[np.float64]) -> Rows:
        raise ValueError("variant='lwcs' needs the mean of the rows: it does not work with metric='gower'")

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
        self._n_jobs = n_jobs

    def fill(self, tile: NDArray[np.float32], out: NDArray[Any]) -> None:
        self._packed.fill(np.ascontiguousarray(tile), out, self._n_jobs)
