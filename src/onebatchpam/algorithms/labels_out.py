"""Where labels are written as they are computed: in memory, in an array of the user's, or in a file."""

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
    """Raise unless n labels from 0 to k - 1 can be written there."""
    if out is None:
        return
    if is_path(out):
        check_new_file(Path(out), name)  # type: ignore[arg-type]
    elif not isinstance(out, np.ndarray):
        raise ValueError(f"{name} is of type {type(out).__name__}: expected an array, or the path of a .npy file")
    elif out.shape != (n,) or out.dtype.kind not in "iu" or np.iinfo(out.dtype).max < k - 1 or not out.flags.writeable:
        raise ValueError(
            f"{name} has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable array of {n} integers that hold labels up to {k - 1}"
        )


def check_new_file(path: Path, name: str) -> None:
    """Raise unless a new file can be made there: an existing file may be the data, or labels of another fit."""
    if path.suffix != ".npy":
        raise ValueError(f"{name} is the path {str(path)!r}: expected one that ends in .npy")
    if path.exists():
        raise FileExistsError(f"{name}: there is a file {str(path)!r} already; remove it or choose another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}: there is no folder {str(path.parent)!r}")


@contextmanager
def open_labels(out: LabelsOut, n: int) -> Iterator[NDArray[Any]]:
    """Give an array for n labels. A file is made at once, and removed again if the work that follows fails."""
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
