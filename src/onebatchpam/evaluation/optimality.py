"""How far a solution may be from the best possible one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from onebatchpam._parameters import check_seed, check_verbose
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam.algorithms import MedoidEstimator
from onebatchpam.bounds import LowerBound, certify
from onebatchpam.metrics import MetricLike, resolve_threads


def lower_bound(
    X: ArrayLike,
    medoids: MedoidEstimator | ArrayLike,
    *,
    metric: MetricLike | None = None,
    metric_params: dict[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    fixed_medoids: ArrayLike | None = None,
    confidence: float | None = None,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    memory_limit: int | str | None = None,
    verbose: int = 0,
) -> LowerBound:
    """Return a lower bound on the objective of any k medoids, and so the largest possible gap of a solution.

    The bound is the Lagrangian dual of the k-medoids problem. It is valid however good or bad the solution is, and
    whichever package has found it; with a good solution it is found sooner. For at most 60,000 rows, the bound is
    exact: proven for the dissimilarities in float32, with an allowance for every rounding. With more rows, or if
    `confidence` is given, the bound is statistical: all rows are candidates, but the objective is summed over a random
    sample, and the bound holds with probability `confidence`, whatever the data.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
        The rows, as in the `fit` of `OneBatchPAM`.
    medoids : fitted estimator or array-like of k row indices
        The solution to judge: an estimator of this package that was fitted to X, or the row indices of its medoids.
    metric : str or callable, default=None
        Dissimilarity between two rows, as in `OneBatchPAM`. None means that of the estimator, or ``"euclidean"`` if
        `medoids` are row indices.
    metric_params : dict, default=None
        Keyword arguments of the metric. None means those of the estimator if `medoids` is one.
    sample_weight : array-like of shape (n,) or float, default=None
        How many rows each row stands for, as in `fit`. A row of weight 0 is treated as absent.
    fixed_medoids : array-like of row indices, default=None
        Rows that must be medoids, as in `fit`; the bound then holds for all sets of medoids that contain them.
    confidence : float, default=None
        Probability from 0.5 to below 1 with which a statistical bound is to hold. None means an exact bound for at most
        60,000 rows, and a statistical one with a confidence of 0.95 for more.
    time_limit : float, default=None
        Seconds after which the best bound so far is returned; None means no limit. At least one pass over all
        candidates is made. Ctrl-C has the same effect as a time limit.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the sample of a statistical bound.
    memory_limit : int or str, default=None
        Memory for dissimilarities, in bytes or as text like ``"4GB"``; None means half of the available memory. If all
        of them do not fit, they are computed again in each pass.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal.

    Returns
    -------
    LowerBound
        With `bound`, `objective`, `gap`, `is_exact`, `confidence`, `n_rounds`, `seconds` and others; it prints as a
        sentence.

    References
    ----------
    Cornuejols, Fisher, Nemhauser: Location of bank accounts to optimize float, Management Science 23, 1977. Hoeffding:
    Probability inequalities for sums of bounded random variables, JASA 58, 1963.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import FasterPAM, lower_bound
    >>> X = load_digits().data
    >>> model = FasterPAM(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> result = lower_bound(X, model)
    >>> result.is_exact, result.bound <= result.objective == model.inertia_, result.gap < 0.02
    (True, True, True)
    """
    rows, objective = medoids, None
    if isinstance(medoids, MedoidEstimator):
        check_is_fitted(medoids)
        if metric is not None or metric_params is not None:
            raise ValueError("metric and metric_params are those of the estimator: expected None for both")
        metric, metric_params = medoids.metric, medoids.metric_params
        rows, objective = medoids.medoid_indices_, medoids.inertia_
    metric = "euclidean" if metric is None else metric
    return certify(
        X,
        rows,
        metric=metric,
        metric_params=metric_params,
        sample_weight=sample_weight,
        fixed_medoids=fixed_medoids,
        confidence=confidence,
        time_limit=time_limit,
        memory_limit=memory_limit,
        run=Run(
            resolve_threads(n_jobs, metric),
            check_seed(random_state, "random_state"),
            Stages(check_verbose(verbose, "verbose")),
        ),
        objective=objective,
    )
