"""The paper's data sets by name: their shapes, where to find them, and how to load them.

A data set is looked for as `NAME.npz` (one array `X`) in a folder, then in the cache that `bench.download` fills.

Two variants of each are known. "paper" is what the paper's experiments clustered: of files without a header the first
row was taken for one and lost, and columns that are labels stayed among the features if they are numbers. "clean" has
all rows and no labels. Nothing is scaled in either, but for the images, whose bytes are divided by 255.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data import synthetic

FOLDER_VARIABLE = "ONEBATCHPAM_DATA"
CACHE_VARIABLE = "ONEBATCHPAM_CACHE"
VARIANTS = ("paper", "clean")


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set without having it."""

    name: str
    shape: tuple[int, int]  # of the paper's variant
    label: int | None = None  # the column of the paper's variant that is a label
    eaten_row: bool = False  # whether the paper's variant lacks the first row of the file
    images: bool = False  # bytes; the paper divides them by 255

    def shape_of(self, variant: str) -> tuple[int, int]:
        n, p = self.shape
        return (n, p) if variant == "paper" else (n + self.eaten_row, p - (self.label is not None))

    def has_slips(self) -> bool:
        return self.eaten_row or self.label is not None


DATASETS = {
    each.name: each
    for each in (
        DataSet("abalone", (4176, 8), label=-1, eaten_row=True),
        DataSet("bankruptcy", (6819, 96), label=0),
        DataSet("mapping", (10545, 28)),
        DataSet("drybean", (13611, 16)),
        DataSet("letter", (19999, 16), eaten_row=True),
        DataSet("cifar", (50000, 3072), images=True),
        DataSet("cifar20k", (20000, 3072), images=True),  # the first two of cifar's five files
        DataSet("mnist", (60000, 784), images=True),
        DataSet("dota2", (92650, 117), label=0),
        DataSet("monitor_gas", (416153, 9)),
        DataSet("covertype", (581011, 55), label=-1, eaten_row=True),
        *(DataSet(name, shape) for name, (_, shape) in synthetic.SHAPES.items()),
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


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command be told where data are, and in which variant."""
    parser.add_argument("--data", type=Path, default=argparse.SUPPRESS, help="folder of the data sets")
    parser.add_argument("--variant", choices=VARIANTS, default="paper", help="the data with or without their slips")


def check_name(name: str) -> DataSet:
    """Return the data set of this name."""
    if name not in DATASETS:
        raise ValueError(f"there is no data set {name!r}: expected one of {', '.join(DATASETS)}")
    return DATASETS[name]


def check_shape(X: NDArray[Any], dataset: DataSet, variant: str, origin: str) -> None:
    """Raise unless the array has the shape that the paper states; say what may be wrong."""
    expected = dataset.shape_of(variant)
    if X.shape == expected:
        return
    hint = "the file is another version or is damaged"
    for other in VARIANTS:
        if other != variant and X.shape == dataset.shape_of(other):
            hint = f"that is the shape of the variant {other!r}"
    raise ValueError(
        f"{origin}: {dataset.name} has shape {X.shape}, expected {expected} for the variant {variant!r}: {hint}"
    )


def file_name(dataset: DataSet, variant: str) -> str:
    """Return the name of the file of this variant; sets without slips have one file for both."""
    return f"{dataset.name}-clean.npz" if variant == "clean" and dataset.has_slips() else f"{dataset.name}.npz"


def find(name: str, folder: Path, variant: str = "paper") -> Path | None:
    """Return the file of a data set in the folder or the cache, or None."""
    file = file_name(check_name(name), variant)
    return next((path for path in (folder / file, cache_folder() / file) if path.exists()), None)


def is_available(name: str, folder: Path, variant: str = "paper") -> bool:
    """Say whether `load` will succeed without a download."""
    return name in synthetic.SHAPES or find(name, folder, variant) is not None or _can_drop_label(name, folder, variant)


def _can_drop_label(name: str, folder: Path, variant: str) -> bool:
    dataset = DATASETS[name]
    return variant == "clean" and not dataset.eaten_row and find(name, folder) is not None


def load(name: str, folder: Path, dtype: str = "float32", variant: str = "paper") -> NDArray[Any]:
    """Return a data set: "float32" as the paper uses it, "uint8" the bytes of an image set."""
    dataset = check_name(name)
    stored = _stored(dataset, folder, variant)
    if dtype == "uint8":
        if stored.dtype != np.uint8:
            raise ValueError(f"{name} is stored as {stored.dtype}, not as bytes")
        return stored
    X = stored.astype(np.float32)
    return X / np.float32(255) if dataset.images else X


def _stored(dataset: DataSet, folder: Path, variant: str) -> NDArray[Any]:
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant {variant!r}: expected one of {', '.join(VARIANTS)}")
    if dataset.name in synthetic.SHAPES:
        return synthetic.generate(dataset.name)
    path = find(dataset.name, folder, variant)
    if path is not None:
        return _read(path, dataset, variant)
    if _can_drop_label(dataset.name, folder, variant):
        return without_label(_stored(dataset, folder, "paper"), dataset)
    option = "" if variant == "paper" else f" --variant {variant}"
    raise FileNotFoundError(
        f"{folder / file_name(dataset, variant)} is missing: name its folder by --data or the variable "
        f"{FOLDER_VARIABLE}, or fetch it by `python -m bench download {dataset.name}{option}`"
    )


def without_label(X: NDArray[Any], dataset: DataSet) -> NDArray[Any]:
    """Return the rows without the column that is a label, if there is one."""
    return X if dataset.label is None else np.delete(X, dataset.label, axis=1)


def _read(path: Path, dataset: DataSet, variant: str) -> NDArray[Any]:
    with np.load(path) as arrays:
        if "X" not in arrays:
            raise ValueError(f"{path} holds {', '.join(arrays) or 'nothing'}: expected an array X")
        X = arrays["X"]
    check_shape(X, dataset, variant, str(path))
    return X
