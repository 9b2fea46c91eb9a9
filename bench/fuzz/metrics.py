"""A metric for drawn rows, and the matrix of all their dissimilarities, computed without the package.

The names come from the package's own registry, so that a new metric is drawn as soon as it exists. Metrics that the
package leaves to scipy, scikit-learn or rapidfuzz are computed by the same library here: the fuzzer looks for defects
in how they are called, not in these libraries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.spatial.distance
import sklearn.metrics
from numpy.typing import NDArray

import naive
from bench.fuzz.data import Data, Rng, choose
from onebatchpam import block_metric, native_metric, pair_metric
from onebatchpam.metrics.library import SCIPY_METRICS
from onebatchpam.metrics.native import ALIASES, NATIVE_METRICS
from onebatchpam.metrics.registry import METRICS
from onebatchpam.metrics.sparse import SPARSE_METRICS
from onebatchpam.metrics.text import TEXT_METRICS

Floats = NDArray[np.float64]
NAMES_OF_NUMBERS = sorted(name for name, info in METRICS.items() if not info.tags.takes_only_text)


def taxi(a: Any, b: Any) -> float:
    """Compare two rows."""
    return float(np.abs(np.subtract(a, b, dtype=np.float64)).sum())


def uphill(a: Any, b: Any) -> float:
    """Compare two rows in an order that matters."""
    difference = np.subtract(b, a, dtype=np.float64)
    return float(np.where(difference > 0, 4 * difference, -difference).sum())


def taxi_block(A: Any, B: Any) -> Any:
    """Compare two blocks of rows."""
    return scipy.spatial.distance.cdist(np.asarray(A, np.float64), np.asarray(B, np.float64), "cityblock")


def overhang(a: Any, b: Any) -> float:
    """Compare two sequences, in an order that matters."""
    return max(0.0, 2.0 * (len(a) - len(b))) + max(0.0, float(len(b) - len(a)))


def edit_sum(a: Any, b: Any) -> float:
    """Compare two sequences."""
    return abs(float(np.sum(a)) - float(np.sum(b))) + abs(len(a) - len(b))


_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t
)


COMPILED = native_metric(_SIGNATURE(lambda a, b, n: sum(abs(a[j] - b[j]) for j in range(n))))
# Functions as metrics of rows, each with the function of two rows that says the same.
FUNCTIONS: dict[Any, Callable[[Any, Any], float]] = {
    taxi: taxi,
    pair_metric(taxi): taxi,
    pair_metric(uphill): uphill,
    taxi_block: taxi,
    block_metric(taxi_block): taxi,
    COMPILED: taxi,
}
FUNCTIONS_OF_OBJECTS = {pair_metric(overhang): overhang, pair_metric(edit_sum): edit_sum, edit_sum: edit_sum}


@dataclass(frozen=True)
class DrawnMetric:
    """A metric as a user passes it, with its parameters."""

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str | None:
        """The name without aliases; None for a function."""
        return ALIASES.get(self.metric, self.metric) if isinstance(self.metric, str) else None

    @property
    def is_native(self) -> bool:
        """Whether the package computes the metric itself, in threads of its own."""
        return self.name in (*NATIVE_METRICS, *SPARSE_METRICS, "gower", "precomputed")


def draw_metric_of_numbers(rng: Rng, n_features: int) -> DrawnMetric:
    """Draw a metric of rows of numbers: a name with parameters, or a function."""
    if rng.random() < 0.1:
        return DrawnMetric(choose(rng, *FUNCTIONS))
    names = (*NATIVE_METRICS, *ALIASES) if rng.random() < 0.6 else NAMES_OF_NUMBERS
    name = choose(rng, *(name for name in names if name not in ("precomputed", "gower")))
    return DrawnMetric(name, _draw_params(rng, name, n_features))


def _draw_params(rng: Rng, name: str, p: int) -> dict[str, Any]:
    params: dict[str, Callable[[], dict[str, Any]]] = {
        "minkowski": lambda: choose(rng, {"p": 3}, {"p": 1.5}, {"p": 1, "w": rng.random(p)}),
        "seuclidean": lambda: {"V": rng.random(p) + 0.1},
        "mahalanobis": lambda: {"VI": np.eye(p)},
        "hamming": lambda: {"w": rng.random(p) + 0.1},
        "braycurtis": lambda: {"w": rng.random(p) + 0.1},
        "canberra": lambda: {"w": rng.random(p) + 0.1},
    }
    return params[name]() if name in params and rng.random() < 0.5 else {}


def draw_metric_of_text(rng: Rng) -> DrawnMetric:
    """Draw a metric of strings, with parameters."""
    name = choose(rng, *TEXT_METRICS)
    params = choose(rng, {}, {}, {"normalized": True}, {"processor": str.upper})
    if name == "levenshtein" and not params:
        params = choose(rng, {}, {"weights": (1, 2, 3)})
    return DrawnMetric(name, params)


def draw_metric(rng: Rng, data: Data) -> DrawnMetric:
    """Draw a metric for rows other than plain numbers."""
    draws: dict[str, Callable[[], DrawnMetric]] = {
        "sparse": lambda: DrawnMetric(choose(rng, *SPARSE_METRICS, "l1", "cityblock", "l2")),
        "matrix": lambda: DrawnMetric("precomputed"),
        "table": lambda: DrawnMetric("gower", _draw_columns(rng, data)),
        "strings": lambda: draw_metric_of_text(rng),
        "objects": lambda: DrawnMetric(choose(rng, *FUNCTIONS_OF_OBJECTS)),
    }
    return draws[data.kind]()


def _draw_columns(rng: Rng, data: Data) -> dict[str, Any]:
    n_columns = len(data.numeric)
    weights = rng.integers(0, 3, n_columns) + np.eye(n_columns)[0]
    kinds = {name: "asymmetric" for name in data.flags if rng.random() < 0.5}
    return choose(rng, {}, {}, {"weights": weights.tolist()}) | ({"kinds": kinds} if kinds else {})


def naive_matrix(data: Data, drawn: DrawnMetric, weights: Floats) -> Floats:
    """Return d(candidate i, point j) for all pairs of rows; the weights are those of the rows."""
    with np.errstate(all="ignore"):
        if data.kind == "matrix":
            return np.asarray(data.plain, np.float64)
        if data.kind == "table" or drawn.name == "gower":
            return _gower_matrix(data, drawn, weights)
        if data.kind == "strings":
            return _text_matrix(data.plain, drawn)
        function = (FUNCTIONS | FUNCTIONS_OF_OBJECTS).get(drawn.metric)
        if function is not None:
            return naive.dissimilarities(data.plain, data.plain, function)
        rows = np.asarray(data.plain, np.float64)
        if drawn.name in (*NATIVE_METRICS, *(SPARSE_METRICS if data.kind == "sparse" else ())):
            return naive.distance_block(rows, rows, str(drawn.name))
        return _library_matrix(data.plain, drawn, weights)


def _gower_matrix(data: Data, drawn: DrawnMetric, weights: Floats) -> Floats:
    present = [row for row, weight in zip(data.plain, weights, strict=True) if weight > 0]
    ranges = naive.gower_ranges(present, data.numeric)
    column_weights = drawn.params.get("weights", [1.0] * len(ranges))
    asymmetric = [data.flags[name] for name in drawn.params.get("kinds", {})]

    def function(a: Any, b: Any) -> float:
        return naive.gower(a, b, ranges, column_weights, asymmetric)

    return naive.dissimilarities(data.plain, data.plain, function)


def _text_matrix(strings: list[str], drawn: DrawnMetric) -> Floats:
    from rapidfuzz import distance

    if drawn.metric == "levenshtein" and not drawn.params:
        return naive.dissimilarities(strings, strings, naive.levenshtein)
    module = getattr(distance, TEXT_METRICS[drawn.metric][0])
    params = dict(drawn.params)
    function = module.normalized_distance if params.pop("normalized", False) else module.distance
    return naive.dissimilarities(strings, strings, lambda a, b: function(a, b, **params))


def _library_matrix(plain: NDArray[Any], drawn: DrawnMetric, weights: Floats) -> Floats:
    name, params = str(drawn.name), dict(drawn.params)
    rows = np.asarray(plain, np.float64)
    if name == "seuclidean" and "V" not in params:
        params["V"] = np.diag(_covariance(rows, weights))
    if name == "mahalanobis" and "VI" not in params:
        correlation, units = correlate(rows, weights)
        params["VI"] = np.linalg.pinv(correlation) / units
    if name in SCIPY_METRICS:
        return scipy.spatial.distance.cdist(plain, plain, name, **params)
    if name == "nan_euclidean":
        return naive.distance_block(rows, rows, "euclidean")  # no value is missing
    return np.asarray(sklearn.metrics.pairwise_distances(plain, plain, metric=name, **params))


def correlate(rows: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of the features, and the products of deviations that make them covariances.

    Correlations are inverted instead of covariances, because a feature in small units, or of rows of little weight,
    counts like others.
    """
    with np.errstate(invalid="ignore"):
        covariance = np.nan_to_num(_covariance(rows, weights))  # a single row has none, and is refused if it is learnt
    deviations = np.sqrt(covariance.diagonal())
    units = np.outer(deviations, deviations)
    units[units == 0] = 1
    return covariance / units, units


def _covariance(rows: Floats, weights: Floats) -> Floats:
    centred = rows - (weights / weights.sum()) @ rows
    return np.asarray((weights[:, None] * centred).T @ centred / (weights.sum() - 1), np.float64)
