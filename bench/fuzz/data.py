"""Rows of every kind that users pass, drawn at random: numbers, sparse rows, matrices, tables, strings and objects.

Small data sets find most defects: ties, duplicates and clusters of a single row are frequent there, and the naive
reference is quick.
"""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Rng = np.random.Generator


@dataclass(frozen=True)
class Data:
    """A data set as a user passes it, and the same rows in a plain form."""

    kind: str  # "numbers", "sparse", "matrix", "table", "strings" or "objects"
    X: Any  # as the user passes it
    plain: Any  # an array of numbers in C order, or a list of rows, strings or objects
    form: str  # the type, the memory layout or the file of X
    numeric: tuple[bool, ...] = ()  # of a table: which columns are compared as numbers
    flags: dict[Any, int] = field(default_factory=dict)  # of a table: the columns of truth values, name and number
    in_memory: Any = None  # the same rows in memory, if X is on disk

    @property
    def n(self) -> int:
        return len(self.plain)

    def snapshot(self) -> bytes:
        """Return bytes that change if X does."""
        if isinstance(self.X, Path):
            return self.X.read_bytes()
        return pickle.dumps(_values_of(self.X))


def _values_of(X: Any) -> Any:
    """Return the values of X alone, because some types also hold notes about themselves, which may change."""
    if scipy.sparse.issparse(X):
        return X.toarray()
    if hasattr(X, "iloc"):  # pandas
        return repr(X.to_numpy(object).tolist())
    if hasattr(X, "rows"):  # polars
        return repr(X.rows())
    if hasattr(X, "to_pylist"):  # Arrow
        return repr(X.to_pylist())
    return X[:]


def choose(rng: Rng, *choices: Any) -> Any:
    """Return one of the choices."""
    return choices[rng.integers(len(choices))]


def draw_size(rng: Rng, most: int = 400) -> int:
    """Return a number of rows: mostly up to 12, sometimes up to 30 or 60, seldom up to `most`."""
    largest = choose(rng, 4, 30, 30, 30, 60, most if rng.random() < 0.5 else 30) if rng.random() < 0.3 else 12
    return int(rng.integers(1, largest + 1))


def _draw_scaled(rng: Rng, n: int, p: int) -> NDArray[np.float64]:
    """Draw numbers of an extreme scale."""
    return rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-320, 300)


VALUES: dict[str, Callable[[Rng, int, int], NDArray[np.float64]]] = {
    "normal": lambda rng, n, p: rng.standard_normal((n, p)),
    "groups": lambda rng, n, p: rng.standard_normal((n, p)) + 10 * rng.integers(0, 3, (n, 1)),
    "ties": lambda rng, n, p: rng.integers(-2, 3, (n, p)).astype(np.float64),
    "bytes": lambda rng, n, p: rng.integers(0, 256, (n, p)).astype(np.float64),
    "pixels": lambda rng, n, p: rng.integers(0, 256, (n, p)) / 255,
    "duplicates": lambda rng, n, p: rng.standard_normal((max(1, n // 4), p))[rng.integers(0, max(1, n // 4), n)],
    "equal": lambda rng, n, p: np.tile(rng.standard_normal((1, p)), (n, 1)),
    "zeros": lambda rng, n, p: rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.3),
    "outliers": lambda rng, n, p: rng.standard_normal((n, p)) * 1e6 ** (rng.random((n, 1)) < 0.1),
    "constant columns": lambda rng, n, p: np.where(rng.random(p) < 0.5, 3.0, rng.standard_normal((n, p))),
    "far from zero": lambda rng, n, p: 1e6 + rng.standard_normal((n, p)),
    "extreme": _draw_scaled,
}
DTYPES = ("float64", "float64", "float32", "float32", "float16", "int8", "int32", "int64", "uint8", "uint16", "bool")


def convert(values: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    """Return numbers in another type; those out of its range become its largest or smallest number."""
    if dtype == "bool":
        return values > np.median(values)
    limits = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    clipped = np.clip(values, float(limits.min), float(limits.max))
    if dtype == "int64":
        clipped = np.clip(clipped, -(2.0**62), 2.0**62)  # float64 rounds the largest int64 up
    return clipped.astype(dtype)


def _spread(X: NDArray[Any]) -> NDArray[Any]:
    """Return the rows as every other row and column of a larger array."""
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]), X.dtype)
    wide[::2, ::2] = X
    return wide[::2, ::2]


