"""The table of metrics: it finds the metric for a name or a function, and the kinds of data that the metric takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from onebatchpam.metrics.base import Metric, MetricLike
from onebatchpam.metrics.compiled import is_compiled, resolve_compiled
from onebatchpam.metrics.functions import resolve_function
from onebatchpam.metrics.gower import Gower
from onebatchpam.metrics.library import SCIPY_METRICS, SKLEARN_METRICS, LibraryMetric
from onebatchpam.metrics.native import NATIVE_METRICS, NativeMetric
from onebatchpam.metrics.precomputed import Precomputed
from onebatchpam.metrics.sparse import SPARSE_METRICS, SparseMetric
from onebatchpam.metrics.text import TEXT_METRICS, HammingMetric, TextMetric

Params = Mapping[str, Any]
ALIASES = {"l1": "manhattan", "cityblock": "manhattan", "l2": "euclidean", "chebychev": "chebyshev"}


@dataclass(frozen=True)
class MetricTags:
    """The kinds of data that a metric takes, for the tags of scikit-learn."""

    allows_nan: bool = False
    takes_categories: bool = False
    takes_only_text: bool = False
    takes_sparse: bool = False
    is_pairwise: bool = False
    keeps_float64: bool = True


@dataclass(frozen=True)
class MetricInfo:
    """An entry of the table: how to make the metric from its parameters, and its tags."""

    make: Callable[[Params], Metric]
    tags: MetricTags


def make_without_params(name: str, make: Callable[[], Metric], params: Params) -> Metric:
    """Make a metric that has no parameters; raise if the user passes any."""
    if params:
        raise ValueError(f"metric={name!r} takes no parameters, got metric_params={dict(params)!r}: expected None")
    return make()


def make_text(name: str, params: Params) -> Metric:
    """Make a metric of strings; its parameters are checked at once, before the strings are."""
    metric = TextMetric(name, params)
    metric.check_params()
    return metric


def make_hamming(params: Params) -> Metric:
    """Make the Hamming metric, which compares strings or rows of numbers."""
    return HammingMetric(TextMetric("hamming", params), LibraryMetric("hamming", params))


def info(name: str, make: Callable[[Params], Metric], **tags: bool) -> dict[str, MetricInfo]:
    """Return an entry of the table with its name."""
    return {name: MetricInfo(make, MetricTags(takes_sparse=name in SPARSE_METRICS, **tags))}


METRICS: dict[str, MetricInfo] = {}
for _name in NATIVE_METRICS:
    METRICS |= info(_name, partial(make_without_params, _name, partial(NativeMetric, _name)))
for _name in {*SCIPY_METRICS, *SKLEARN_METRICS} - {"hamming"}:
    METRICS |= info(_name, partial(LibraryMetric, _name), allows_nan=_name == "nan_euclidean")
for _name in TEXT_METRICS.keys() - {"hamming"}:
    METRICS |= info(_name, partial(make_text, _name), takes_only_text=True)
METRICS |= info("hamming", make_hamming)
METRICS |= info("gower", Gower.with_params, allows_nan=True, takes_categories=True, keeps_float64=False)
METRICS |= info("precomputed", partial(make_without_params, "precomputed", Precomputed), is_pairwise=True)
METRICS |= {alias: METRICS[name] for alias, name in ALIASES.items()}


def tags_of(metric: MetricLike) -> MetricTags:
    """Return the tags of a metric. A function may be given NaN, because it decides itself what NaN means."""
    if not isinstance(metric, str):
        return MetricTags(allows_nan=True)
    return METRICS[metric].tags if metric in METRICS else MetricTags()


def resolve_metric(metric: MetricLike, params: Params | None = None, *, sparse: bool = False) -> Metric:
    """Return the metric for a name or a function; with `sparse`, the metric of that name for sparse rows."""
    params = dict(params or {})
    if is_compiled(metric):
        return resolve_compiled(metric, params)
    if callable(metric):
        return resolve_function(metric, params)
    if not isinstance(metric, str) or metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not known: expected a function or one of {sorted(METRICS)}")
    return resolve_sparse(metric, params) if sparse else METRICS[metric].make(params)


def resolve_sparse(metric: str, params: Params) -> Metric:
    """Return the metric of this name for sparse rows."""
    if not METRICS[metric].tags.takes_sparse:
        raise ValueError(
            f"metric={metric!r} does not compare sparse rows: expected one of {sorted(SPARSE_METRICS)}, or a dense "
            "array, X.toarray()"
        )
    if params:
        raise ValueError(
            f"metric={metric!r} takes no parameters for sparse rows, got metric_params={params!r}: expected None"
        )
    return SparseMetric(ALIASES.get(metric, metric))
