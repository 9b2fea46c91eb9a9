"""A file as the data of a fit: the rows to compare, their names and weights, and the metric."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam.cli.columns import (
    ColumnOptions,
    ColumnUse,
    advise_on_scales,
    choose_metric,
    describe_uses,
    judge_columns,
    parse_kinds,
)
from onebatchpam.cli.formats import Content, Matrix, ParquetTable, ReadingOptions, Strings, Table, name_of, read_content
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.metrics import resolve_metric, tags_of


@dataclass(frozen=True)
class Input:
    """The data of a command."""

    file: str
    content: Content
    X: Any  # what a fit takes
    metric: str
    metric_params: dict[str, Any] | None = None
    uses: Sequence[ColumnUse] = ()
    names: Any = None  # names of the rows, an Arrow array or a list; None if they have only numbers
    name_of_names: str = "row"
    weights: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.content.n

    def names_of(self, rows: slice | NDArray[np.int64]) -> Any:
        """Return the names of some rows, or their numbers if they have no names."""
        if self.names is None:
            return np.arange(self.n)[rows]
        if isinstance(rows, slice):
            return self.names[rows]
        return self.names.take(rows) if hasattr(self.names, "take") else [self.names[row] for row in rows]

    def head(self, n: int) -> Any:
        """Return the first n rows in memory, in a form that a fit takes."""
        if isinstance(self.X, list):
            return self.X[:n]
        rows = np.arange(min(n, self.n))
        if isinstance(self.content, Matrix):
            return self.content.values[rows]
        table = Table(self.content.take(rows))
        return compared_rows(table, [use.name for use in self.uses if use.is_compared], self.uses, self.metric)


def read_input(arguments: argparse.Namespace, messages: Messages) -> Input:
    """Read the file of a command, and say what was taken for what."""
    kinds = parse_kinds(arguments.kind)
    if arguments.metric is not None:
        check_metric(arguments.metric)
        if arguments.metric == "precomputed" and arguments.weight is not None:
            raise UsageError("--weight names a column, and a matrix of dissimilarities has none")
    options = ColumnOptions(arguments.columns, arguments.drop or (), arguments.id, arguments.weight, kinds)
    content = read_content(arguments.file, reading_options(arguments))
    if isinstance(content, (Table, ParquetTable)):
        return open_table(arguments.file, content, options, arguments.metric, messages)
    if options != ColumnOptions(kinds={}):
        raise UsageError(
            f"{name_of(arguments.file)} has no columns: --columns, --drop, --id, --weight, --kind do not apply"
        )
    return open_plain(arguments.file, content, arguments.metric, messages)


def reading_options(arguments: argparse.Namespace, types: dict[str, str] | None = None) -> ReadingOptions:
    """Return how to read the file of a command."""
    return ReadingOptions(arguments.format, arguments.delimiter, arguments.no_header, types)


def check_metric(metric: str) -> None:
    """Raise if no metric has this name."""
    try:
        resolve_metric(metric)
    except ValueError as error:
        raise UsageError(
            str(error).replace("metric=", "--metric ").replace("expected a function or", "expected")
        ) from None


def open_table(
    file: str, table: Table | ParquetTable, options: ColumnOptions, metric: str | None, messages: Messages
) -> Input:
    """Choose the columns of a table and the metric."""
    uses = judge_columns(table, options)
    messages.say(f"{name_of(file)}: {table.n:,} rows, {len(uses)} columns")
    for line in describe_uses(uses):
        messages.say(line)
    metric = say_metric(metric, choose_metric(uses, options), messages)
    advice = advise_on_scales(uses, metric)
    if advice is not None:
        messages.warn(advice)
    if metric != "gower" and options.kinds:
        raise UsageError(f"--kind is for --metric gower, not for {metric}")
    compared = [use.name for use in uses if use.is_compared]
    named = next((use.name for use in uses if use.use == "id"), None)
    return Input(
        file,
        table,
        compared_rows(table, compared, uses, metric),
        metric,
        {"kinds": dict(options.kinds)} if options.kinds else None,
        uses,
        None if named is None else table.column(named),
        named or "row",
        None if options.weight is None else read_weights(table, options.weight),
    )


def compared_rows(table: Table | ParquetTable, compared: list[str], uses: Sequence[ColumnUse], metric: str) -> Any:
    """Return the columns to compare as data for a fit: strings for a metric of text, an array for vectors."""
    if tags_of(metric).takes_only_text:
        if len(compared) > 1:
            raise UsageError(
                f"--metric {metric} compares one column of text: expected --columns with one of {compared}"
            )
        strings = table.column(compared[0])
        if strings.null_count:
            raise ValueError(
                f"column {compared[0]!r} lacks {strings.null_count:,} values: expected a text in every row"
            )
        return [str(value) for value in strings.to_pylist()]
    if isinstance(table, Table) and any(use.use == "vectors" for use in uses):
        return np.array(table.column(compared[0]).to_pylist())
    return table.chosen(compared)


def read_weights(table: Table | ParquetTable, name: str) -> NDArray[np.float64]:
    """Return the weights of the rows."""
    try:
        return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"--weight {name} is of type {table.schema.field(name).type}: expected numbers") from error


def open_plain(file: str, content: Content, metric: str | None, messages: Messages) -> Input:
    """Return the data of a matrix or of strings."""
    if isinstance(content, Strings):
        messages.say(f"{name_of(file)}: {content.n:,} strings")
        metric = say_metric(metric, ("levenshtein", "the rows are text"), messages)
        return Input(file, content, content.strings, metric, names=content.names, name_of_names=content.name_of_names)
    assert isinstance(content, Matrix)  # there is no other content without columns
    messages.say(f"{name_of(file)}: {content.n:,} rows of {content.values.shape[1]:,} numbers ({content.values.dtype})")
    metric = say_metric(metric, ("euclidean", "the rows are numbers"), messages)
    return Input(file, content, content.X, metric)


def say_metric(given: str | None, suggested: tuple[str, str], messages: Messages) -> str:
    """Return the metric that the user gives, or the one that suits the data; say which."""
    if given is not None:
        messages.say(f"metric: {given}")
        return given
    metric, reason = suggested
    messages.say(f"metric: {metric}, because {reason}")
    return metric
