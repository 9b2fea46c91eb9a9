"""The data sets of the paper, from a folder of `NAME.npz` files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER_VARIABLE = "ONEBATCHPAM_DATA"
IMAGES = ("mnist", "cifar20k")  # bytes; the paper divides them by 255


def default_folder() -> Path:
    """Return the folder named by the environment, or the one beside the project."""
    return Path(os.environ.get(FOLDER_VARIABLE, Path(__file__).parents[2] / "shared" / "data"))


def load(name: str, folder: Path, dtype: str = "float32") -> NDArray[Any]:
    """Return a data set: "float32" as the paper uses it, "uint8" the bytes of an image set."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: name its folder by --data or the variable {FOLDER_VARIABLE}")
    stored = np.load(path)["X"]
    if dtype == "uint8":
        if stored.dtype != np.uint8:
            raise ValueError(f"{name} is stored as {stored.dtype}, not as bytes")
        return stored
    X = stored.astype(np.float32)
    return X / np.float32(255) if name in IMAGES else X
