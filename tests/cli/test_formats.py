"""Every format that is read gives the result of the same data in memory."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import struct
import sys
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse

from onebatchpam import OneBatchPAM
from onebatchpam.cli import main
from onebatchpam.cli.formats import ReadingOptions, read_content

K = 4


def make_table(n=120):
    rng = np.random.RandomState(0)
    group = rng.choice(3, n)
    return pa.table(
        {
            "customer_id": [f"C{i}" for i in range(n)],
            "age": np.round(rng.normal(np.array([30, 50, 70])[group], 5)).astype(np.int64),
            "income": pa.array(rng.normal(np.array([10.0, 30, 20])[group], 3), mask=rng.uniform(size=n) < 0.1),
            "plan": pa.array(np.array(["basic", "family", 'it\'s, "quoted"'])[group], mask=rng.uniform(size=n) < 0.05),
            "active": rng.uniform(size=n) < 0.5,
        }
    )


TABLE = make_table()
MATRIX = np.random.RandomState(1).rand(90, 3)
WORDS = ["tea", "team", "teams", "coffee", "coffees", "toffee", "water", "waters", "walter", "salt"] * 3


def write_csv(table, path, delimiter=","):
    pyarrow.csv.write_csv(table, path, pyarrow.csv.WriteOptions(delimiter=delimiter))


def write_folder(table, path):
    path.mkdir()
    pyarrow.parquet.write_table(table.slice(0, 50), path / "part-0.parquet", row_group_size=20)
    pyarrow.parquet.write_table(table.slice(50), path / "part-1.parquet")


def write_arrow(table, path, new=pa.ipc.new_file):
    with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
        writer.write_table(table)


def write_jsonl(table, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


def write_compressed(table, path):
    buffer = io.BytesIO()
    write_csv(table, buffer)
    path.write_bytes(gzip.compress(buffer.getvalue()))


WRITERS = {
    "rows.csv": write_csv,
    "rows.CSV": write_csv,
    "rows.tsv": lambda table, path: write_csv(table, path, "\t"),
    "rows.csv.gz": write_compressed,
    "rows.parquet": lambda table, path: pyarrow.parquet.write_table(table, path, row_group_size=50),
    "folder": write_folder,
    "rows.arrow": write_arrow,
    "stream.arrow": lambda table, path: write_arrow(table, path, pa.ipc.new_stream),
    "rows.feather": write_arrow,
    "rows.jsonl": write_jsonl,
}


def read_labels(text):
    """Return the columns of a table of labels as lists of text."""
    head, *lines = csv.reader(io.StringIO(text))
    return dict(zip(head, zip(*lines, strict=True), strict=True))


def run_cluster(arguments, capsys):
    assert main(["cluster", *map(str, arguments), "-k", str(K)]) == 0
    printed = capsys.readouterr()
    return read_labels(printed.out), printed.err


def assert_same_fit(labels, model, X):
    rows = model.assess_rows(X)
    np.testing.assert_array_equal([int(label) for label in labels["cluster"]], rows.labels)
    np.testing.assert_allclose([float(each) for each in labels["distance"]], rows.distances, rtol=1e-6)
    np.testing.assert_array_equal([int(label) for label in labels["second"]], rows.second_labels)
    np.testing.assert_allclose([float(each) for each in labels["margin"]], rows.silhouettes, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", WRITERS)
def test_tables(name, tmp_path, capsys):
    WRITERS[name](TABLE, tmp_path / name)
    labels, said = run_cluster([tmp_path / name], capsys)
    X = TABLE.drop_columns(["customer_id"])
    assert_same_fit(labels, OneBatchPAM(K, metric="gower", random_state=0).fit(X), X)
    assert labels["customer_id"] == tuple(TABLE["customer_id"].to_pylist())
    for expected in (
        "120 rows, 5 columns",
        "numbers     age, income",
        "categories  plan, active",
        "id          customer",
    ):
        assert expected in said
    assert "metric: gower, because the columns are of several kinds" in said


def make_categories():
    table = pl.from_arrow(TABLE).with_columns(size=pl.Series(["S", "M", "L"] * 40))
    return table.with_columns(pl.col("plan").cast(pl.Categorical), pl.col("size").cast(pl.Enum(["S", "M", "L"])))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("polars.arrow", lambda table, path: table.write_ipc(path)),
        ("polars.parquet", lambda table, path: table.write_parquet(path)),
        ("pandas.parquet", lambda table, path: table.to_pandas().to_parquet(path)),
        ("pandas.feather", lambda table, path: table.to_pandas().to_feather(path)),
    ],
)
def test_categories_and_views_of_text(name, write, tmp_path, capsys):
    """Categories of pandas and polars are categories, ordered ones are compared by their order."""
    table = make_categories()
    write(table, tmp_path / name)
    labels, said = run_cluster([tmp_path / name], capsys)
    X = table.drop("customer_id").to_pandas()
    assert_same_fit(labels, OneBatchPAM(K, metric="gower", random_state=0).fit(X), X)
    # Older versions of polars do not say that the values of an Enum are in order when it hands them on.
    assert ("in order    size" in said) == table.to_arrow().schema.field("size").type.ordered
    assert labels["customer_id"] == tuple(TABLE["customer_id"].to_pylist())
    assert main(["cluster", str(tmp_path / name), "-k", str(K), "-q", "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "out"), str(tmp_path / name), "-q"]) == 0
    assert read_labels(capsys.readouterr().out) == labels


def make_odd_types(n=60):
    """Return a table with columns of types that are rare; some of them cannot be compared."""
    zone = datetime.UTC
    return pa.table(
        {
            "decimal": pa.array([Decimal(i % 7) for i in range(n)], pa.decimal128(10, 2)),
            "zoned": pa.array([datetime.datetime(2020, 1, 1 + i % 20, tzinfo=zone) for i in range(n)]),
            "date": [datetime.date(2020, 1, 1 + i % 20) if i % 7 else None for i in range(n)],
            "half": np.arange(n, dtype=np.float16) % 11,
            "small": pa.array([i % 5 for i in range(n)], pa.int8()),
            "flag": [None if i % 6 == 0 else i % 2 == 0 for i in range(n)],
            "large": pa.array(["x" * (i % 4) for i in range(n)], pa.large_string()),
            "time": [datetime.time(i % 24) for i in range(n)],
            "lists": [["a"]] * n,
            "objects": [{"a": 1}] * n,
            "bytes": [b"x"] * n,
        }
    )


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_types_that_are_rare(name, tmp_path, capsys):
    table = make_odd_types()
    WRITERS[name](table, tmp_path / name)
    assert main(["cluster", str(tmp_path / name), "-k", "3", "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err
    for expected in ("numbers     decimal, half, small\n", "dates       zoned, date\n", "categories  flag, large\n"):
        assert expected in said
    assert main(["predict", str(tmp_path / "out"), str(tmp_path / name), "-q"]) == 0
    assert capsys.readouterr().out == (tmp_path / "out" / "labels.csv").read_text()


@pytest.fixture
def as_stdin(monkeypatch):
    """Return a function that makes the content of a file the standard input."""
    return lambda path: monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow", "jsonl"])
def test_tables_from_stdin(format, tmp_path, capsys, as_stdin):
    WRITERS[f"rows.{format}"](TABLE, tmp_path / "rows")
    as_stdin(tmp_path / "rows")
    labels, said = run_cluster(["-", "--format", format], capsys)
    X = TABLE.drop_columns(["customer_id"])
    assert_same_fit(labels, OneBatchPAM(K, metric="gower", random_state=0).fit(X), X)
    assert said.startswith("stdin: 120 rows")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.npy", np.save),
        ("rows.npz", np.savez),
        ("sparse.npz", lambda path, rows: scipy.sparse.save_npz(path, scipy.sparse.csr_array(rows))),
        ("numbers.csv", lambda path, rows: np.savetxt(path, rows, delimiter=",", header="a,b,c", comments="")),
        (
            "vectors.parquet",
            lambda path, rows: pyarrow.parquet.write_table(
                pa.table({"text": [f"row {i}" for i in range(len(rows))], "vector": list(rows)}), path
            ),
        ),
        ("vectors.jsonl", lambda path, rows: write_jsonl(pa.table({"vector": list(rows)}), path)),
    ],
)
def test_numbers(name, write, tmp_path, capsys):
    write(tmp_path / name, MATRIX)
    labels, said = run_cluster([tmp_path / name], capsys)
    assert_same_fit(labels, OneBatchPAM(K, random_state=0).fit(MATRIX), MATRIX)
    assert labels["row"] == tuple(map(str, range(90)))
    assert "metric: euclidean, because" in said


@pytest.mark.parametrize("format", ["npy", "npz"])
def test_numbers_from_stdin(format, tmp_path, capsys, as_stdin):
    (np.save if format == "npy" else np.savez)(tmp_path / f"rows.{format}", MATRIX)
    as_stdin(tmp_path / f"rows.{format}")
    labels, _ = run_cluster(["-", "--format", format], capsys)
    assert_same_fit(labels, OneBatchPAM(K, random_state=0).fit(MATRIX), MATRIX)


def test_the_version_of_an_array_on_stdin_is_known(tmp_path, capsys, as_stdin):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)}\n"
    (tmp_path / "rows.npy").write_bytes(np.lib.format.magic(3, 0) + struct.pack("<I", len(header)) + header + bytes(16))
    as_stdin(tmp_path / "rows.npy")
    assert main(["cluster", "-", "--format", "npy", "-k", "1"]) == 1
    assert (
        "cannot be read as npy: the header of the array has version 3.0: expected 1.0 or 2.0" in capsys.readouterr().err
    )


def test_an_array_on_stdin_has_all_bytes_that_its_header_claims(tmp_path, capsys, as_stdin):
    with (tmp_path / "rows.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 4)})
    as_stdin(tmp_path / "rows.npy")
    assert main(["cluster", "-", "--format", "npy", "-k", "2"]) == 1
    error = capsys.readouterr().err
    assert (
        "stdin cannot be read as npy: the array claims the shape (1000000000000, 4), which is more than the file"
        in error
    )


def write_fasta(path):
    path.write_text("".join(f">w{i} note\n{word[:2]}\n{word[2:]}\n" for i, word in enumerate(WORDS)))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("words.txt", lambda path: path.write_text("".join(f"{word}\n" for word in WORDS))),
        ("windows.txt", lambda path: path.write_bytes("\r\n".join(WORDS).encode("utf-8-sig"))),
        ("words.txt.gz", lambda path: path.write_bytes(gzip.compress("\n".join(WORDS).encode()))),
        ("words.fasta", write_fasta),
        ("words.npy", lambda path: np.save(path, np.array(WORDS))),
        ("words.csv", lambda path: write_csv(pa.table({"n": range(30), "word": WORDS}), path)),
    ],
)
def test_strings(name, write, tmp_path, capsys):
    write(tmp_path / name)
    options = ["--columns", "word", "--metric", "levenshtein"] if name == "words.csv" else []
    labels, _ = run_cluster([tmp_path / name, *options], capsys)
    assert_same_fit(labels, OneBatchPAM(K, metric="levenshtein", random_state=0).fit(WORDS), WORDS)
    if name == "words.fasta":
        assert labels["id"][:2] == ("w0", "w1")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.csv", b"a,b\n1,2\n3\n", "rows.csv cannot be read as csv"),
        ("rows.csv", b"", "rows.csv cannot be read as csv"),
        ("rows.csv", b"a,b\n", "rows.csv has no rows"),
        ("rows.csv", b"a,n\xe9e\n1,2\n3,4\n", "the header of {path} is not UTF-8: save it as UTF-8"),
        ("rows.csv", b"a,b\n1,Ren\xe9\n2,Eva\n", "column 'b' of {path} is not UTF-8: save it as UTF-8"),
        ("rows.csv", b"a;b\n1;2\n2;3\n", "pass --delimiter ';'"),
        ("rows.csv", b"a,a\n1,2\n2,3\n", "several columns 'a'"),
        ("rows.jsonl", b'{"a": 1}\n{"a":', "rows.jsonl cannot be read as jsonl"),
        ("rows.parquet", b"nonsense", "rows.parquet' cannot be read as Parquet"),
        ("rows.arrow", b"nonsense", "rows.arrow cannot be read as arrow"),
        ("rows.npy", b"\x93NUMPY\x01\x00nonsense", "rows.npy cannot be read as npy"),
        ("rows.npy", b"nonsense", "rows.npy cannot be read as npy: the magic string is not correct"),  # and no pickle
        ("rows.npz", b"nonsense", "rows.npz cannot be read as npz"),
        ("rows.txt", b"\xff\xfe\x00", "rows.txt cannot be read as text in UTF-8"),
        ("rows.txt", b"\n\n", "rows.txt is empty"),
        ("rows.fasta", b"ACGT\n", "does not begin with '>'"),
        ("rows.fasta", b">a\n>b\nACGT\n", "has no sequence after '>a'"),
    ],
)
def test_bad_files_are_named_in_one_line(name, content, message, tmp_path, capsys):
    (tmp_path / name).write_bytes(content)
    assert main(["cluster", str(tmp_path / name), "-k", "2"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message.format(path=tmp_path / name) in printed.err
    assert printed.err.count("\n") == 1


def read(path):
    """Return the error of reading a file, or None."""
    try:
        read_content(str(path), ReadingOptions()).take([0])
    except (ValueError, OSError) as error:
        return error
    return None


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.arrow", "stream.arrow", "rows.npy", "rows.npz"])
def test_damaged_files_are_errors_that_name_them(name, tmp_path):
    """Whatever byte is wrong, a reader either does not notice or says which file cannot be read."""
    path, rng = tmp_path / name, np.random.RandomState(0)
    if name.startswith("rows.np"):
        (np.save if name == "rows.npy" else np.savez)(path, MATRIX)
    else:
        WRITERS[name](TABLE, path)
    whole, errors = np.frombuffer(path.read_bytes(), np.uint8), []
    for _ in range(60):
        damaged = whole.copy()
        damaged[rng.randint(len(damaged), size=8)] = rng.randint(256, size=8)
        path.write_bytes(damaged[: rng.choice([len(damaged), rng.randint(len(damaged))])].tobytes())
        errors.append(read(path))
    assert any(errors)
    assert all(name in str(error) for error in errors if error is not None)


def test_pickled_arrays_are_refused(tmp_path, capsys):
    np.save(tmp_path / "rows.npy", np.array([{"a": 1}] * 9, dtype=object), allow_pickle=True)
    assert main(["cluster", str(tmp_path / "rows.npy"), "-k", "2"]) == 1
    assert "Python objects" in capsys.readouterr().err


def test_rows_on_disk_stay_there(tmp_path, capsys, monkeypatch):
    """The fit gets the path of a .npy or Parquet file, not an array."""
    np.save(tmp_path / "rows.npy", MATRIX)
    pyarrow.parquet.write_table(TABLE, tmp_path / "rows.parquet")
    seen, fit = [], OneBatchPAM.fit
    monkeypatch.setattr(OneBatchPAM, "fit", lambda self, X, **options: (seen.append(X), fit(self, X, **options))[1])
    for name in ("rows.npy", "rows.parquet"):
        run_cluster([tmp_path / name], capsys)
    assert seen[0] == str(tmp_path / "rows.npy")
    assert repr(seen[1]).startswith("scan_parquet(")
