"""The table of metrics: it finds the metric for a name or a function, and the kinds of data that the metric takes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from joblib.parallel import get_active_backend

from onebatchpam._parameters import check_positive, describe, resolve_n_jobs
from onebatchpam.metrics.base import Metric, MetricLike
from onebatchpam.metrics.compiled import is_compiled, resolve_compiled
from onebatchpam.metrics.functions import resolve_function
from onebatchpam.metrics.gower import Gower
from onebatchpam.metrics.library import SCIPY_METRICS, SKLEARN_METRICS, LibraryMetric
from onebatchpam.metrics.native import ALIASES, NATIVE_METRICS, NativeMetric
from onebatchpam.metrics.precomputed import Precomputed
from onebatchpam.metrics.sparse import SPARSE_METRICS, SparseMetric
from onebatchpam.metrics.text import TEXT_METRICS, HammingMetric, TextMetric

Params = Mapping[str, Any]


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


def make_library(name: str, params: Params) -> Metric:
    """Make a metric of scipy or scikit-learn; scipy would compute nonsense with a power that is not positive."""
    if name == "minkowski" and "p" in params:
        check_positive(params["p"], "metric='minkowski' with p")
    if name == "jensenshannon":  # scipy takes no parameters where it compares all pairs, neither weights nor a base
        return make_without_params(name, partial(LibraryMetric, name), params)
    return LibraryMetric(name, params)


def info(name: str, make: Callable[[Params], Metric], **tags: bool) -> dict[str, MetricInfo]:
    """Return an entry of the table with its name."""
    return {name: MetricInfo(make, MetricTags(takes_sparse=name in SPARSE_METRICS, **tags))}


# Distances of time series, by the names that aeon gives them.
SERIES_METRICS = ("dtw", "ddtw", "wdtw", "wddtw", "adtw", "shape_dtw", "erp", "edr", "lcss", "msm", "twe", "sbd")

METRICS: dict[str, MetricInfo] = {}
for _name in NATIVE_METRICS:
    METRICS |= info(_name, partial(make_without_params, _name, partial(NativeMetric, _name)))
for _name in {*SCIPY_METRICS, *SKLEARN_METRICS} - {"hamming"}:
    METRICS |= info(_name, partial(make_library, _name), allows_nan=_name == "nan_euclidean")
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


def resolve_threads(n_jobs: int | None, metric: MetricLike) -> int:
    """Return the number of threads for `n_jobs`; by default a Python function is called from one thread only.

    Such a function may not be safe in threads, and most functions are not faster in several threads.
    """
    runs_python = callable(metric) and not is_compiled(metric)
    if n_jobs is None and runs_python and get_active_backend()[1] is None:
        return 1
    return resolve_n_jobs(n_jobs)


def resolve_metric(metric: MetricLike, params: Params | None = None, *, sparse: bool = False) -> Metric:
    """Return the metric for a name or a function; with `sparse`, the metric of that name for sparse rows."""
    params = check_params(params)
    if is_compiled(metric):
        return resolve_compiled(metric, params)
    if callable(metric):
        return resolve_function(metric, params)
    if isinstance(metric, str) and metric in SERIES_METRICS:
        raise ValueError(
            f"metric={metric!r} compares time series, which no metric of this package does: expected a function; aeon "
            f"has one, block_metric(aeon.distances.{metric}_pairwise_distance)"
        )
    if not isinstance(metric, str) or metric not in METRICS:
        unknown = f"{describe(metric, 'metric')}{' is not known' if isinstance(metric, str) else ''}"
        meant = find_similar(metric) if isinstance(metric, str) else None
        guess = f" (did you mean {meant!r}?)" if meant else ""
        raise ValueError(f"{unknown}{guess}: expected a function or one of {sorted(METRICS)}")
    return resolve_sparse(metric, params) if sparse else METRICS[metric].make(params)


def find_similar(name: str) -> str | None:
    """Return the metric whose name begins like an unknown one, or is spelt nearly the same; None if there is none."""
    name = name.lower()
    begun = [known for known in METRICS if len(name) >= 3 and known.startswith(name)]
    similar = begun or difflib.get_close_matches(name, METRICS, n=1)
    return similar[0] if similar else None


def check_params(params: Any) -> dict[str, Any]:
    """Check the `metric_params` parameter, the keyword arguments of a metric, and return a copy of it."""
    if params is None:
        return {}
    if not isinstance(params, Mapping) or not all(isinstance(name, str) for name in params):
        raise ValueError(f"{describe(params, 'metric_params')}: expected a dictionary of names and values, or None")
    return dict(params)


def resolve_sparse(metric: str, params: Params) -> Metric:
    """Return the metric of this name for sparse rows."""
    if METRICS[metric].tags.is_pairwise:
        raise ValueError(
            f"X is sparse, but metric={metric!r} needs the dissimilarities of all pairs: expected a dense matrix; what "
            "a graph leaves out is not 0, so compute it, for instance by scipy.sparse.csgraph.shortest_path"
        )
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


def name_metric(metric: MetricLike) -> str:
    """Return the name of a metric for people to read: of a function, also of one that is wrapped, its own."""
    if isinstance(metric, str):
        return metric
    return str(getattr(getattr(metric, "function", metric), "__name__", "function"))
