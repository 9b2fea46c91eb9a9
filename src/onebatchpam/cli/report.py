"""`onebatchpam report`: the page on a clustering, written anew from its folder and its data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onebatchpam.cli.cluster import parse_show_as, title_of
from onebatchpam.cli.columns import ColumnUse
from onebatchpam.cli.formats import ParquetTable, Table, name_of
from onebatchpam.cli.inputs import Input, read_weights
from onebatchpam.cli.messages import Messages
from onebatchpam.cli.models import load_model
from onebatchpam.cli.outputs import check_new_file, new_file
from onebatchpam.cli.predict import read_like, read_summary
from onebatchpam.report import write_report


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Write the report of a clustering."""
    check_new_file(arguments.output, force=arguments.force, source=arguments.file)
    show_as = parse_show_as(arguments.show_as)
    summary, model = read_summary(arguments.model), load_model(arguments.model)
    data = read_like(arguments, summary)
    if data.n != summary["rows"]:
        raise ValueError(
            f"{name_of(arguments.file)} has {data.n:,} rows: expected the {summary['rows']:,} rows of the fit"
        )
    with new_file(arguments.output, force=arguments.force, source=arguments.file) as path:
        write_report(
            model,
            data.X,
            path,
            title=arguments.title or title_of(data),
            row_names=data.names,
            show_as=show_as,
            command=summary.get("command"),
            warnings=summary.get("warnings", ()),
            sample_weight=weights_of(data, summary["uses"]),
        )
    messages.say(f"written: {arguments.output}")


def weights_of(data: Input, uses: Sequence[ColumnUse]) -> NDArray[np.float64] | None:
    """Return the weights of the rows of the fit; None if it had none."""
    name = next((use.name for use in uses if use.use == "weight"), None)
    if name is None:
        return None
    assert isinstance(data.content, (Table, ParquetTable))  # only columns of a table have uses
    if name not in data.content.schema.names:
        raise ValueError(f"{name_of(data.file)} lacks the column {name!r} of the fit: expected the weights of the rows")
    return read_weights(data.content, name)
