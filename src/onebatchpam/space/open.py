"""Opening a data set with its metric, and `distance_block`, the dissimilarities of two data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam._memory import check_n_rows
from onebatchpam._parameters import Weights, describe, spread_weights
from onebatchpam._warn import warn
from onebatchpam.data import is_sparse, load_sparse
from onebatchpam.metrics import Metric, MetricLike, resolve_metric, resolve_threads, tags_of
from onebatchpam.space.distances import Distances
from onebatchpam.space.space import Space


def open_space(
    X: ArrayLike,
    metric: MetricLike,
    metric_params: Mapping[str, Any] | None,
    n_jobs: int,
    estimator: object = None,
    sample_weight: Weights = None,
) -> Space:
    """Check a data set, fit the metric to it, and return the space of its rows, with checked weights."""
    X = load_sparse(X, "X")
    resolved = resolve_metric(metric, metric_params, sparse=are_compared_sparse(X, metric))
    rows = resolved.check(X, "X", estimator=estimator)
    check_n_rows(rows.n, "X")
    weights = spread_weights(sample_weight, rows.n)
    fitted = resolved.fit(rows, weights)
    warn_of_data(fitted)
    return Space(fitted.encode(rows), fitted, n_jobs, weights)


def are_compared_sparse(X: Any, metric: MetricLike) -> bool:
    """Tell whether rows are compared as sparse ones: a sparse matrix, and a frame with sparse columns if it can be."""
    return bool(issparse(X)) or (is_sparse(X) and tags_of(metric).takes_sparse)


def warn_of_data(metric: Metric) -> None:
    """Give the advice of a fitted metric, if it has any, as a warning."""
    if metric.advice is not None:
        warn(metric.advice)


def distance_block(
    X: ArrayLike,
    Y: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarities of all rows of X to all rows of Y.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), path, or n strings or objects
        Rows of the block. May be on disk, as in `OneBatchPAM.fit`. If X and Y are uint8, they are compared as bytes;
        if float32 holds every value of their types, as float32; otherwise as float64. Only a tile of X is converted at
        a time.
    Y : array-like or sparse matrix of shape (m, n_features), path, or m strings or objects
        Columns of the block. Read into memory as a whole.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`, but not ``"precomputed"``. Rows of X
        are its first argument, rows of Y its second.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``. Unless given here, the variances of
        ``"seuclidean"`` and the covariance of ``"mahalanobis"`` are those of X. The ranges of ``"gower"`` are always
        those of X.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    out : ndarray of shape (n, m), C-contiguous, default=None
        Array to which the result is written, of float32 or of the type that a new array would have.

    Returns
    -------
    ndarray of shape (n, m)
        `out` if it was passed. Otherwise a new array, of float64 if the rows are compared as float64, else of float32.

    Examples
    --------
    >>> from onebatchpam import distance_block
    >>> distance_block([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]], metric="l1")
    array([[0.],
           [7.]])
    """
    if tags_of(metric).is_pairwise:
        raise ValueError(f"metric={metric!r} leaves nothing to compute: expected a metric of rows, such as 'euclidean'")
    resolve_metric(metric, metric_params)
    n_threads = resolve_threads(n_jobs, metric)
    check_block_out(out)
    X, Y = load_sparse(X, "X"), load_sparse(Y, "Y")
    resolved = resolve_metric(metric, metric_params, sparse=any(are_compared_sparse(each, metric) for each in (X, Y)))
    rows = resolved.check(X, "X")
    fitted = resolved.fit(rows)
    points = fitted.read(Y, "Y").in_memory()
    if rows.n_features != points.n_features:
        raise ValueError(f"X has {rows.n_features} features and Y has {points.n_features}: expected the same number")
    rows = fitted.encode(rows)
    distances = Distances(rows, fitted.pack(points, rows, n_threads))
    check_block_out(out, (distances.n_rows, distances.n_columns), distances.dtype)
    block = distances.compute(out)
    if block.dtype == np.float32:
        Space(rows, fitted, n_threads).check_scale(float(block.max()))
    return block


def check_block_out(out: Any, shape: tuple[int, int] | None = None, dtype: np.dtype[Any] | None = None) -> None:
    """Raise unless `out` is None or can hold dissimilarities; their shape and type are None until the data are read."""
    if out is None:
        return
    if not isinstance(out, np.ndarray):
        raise ValueError(f"{describe(out, 'out')}: expected a NumPy array, or None")
    shapes = "(n, m)" if shape is None else shape
    dtypes = (np.float32, np.float64 if dtype is None else dtype)
    if out.ndim != 2 or (shape is not None and out.shape != shape) or out.dtype not in dtypes or not out.flags.carray:
        raise ValueError(
            f"out has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable, C-contiguous array of shape {shapes} and dtype {np.dtype(dtypes[1])}, as "
            f"np.empty({shapes}, np.{np.dtype(dtypes[1])})"
        )
