"""Data sets whose rows have labels: those that ship with scikit-learn and aeon, covertype and mnist.

aeon, a package for time series, is not imported: its files are read, so that it may be installed without the older
versions of NumPy and pandas that it asks for (`pip install --no-deps aeon`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from bench.data.sets import cache_folder, load, load_stored

MOST_ROWS = 10_000  # larger sets are represented by so many rows, drawn at random
MNIST_LABELS = "mnist-labels"

Labelled = tuple[NDArray[Any], NDArray[Any]]  # rows, and the label of each


def load_labelled(name: str, folder: Path) -> Labelled:
    """Return the rows and the labels of a data set; raise FileNotFoundError if it is not at hand."""
    X, y = SETS[name](folder)
    if len(X) > MOST_ROWS:
        chosen = np.random.RandomState(0).choice(len(X), MOST_ROWS, replace=False)
        X, y = X[chosen], y[chosen]
    return X.astype(np.float32), y


def scale(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return features of mean 0 and deviation 1; a constant feature becomes 0."""
    deviations = X.std(axis=0, dtype=np.float64)
    return (X - X.mean(axis=0, dtype=np.float64)) / np.where(deviations > 0, deviations, 1)


def read_digits(folder: Path) -> Labelled:
    """Return 1,797 images of digits, of 8 x 8 pixels."""
    digits = load_digits()
    return digits.data, digits.target


def read_cancer(folder: Path) -> Labelled:
    """Return 569 tumours, benign or malignant, with 30 features."""
    cancer = load_breast_cancer()
    return scale(cancer.data), cancer.target


def read_covertype(folder: Path) -> Labelled:
    """Return pieces of forest, with 54 features and the kind of trees that grow there."""
    table = load_stored("covertype", folder)
    return scale(table[:, :-1]), table[:, -1].astype(np.int64)


def read_mnist(folder: Path) -> Labelled:
    """Return images of digits, of 28 x 28 pixels."""
    for place in (folder, cache_folder()):
        path = place / f"{MNIST_LABELS}.npz"
        if path.exists():
            with np.load(path) as arrays:
                return load("mnist", folder), arrays["X"]
    raise FileNotFoundError(f"{path} is missing: fetch it by `python -m bench download {MNIST_LABELS}`")


def read_series(name: str, suffix: str, folder: Path) -> Labelled:
    """Return the time series of a set that ships with aeon, both parts; the channels of a series are joined."""
    found = importlib.util.find_spec("aeon")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError(f"{name} ships with aeon, which is not installed: pip install --no-deps aeon")
    place = Path(found.submodule_search_locations[0]) / "datasets" / "data" / name
    lines = [line for part in ("TRAIN", "TEST") for line in read_data_lines(place / f"{name}{suffix}_{part}.ts")]
    rows = [[float(value) for channel in line[:-1] for value in channel.split(",")] for line in lines]
    return np.array(rows), np.array([line[-1] for line in lines])


def read_data_lines(path: Path) -> list[list[str]]:
    """Return the series of a file: for each one its channels, as text, and last its label."""
    text = path.read_text().splitlines()
    start = next(i for i, line in enumerate(text) if line.strip().lower() == "@data")
    return [line.strip().split(":") for line in text[start + 1 :] if line.strip()]


SETS: dict[str, Callable[[Path], Labelled]] = {
    "digits": read_digits,
    "breast cancer": read_cancer,
    "covertype": read_covertype,
    "mnist": read_mnist,
    "ItalyPowerDemand": partial(read_series, "ItalyPowerDemand", ""),
    "JapaneseVowels": partial(read_series, "JapaneseVowels", "_eq"),
    "OSULeaf": partial(read_series, "OSULeaf", ""),
}
