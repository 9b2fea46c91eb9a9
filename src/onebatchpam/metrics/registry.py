"""Which dissimilarity a name or a function stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onebatchpam.metrics.base import Metric, MetricLike
from onebatchpam.metrics.compiled import is_compiled, resolve_compiled
from onebatchpam.metrics.functions import resolve_function
from onebatchpam.metrics.gower import Gower
from onebatchpam.metrics.library import SCIPY_METRICS, SKLEARN_METRICS, LibraryMetric
from onebatchpam.metrics.native import NATIVE_METRICS, NativeMetric
from onebatchpam.metrics.sparse import SparseMetric
from onebatchpam.metrics.text import TEXT_METRICS, HammingMetric, TextMetric

SPARSE_METRICS = ("manhattan", "euclidean", "sqeuclidean", "cosine", "jaccard")

ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "chebychev": "chebyshev"}

METRIC_NAMES = (*NATIVE_METRICS, *ALIASES, *SCIPY_METRICS, *SKLEARN_METRICS, "gower")


def _gower(params: Mapping[str, Any] | None) -> Metric:
    unknown = [name for name in params or {} if name not in ("kinds", "weights")]
    if unknown:
        raise ValueError(
            f"metric='gower' has no parameter {unknown[0]!r}: expected metric_params among ['kinds', 'weights']"
        )
    return Gower.with_params(**(params or {}))


def _sparse(name: str, params: Mapping[str, Any] | None) -> Metric:
    if name not in SPARSE_METRICS:
        raise ValueError(
            f"metric={name!r} does not compare sparse rows: expected one of {sorted(SPARSE_METRICS)}, or a dense array "
            "as X.toarray()"
        )
    if params:
        raise ValueError(f"metric={name!r} takes no parameters for sparse rows, got metric_params={dict(params)!r}")
    return SparseMetric(name)


def compares_text(metric: MetricLike) -> bool:
    """Say whether this metric is one of strings only."""
    return isinstance(metric, str) and metric in TEXT_METRICS and metric != "hamming"


def resolve_metric(name: MetricLike, params: Mapping[str, Any] | None = None, *, sparse: bool = False) -> Metric:
    """Look up a metric by name, or take a function as one; for rows that are sparse matrices or not."""
    params = dict(params or {})
    if is_compiled(name):
        return resolve_compiled(name, params)
    if callable(name):
        return resolve_function(name, params)
    if not isinstance(name, str) or name not in (*METRIC_NAMES, *TEXT_METRICS):
        raise ValueError(
            f"metric={name!r} is not known: expected a function, 'precomputed' or one of "
            f"{sorted({*METRIC_NAMES, *TEXT_METRICS})}"
        )
    canonical = ALIASES.get(name, name)
    if sparse:
        return _sparse(canonical, params)
    if name == "gower":
        return _gower(params)
    if canonical in NATIVE_METRICS:
        if params:
            raise ValueError(f"metric={name!r} takes no parameters, got metric_params={params!r}")
        return NativeMetric(canonical)
    if canonical == "hamming":
        return HammingMetric(TextMetric(canonical, params), LibraryMetric(canonical, params=params))
    if canonical in TEXT_METRICS:
        return TextMetric(canonical, params)
    if canonical in SCIPY_METRICS:
        return LibraryMetric(canonical, "scipy", params=params)
    return LibraryMetric(canonical, "scikit-learn", allows_nan=canonical == "nan_euclidean", params=params)
