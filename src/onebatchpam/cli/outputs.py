"""Files and folders that appear only when they are complete: what is being written has another name until then."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._interrupts import raise_if_interrupted
from onebatchpam._new_files import name_partial, replacing
from onebatchpam.cli.formats import arrow
from onebatchpam.cli.inputs import Input
from onebatchpam.cli.messages import UsageError

SUMMARY = "summary.json"  # only a folder that holds this file may be replaced: the command line has written it
ROWS_AT_A_TIME = 1_000_000  # rows of a table of labels that are written at a time


def check_new_file(path: Path, *, force: bool, source: str = "-") -> None:
    """Raise if a file cannot be written; `source` is the file that the command reads."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: expected the name of a file")
    check_new(path, force=force, source=source)


def check_new_folder(path: Path, *, force: bool, source: str = "-") -> None:
    """Raise if a folder cannot be written; `source` is the file that the command reads."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise UsageError(f"{path} is a file or a link: expected the name of a folder")
    if path.is_dir() and any(path.iterdir()) and not (path / SUMMARY).is_file():
        raise UsageError(f"{path} is a folder that this command has not written: expected another name")
    check_new(path, force=force, source=source)


def check_new(path: Path, *, force: bool, source: str) -> None:
    """Raise if a name is taken, or nothing can be written to its folder."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(path.parent))
    if contains(path, Path(source)):
        raise UsageError(f"{path} is, or contains, the file to read: expected another name")
    if path.exists() and not force:
        raise FileExistsError(17, "exists already; pass --force to replace it, or another name", str(path))
    try:  # writing there is the surest way to learn whether one can
        tempfile.TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path.absolute().parent)) from error


def contains(path: Path, file: Path) -> bool:
    """Tell whether a path is that of an existing file, or of a folder around it, whatever their names."""
    return path.exists() and file.exists() and any(map(path.samefile, (file, *file.resolve().parents)))


@contextmanager
def new_folder(path: Path, *, force: bool, source: str = "-") -> Iterator[Path]:
    """Yield a folder to write to, which gets its name when all is written; an error removes it."""
    check_new_folder(path, force=force, source=source)
    partial = name_partial(path)
    partial.mkdir()
    try:
        yield partial
        raise_if_interrupted()
        check_new_folder(path, force=force, source=source)
        if path.exists():
            former = partial.with_suffix(".former")
            path.rename(former)
            partial.rename(path)
            shutil.rmtree(former)
        else:
            partial.rename(path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def new_file(path: Path, *, force: bool, source: str = "-") -> Iterator[Path]:
    """Yield a file to write to, which gets its name when all is written; an error removes it."""
    check_new_file(path, force=force, source=source)
    with replacing(path) as partial:
        yield partial
        check_new_file(path, force=force, source=source)


def name_apart(columns: dict[str, Any], taken: Collection[str]) -> dict[str, Any]:
    """Return columns under names that are not taken by those of a file: `size` may become `size_of_cluster`."""
    named: dict[str, Any] = {}
    for name, values in columns.items():
        while name in taken or name in named:
            name += "_of_cluster"
        named[name] = values
    return named


def write_labels(destination: Any, format: str, data: Input, columns: dict[str, NDArray[Any]]) -> None:
    """Write a table with a row for each row of data, beginning with its name, to a file or stream."""
    columns = name_apart(columns, [data.name_of_names])
    writer: Any = None
    for start in range(0, data.n, ROWS_AT_A_TIME):
        rows = slice(start, start + ROWS_AT_A_TIME)
        part = {data.name_of_names: data.names_of(rows), **{name: values[rows] for name, values in columns.items()}}
        table = arrow().table(part)
        if writer is None:
            writer = open_writer(destination, format, table.schema)
        writer.write_table(table)
    writer.close()


def open_writer(destination: Any, format: str, schema: Any) -> Any:
    """Return a writer of tables."""
    if format == "parquet":
        return arrow("pyarrow.parquet").ParquetWriter(destination, schema)
    return arrow("pyarrow.csv").CSVWriter(destination, schema, write_options=csv_options())


def csv_options(delimiter: str = ",") -> Any:
    """Return options by which text is put in quotes only where it must be."""
    return arrow("pyarrow.csv").WriteOptions(delimiter=delimiter, quoting_style="needed")


def write_table(table: Any, destination: Any, format: str) -> None:
    """Write an Arrow table to a file or stream."""
    if format in ("csv", "tsv"):
        table = as_csv(table)
        arrow("pyarrow.csv").write_csv(table, destination, csv_options("," if format == "csv" else "\t"))
    elif format == "parquet":
        arrow("pyarrow.parquet").write_table(table, destination)
    elif format == "arrow":
        with (
            arrow().OSFile(str(destination), "wb") as file,
            arrow("pyarrow.ipc").new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)
    elif format == "jsonl":
        lines = [json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist()]
        Path(destination).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    elif format == "txt":
        Path(destination).write_text("".join(f"{text}\n" for text in table.column(-1).to_pylist()), encoding="utf-8")
    else:
        raise UsageError(f"{format} is not written: expected csv, tsv, jsonl, parquet, arrow, npy or txt")


def as_csv(table: Any) -> Any:
    """Return a table whose columns all fit into a csv file; lists, which do not, become text of JSON."""
    types = arrow("pyarrow.types")
    for position, field in enumerate(table.schema):
        if types.is_nested(field.type):
            texts = [json.dumps(value, default=str) for value in table.column(position).to_pylist()]
            table = table.set_column(position, field.name, arrow().array(texts))
        elif types.is_dictionary(field.type):
            table = table.set_column(position, field.name, table.column(position).cast(field.type.value_type))
    return table


def as_json(values: Any) -> str:
    """Return values as JSON; numbers that are not finite, which JSON does not know, become null."""
    return json.dumps(as_plain(values), default=str, indent=2, ensure_ascii=False, allow_nan=False)


def as_plain(value: Any) -> Any:
    """Return dictionaries, lists, arrays and numbers of NumPy as those of Python."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): as_plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