def _protect(X: NDArray[Any]) -> NDArray[Any]:
    X.flags.writeable = False
    return X


def _as_frame(X: NDArray[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _as_polars(X: NDArray[Any]) -> Any:
    import polars

    return polars.DataFrame({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


LAYOUTS: dict[str, Callable[[NDArray[Any]], Any]] = {
    "C": lambda X: X,
    "Fortran": np.asfortranarray,
    "strided": _spread,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _protect,
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder()),
    "list": lambda X: X.tolist(),
    "pandas": _as_frame,
    "polars": _as_polars,
}
FRAMES = ("pandas", "polars")  # whose columns are checked one by one, which takes longer than a fit


def _save_npy(X: NDArray[Any], folder: Path) -> Path:
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def _save_parquet(X: Any, folder: Path) -> Path:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({f"x{j}": column for j, column in enumerate(X.T)}) if isinstance(X, np.ndarray) else X
    pyarrow.parquet.write_table(table, folder / "X.parquet", row_group_size=7)
    return folder / "X.parquet"


def _save_zarr(X: NDArray[Any], folder: Path) -> Any:
    import zarr

    array: Any = zarr.open(str(folder / "X.zarr"), mode="w", shape=X.shape, dtype=X.dtype, chunks=(5, 2))
    array[:] = X
    return array


def _save_hdf5(X: NDArray[Any], folder: Path) -> Any:
    import h5py

    file = h5py.File(folder / "X.h5", "w")
    return file.create_dataset("X", data=X)


STORED: dict[str, Callable[[NDArray[Any], Path], Any]] = {
    "npy": _save_npy,
    "npy, Fortran": lambda X, folder: _save_npy(np.asfortranarray(X), folder),
    "memmap": lambda X, folder: np.load(_save_npy(X, folder), mmap_mode="r"),
    "memmap, strided": lambda X, folder: np.load(_save_npy(np.repeat(X, 2, axis=0), folder), mmap_mode="r")[::2],
    "parquet": _save_parquet,
    "zarr": _save_zarr,
    "hdf5": _save_hdf5,
}


def draw_numbers(rng: Rng, folder: Path, *, n_features: int, for_function: bool = False) -> Data:
    """Draw rows of numbers.

    Rows for a function as metric are few, because the function is slow, and not in a list, which would hold objects.
    """
    n, p = draw_size(rng, most=60 if for_function else 400), n_features
    shape = choose(rng, *VALUES)
    plain = convert(VALUES[shape](rng, n, p), choose(rng, *DTYPES))
    if rng.random() < 0.1:
        form = choose(rng, *STORED)
        return Data("numbers", STORED[form](plain, folder), plain, f"{shape}, {form}", in_memory=plain)
    arrays = [layout for layout in LAYOUTS if layout not in ("list", *FRAMES)]
    form = choose(rng, *arrays, *arrays, *FRAMES, "C" if for_function else "list")
    X = LAYOUTS[form](plain.copy())
    return Data("numbers", X, np.array(X) if form == "list" else plain, f"{shape}, {form}")


def draw_sparse(rng: Rng, folder: Path) -> Data:
    """Draw a sparse matrix in one of scipy's formats, possibly with explicit zeros and entries in two parts."""
    n, p = draw_size(rng), int(choose(rng, 1, 3, 8, 30))
    values = VALUES[choose(rng, "normal", "ties", "bytes", "outliers")](rng, n, p) * (rng.random((n, p)) < 0.4)
    plain = convert(values, choose(rng, "float64", "float32", "int32", "uint8"))
    make = choose(rng, scipy.sparse.csr_array, scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array)
    X = make(plain)
    form = make.__name__
    if form == "coo_array" and plain.dtype.kind == "f":
        form, X = "csr_array with duplicates", _split_entries(plain)
    if rng.random() < 0.1:
        scipy.sparse.save_npz(folder / "X.npz", X)
        return Data("sparse", folder / "X.npz", plain, f"npz of {form}", in_memory=X)
    return Data("sparse", X, plain, form)


def _split_entries(plain: NDArray[Any]) -> Any:
    """Return a CSR matrix that has an explicit zero beside each entry, in no order."""
    rows, columns = np.nonzero(plain)
    values = plain[rows, columns]
    order = np.argsort(np.concatenate([rows, rows]), kind="stable")
    indices = np.concatenate([columns, columns])[order]
    data = np.concatenate([values, np.zeros_like(values)])[order]
    indptr = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(plain, axis=1))])
    return scipy.sparse.csr_array((data, indices, indptr), shape=plain.shape)


