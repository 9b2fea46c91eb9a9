"""`onebatchpam select`: the rows that represent all others best, the most important first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from onebatchpam.algorithms import Representatives, select_representatives
from onebatchpam.cli.formats import COMPRESSED, Matrix, find_format
from onebatchpam.cli.inputs import Input, read_input
from onebatchpam.cli.messages import Messages, UsageError
from onebatchpam.cli.methods import check_method, method_options, parse_number
from onebatchpam.cli.outputs import as_json, check_new_file, new_file, write_table

WRITTEN = ("csv", "tsv", "jsonl", "parquet", "arrow", "npy", "txt")


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Select representatives, and write their indices, or the rows themselves with all their columns."""
    k = parse_number(arguments.k)
    check_method(arguments, k)
    format = None if arguments.output is None else check_output(arguments)
    data = read_input(arguments, messages)
    if format == "npy" and not isinstance(data.content, Matrix):
        raise UsageError(f"-o {arguments.output}: a npy file holds rows of numbers only; expected csv or parquet")
    chosen = select_representatives(
        data.X,
        k,
        metric=data.metric,
        metric_params=data.metric_params,
        sample_weight=data.weights,
        verbose=int(messages.shows_progress),
        **method_options(arguments),
    )
    messages.say(chosen.summary())
    if format is not None:
        with new_file(arguments.output, force=arguments.force, source=arguments.file) as path:
            write_rows(data, chosen, path, format)
        messages.say(f"written: {arguments.output}")
    if arguments.json:
        print(as_json(describe(data, chosen)))
    elif format is None and arguments.rows:
        write_table(data.content.take(chosen.indices), sys.stdout.buffer, "csv")
    elif format is None:
        sys.stdout.write("".join(f"{index}\n" for index in chosen.indices))


def check_output(arguments: argparse.Namespace) -> str:
    """Return the format of the file to write, by its suffix; raise if it cannot be written."""
    path = arguments.output
    check_new_file(path, force=arguments.force, source=arguments.file)
    format = find_format(str(path))
    if format not in WRITTEN or path.suffix.lstrip(".") in COMPRESSED:
        raise UsageError(f"-o {path}: expected one of {', '.join(WRITTEN)}")
    return format


def write_rows(data: Input, chosen: Representatives, path: Path, format: str) -> None:
    """Write the rows that were selected, with all their columns."""
    if format == "npy":
        assert isinstance(data.content, Matrix)  # checked before the work
        with path.open("wb") as file:
            np.save(file, np.asarray(data.content.values[chosen.indices]))
    else:
        write_table(data.content.take(chosen.indices), path, format)


def describe(data: Input, chosen: Representatives) -> dict[str, Any]:
    """Return the selection as values for JSON."""
    return {
        "indices": chosen.indices,
        "names": list(map(str, data.names_of(chosen.indices))),
        "stands_for": chosen.counts,
        "coverage": chosen.coverage,
        "loss": chosen.losses,
        "metric": data.metric,
        "rows": data.n,
    }
