"""What SECURITY.md promises about files from strangers: nothing in them is run, and no size in them is believed."""

from __future__ import annotations

import ast
import contextlib
import io
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

import onebatchpam
from onebatchpam import FasterPAM, OneBatchPAM, RandomMedoids, collapse_duplicates, distance_block

MODULES = sorted(Path(onebatchpam.__file__).parent.rglob("*.py"))
METRICS = ["euclidean", "levenshtein", "hamming", "gower", "precomputed"]


def fit_all(path):
    """Pass a file to fits with metrics of every kind of data; return the errors, one of which each fit must raise."""
    errors = []
    for metric in METRICS:
        with pytest.raises(ValueError) as info:  # noqa: PT011 (the caller looks at the messages)
            OneBatchPAM(2, metric=metric).fit(path)
        errors.append(str(info.value))
    return errors


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no such device")
@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
def test_a_device_that_never_ends_is_not_read(suffix, tmp_path):
    path = tmp_path / f"X.{suffix}"
    path.symlink_to("/dev/zero")
    for metric in ("euclidean", "levenshtein", "hamming"):
        with pytest.raises(ValueError, match="of a device or a pipe"):
            OneBatchPAM(2, metric=metric).fit(path)
    with pytest.raises(ValueError, match="of a device or a pipe"):
        RandomMedoids(2).fit(np.eye(4)).predict(path)


class Payload:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def npz_bytes(**arrays):
    file = io.BytesIO()
    np.savez(file, allow_pickle=True, **arrays)
    return file.getvalue()


def parquet_bytes(payload):
    """Return a Parquet file whose column is of a type that pyarrow before 14.0.1 unpickled from the schema."""
    metadata = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": payload}
    field = pyarrow.field("a", pyarrow.string(), metadata=metadata)
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table([["x", "y", "z"]], schema=pyarrow.schema([field])), file)
    return file.getvalue()


def with_payload(name, trace):
    """Return the content of a file of this name that holds a pickled payload."""
    objects = np.array([[Payload(trace), 1], [2, 3]], dtype=object)
    if name.endswith(".npy"):
        file = io.BytesIO()
        np.save(file, objects, allow_pickle=True)
        return file.getvalue()
    if name.endswith(".npz"):
        indices = {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2])}
        return npz_bytes(format=np.array(b"csr"), data=objects[0], **indices)
    return parquet_bytes(pickle.dumps(Payload(trace)))


