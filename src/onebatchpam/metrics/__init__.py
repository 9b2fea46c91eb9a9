"""Metrics: which dissimilarity, and how it is computed.

`registry.resolve_metric` turns what a user passes as `metric` into a `Metric`; nobody outside this room asks which one
it is. The files are the ways to compute:

    native     kernels of src/core            library    scipy and scikit-learn
    gower      mixed tables                   sparse     CSR rows
    text       strings, by rapidfuzz          ordered    d(a, b) need not be d(b, a):
                                                         functions (Python), compiled (pointers), text

In: checked rows. Out: dissimilarities of all rows to a fixed set of points, a tile of rows at a time.
"""

from onebatchpam.metrics.base import Metric, MetricLike, Points
from onebatchpam.metrics.checks import LARGEST, PairError, are_dissimilarities, describe_bad_value, raise_for_bad_entry
from onebatchpam.metrics.compiled import native_metric
from onebatchpam.metrics.functions import block_metric, pair_metric
from onebatchpam.metrics.registry import ALIASES, resolve_metric, tags_of
