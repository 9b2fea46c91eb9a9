"""Metrics: which dissimilarity, and how it is computed.

`registry.resolve_metric` turns what a user passes as `metric` into a `Metric`; nobody outside this room asks which one it
is. The files are the ways to compute:

    native     kernels of src/core            library    scipy and scikit-learn
    gower      mixed tables                   sparse     CSR rows
    text       strings, by rapidfuzz          ordered    d(a, b) need not be d(b, a):
                                                         functions (Python), compiled (pointers), text

In: checked rows. Out: dissimilarities of all rows to a fixed set of points, a tile of rows at a time.
"""

from onebatchpam.metrics.base import (
    Columns,
    Metric,
    MetricLike,
    Rows,
    compute_dtype,
    each_tile,
    fill_all,
    only_column,
    output_dtype,
)
from onebatchpam.metrics.checks import PairError, check_distances, raise_for_bad_entry
from onebatchpam.metrics.compiled import native_metric
from onebatchpam.metrics.functions import block_metric, pair_metric
from onebatchpam.metrics.gower import Gower, fitted_to_parts, summarise
from onebatchpam.metrics.library import LibraryMetric
from onebatchpam.metrics.native import NativeMetric
from onebatchpam.metrics.registry import ALIASES, SPARSE_METRICS, compares_text, resolve_metric

__all__ = [
    "ALIASES",
    "SPARSE_METRICS",
    "Columns",
    "Gower",
    "LibraryMetric",
    "Metric",
    "MetricLike",
    "NativeMetric",
    "PairError",
    "Rows",
    "block_metric",
    "check_distances",
    "compares_text",
    "compute_dtype",
    "each_tile",
    "fill_all",
    "fitted_to_parts",
    "native_metric",
    "only_column",
    "output_dtype",
    "pair_metric",
    "raise_for_bad_entry",
    "resolve_metric",
    "summarise",
]