class TestPickles:
    def test_the_payload_works(self, tmp_path):
        pickle.loads(pickle.dumps(Payload(tmp_path / "trace")))
        assert (tmp_path / "trace").exists()

    @pytest.mark.parametrize("name", ["X.npy", "X.npz"])
    def test_objects_in_arrays_are_not_loaded(self, name, tmp_path):
        path, trace = tmp_path / name, tmp_path / "trace"
        path.write_bytes(with_payload(name, trace))
        fit_all(path)
        assert not trace.exists()

    @pytest.mark.filterwarnings("ignore:pickle-based deserialization of pyarrow")  # old versions say that they refuse
    @pytest.mark.filterwarnings("ignore:pyarrow.PyExtensionType is deprecated:FutureWarning")  # until pyarrow 21
    def test_types_in_parquet_files_are_not_loaded(self, tmp_path):
        path, trace = tmp_path / "X.parquet", tmp_path / "trace"
        path.write_bytes(with_payload("X.parquet", trace))
        for metric in ("gower", "levenshtein"):
            with contextlib.suppress(TypeError):  # pyarrow before 21 knows the type, but pandas cannot hash it
                OneBatchPAM(2, metric=metric).fit(path)
        assert not trace.exists()

    def test_a_version_of_pyarrow_that_loads_them_is_not_used(self, tmp_path, monkeypatch):
        (tmp_path / "X.parquet").write_bytes(with_payload("X.parquet", tmp_path / "trace"))
        monkeypatch.setattr(pyarrow, "__version__", "14.0.0")
        with pytest.raises(ImportError, match=r"14\.0\.0, expected at least 18\): pip install 'pyarrow>=18'"):
            OneBatchPAM(2, metric="gower").fit(tmp_path / "X.parquet")

    @pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".pkl"])
    def test_a_pickle_under_another_name_is_not_loaded(self, suffix, tmp_path):
        path, trace = tmp_path / f"X{suffix}", tmp_path / "trace"
        path.write_bytes(pickle.dumps(Payload(trace)))
        fit_all(path)
        assert not trace.exists()

    @pytest.mark.parametrize(
        "path", sorted(Path(onebatchpam.__file__).parent.rglob("*.py")), ids=lambda path: path.stem
    )
    def test_no_code_of_the_package_loads_pickles(self, path):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {"pickle", "joblib", "shelve", "dill"} & {alias.name for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ("pickle", "shelve", "dill")
                assert node.module != "joblib" or not {"load"} & {alias.name for alias in node.names}
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "np.load":
                keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert keywords.get("allow_pickle") == "False"


def npy_bytes(descr, shape, body=b"\0" * 800):
    """Return a .npy file with this header, true or not."""
    return raw_npy(f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}\n".encode(), body)


def raw_npy(header, body=b"\0" * 800):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


DAMAGED_NPY = {
    "more rows than bytes": npy_bytes("<f8", (10**15, 3)),
    "one row more than bytes": npy_bytes("<f8", (101, 1)),
    "sizes that overflow": npy_bytes("<f8", (2**62, 4)),
    "negative rows": npy_bytes("<f8", (-1, 3)),
    "two negative sizes": npy_bytes("<f8", (-4, -3)),
    "a size that is not a number": npy_bytes("<f8", ("100", 1)),
    "True for a size": npy_bytes("<f8", (True, 3)),
    "many elements of no bytes": npy_bytes("<U0", (10**15,)),
    "many rows without features": npy_bytes("<f8", (10**15, 0)),
    "an element larger than the file": npy_bytes("<U100000000", (1,)),
    "a header longer than the file": b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{" * 100,
    "an unknown version": b"\x93NUMPY\x09\x00" + b"\0" * 100,
    "an unknown type": npy_bytes("<x8", (10, 10)),
    "no header": b"\x93NUMPY",
    "nothing": b"",
    "brackets that are not closed": raw_npy(b"{'descr': ((((\n"),
    "deep brackets": raw_npy(b"(" * 9000),
    "a deep expression": raw_npy(b"-" * 9000 + b"1"),
    "code": raw_npy(b"__import__('os').getcwd()\n"),
}


class TestNpy:
    @pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # NumPy notices the overflow twice
    @pytest.mark.parametrize("damage", DAMAGED_NPY)
    def test_damaged_headers(self, damage, tmp_path):
        path = tmp_path / "X.npy"
        path.write_bytes(DAMAGED_NPY[damage])
        tracemalloc.start()
        try:
            errors = fit_all(path)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The content of a bytes object that is being read counts as allocated, although it never takes memory.
        assert peak < 2**24 or damage == "a header longer than the file"
        assert all("X" in error and "\n" not in error for error in errors)

    def test_numbers_that_are_not_characters(self, tmp_path):
        path = tmp_path / "X.npy"
        path.write_bytes(npy_bytes("<U2", (3,), struct.pack("<6I", 65, 66, 67, 2**31, 69, 70)))
        with pytest.raises(ValueError, match=r"X\.npy.*damaged: expected characters"):
            OneBatchPAM(2, metric="levenshtein").fit(path)


def sparse_npz(path, **changes):
    """Write a sparse matrix of 4 rows and 3 features as SciPy does, but with some of its arrays changed."""
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([4, 3]),
        "data": np.ones(5),
        "indices": np.array([0, 1, 2, 0, 1], np.int32),
        "indptr": np.array([0, 1, 2, 4, 5], np.int32),
    }
    np.savez(path, **{**arrays, **{name: np.array(value) for name, value in changes.items()}})


DAMAGED_SPARSE = {
    "a feature beyond the last": {"indices": [0, 1, 3, 0, 1]},
    "a feature far beyond the last": {"indices": [0, 1, 2**30, 0, 1]},
    "a negative feature": {"indices": [0, 1, -1, 0, 1]},
    "rows that go backwards": {"indptr": [0, 4, 2, 4, 5]},
    "rows that begin before the first": {"indptr": [-3, 1, 2, 4, 5]},
    "rows that end behind the last": {"indptr": [0, 1, 2, 4, 2**30]},
    "a row far outside": {"indptr": [0, 2**30, -(2**30), 4, 5]},
    "too few rows": {"indptr": [0, 1, 5]},
    "too few values": {"data": [1.0, 1.0]},
    "more rows than bytes": {"shape": [10**15, 3]},
    "more rows than bytes in another format": {"format": b"csc", "shape": [10**15, 4]},
    "a negative shape": {"shape": [-4, 3]},
    "a shape of one dimension": {"shape": [4]},
    "values in two dimensions": {"data": np.ones((5, 2))},
    "an unknown format": {"format": b"xyz"},
    "a format that is code": {"format": "__class__"},
    "text for values": {"data": ["a"] * 5},
}


class TestSparse:
    def test_what_is_not_damaged_is_read(self, tmp_path):
        sparse_npz(tmp_path / "X.npz")
        assert len(FasterPAM(2).fit(tmp_path / "X.npz").labels_) == 4

    @pytest.mark.parametrize("damage", DAMAGED_SPARSE)
    def test_arrays_that_contradict_each_other(self, damage, tmp_path):
        path = tmp_path / "X.npz"
        sparse_npz(path, **DAMAGED_SPARSE[damage])
        with pytest.raises(ValueError, match="X"):
            FasterPAM(2).fit(path)
        with pytest.raises(ValueError, match="Y"):
            distance_block(np.ones((2, 3)), path)

    @pytest.mark.parametrize("name", ["indices", "indptr"])
    def test_matrices_in_memory(self, name):
        X = scipy.sparse.csr_matrix(np.eye(40))
        getattr(X, name)[5] = 2**30
        for use in (
            FasterPAM(2).fit,
            collapse_duplicates,
            FasterPAM(2).fit(scipy.sparse.csr_matrix(np.eye(40))).predict,
        ):
            with pytest.raises(ValueError, match="X is a damaged sparse matrix"):
                use(X)

    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_an_array_that_claims_more_than_the_file_can_hold(self, compression, tmp_path):
        sparse_npz(tmp_path / "X.npz")
        with zipfile.ZipFile(tmp_path / "X.npz") as good:
            members = {name: good.read(name) for name in good.namelist()}
        members["data.npy"] = npy_bytes("<f8", (10**10,))
        with zipfile.ZipFile(tmp_path / "bad.npz", "w", compression) as bad:
            for name, content in members.items():
                bad.writestr(name, content)
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"bad\.npz.*data\.npy claims the shape \(10000000000,\)"):
                FasterPAM(2).fit(tmp_path / "bad.npz")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2**24

    def test_a_matrix_that_compresses_well_is_read(self, tmp_path):
        X = scipy.sparse.csr_matrix(np.ones((2000, 50)))
        scipy.sparse.save_npz(tmp_path / "X.npz", X, compressed=True)
        assert (FasterPAM(1).fit(tmp_path / "X.npz").labels_ == 0).all()

    @pytest.mark.parametrize("damage", ["deep brackets", "a deep expression"])
    def test_damaged_headers(self, damage, tmp_path):
        with zipfile.ZipFile(tmp_path / "X.npz", "w") as file:
            file.writestr("data.npy", DAMAGED_NPY[damage])
        for error in fit_all(tmp_path / "X.npz"):
            assert "X.npz" in error

    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", npy_bytes("<f8", (10, 10)), npz_bytes(a=1)])
    def test_files_that_are_not_sparse_matrices(self, content, tmp_path):
        (tmp_path / "X.npz").write_bytes(content)
        for error in fit_all(tmp_path / "X.npz"):
            assert "X.npz" in error


