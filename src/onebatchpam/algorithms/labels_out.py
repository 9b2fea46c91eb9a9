"""The array to which labels are written as they are computed: a new one, one that the user passes, or a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam.data import is_path

LabelsOut = str | os.PathLike[str] | NDArray[Any] | None


def check_labels_out(out: LabelsOut, name: str, n: int, k: int) -> None:
    """Raise unless n labels from 0 to k - 1 can be written to `out`."""
    if out is None:
        return
    if is_path(out):
        check_new_file(Path(out), name)  # type: ignore[arg-type]
    elif not isinstance(out, np.ndarray):
        raise ValueError(
            f"{name} is of type {type(out).__name__}: expected an array of integers, or the path of a new .npy file"
        )
    elif out.shape != (n,) or out.dtype.kind not in "iu" or np.iinfo(out.dtype).max < k - 1 or not out.flags.writeable:
        raise ValueError(
            f"{name} has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable array of {n} integers that hold labels up to {k - 1}"
        )


def check_new_file(path: Path, name: str) -> None:
    """Raise unless a new file can be made at this path; an existing file may hold the data or other labels."""
    if path.suffix != ".npy":
        raise ValueError(f"{name}={str(path)!r}: expected the path of a new file that ends in .npy")
    if path.exists():
        raise FileExistsError(f"{name}={str(path)!r}: this file exists already; remove it or choose another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}={str(path)!r}: there is no folder {str(path.parent)!r}; make it first")


@contextmanager
def open_labels(out: LabelsOut, n: int) -> Iterator[NDArray[Any]]:
    """Yield an array for n labels. A file is made at once, and removed if the body of the `with` statement fails."""
    if out is None:
        yield np.empty(n, np.int32)
    elif isinstance(out, np.ndarray):
        yield out
    else:
        labels = np.lib.format.open_memmap(out, mode="w+", dtype=np.int32, shape=(n,))
        try:
            yield labels
        except BaseException:
            del labels
            Path(out).unlink()
            raise
        labels.flush()
