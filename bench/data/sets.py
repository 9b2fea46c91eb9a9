"""The paper's data sets by name: their shapes, where their files may lie, and how to load them.

A data set is looked for as `NAME.npz` (one array `X`) in a folder, then in the cache that `download.py` fills.
`cifar20k` is the first 20,000 rows of `cifar`, from the same file.

Each set has two variants. "paper" is what the paper's experiments clustered, with two slips of their loader: it took
the first row of some files for a header, and left labels that are numbers among the features. "clean" has all rows and
no labels. Neither is scaled, except that the bytes of images are divided by 255.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data import synthetic

FOLDER_VARIABLE = "ONEBATCHPAM_DATA"
CACHE_VARIABLE = "ONEBATCHPAM_CACHE"
VARIANTS = ("paper", "clean")

Piece = tuple[int, NDArray[np.float32]]  # generated rows, after the index of the first of them


@dataclass(frozen=True)
class DataSet:
    """The facts of a data set that are known without its file."""

    name: str
    shape: tuple[int, int]  # of the paper's variant
    label: int | None = None  # the column of the paper's variant that is a label
    eaten_row: bool = False  # whether the paper's variant lacks the first row of the file
    images: bool = False  # whether it is stored as bytes, which the paper divides by 255
    part_of: str | None = None  # the data set whose first rows it is; it has no file of its own

    def shape_in(self, variant: str) -> tuple[int, int]:
        n, p = self.shape
        return (n, p) if variant == "paper" else (n + self.eaten_row, p - (self.label is not None))

    def file_in(self, variant: str) -> str:
        """Return the name of the file; a set without slips has the same file for both variants."""
        has_slips = self.eaten_row or self.label is not None
        return f"{self.whole}-clean.npz" if variant == "clean" and has_slips else f"{self.whole}.npz"

    @property
    def whole(self) -> str:
        """The data set that its file holds: itself, or the one that it is a part of."""
        return self.part_of or self.name

    def drop_label(self, X: NDArray[Any]) -> NDArray[Any]:
        return X if self.label is None else np.delete(X, self.label, axis=1)


DATASETS = {
    each.name: each
    for each in (
        DataSet("abalone", (4176, 8), label=-1, eaten_row=True),
        DataSet("bankruptcy", (6819, 96), label=0),
        DataSet("mapping", (10545, 28)),
        DataSet("drybean", (13611, 16)),
        DataSet("letter", (19999, 16), eaten_row=True),
        DataSet("cifar", (50000, 3072), images=True),
        DataSet("cifar20k", (20000, 3072), images=True, part_of="cifar"),
        DataSet("mnist", (60000, 784), images=True),
        DataSet("dota2", (92650, 117), label=0),
        DataSet("monitor_gas", (416153, 9)),
        DataSet("covertype", (581011, 55), label=-1, eaten_row=True),
        *(DataSet(name, shape) for name, (_, shape) in synthetic.SETS.items()),
    )
}


def default_folder() -> Path:
    """Return the folder named by the environment, or the one beside the project."""
    return Path(os.environ.get(FOLDER_VARIABLE, Path(__file__).parents[3] / "shared" / "data"))


def cache_folder() -> Path:
    """Return the folder of downloaded data sets."""
    if CACHE_VARIABLE in os.environ:
        return Path(os.environ[CACHE_VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onebatchpam-bench"


def store_generated(
    name: str, shape: tuple[int, int], make_pieces: Callable[[int, int], Iterable[Piece]], dtype: str = "float32"
) -> Path:
    """Return a .npy file of generated rows; it is made, piece by piece, if it is not in the cache."""
    path = cache_folder() / f"{name}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        file = np.lib.format.open_memmap(draft, "w+", np.dtype(dtype), shape)
        for start, piece in make_pieces(*shape):
            file[start : start + len(piece)] = piece
        file.flush()
        draft.replace(path)
    return path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be told where data are, and in which variant."""
    parser.add_argument("--data", type=Path, default=argparse.SUPPRESS, help="folder of the data sets")
    parser.add_argument("--variant", choices=VARIANTS, default="paper", help="the data with or without their slips")


def check_name(name: str) -> DataSet:
    """Return the data set of this name; raise if there is none."""
    if name not in DATASETS:
        raise ValueError(f"there is no data set {name!r}: expected one of {', '.join(DATASETS)}")
    return DATASETS[name]


def check_shape(X: NDArray[Any], dataset: DataSet, variant: str, origin: str) -> None:
    """Raise unless the array has the shape of this variant; say what may be wrong."""
    expected = dataset.shape_in(variant)
    if X.shape == expected:
        return
    others = [other for other in VARIANTS if X.shape == dataset.shape_in(other)]
    hint = f"that is the shape of the variant {others[0]!r}" if others else "the file is another version or is damaged"
    raise ValueError(
        f"{origin}: {dataset.name} has shape {X.shape}, expected {expected} for the variant {variant!r}: {hint}"
    )


def find_file(dataset: DataSet, folder: Path, variant: str) -> tuple[Path, str] | None:
    """Return a file from which a variant can be loaded, and the variant that it holds; None if there is no such file.

    The clean variant can be loaded from the paper's unless that lacks a row.
    """
    for held in (variant,) if dataset.eaten_row else dict.fromkeys((variant, "paper")):
        for place in (folder, cache_folder()):
            path = place / dataset.file_in(held)
            if path.exists():
                return path, held
    return None


def is_available(name: str, folder: Path, variant: str = "paper") -> bool:
    """Say whether `load` will succeed without a download."""
    return name in synthetic.SETS or find_file(DATASETS[name], folder, variant) is not None


def load(name: str, folder: Path, variant: str = "paper") -> NDArray[Any]:
    """Return a data set in float32, as the paper uses it."""
    X = load_stored(name, folder, variant).astype(np.float32, copy=False)
    return X / np.float32(255) if DATASETS[name].images else X


def load_stored(name: str, folder: Path, variant: str = "paper") -> NDArray[Any]:
    """Return a data set as it is stored: images as bytes, other data in float32."""
    dataset = check_name(name)
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant {variant!r}: expected one of {', '.join(VARIANTS)}")
    if name in synthetic.SETS:
        return synthetic.generate(name).astype(np.float32)
    file = find_file(dataset, folder, variant)
    if file is None:
        option = "" if variant == "paper" else f" --variant {variant}"
        raise FileNotFoundError(
            f"{folder / dataset.file_in(variant)} is missing: name its folder by --data or the variable "
            f"{FOLDER_VARIABLE}, or fetch it by `python -m bench download {dataset.whole}{option}`"
        )
    path, held = file
    with np.load(path) as arrays:
        if "X" not in arrays:
            raise ValueError(f"{path} holds {', '.join(arrays) or 'nothing'}: expected an array X")
        X = arrays["X"] if dataset.images else arrays["X"].astype(np.float32, copy=False)
    check_shape(X, DATASETS[dataset.whole], held, str(path))
    X = X[: dataset.shape_in(held)[0]]
    return X if held == variant else dataset.drop_label(X)
