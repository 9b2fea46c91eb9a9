"""Metrics: the dissimilarities between rows, and how each of them is computed.

`registry.resolve_metric` turns the `metric` that a user passes, a name or a function, into a `Metric`. The other rooms
use every metric through that interface: it checks X, learns its parameters from the data, and packs points (`Points`)
to be compared with rows. Each file computes some metrics:

    native       by the kernels of src/core        library      by scipy and scikit-learn
    gower        of mixed tables                   sparse       of sparse rows
    text         of strings, by rapidfuzz          precomputed  looked up in a matrix
    functions    by Python functions               compiled     by compiled functions

`ordered` is the base of text, functions and compiled, because their d(a, b) need not equal d(b, a). `pacing` cuts the
work of functions and libraries into calls that take a fraction of a second. `checks` holds the errors for values that
are not dissimilarities, `columns` the advice on columns of a table that spoil a clustering, `storage` the form in which
models are saved.

In: X, and the metric as a user passes it. Out: dissimilarities of rows to a fixed set of points, tile by tile.
"""

from onebatchpam.metrics.base import Metric, MetricLike, Points
from onebatchpam.metrics.checks import LARGEST, PairError, are_dissimilarities, describe_bad_value, raise_for_bad_entry
from onebatchpam.metrics.columns import describe_dominant, nearly_all_differ
from onebatchpam.metrics.compiled import native_metric
from onebatchpam.metrics.functions import block_metric, pair_metric
from onebatchpam.metrics.registry import name_metric, resolve_metric, resolve_threads, tags_of
from onebatchpam.metrics.storage import restore_metric, store_metric
