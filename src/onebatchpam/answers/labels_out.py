"""The array to which labels are written as they are computed: a new one, one that the user passes, or a file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._new_files import make_partial
from onebatchpam._parameters import describe
from onebatchpam.data import is_path

LabelsOut = str | os.PathLike[str] | NDArray[Any] | None
CANNOT_RESERVE = (errno.EOPNOTSUPP, errno.EINVAL)  # from file systems that cannot reserve space; they may have room
NO_LABELS = np.empty(0, np.int32)  # made beforehand, because what is done after a lack of memory should need none


def check_labels_out(out: LabelsOut, name: str, n: int | None, k: int) -> None:
    """Raise unless n labels from 0 to k - 1 can be written to `out`; n is None until the data are read."""
    if out is None:
        return
    if is_path(out):
        check_new_file(out, name)  # type: ignore[arg-type]
    elif not isinstance(out, np.ndarray):
        raise ValueError(f"{describe(out, name)}: expected an array of integers, or the path of a new .npy file")
    elif (
        out.ndim != 1
        or (n is not None and len(out) != n)
        or out.dtype.kind not in "iu"
        or np.iinfo(out.dtype).max < k - 1
        or not out.flags.writeable
    ):
        size = "" if n is None else f"{n} "
        raise ValueError(
            f"{name} has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable array of {size}integers that hold labels up to {k - 1}"
        )


def check_apart(out: LabelsOut, name: str, X: Any) -> None:
    """Raise if labels would be written over rows of X."""
    if isinstance(out, np.ndarray) and isinstance(X, np.ndarray) and np.shares_memory(out, X):
        raise ValueError(f"{name} is a part of X: expected an array of its own, or labels would overwrite rows")


def check_new_file(out: str | os.PathLike[str], name: str) -> None:
    """Raise unless a new file can be made at this path; an existing file may hold the data or other labels."""
    path = Path(out)
    if path.suffix != ".npy" or "\0" in str(path):
        raise ValueError(f"{describe(os.fspath(out), name)}: expected the path of a new file that ends in .npy")
    if os.path.lexists(path):  # a link to nowhere is in the way, too
        raise FileExistsError(f"{name}={str(path)!r}: this file exists already; remove it or choose another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name}={str(path)!r}: there is no folder {str(path.parent)!r}; make it first")


class LabelArray:
    """An array to write labels to: a new one, or the user's own."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def finish(self) -> NDArray[Any]:
        """Return the labels once all of them are written."""
        return self.values

    def discard(self) -> None:
        """Remove what was made for labels that are not complete."""


class LabelFile(LabelArray):
    """A new .npy file of labels. It has another name until it is complete, so that no unfinished file looks finished.

    Its space on the disk is reserved when it is made, where the system can do that, so that a disk without room is
    noticed before the work.
    """

    def __init__(self, path: Path, n: int) -> None:
        self._path = path
        self._partial = make_partial(path)
        try:
            self.values = np.lib.format.open_memmap(self._partial, mode="w+", dtype=np.int32, shape=(n,))
            reserve_space(self._partial)
        except OSError as error:  # told with the name that the user knows
            self.discard()
            raise OSError(error.errno, error.strerror, str(path)) from error
        except BaseException:
            self.discard()
            raise

    def finish(self) -> NDArray[Any]:
        """Give the file its name, which must still be free; return the labels mapped from it."""
        assert isinstance(self.values, np.memmap)  # a map, as it was opened
        self.values.flush()
        self.values = NO_LABELS
        give_name(self._partial, self._path)
        self.discard()
        return np.load(self._path, mmap_mode="r+", allow_pickle=False)

    def discard(self) -> None:
        # The map is let go of first, because some systems refuse to remove a file that is mapped.
        self.values = NO_LABELS
        with suppress(OSError):  # a file that cannot be removed must not hide the error for which it is removed
            self._partial.unlink()


def give_name(partial: Path, path: Path) -> None:
    """Give a file its name, unless there is a file of this name by now."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise FileExistsError(f"a file {str(path)!r} has appeared during the fit; it was left as it is") from None
    except OSError:  # the file system has no links
        if path.exists():
            raise
        partial.rename(path)


def reserve_space(path: Path) -> None:
    """Make the system allocate all blocks of a file, where it can; raise OSError if the disk has no room for them."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno not in CANNOT_RESERVE:
                raise


@contextmanager
def open_labels(out: LabelsOut, n: int) -> Iterator[LabelArray]:
    """Yield an array for n labels; an unfinished file is removed if the body of the `with` statement fails."""
    if out is None:
        labels = LabelArray(np.empty(n, np.int32))
    elif isinstance(out, np.ndarray):
        labels = LabelArray(out)
    else:
        labels = LabelFile(Path(out), n)
    try:
        yield labels
    except BaseException:
        labels.discard()
        raise
