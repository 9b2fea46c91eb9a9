"""Paths: the files that X may name, and by which source each of them is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._warn import warn
from onebatchpam.data.parquet import ParquetFiles, describe_columns, is_parquet, open_parquet
from onebatchpam.data.sources import ArraySource, NpySource, Source, check_not_empty, open_npy, read_npy_header

READABLE = (
    "a .npy file, a Parquet file or a folder of them, or the .npz file of a sparse matrix; pass arrays of Zarr and "
    "HDF5 open, as zarr.open_array(path) or h5py.File(path)[name]"
)


def is_path(X: Any) -> bool:
    """Tell whether X is the path of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def open_source(X: Any, name: str) -> Source:
    """Return the source for a path, or for an array that is not in memory; it has at least one row and one feature."""
    if not is_path(X):
        check_not_empty(X.shape, name)
        if type(X).__module__.partition(".")[0] == "dask":
            warn(
                f"{name} is an array of Dask, which is computed anew whenever rows are read: use onebatchpam.dask, "
                f"which works on its chunks, or pass {name}.compute()"
            )
        return ArraySource(X, name)
    if X == "":
        raise ValueError(f"{name} is an empty string: expected data, or the path of {READABLE}")
    path = Path(X)
    if path.suffix == ".npy":
        array = open_npy(path, name)
        return NpySource(path, array)
    if is_parquet(path):
        return open_parquet(X, name)
    raise ValueError(f"{name} is the path {str(path)!r}: expected {READABLE}{advise_on(path)}")


def advise_on(path: Path) -> str:
    """Return advice, to follow an error, on a file of text, which is not read in parts."""
    return f"; load it with pandas.read_csv({str(path)!r})" if path.suffix in (".csv", ".tsv", ".txt") else ""


def holds_strings(X: Any) -> bool:
    """Tell whether a path is that of a .npy file of strings, or of a Parquet file with one column of strings."""
    if Path(X).suffix == ".npy":
        return read_npy_header(Path(X), "X").dtype.kind == "U"
    types = ParquetFiles(X, "X").schema.types if is_parquet(Path(X)) else []
    return len(types) == 1 and str(types[0]) in ("string", "large_string")


def read_strings(X: Any, name: str) -> NDArray[Any]:
    """Return the strings in a file: the elements of a .npy file, or the only column of Parquet files."""
    path = Path(X)
    if path.suffix == ".npy":
        strings = read_npy_header(path, name)
        if strings.dtype.kind != "U" or strings.dtype.itemsize == 0:  # strings of no characters would take no space
            raise ValueError(f"{name} is the file {str(path)!r} of type {strings.dtype}: expected strings")
        # NumPy would make invalid strings of numbers that are not characters.
        characters = np.ravel(strings).view(f"{strings.dtype.byteorder}u4")
        if characters.size and characters.max() > sys.maxunicode:
            raise ValueError(f"{name} is the file {str(path)!r}, which is damaged: expected characters of Unicode")
        return np.asarray(strings).astype(object)
    if not is_parquet(path):
        raise ValueError(f"{name} is the path {str(path)!r}: expected a .npy file or a Parquet file of strings")
    files = ParquetFiles(X, name)
    if files.shape[1] != 1:
        raise ValueError(
            f"{name} is the path {str(path)!r} with the columns {describe_columns(files.schema)}: expected one column "
            "of strings"
        )
    groups = files.read_groups(0, files.shape[0])
    return np.array([string for table in groups for string in table.column(0).to_pylist()], dtype=object)