def draw_matrix(rng: Rng, folder: Path) -> Data:
    """Draw a precomputed matrix of dissimilarities, which may be asymmetric and violate the triangle inequality."""
    n = draw_size(rng)
    points = rng.standard_normal((n, 2))
    symmetric = np.abs(points[:, None] - points).sum(axis=2)
    values = {
        "symmetric": symmetric,
        "asymmetric": symmetric * rng.uniform(0.5, 2, (n, n)),
        "ties": rng.integers(0, 4, (n, n)).astype(np.float64),
        "arbitrary": rng.exponential(1, (n, n)) ** 3,  # not even zero on the diagonal
        "bytes": np.clip(20 * symmetric, 0, 255).astype(np.uint8).astype(np.float64),
    }
    shape = choose(rng, *values)
    plain = convert(values[shape], choose(rng, "float64", "float32", "float32", "float16", "int32", "uint8"))
    if rng.random() < 0.1:
        form = choose(rng, "npy", "npy, Fortran", "memmap")
        return Data("matrix", STORED[form](plain, folder), plain, f"{shape}, {form}", in_memory=plain)
    form = choose(rng, *(layout for layout in LAYOUTS if layout not in FRAMES))
    X = LAYOUTS[form](plain.copy())
    return Data("matrix", X, np.array(X) if form == "list" else plain, f"{shape}, {form}")


def is_asymmetric(matrix: NDArray[Any]) -> bool:
    """Tell whether a matrix differs from its transpose."""
    return not np.array_equal(matrix, matrix.T)


WORDS = ("red", "green", "blue", "", "Ärger")
EPOCH = datetime.datetime(2020, 1, 1)


def plain_row(row: Any) -> list[Any]:
    """Return the values of a row of a table: dates in seconds, None where a value is missing."""
    values = [(value - EPOCH).total_seconds() if isinstance(value, datetime.datetime) else value for value in row]
    return [None if value is None or value != value else value for value in values]


def rows_of_table(table: Any) -> list[list[Any]]:
    """Return the rows of a pandas, polars or Arrow table, or of an array, as those of the plain form."""
    if hasattr(table, "iloc"):
        rows = table.astype(object).where(table.notna(), None).to_numpy(object).tolist()
    elif hasattr(table, "to_pylist"):
        rows = [row.values() for row in table.to_pylist()]
    else:
        rows = table.rows() if hasattr(table, "rows") else table.tolist()
    return [plain_row(row) for row in rows]