def varint(value):
    """Return a number as the footer of a Parquet file holds it."""
    value, digits = 2 * value, []
    while value >= 128:
        digits.append(value % 128 + 128)
        value //= 128
    return bytes([*digits, value])


@pytest.mark.parametrize("metric", ["gower", "levenshtein"])
def test_text_of_parquet_files_that_is_not_utf8(metric, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    latin = pa.array([b"Eva", b"Ren\xe9", b"Ada"]).view(pa.string())
    parquet.write_table(pa.table({"who": latin}), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"rows.parquet' cannot be read as Parquet: column 'who': .*UTF8.*\S$"):
        OneBatchPAM(2, metric=metric).fit(tmp_path / "rows.parquet")


@pytest.mark.parametrize("claimed", [12_346, 2**40])
def test_a_parquet_file_that_claims_more_rows_than_it_has(claimed, tmp_path):
    path = tmp_path / "X.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": np.arange(12_345.0), "b": np.arange(12_345.0)}), path)
    content = path.read_bytes()
    length = struct.unpack("<I", content[-8:-4])[0]
    body, footer = content[: -8 - length], content[-8 - length : -8]
    assert footer.count(b"\x16" + varint(12_345)) >= 2  # the numbers of rows of the file and of its row group
    footer = footer.replace(b"\x16" + varint(12_345), b"\x16" + varint(claimed))
    path.write_bytes(body + footer + struct.pack("<I", len(footer)) + b"PAR1")
    for metric in ("euclidean", "gower"):
        with pytest.raises((ValueError, OSError), match="row"):
            OneBatchPAM(2, metric=metric, refine=0).fit(path)
