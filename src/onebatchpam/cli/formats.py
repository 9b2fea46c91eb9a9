"""Readers of all kinds of files, chosen by the suffix: tables, matrices and strings.

What a reader returns has a number of rows, `n`, and `take`, which returns rows with all columns as an Arrow table.
A table also has a schema, from which the columns to compare are chosen. Parquet and .npy files stay on disk.
"""

from __future__ import annotations

import io
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from onebatchpam._optional import require
from onebatchpam.cli.messages import UsageError
from onebatchpam.data import ParquetFiles, check_header, check_sizes, load_sparse, scan_parquet

ROWS_TO_JUDGE = 10_000  # rows of a table by which its columns are judged
BLOCK_BYTES = 2**26  # bytes of a csv file that are read at a time
SUFFIXES = {
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "npy": "npy",
    "npz": "npz",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "txt": "txt",
    "fasta": "fasta",
    "fa": "fasta",
    "fna": "fasta",
    "faa": "fasta",
}
SPREADSHEETS = ("xlsx", "xlsm", "xls", "ods", "numbers")
COMPRESSED = ("gz", "bz2", "zst")  # suffixes of files of text that are compressed


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow, or a module of it."""
    return require(module, extra="cli", needed_by="the command line")


def usual_type(kind: Any) -> Any:
    """Return a type for the same values that all functions of Arrow know: polars writes views of text."""
    pa, types = arrow(), arrow("pyarrow.types")
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, usual_type(kind.value_type), kind.ordered)
    if types.is_decimal(kind):
        return pa.float64()
    return pa.string() if str(kind) == "string_view" else kind


class Content(ABC):
    """What a file holds."""

    n: int

    @abstractmethod
    def take(self, indices: Any) -> Any:
        """Return rows with all their columns, as an Arrow table."""


class Table(Content):
    """A table in memory."""

    is_whole = True  # whether `head` returns all rows

    def __init__(self, table: Any) -> None:
        fields = [arrow().field(field.name, usual_type(field.type)) for field in table.schema]
        self._table = table.cast(arrow().schema(fields))
        self.n, self.schema = table.num_rows, self._table.schema

    def head(self) -> Any:
        """Return the rows by which columns are judged: here all of them."""
        return self._table

    def column(self, name: str) -> Any:
        """Return a column."""
        return self._table.column(name)

    def chosen(self, columns: Sequence[str]) -> Any:
        """Return the columns to compare, as data for a fit."""
        return self._table.select(list(columns))

    def take(self, indices: Any) -> Any:
        return self._table.take(arrow().array(indices))


class ParquetTable(Content):
    """A table in Parquet files, which stays there."""

    is_whole = False

    def __init__(self, path: Path) -> None:
        self._path, self._files = path, ParquetFiles(path, str(path))
        self.n, self.schema = self._files.shape[0], self._files.schema

    def head(self) -> Any:
        """Return the first rows, by which columns are judged."""
        return self._files.take(np.arange(min(self.n, ROWS_TO_JUDGE)))

    def column(self, name: str) -> Any:
        """Return a column, which is read as a whole."""
        files = ParquetFiles(scan_parquet(self._path, name), str(self._path))
        tables = files.read_groups(0, self.n)
        return arrow().concat_tables(tables).column(name) if tables else files.schema.empty_table().column(name)

    def chosen(self, columns: Sequence[str]) -> Any:
        """Return the columns to compare, as data for a fit."""
        return scan_parquet(self._path, list(columns))

    def take(self, indices: Any) -> Any:
        return self._files.take(np.asarray(indices, np.int64))


@dataclass(frozen=True)
class Matrix(Content):
    """An array or a sparse matrix of numbers; the rows of a .npy file are mapped into memory."""

    X: Any  # what a fit takes: an array, a sparse matrix or the path of a .npy file
    values: Any  # the same, to take rows from

    @property
    def n(self) -> int:  # type: ignore[override]
        return int(self.values.shape[0])

    def take(self, indices: Any) -> Any:
        rows = self.values[np.asarray(indices, np.int64)]
        if issparse(rows):
            return arrow().table({"features": [describe_sparse(row) for row in rows.tocsr()]})
        return arrow().table({f"x{column}": rows[:, column] for column in range(rows.shape[1])})


@dataclass(frozen=True)
class Strings(Content):
    """Strings, one for each row, with or without names."""

    strings: list[str]
    what: str  # the name of the column in files that are written
    names: list[str] | None = None

    @property
    def name_of_names(self) -> str:
        """The heading of the names of the rows."""
        return "row" if self.names is None else "id"

    @property
    def n(self) -> int:  # type: ignore[override]
        return len(self.strings)

    def take(self, indices: Any) -> Any:
        named = {} if self.names is None else {"id": [self.names[i] for i in indices]}
        return arrow().table({**named, self.what: [self.strings[i] for i in indices]})


def describe_sparse(row: Any) -> str:
    """Return the features of a sparse row as text."""
    row = row.tocsr()
    return " ".join(f"{feature}:{value:g}" for feature, value in zip(row.indices, row.data, strict=True))


@dataclass(frozen=True)
class ReadingOptions:
    """How to read a file: the options of the command line, and the types of columns that are known from a fit."""

    format: str | None = None
    delimiter: str | None = None
    no_header: bool = False
    types: dict[str, str] | None = None


def read_content(file: str, options: ReadingOptions) -> Content:
    """Read a file, or stdin for "-"."""
    if not file:
        raise UsageError("the name of the file is empty: expected a file, a folder of Parquet files, or - for stdin")
    format = options.format or find_format(file)
    if file != "-" and not Path(file).exists():
        raise FileNotFoundError(2, "No such file or folder", file)
    content = READERS[format](file, options)
    if content.n == 0:
        raise ValueError(f"{name_of(file)} has no rows: expected at least one")
    return content


def name_of(file: str) -> str:
    """Return the name of a file in messages."""
    return "stdin" if file == "-" else file


def find_format(file: str) -> str:
    """Return the format of a file by its suffix; a folder is one of Parquet files."""
    expected = f"expected --format with one of {', '.join(dict.fromkeys(SUFFIXES.values()))}"
    if file == "-":
        raise UsageError(f"the format of stdin is not known: {expected}")
    path = Path(file)
    if path.is_dir():
        return "parquet"
    suffixes = [suffix.lstrip(".").lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in SUFFIXES:
        if suffixes and suffixes[-1] in SPREADSHEETS:
            raise UsageError(f"{file} is a spreadsheet: expected a table; save the sheet as CSV")
        raise UsageError(f"the format of {file} is not known by its suffix: {expected}")
    return SUFFIXES[suffixes[-1]]


def open_text(file: str) -> Any:
    """Return a file, or stdin, as a stream of bytes; a compressed file is decompressed."""
    if file == "-":
        return sys.stdin.buffer
    return arrow().input_stream(file, compression="detect")


def read_bytes(file: str) -> Any:
    """Return a binary file, or the content of stdin, in which one can seek."""
    return io.BytesIO(sys.stdin.buffer.read()) if file == "-" else open(file, "rb")


def read_csv(file: str, options: ReadingOptions, delimiter: str = ",") -> Table:
    """Read a table of text with a delimiter."""
    csv = arrow("pyarrow.csv")
    delimiter = (options.delimiter or delimiter).replace("\\t", "\t")
    if len(delimiter) != 1:
        raise UsageError(f"--delimiter {delimiter!r}: expected one character")
    types = {name: arrow().type_for_alias(kind) for name, kind in (options.types or {}).items()}
    # Fields that are quoted and empty are text; fields that are empty, or NA, are missing also in columns of text.
    convert = csv.ConvertOptions(column_types=types or None, strings_can_be_null=True, quoted_strings_can_be_null=False)
    # The type of a column is that of its values in the first block.
    read = csv.ReadOptions(autogenerate_column_names=options.no_header, block_size=BLOCK_BYTES)
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    with naming(file, "csv"):
        table = csv.read_csv(open_text(file), read_options=read, parse_options=parse, convert_options=convert)
    check_encoding(table, file)
    if len(table.column_names) == 1 and any(mark in table.column_names[0] for mark in ";\t|"):
        mark = next(mark for mark in ";\t|" if mark in table.column_names[0])
        raise ValueError(f"{name_of(file)} has one column, {table.column_names[0]!r}: pass --delimiter {mark!r}")
    return Table(check_names(table, file))


def check_encoding(table: Any, file: str) -> None:
    """Raise unless the text of a table is UTF-8; Arrow takes values in another encoding for binary ones."""
    advice = "save it as UTF-8, by the program that has written it or by `iconv -f latin1 -t utf-8`"
    try:
        names = table.column_names
    except UnicodeDecodeError:
        raise ValueError(f"the header of {name_of(file)} is not UTF-8: {advice}") from None
    for name, kind in zip(names, table.schema.types, strict=True):
        if arrow("pyarrow.types").is_binary(kind):
            raise ValueError(f"column {name!r} of {name_of(file)} is not UTF-8: {advice}")


def read_tsv(file: str, options: ReadingOptions) -> Table:
    """Read a table of text with tabs."""
    return read_csv(file, options, "\t")


def read_jsonl(file: str, options: ReadingOptions) -> Table:
    """Read a table with an object of JSON on each line."""
    json = arrow("pyarrow.json")
    with naming(file, "jsonl"):
        return Table(check_names(json.read_json(arrow().BufferReader(open_text(file).read())), file))


def read_parquet(file: str, options: ReadingOptions) -> Content:
    """Open Parquet files; those from stdin are read into memory."""
    if file == "-":
        with naming(file, "parquet"):
            return Table(check_names(arrow("pyarrow.parquet").read_table(read_bytes(file)), file))
    return ParquetTable(Path(file))


def read_arrow(file: str, options: ReadingOptions) -> Table:
    """Map a file of Arrow, or Feather, into memory; it is checked as a whole, because Arrow believes what it reads."""
    ipc = arrow("pyarrow.ipc")
    with naming(file, "arrow"):
        source = arrow().BufferReader(sys.stdin.buffer.read()) if file == "-" else arrow().memory_map(file)
        try:
            table = ipc.open_file(source).read_all()
        except arrow().ArrowInvalid:
            source.seek(0)
            table = ipc.open_stream(source).read_all()
        table.validate(full=True)
    return Table(check_names(table, file))


def read_npy(file: str, options: ReadingOptions) -> Content:
    """Map an array of NumPy into memory; a fit is given its path, and reads it in parts."""
    with naming(file, "npy"):
        # `np.load` takes any other file for a pickle, and advises to trust it.
        if file == "-":
            opened = read_bytes(file)
            check_header(opened, opened.getbuffer().nbytes, "the array")
            opened.seek(0)
            values = np.lib.format.read_array(opened, allow_pickle=False)
        else:
            values = np.lib.format.open_memmap(file, mode="r")
    if values.dtype.kind == "U" and values.ndim == 1:
        return Strings([str(string) for string in values], "text")
    if values.ndim != 2 or values.dtype.kind not in "biuf":
        raise ValueError(
            f"{name_of(file)} holds an array of shape {values.shape} and type {values.dtype}: expected a matrix of "
            "numbers, with a row for each row of data, or strings"
        )
    return Matrix(values if file == "-" or not file.endswith(".npy") else file, values)


def read_npz(file: str, options: ReadingOptions) -> Matrix:
    """Read a sparse matrix of SciPy, or the only array in a .npz file."""
    with naming(file, "npz"), read_bytes(file) as opened:
        names = [Path(name).stem for name in zipfile.ZipFile(opened).namelist()]
        opened.seek(0)
        if "format" in names and file != "-":
            matrix = load_sparse(file, file)
            return Matrix(matrix, matrix)
        if len(names) != 1:
            raise ValueError(f"it holds the arrays {', '.join(names)}; expected a sparse matrix, or one array")
        check_sizes(opened)
        values = np.load(opened, allow_pickle=False)[names[0]]
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise ValueError(f"it holds an array of shape {values.shape} and type {values.dtype}; expected numbers")
        return Matrix(values, values)


def read_txt(file: str, options: ReadingOptions) -> Strings:
    """Read a string on each line; empty lines at the end do not count."""
    return Strings([line.rstrip("\r") for line in read_text(file).rstrip("\n").split("\n")], "text")


def read_fasta(file: str, options: ReadingOptions) -> Strings:
    """Read sequences: lines that follow a line with > and the name."""
    names, sequences = [], []
    for header, sequence in parse_fasta(read_text(file), file):
        names.append(header)
        sequences.append(sequence)
    return Strings(sequences, "sequence", names)


def parse_fasta(text: str, file: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the sequence of each record."""
    before, *records = ("\n" + text).split("\n>")
    if before.strip() or not records:
        raise ValueError(f"{name_of(file)} does not begin with '>': expected FASTA")
    for record in records:
        header, _, lines = record.partition("\n")
        sequence = "".join(lines.split())
        if not sequence:
            raise ValueError(f"{name_of(file)} has no sequence after {'>' + header!r}: expected FASTA")
        yield (header.split() or [""])[0], sequence


