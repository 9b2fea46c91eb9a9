"""Opening a data set with its metric, and `distance_block`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam._parameters import check_sample_weight, resolve_n_jobs
from onebatchpam._progress import Stages
from onebatchpam.data import check_matrix, check_square, in_memory
from onebatchpam.metrics import MetricLike, fill_all, resolve_metric
from onebatchpam.space.precomputed import MatrixSpace
from onebatchpam.space.space import VectorSpace, WholeSpace


def open_space(
    X: ArrayLike,
    metric: MetricLike,
    metric_params: Mapping[str, Any] | None,
    n_jobs: int,
    estimator: object = None,
    sample_weight: ArrayLike | None = None,
) -> WholeSpace:
    """Check a data set, and make it ready to be compared."""
    if isinstance(metric, str) and metric == "precomputed":
        if metric_params:
            raise ValueError(f"metric='precomputed' takes no parameters, got metric_params={metric_params!r}")
        matrix = check_square(check_matrix(X, "X", estimator=estimator))
        return MatrixSpace(matrix, check_sample_weight(sample_weight, len(matrix)))
    resolved = resolve_metric(metric, metric_params, sparse=issparse(X))
    rows = resolved.check(X, "X", estimator=estimator)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    return VectorSpace(rows, resolved.fitted(rows, weights), n_jobs, weights)


def distance_block(
    X: ArrayLike,
    Y: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Compute the dissimilarities between the rows of two arrays.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), path, or n strings or objects
        Rows of the block. Bytes (uint8) are compared as bytes, other small integers and float32 in float32, all
        others in float64; only a tile at a time is converted. May be on disk, as in the fit of an estimator.
    Y : array-like or sparse matrix of shape (m, n_features), or m strings or objects
        Columns of the block.
    metric : str or callable, default="euclidean"
        As in `OneBatchPAM`, but for ``"precomputed"``. The rows of X are its first argument, those of Y its second.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``. The variances of ``"seuclidean"``
        and the covariance of ``"mahalanobis"`` are those of X unless given here; the ranges of ``"gower"`` are those
        of X.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 all processors.
    out : ndarray of shape (n, m), C-contiguous, default=None
        Where to write the result: float32, or the type that the result would have.

    Returns
    -------
    ndarray of shape (n, m)
        `out` if given. Otherwise a new array: float64 when X or Y needs float64, else float32.

    Examples
    --------
    >>> from onebatchpam import distance_block
    >>> distance_block([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]], metric="l1")
    array([[0.],
           [7.]])
    """
    if metric == "precomputed":
        raise ValueError("metric='precomputed' leaves nothing to compute: expected a metric of rows")
    resolved = resolve_metric(metric, metric_params, sparse=issparse(X) or issparse(Y))
    rows = resolved.check(X, "X")
    fitted = resolved.fitted(rows)
    points = in_memory(fitted.check(Y, "Y"))
    if rows.shape[1:] != points.shape[1:]:
        raise ValueError(f"X has {rows.shape[1]} features and Y has {points.shape[1]}: expected the same number")
    columns = fitted.to(points, rows, resolve_n_jobs(n_jobs))
    shape = columns.n_rows, columns.n_columns
    if out is None:
        out = np.empty(shape, dtype=columns.dtype)
    elif not isinstance(out, np.ndarray):
        raise ValueError(f"out is of type {type(out).__name__}: expected an array")
    elif out.shape != shape or out.dtype not in (np.float32, columns.dtype) or not out.flags.carray:
        raise ValueError(
            f"out has shape {out.shape}, dtype {out.dtype} and {'' if out.flags.writeable else 'no '}write access: "
            f"expected a writeable C-contiguous {columns.dtype} array of shape {shape}"
        )
    return fill_all(columns, out, Stages(), "distances")
