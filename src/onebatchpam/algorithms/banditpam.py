"""BanditPAM: the package of its authors, with the contract of the estimators here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags

from onebatchpam._draws import other_rows
from onebatchpam._parameters import check_integer
from onebatchpam._progress import Stages
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.blocks import WholeBlock
from onebatchpam.metrics import MetricLike, NativeMetric, fill_all
from onebatchpam.search import random_medoids, search_swaps
from onebatchpam.space import Space, VectorSpace

METRICS = {"manhattan": "L1", "euclidean": "L2", "chebyshev": "inf", "cosine": "cos"}  # here: in the package

MOST_DISTINCT_ROWS = 4000  # with which a search for the package still is small


class BanditPAM(MedoidEstimator):
    """k-medoids by PAM's swaps, whose gains are estimated on samples that grow until the best one is certain.

    BanditPAM++ as the package `banditpam` of its authors has it; install it by ``pip install onebatchpam[banditpam]``.
    Choose it to compare with: the paper of OneBatchPAM finds its objective 2 to 4 % above that of FasterPAM, and its
    time many times that of FasterPAM.

    It computes in the order of n log n dissimilarities for each of the k first medoids and each swap, and holds those
    of all rows to 1000 of them, and a copy of the data, all in float32. While the package works, neither Ctrl-C nor the
    progress bar is answered.

    Where the package gives up, which happens if hardly more rows are distinct than there are medoids, the distinct rows
    are searched as in `FasterPAM`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine"}, default="euclidean"
        Dissimilarity; also by the other names that they have in `OneBatchPAM`. The package knows no others. A
        precomputed matrix goes to `FasterPAM`.
    metric_params : dict, default=None
        None: these metrics have no parameters.
    max_iter : int, default=100
        Largest number of swaps, T in the paper; with 0 the medoids are those of the first stage, BUILD.
    n_jobs : int, default=None
        Number of threads for the assignment: None means 1 unless in a `joblib.parallel_config` context, -1 all
        processors. The package runs in one thread, so that the result does not depend on their number.
    random_state : int, RandomState or None, default=None
        Draws the seed of the package.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids.
    cluster_centers_ : ndarray of shape (k, n_features)
        The medoids themselves.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid.
    n_iter_ : int
        Steps of the second stage, SWAP.
    n_swaps_ : int
        Swaps made: one in each step, but for the last one of a search that has converged.
    n_distances_ : int
        Dissimilarities computed, those found in the cache of the package not counted.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    Tiwari, Kang, Lee, Thrun, Piech, Shomorony, Zhang: BanditPAM++: Faster k-medoids clustering, NeurIPS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from onebatchpam import BanditPAM
    >>> X = load_iris().data
    >>> BanditPAM(n_clusters=3, random_state=0).fit(X).labels_.shape  # doctest: +SKIP
    (150,)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _select(self, space: Space, k: int, rng: np.random.RandomState, n_jobs: int, stages: Stages) -> Selection:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=0)
        package = import_package()
        if len(space.fixed):
            raise ValueError("the package banditpam cannot keep fixed_medoids: use OneBatchPAM or FasterPAM")
        space, metric = check_space(space, self.metric)
        rows = check_rows_for_package(space, metric)

        model = package.KMedoids(n_medoids=k, algorithm="BanditPAM", max_iter=max_iter, parallelize=False)
        model.seed = rng.randint(2**31 - 1)
        try:
            with stages.stage("BanditPAM"):
                model.fit(rows, METRICS[metric])
            medoids = np.ravel(model.medoids).astype(np.int64)  # of shape (1, 1) if k = 1
            failure = None if len(np.unique(medoids)) == k else "it returned a row twice"
        except (RuntimeError, IndexError) as error:
            failure = str(error)
        space.n_distances += model.getDistanceComputations(True) - model.cache_hits

        if failure is not None:
            return search_distinct_rows(space, k, rng, n_jobs, stages, failure)
        # The loss is set when a step has found no swap.
        converged = model.steps < max_iter or model.average_loss > 0
        advice = None if converged or max_iter == 0 else _MORE_STEPS.format(max_iter)
        return Selection(medoids, model.steps, max(0, model.steps - converged), advice)


_MORE_STEPS = (
    "BanditPAM was stopped after max_iter={} swaps before it had found that no other improves; increase max_iter"
)


def import_package() -> Any:
    """Return the package, or say how to get it."""
    try:
        import banditpam
    except ImportError as error:
        raise ImportError(
            "BanditPAM needs the package of its authors, which is not installed: pip install onebatchpam[banditpam]"
        ) from error
    return banditpam


def check_space(space: Space, metric: MetricLike) -> tuple[VectorSpace, str]:
    """Return the space with the name of its metric, if the package knows it."""
    if isinstance(space, VectorSpace) and issparse(space.X):
        raise ValueError("X is sparse, which the package banditpam does not support: use OneBatchPAM, or X.toarray()")
    if (
        not isinstance(space, VectorSpace)
        or not isinstance(space.metric, NativeMetric)
        or space.metric.name not in METRICS
    ):
        raise ValueError(
            f"metric={metric!r}: the package banditpam knows {', '.join(map(repr, METRICS))}; use one of them, or "
            "FasterPAM or OneBatchPAM, which take any metric"
        )
    return space, space.metric.name


def check_rows_for_package(space: VectorSpace, metric: str) -> NDArray[np.float32]:
    """Return the rows in float32, the only type that the package computes in."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(space.X, dtype=np.float32)
    if not np.isfinite(rows).all():
        raise ValueError("the package banditpam computes in float32, and X has values beyond: rescale X")
    if metric == "cosine" and not rows.any(axis=1).all():
        raise ValueError(
            f"row {int(np.argmin(rows.any(axis=1)))} of X is zero, for which the package banditpam has no cosine: "
            "leave it out, or use FasterPAM or OneBatchPAM"
        )
    return rows


def search_distinct_rows(
    space: VectorSpace, k: int, rng: np.random.RandomState, n_jobs: int, stages: Stages, failure: str
) -> Selection:
    """Do what the package could not: FasterPAM on the distinct rows, each with the weight of its duplicates."""
    _, first, counts = np.unique(space.X, axis=0, return_index=True, return_counts=True)
    if len(first) > MOST_DISTINCT_ROWS:
        raise ValueError(
            f"the package banditpam failed with n_clusters={k} on X of shape {space.X.shape}, of which {len(first)} "
            f"rows are distinct: {failure}; use FasterPAM or OneBatchPAM"
        )
    order = np.argsort(first)
    rows, weights = first[order].astype(np.int64), counts[order].astype(np.float64)
    if len(rows) <= k:
        return Selection(np.concatenate([rows, other_rows(np.arange(k - len(rows)), rows)]))
    block = fill_all(space.to_points(rows, rows), np.empty((len(rows), len(rows)), np.float32), stages, "distances")
    start = random_medoids(len(rows), k, rng)
    search = search_swaps(WholeBlock(block), start, weights, max_iter=100, tol=0.0, n_jobs=n_jobs, stages=stages)
    return Selection(rows[search.medoids], search.n_iter, search.n_swaps)