def read_text(file: str) -> str:
    """Return the text of a file in UTF-8."""
    with naming(file, "text in UTF-8"):
        content = open_text(file).read().decode("utf-8-sig")
    if not content.strip():
        raise ValueError(f"{name_of(file)} is empty: expected at least one row")
    return str(content)


def check_names(table: Any, file: str) -> Any:
    """Return a table, or raise if two of its columns have the same name."""
    names = table.column_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{name_of(file)} has several columns {twice[0]!r}: expected distinct names")
    return table


@contextmanager
def naming(file: str, format: str) -> Iterator[None]:
    """Name the file in errors about its content, which pyarrow and NumPy do not."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # an error of pyarrow about the content
            raise ValueError(f"{name_of(file)} cannot be read as {format}: {error}") from error
        raise OSError(error.errno, error.strerror or str(error), error.filename or name_of(file)) from error
    except (MemoryError, ImportError, UsageError):
        raise
    except Exception as error:  # a damaged file makes Python, NumPy and pyarrow raise errors of many types
        raise ValueError(f"{name_of(file)} cannot be read as {format}: {error}") from error


READERS: dict[str, Callable[[str, ReadingOptions], Content]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "npy": read_npy,
    "npz": read_npz,
    "jsonl": read_jsonl,
    "txt": read_txt,
    "fasta": read_fasta,
}
