"""Metrics of strings, computed by rapidfuzz, which the extra `text` installs."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._optional import require
from onebatchpam.data import ArrayRows, Rows, are_strings, check_objects, holds_strings, is_path, read_strings
from onebatchpam.metrics.base import Metric, Points
from onebatchpam.metrics.ordered import OrderedMetric

# For each name, the module in rapidfuzz.distance and the parameters that only this metric has.
TEXT_METRICS: dict[str, tuple[str, tuple[str, ...]]] = {
    "levenshtein": ("Levenshtein", ("weights",)),
    "damerau_levenshtein": ("DamerauLevenshtein", ()),
    "osa": ("OSA", ()),
    "indel": ("Indel", ()),
    "lcsseq": ("LCSseq", ()),
    "jaro": ("Jaro", ()),
    "jaro_winkler": ("JaroWinkler", ("prefix_weight",)),
    "hamming": ("Hamming", ("pad",)),
}


@dataclass(frozen=True)
class TextMetric(OrderedMetric):
    """A distance of rapidfuzz, which is between 0 and 1 with the parameter ``normalized=True``."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_mirrored(self) -> bool:  # type: ignore[override]
        """Whether insertions and deletions, which change places if the strings do, have the same weight."""
        weights = self.params.get("weights")
        return weights is None or (isinstance(weights, (tuple, list)) and weights[:1] == weights[1:2])

    @property
    def title(self) -> str:
        return self.name

    def check_params(self) -> None:
        """Raise for a parameter that the metric does not have, because rapidfuzz would ignore it."""
        require("rapidfuzz", extra="text", needed_by=f"metric={self.name!r}")
        known = ("normalized", "processor", *TEXT_METRICS[self.name][1])
        unknown = [param for param in self.params if param not in known]
        if unknown:
            raise ValueError(
                f"metric={self.name!r} has no parameter {unknown[0]!r}: expected metric_params among {list(known)}"
            )

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        self.check_params()
        return ArrayRows(check_strings(read_strings(X, name) if is_path(X) else X, name, self.name))

    def entry_dtype(self, points: Rows, rows: Rows) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def tile_entries(self) -> int:
        return _tiles.TILE_ENTRIES

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        distances = require("rapidfuzz.distance", extra="text", needed_by=f"metric={self.name!r}")
        process = require("rapidfuzz.process", extra="text", needed_by=f"metric={self.name!r}")
        module = getattr(distances, TEXT_METRICS[self.name][0])
        params = dict(self.params)
        normalized, processor = params.pop("normalized", False), params.pop("processor", None)
        first, second = (rows, points) if rows_first else (points, rows)
        try:
            values = process.cdist(
                first,
                second,
                scorer=module.normalized_distance if normalized else module.distance,
                processor=processor,
                scorer_kwargs=params,
                dtype=np.float32,
                workers=n_jobs,
            )
        except (TypeError, ValueError, OverflowError) as error:  # a parameter is wrong: the strings were checked
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {error}") from error
        return values if rows_first else values.T


@dataclass(frozen=True)
class HammingMetric(Metric):
    """The Hamming distance of strings or of rows of numbers, depending on the data."""

    text: TextMetric
    numeric: Metric

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        is_text = holds_strings(X) if is_path(X) else are_strings(X)
        return (self.text if is_text else self.numeric).check(X, name, estimator)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        return (self.text if rows.n_features is None else self.numeric).fit(rows, weights)

    def pack(self, points: Rows, rows: Rows, n_jobs: int, *, rows_first: bool = True) -> Points:
        return self.fit(rows).pack(points, rows, n_jobs, rows_first=rows_first)


def check_strings(X: Any, name: str, metric: str) -> NDArray[np.object_]:
    """Return the strings in X as an array of objects; raise if an element is not a string."""
    objects = check_objects(X, name)
    for i, value in enumerate(objects):
        if not isinstance(value, str):
            raise ValueError(
                f"{name}[{i}]={reprlib.repr(value)} is of type {type(value).__name__}: metric={metric!r} expects "
                "strings; leave missing values out, or replace them"
            )
    return objects
