"""What a fit will cost, before the data are there."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from onebatchpam.algorithms import CostEstimate, OneBatchPAM
from onebatchpam.metrics import MetricLike


def estimate_cost(
    n_samples: int,
    n_features: int | None,
    n_clusters: int,
    *,
    metric: MetricLike = "euclidean",
    metric_params: dict[str, Any] | None = None,
    dtype: Any = "float64",
    sample: ArrayLike | None = None,
    batch_size: str | int = "auto",
    refine: str | int = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
) -> CostEstimate:
    """Return what a fit of `OneBatchPAM` will cost: batch size, memory, dissimilarities and about how many seconds.

    The seconds come from a second or two of the same work, on this machine as busy as it is now. They do not include
    reading files. How many passes and rounds a fit takes depends on the data; usual numbers are assumed.

    Parameters
    ----------
    n_samples : int
        Number of rows, n.
    n_features : int or None
        Number of features; None if `sample` is given, whose rows then tell it.
    n_clusters : int
        Number of medoids, k.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows, as in `OneBatchPAM`.
    metric_params : dict, default=None
        Keyword arguments of the metric.
    dtype : {"float64", "float32", "uint8"}, default="float64"
        Type of the numbers, unless `sample` is given.
    sample : array-like, default=None
        Some rows like those of the data, on which speed is measured: necessary with a metric of text and with a
        function of your own, whose time depends on the rows. None means random numbers.
    batch_size : "auto" or int, default="auto"
        Number of batch points.
    refine : "auto" or int, default="auto"
        Largest number of rounds of refinement.
    memory_limit : int or str, default=None
        Memory for dissimilarities; None means half of the memory that is free now.
    n_jobs : int, default=None
        Number of threads, as in `OneBatchPAM`.

    Returns
    -------
    CostEstimate
        With `batch_size`, `block_storage`, `memory_bytes`, `n_distances`, `seconds`, `total_seconds` and others; it
        prints as a list.

    Examples
    --------
    >>> from onebatchpam import estimate_cost
    >>> cost = estimate_cost(100_000, 20, 50, metric="manhattan", memory_limit="100MB")
    >>> cost.batch_size, cost.block_storage
    (1543, 'reduced')
    """
    model = OneBatchPAM(
        n_clusters,
        metric=metric,
        metric_params=metric_params,
        batch_size=batch_size,
        refine=refine,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
    )
    return model._estimate_cost((n_samples, n_features), sample, dtype)
