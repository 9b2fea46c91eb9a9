"""Dissimilarities of strings, by rapidfuzz: the extra `text`."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam.data import are_strings, check_objects
from onebatchpam.metrics.base import Columns, Metric
from onebatchpam.metrics.ordered import OrderedMetric

# The module of rapidfuzz.distance for each name, and the parameters of its functions.
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
    """A distance of rapidfuzz, between 0 and 1 if normalised.

    With unequal weights of insertion and deletion it depends on the order of the strings.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.name

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
        import_rapidfuzz(self.name)
        known = ("normalized", "processor", *TEXT_METRICS[self.name][1])
        unknown = [param for param in self.params if param not in known]  # rapidfuzz would pass over it in silence
        if unknown:
            raise ValueError(
                f"metric={self.name!r} has no parameter {unknown[0]!r}: expected metric_params among {list(known)}"
            )
        return check_strings(X, name, self.name)

    def dtype(self, rows: NDArray[Any], columns: NDArray[Any]) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def tile_entries(self) -> int:
        return _tiles.TILE_ENTRIES

    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        rapidfuzz = import_rapidfuzz(self.name)
        module = getattr(rapidfuzz.distance, TEXT_METRICS[self.name][0])
        params = dict(self.params)
        normalized, processor = params.pop("normalized", False), params.pop("processor", None)
        first, second = (rows, columns) if rows_first else (columns, rows)
        try:
            found = rapidfuzz.process.cdist(
                first,
                second,
                scorer=module.normalized_distance if normalized else module.distance,
                processor=processor,
                scorer_kwargs=params,
                dtype=np.float32,
                workers=n_jobs,
            )
        except (TypeError, ValueError, OverflowError) as error:  # the strings were checked: it is a parameter
            raise ValueError(f"metric={self.name!r} with metric_params={dict(self.params)!r}: {error}") from error
        return found if rows_first else found.T


@dataclass(frozen=True)
class HammingMetric(Metric):
    """The Hamming distance of strings or of rows of numbers; the data decide which."""

    text: TextMetric
    numeric: Metric

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
        return (self.text if are_strings(X) else self.numeric).check(X, name, estimator)

    def fitted(self, X: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Metric:
        return (self.text if X.ndim == 1 else self.numeric).fitted(X, weights)

    def to(self, points: NDArray[Any], X: NDArray[Any], n_jobs: int) -> Columns:
        return self.fitted(X).to(points, X, n_jobs)


def check_strings(X: Any, name: str, metric: str) -> NDArray[np.object_]:
    """Return the strings in X as an array of objects."""
    objects = check_objects(X, name)
    for i, each in enumerate(objects):
        if not isinstance(each, str):
            raise ValueError(
                f"{name}[{i}]={reprlib.repr(each)} is of type {type(each).__name__}: metric={metric!r} expects "
                "strings; leave out or replace what is missing"
            )
    return objects


def import_rapidfuzz(metric: str) -> Any:
    """Return the library that compares strings."""
    try:
        import rapidfuzz.distance
        import rapidfuzz.process
    except ImportError as error:
        raise ImportError(f"metric={metric!r} needs rapidfuzz: pip install 'onebatchpam[text]'") from error
    return rapidfuzz