def _draw_column(rng: Rng, n: int, *kinds: str) -> tuple[str, list[Any]]:
    """Return the kind of a column, one of those given, and its values: None where a value is missing."""
    kind = choose(rng, *kinds)
    draws: dict[str, Callable[[], list[Any]]] = {
        "float": lambda: rng.standard_normal(n).tolist(),
        "int": lambda: rng.integers(-3, 4, n).tolist(),
        "word": lambda: [choose(rng, *WORDS) for _ in range(n)],
        "flag": lambda: (rng.random(n) < 0.5).tolist(),
        "date": lambda: [EPOCH + datetime.timedelta(hours=int(hours)) for hours in rng.integers(0, 99, n)],
    }
    missing = rng.random(n) < choose(rng, 0, 0, 0.2, 1)
    return kind, [None if gone else value for gone, value in zip(missing, draws[kind](), strict=True)]


def draw_table(rng: Rng, folder: Path) -> Data:
    """Draw a table of mixed columns with missing values, as pandas, polars or Arrow, an array, or a Parquet file."""
    import pandas as pd
    import polars
    import pyarrow

    n = draw_size(rng, most=60)
    form = choose(rng, "pandas", "pandas, Arrow types", "polars", "arrow", "parquet", "array")
    # An array of objects does not say that a column without any number holds dates.
    kinds = ("float", "int", "word", "flag") + (() if form == "array" else ("date",))
    drawn = [_draw_column(rng, n, *kinds) for _ in range(rng.integers(1, 6))]
    columns = {f"{kind}{j}": values for j, (kind, values) in enumerate(drawn)}
    types = {"float": "float64", "int": "int64", "word": "string", "flag": "bool", "date": "timestamp[us]"}
    arrays = [pyarrow.array(values, types[kind]) for kind, values in drawn]
    table = pyarrow.table(dict(zip(columns, arrays, strict=True)))
    makers: dict[str, Callable[[], Any]] = {
        "pandas": lambda: table.to_pandas(date_as_object=False),
        "pandas, Arrow types": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: polars.from_arrow(table),
        "arrow": lambda: table,
        "parquet": lambda: _save_parquet(table, folder),
        "array": lambda: np.array(list(zip(*columns.values(), strict=True)), dtype=object),
    }
    plain = [plain_row(row) for row in zip(*columns.values(), strict=True)]
    numeric = tuple(kind in ("float", "int", "date") for kind, _ in drawn)
    flags = {j if form == "array" else f"flag{j}": j for j, (kind, _) in enumerate(drawn) if kind == "flag"}
    in_memory = table if form == "parquet" else None
    return Data("table", makers[form](), plain, form, numeric, flags, in_memory)


def draw_strings(rng: Rng, folder: Path) -> Data:
    """Draw strings: in a list, a tuple, an array, a frame's column, or a file."""
    import pandas as pd
    import pyarrow

    n = draw_size(rng, most=60)
    alphabet = choose(rng, "ab", "abcdefgh", "aé😀")
    plain = ["".join(rng.choice(list(alphabet), rng.integers(0, 7))) for _ in range(n)]
    makers: dict[str, Callable[[], Any]] = {
        "list": lambda: list(plain),
        "tuple": lambda: tuple(plain),
        "array": lambda: np.array(plain),
        "objects": lambda: np.array(plain, dtype=object),
        "pandas": lambda: pd.Series(plain),
        "npy": lambda: _save_npy(np.array(plain), folder),
        "parquet": lambda: _save_parquet(pyarrow.table({"text": plain}), folder),
    }
    form = choose(rng, *makers)
    return Data("strings", makers[form](), plain, form, in_memory=plain if form in ("npy", "parquet") else None)


def draw_objects(rng: Rng, folder: Path) -> Data:
    """Draw sequences of varying length, as arrays or tuples."""
    n = draw_size(rng, most=60)
    sequences: list[Any] = [rng.integers(0, 3, rng.integers(0, 6)).astype(np.float64) for _ in range(n)]
    form = choose(rng, "list of arrays", "list of tuples", "tuple of arrays")
    if form == "list of tuples":
        sequences = [tuple(sequence.tolist()) for sequence in sequences]
    return Data("objects", tuple(sequences) if form == "tuple of arrays" else list(sequences), sequences, form)
