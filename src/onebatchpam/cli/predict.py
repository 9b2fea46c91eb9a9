"""`onebatchpam predict`: the clusters of new rows, by a model in a folder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from onebatchpam.cli.cluster import label_columns
from onebatchpam.cli.columns import ColumnUse
from onebatchpam.cli.formats import Content, Matrix, ParquetTable, Strings, Table, name_of, read_content
from onebatchpam.cli.inputs import Input, compared_rows, reading_options
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.cli.models import load_model
from onebatchpam.cli.outputs import SUMMARY, check_new_file, new_file, write_labels


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Find the clusters of new rows."""
    format = "csv"
    if arguments.output is not None:
        check_new_file(arguments.output, force=arguments.force, source=arguments.file)
        format = arguments.output.suffix.lstrip(".")
        if format not in ("csv", "parquet"):
            raise UsageError(f"-o {arguments.output}: expected a csv or parquet file")
    summary, model = read_summary(arguments.model), load_model(arguments.model)
    data = read_like(arguments, summary)
    messages.say(f"{name_of(arguments.file)}: {data.n:,} rows")
    columns = label_columns(model.assess_rows(data.X))
    if arguments.output is None:
        write_labels(sys.stdout.buffer, format, data, columns)
        return
    with new_file(arguments.output, force=arguments.force, source=arguments.file) as path:
        write_labels(path, format, data, columns)


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of the run that has written a folder."""
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        uses = [ColumnUse(use["name"], use["type"], use["use"]) for use in summary["columns"]]
        return {**summary, "uses": uses, "metric": str(summary["metric"]), "rows": int(summary["rows"])}
    except FileNotFoundError:
        raise FileNotFoundError(
            2, "No such summary; expected a folder that `onebatchpam cluster -o` has written", str(path)
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} cannot be read as the summary of a run: {error!r}") from error


def read_like(arguments: argparse.Namespace, summary: dict[str, Any]) -> Input:
    """Read a file whose columns are those of the fit; other columns are ignored."""
    uses = summary["uses"]
    types = {use.name: use.type for use in uses if use.is_compared and "<" not in use.type}
    content = read_content(arguments.file, reading_options(arguments, types))
    if isinstance(content, (Table, ParquetTable)) != bool(uses):
        expected = "a table, as in the fit" if uses else "no table, because the fit had none"
        raise ValueError(f"{name_of(arguments.file)} holds {describe_content(content)}: expected {expected}")
    metric = summary["metric"]
    if isinstance(content, Strings):
        return Input(
            arguments.file,
            content,
            content.strings,
            metric,
            names=content.names,
            name_of_names=content.name_of_names,
        )
    if isinstance(content, Matrix):
        return Input(arguments.file, content, content.X, metric)
    assert isinstance(content, (Table, ParquetTable))  # there is no other content
    compared = [use.name for use in uses if use.is_compared]
    missing = [name for name in compared if name not in content.schema.names]
    if missing:
        raise ValueError(
            f"{name_of(arguments.file)} lacks the column {missing[0]!r} of the fit: expected {', '.join(compared)}"
        )
    named = summary.get("id") if summary.get("id") in content.schema.names else None
    return Input(
        arguments.file,
        content,
        compared_rows(content, compared, uses, metric),
        metric,
        uses=uses,
        names=None if named is None else content.column(named),
        name_of_names=named or "row",
    )


def describe_content(content: Content) -> str:
    """Return what a file holds, in words."""
    if isinstance(content, Matrix):
        return f"rows of {np.shape(content.values)[1]} numbers"
    return "strings" if isinstance(content, Strings) else "a table"
