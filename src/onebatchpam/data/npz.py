"""Sparse matrices in .npz files, which are loaded as a whole; damaged ones are errors."""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse

from onebatchpam._memory import check_n_rows
from onebatchpam.data.files import is_path
from onebatchpam.data.sources import refuse_special

LARGEST_COMPRESSION = 1032  # deflate, by which .npz files are compressed, makes no data smaller by a larger factor


def load_sparse(X: Any, name: str) -> Any:
    """Return the sparse matrix if X is the path of a .npz file, which cannot be read in parts; otherwise X itself."""
    if not is_path(X) or Path(X).suffix != ".npz":
        return X
    refuse_special(Path(X), name)
    with open(X, "rb") as file:  # an error of opening the file names it
        try:
            check_sizes(file)
            matrix = scipy.sparse.load_npz(file)  # SciPy does not unpickle
            check_structure(matrix, name)
            check_n_rows(matrix.shape[0], name)
            if matrix.dtype.kind not in "biuf":
                raise ValueError(f"it holds values of type {matrix.dtype}; expected numbers")
            return matrix.tocsr()
        except MemoryError:  # no fault of the file, whose sizes were checked
            raise
        except Exception as error:  # a damaged file makes Python, NumPy and SciPy raise errors of many types
            raise ValueError(
                f"{name} is the file {str(X)!r}, which cannot be read as a sparse matrix: "
                f"{str(error) or type(error).__name__}"
            ) from error


def check_sizes(file: IO[bytes]) -> None:
    """Raise if an array in a .npz file claims more bytes than the file can hold."""
    most_bytes = LARGEST_COMPRESSION * file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as array:
                check_header(array, min(member.file_size, most_bytes), member.filename)
    file.seek(0)


def check_header(file: IO[bytes], most_bytes: int, name: str) -> None:
    """Raise if the header of an array in .npy format claims more bytes than these; NumPy would reserve them."""
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in headers:  # NumPy writes others only for columns whose names are not Latin
        raise ValueError(f"the header of {name} has version {version[0]}.{version[1]}: expected 1.0 or 2.0")
    try:
        shape, _, dtype = headers[version](file)
    except MemoryError as error:  # Python's parser raises it for brackets that are nested too deeply
        raise ValueError(f"the header of {name} cannot be read") from error
    if math.prod(shape) * dtype.itemsize > most_bytes:
        raise ValueError(f"{name} claims the shape {shape}, which is more than the file can hold")


def check_structure(matrix: Any, name: str) -> None:
    """Raise if the arrays of a sparse matrix contradict each other, so that its rows would lie outside of them.

    SciPy checks this only on request, and its own conversions may crash otherwise.
    """
    if hasattr(matrix, "check_format"):  # matrices of other formats are checked when they are made
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(
                f"{name} is a damaged sparse matrix: {error}; expected one that SciPy has built"
            ) from error
