"""Fitted metrics as plain values, in which models are saved: the classes of metrics may move, saved models stay."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from onebatchpam.metrics.base import Metric
from onebatchpam.metrics.compiled import NativeFunction
from onebatchpam.metrics.functions import BlockFunction, PairFunction
from onebatchpam.metrics.gower import AsymmetricEncoder, Encoding, Gower, LevelEncoder, NumericEncoder
from onebatchpam.metrics.library import LibraryMetric
from onebatchpam.metrics.native import NativeMetric
from onebatchpam.metrics.precomputed import Precomputed
from onebatchpam.metrics.sparse import SparseMetric
from onebatchpam.metrics.text import TextMetric

# The classes that a fitted metric consists of, by the names that saved models give them.
STORED: dict[str, type[Any]] = {
    "asymmetric": AsymmetricEncoder,
    "block function": BlockFunction,
    "compiled function": NativeFunction,
    "encoding": Encoding,
    "gower": Gower,
    "levels": LevelEncoder,
    "library": LibraryMetric,
    "native": NativeMetric,
    "numbers": NumericEncoder,
    "pair function": PairFunction,
    "precomputed": Precomputed,
    "sparse": SparseMetric,
    "text": TextMetric,
}
NAMES = {stored: name for name, stored in STORED.items()}
CLASS = "class of onebatchpam"  # the key that tells a stored object from a dictionary of the user


def store_metric(metric: Metric) -> Any:
    """Return a fitted metric as a dictionary of plain values."""
    return _store(metric)


def restore_metric(stored: Any) -> Metric:
    """Return the metric that `store_metric` has stored, or that version 0.1.0 saved, which had none for a matrix."""
    return Precomputed(is_fitted=True) if stored is None else _restore(stored)


def _store(value: Any) -> Any:
    if is_dataclass(value) and type(value) in NAMES:
        return {CLASS: NAMES[type(value)]} | {field.name: _store(getattr(value, field.name)) for field in fields(value)}
    return [_store(element) for element in value] if isinstance(value, list) else value


def _restore(value: Any) -> Any:
    if isinstance(value, dict) and CLASS in value:
        return STORED[value[CLASS]](**{name: _restore(part) for name, part in value.items() if name != CLASS})
    return [_restore(element) for element in value] if isinstance(value, list) else value
