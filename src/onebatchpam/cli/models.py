"""Fitted models in files, by skops: a file may hold only the classes listed here, and no code of it is run."""

from __future__ import annotations

from copy import copy
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from onebatchpam._optional import require
from onebatchpam.algorithms import OneBatchPAM
from onebatchpam.data import column_names, columns_of

MODEL = "model.skops"
# The classes beyond those of NumPy and scikit-learn that a file may hold.
TRUSTED = ["onebatchpam.OneBatchPAM", "datetime.date", "datetime.datetime"]
# Attributes that are not saved: two have an entry for each row of the fit, and medoids.csv holds the third.
LEFT_OUT = ("labels_", "distances_", "medoids_")


def skops() -> Any:
    """Return the module of skops that reads and writes models."""
    return require("skops.io", extra="cli", needed_by="saving a model")


def save_model(model: OneBatchPAM, path: Path) -> None:
    """Write what `predict` needs of a model to a file."""
    saved = copy(model)
    saved.__dict__ = {name: value for name, value in vars(model).items() if name not in LEFT_OUT}
    if column_names(model.cluster_centers_) is not None:
        saved.cluster_centers_ = as_plain_rows(model.cluster_centers_)
    skops().dump(saved, path)


def as_plain_rows(table: Any) -> Any:
    """Return the rows of a table as an array of plain values: numbers, strings, dates and None."""
    columns = [column.values for column in columns_of(table)]
    plain = np.empty((len(columns[0]), len(columns)), dtype=object)
    for position, values in enumerate(columns):
        plain[:, position] = (values.astype("datetime64[us]") if values.dtype.kind == "M" else values).tolist()
    is_decimal = np.vectorize(lambda value: isinstance(value, Decimal), otypes=[bool])(plain)
    plain[is_decimal] = plain[is_decimal].astype(np.float64)
    return plain


def load_model(folder: Path) -> OneBatchPAM:
    """Read a model from the folder that `onebatchpam cluster` has written."""
    path = folder / MODEL
    if not path.is_file():
        raise FileNotFoundError(
            2, "No such model; expected a folder that `onebatchpam cluster -o` has written", str(path)
        )
    try:
        model = skops().load(path, trusted=TRUSTED)
    except MemoryError:  # no fault of the file
        raise
    except Exception as error:  # a damaged or a strange file makes skops raise errors of many types
        raise ValueError(f"{path} cannot be read as a model of onebatchpam: {' '.join(str(error).split())}") from error
    if not isinstance(model, OneBatchPAM):
        raise ValueError(f"{path} holds an object of type {type(model).__name__}: expected a model of onebatchpam")
    return model
