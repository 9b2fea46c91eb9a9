"""Damaged files: a reader returns, or raises an error that names the file; it never crashes and loads no pickle.

A file starts sound, as NumPy, scipy or Arrow writes it. Then some of its bytes are changed, cut, repeated or moved, or
a number in its header is replaced by an extreme one. The process has little memory, so that a size which the reader
believes without a look at the file ends in a MemoryError.

Where `atheris` is installed, `python -m bench fuzz readers --guided` lets it choose the changes by the lines of code
that they reach.
"""

from __future__ import annotations

import io
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from bench.fuzz.data import Rng, choose
from bench.fuzz.trial import describe_error, expect_advice_only
from bench.measure.process import TIMED, Announce, Record
from onebatchpam import RandomMedoids

EXPLOSIONS: list[str] = []  # one for each pickle that was loaded


def explode(place: str) -> None:
    """Leave a trace."""
    EXPLOSIONS.append(place)


class Bomb:
    """An object whose pickle leaves a trace when it is loaded."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return explode, ("loaded",)


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _npz(matrix: Any) -> bytes:
    file = io.BytesIO()
    scipy.sparse.save_npz(file, matrix, compressed=bool(matrix.shape[0] % 2))
    return file.getvalue()


def npz_of_pickles() -> bytes:
    """Return a .npz file whose arrays would have to be unpickled."""
    file = io.BytesIO()
    bombs = np.array([Bomb()], dtype=object)
    np.savez(file, data=bombs, indices=bombs, indptr=bombs, format=bombs, shape=bombs)
    return file.getvalue()


def _parquet(columns: dict[str, Any]) -> bytes:
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), file, row_group_size=8)
    return file.getvalue()


NUMBERS = (0, 1, 255, 2**15, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1)
WORDS = ["tea", "coffee", "", "cocoa"] * 3


def _rows(rng: Rng) -> Any:
    return rng.integers(0, 9, (int(rng.integers(1, 30)), 3))


def _sparse(rng: Rng) -> Any:
    return scipy.sparse.csr_array(_rows(rng) % 3)


def _npz_of_wrong_arrays(rng: Rng) -> bytes:
    """Return a sound .npz file of arrays that are not those of a sparse matrix."""
    matrix = _sparse(rng)
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": np.array(matrix.shape)}
    name = choose(rng, *arrays)
    wrong = arrays[name].astype(np.int64)
    if wrong.size:
        wrong[rng.integers(wrong.size)] = choose(rng, -1, *NUMBERS[:-1])
    arrays[name] = choose(rng, wrong, wrong, wrong, wrong[:-1], wrong.astype(np.float32), wrong[np.newaxis])
    file = io.BytesIO()
    np.savez(file, **arrays, format=np.array(choose(rng, b"csr", b"csc", b"coo", b"bsr", b"lil")))
    return file.getvalue()


# Kinds of sound files: suffix, parameters of the estimator that reads them, and a function that makes their bytes.
SOUND: dict[str, tuple[str, dict[str, Any], Callable[[Rng], bytes]]] = {
    "floats": (".npy", {}, lambda rng: _npy(_rows(rng).astype(np.float32))),
    "Fortran": (".npy", {}, lambda rng: _npy(np.asfortranarray(_rows(rng) / 2))),
    "integers": (".npy", {"metric": "l1"}, lambda rng: _npy(_rows(rng))),
    "strings": (".npy", {"metric": "levenshtein"}, lambda rng: _npy(np.array(WORDS))),
    "matrix": (".npy", {"metric": "precomputed"}, lambda rng: _npy(np.ones((9, 9)))),
    "pickle": (".npy", {}, lambda rng: _npy(np.array([[Bomb()]], dtype=object))),
    "csr": (".npz", {}, lambda rng: _npz(_sparse(rng))),
    "csc": (".npz", {"metric": "jaccard"}, lambda rng: _npz(_sparse(rng).tocsc())),
    "coo": (".npz", {}, lambda rng: _npz(_sparse(rng).tocoo())),
    "npz of pickles": (".npz", {}, lambda rng: npz_of_pickles()),
    "npz of wrong arrays": (".npz", {}, _npz_of_wrong_arrays),
    "parquet": (".parquet", {}, lambda rng: _parquet({"a": _rows(rng)[:, 0]})),
    "table": (".parquet", {"metric": "gower"}, lambda rng: _parquet({"a": WORDS, "b": range(len(WORDS))})),
    "column of strings": (".parquet", {"metric": "hamming"}, lambda rng: _parquet({"a": WORDS})),
}


TEXTS = (b"(0,)", b"(-1, 3)", b"(2, 3", b"(1000000000000, 3)", b"(9" * 40, b"'|O'", b"'<U99999999'", b"'V8'", b"{" * 99)


def damage(rng: Rng, content: bytes) -> bytes:
    """Return the bytes of a file after one change."""
    at, end = sorted(int(place) for place in rng.integers(0, len(content) + 1, 2))
    size = int(choose(rng, 1, 2, 4, 8))
    number = (choose(rng, *NUMBERS) % 2 ** (8 * size)).to_bytes(size, "little")
    changes: dict[str, Callable[[], bytes]] = {
        "cut": lambda: content[:at],
        "a part is missing": lambda: content[:at] + content[min(end, at + 20) :],
        "a part is repeated": lambda: content[:end] + content[at:],
        "bytes": lambda: content[:at] + rng.bytes(size) + content[at + size :],
        "number": lambda: content[:at] + number + content[at + size :],
        "a bit": lambda: (
            content[:at] + bytes(byte ^ 1 << int(rng.integers(8)) for byte in content[at : at + 1]) + content[at + 1 :]
        ),
        "shape": lambda: re.sub(rb"\([\d, ]*\)", choose(rng, *TEXTS), content, count=1),
        "type": lambda: re.sub(rb"'[<>|=][a-zA-Z]\d*'", choose(rng, *TEXTS), content, count=1),
        "no content": lambda: b"",
    }
    return changes[choose(rng, *changes)]()


def draw_file(seed: int) -> tuple[str, bytes, dict[str, Any]]:
    """Draw a file with up to three changes."""
    rng = np.random.default_rng(seed)
    suffix, metric, make = SOUND[choose(rng, *SOUND)]
    content = make(rng)
    for _ in range(rng.integers(0, 4)):
        content = damage(rng, content)
    return suffix, content, metric


def read(suffix: str, content: bytes, metric: dict[str, Any]) -> tuple[str | None, bool]:
    """Fit a model to a file; return what is wrong with the way in which it was read, and whether it was refused.

    An error must name the file, or the rows of X that are not as expected, or say that all of them are too small.
    """
    EXPLOSIONS.clear()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        expect_advice_only()
        path = Path(folder) / f"damaged{suffix}"
        path.write_bytes(content)
        problem, was_refused = None, False
        try:
            RandomMedoids(1, random_state=0, **metric).fit(str(path))
        except (ValueError, OSError) as error:
            was_refused = True
            if not re.search(rf"{path.name}|X\[|X (is|has) |too small for float32", str(error)):
                problem = f"the error does not name the file\n{describe_error(error)}"
        except Exception as error:
            problem = describe_error(error)
    return "a pickle was loaded" if EXPLOSIONS else problem, was_refused


def run_reader(announce: Announce, seed: int) -> Record:
    """Read one file; this is a task for `bench.measure.process`."""
    announce(TIMED)
    suffix, content, metric = draw_file(seed)
    problem, was_refused = read(suffix, content, metric)
    failures = {} if problem is None else {suffix: problem}
    code = describe_file(suffix, content, metric) if failures else ""
    return {"failures": failures, "counts": {"refused": int(was_refused)}, "code": code}


def describe_file(suffix: str, content: bytes, metric: dict[str, Any]) -> str:
    """Return code that reads the file."""
    return f"from bench.fuzz.readers import read\nread({suffix!r}, {content!r}, {metric!r})"


def describe_reader(announce: Announce, seed: int) -> Record:
    """Describe the file of a seed without reading it."""
    return {"code": describe_file(*draw_file(seed))}
