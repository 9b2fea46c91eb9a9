"""BanditPAM: the package of its authors, with the contract of the estimators here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import Tags

from onebatchpam._optional import require
from onebatchpam._parameters import Rule, Settings, integer
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.labels_out import LabelsOut
from onebatchpam.algorithms.result import Selection
from onebatchpam.metrics import ALIASES, MetricLike
from onebatchpam.space import Space

if TYPE_CHECKING:
    from typing_extensions import Self

# The names of the metrics in the package.
PACKAGE_METRICS = {"manhattan": "L1", "euclidean": "L2", "chebyshev": "inf", "cosine": "cos"}


class BanditPAM(MedoidEstimator):
    """k-medoids by PAM's swaps, whose gains are estimated on samples that grow until the best one is certain.

    BanditPAM++ as the package `banditpam` of its authors has it; install it by ``pip install onebatchpam[banditpam]``.
    Choose it to compare with: the paper of OneBatchPAM finds its objective 2 to 4 % above that of FasterPAM, and its
    time many times that of FasterPAM.

    It computes in the order of n log n dissimilarities for each of the k first medoids and each swap, and holds those
    of all rows to 1000 of them, and a copy of the data, all in float32. While the package works, neither Ctrl-C nor the
    progress bar is answered.

    Where the package gives up, which happens if hardly more rows are distinct than there are medoids, the fit raises an
    error that says so.

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

    _rules: ClassVar[dict[str, Rule]] = {**MedoidEstimator._rules, "max_iter": integer(at_least=0)}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: object = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        labels_out: LabelsOut = None,
    ) -> Self:
        """Choose the medoids and assign all rows.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            Rows, as in `OneBatchPAM`; all of them are held in memory.
        y : ignored
            For the conventions of scikit-learn.
        fixed_medoids : None
            The package cannot keep medoids.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels, as in `OneBatchPAM`.
        """
        if fixed_medoids is not None and np.size(fixed_medoids):
            raise ValueError("the package banditpam cannot keep fixed_medoids: use OneBatchPAM or FasterPAM")
        if issparse(X):
            raise ValueError(
                "X is sparse, which the package banditpam does not support: use OneBatchPAM, or X.toarray()"
            )
        return self._fit(X, None, None, labels_out)

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        settings.metric = ALIASES.get(self.metric, self.metric) if isinstance(self.metric, str) else None
        if settings.metric not in PACKAGE_METRICS:
            raise ValueError(
                f"metric={self.metric!r}: the package banditpam knows {', '.join(map(repr, PACKAGE_METRICS))}; use one "
                "of them, or FasterPAM or OneBatchPAM, which take any metric"
            )
        settings.package = require("banditpam", extra="banditpam", needed_by="BanditPAM")
        return settings

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        if k == space.n:
            return Selection(np.arange(k))  # there is nothing to choose
        rows, max_iter = convert_rows(space, settings.metric), settings.max_iter
        model = settings.package.KMedoids(n_medoids=k, algorithm="BanditPAM", max_iter=max_iter, parallelize=False)
        model.seed = run.rng.randint(2**31 - 1)
        try:
            with run.stages.stage("BanditPAM"):
                model.fit(rows, PACKAGE_METRICS[settings.metric])
            medoids = np.ravel(model.medoids).astype(np.int64)  # the package returns shape (1, 1) for k = 1
            failure = None if len(np.unique(medoids)) == k else "it returned a row twice"
        except (RuntimeError, IndexError) as error:
            failure = str(error)
        if failure is not None:
            raise ValueError(
                f"the package banditpam failed with n_clusters={k} on X of shape {rows.shape}: {failure}; it needs "
                "more distinct rows than medoids; use FasterPAM or OneBatchPAM"
            )
        space.tally.n_distances += model.getDistanceComputations(True) - model.cache_hits
        # The package sets the loss only when a step has found no swap.
        converged = model.steps < max_iter or model.average_loss > 0
        advice = None if converged or max_iter == 0 else _MORE_STEPS.format(max_iter)
        return Selection(medoids, model.steps, max(0, model.steps - converged), advice)


_MORE_STEPS = (
    "BanditPAM was stopped after max_iter={} swaps before it had found that no other improves; increase max_iter"
)


def convert_rows(space: Space, metric: str) -> NDArray[np.float32]:
    """Return the rows in float32, the only type in which the package computes."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(space.rows.in_memory().tile(slice(0, space.n)), dtype=np.float32)
    if not np.isfinite(rows).all():
        raise ValueError("the package banditpam computes in float32, and X has values beyond: rescale X")
    if metric == "cosine" and not rows.any(axis=1).all():
        raise ValueError(
            f"row {int(np.argmin(rows.any(axis=1)))} of X is zero, for which the package banditpam has no cosine: "
            "leave it out, or use FasterPAM or OneBatchPAM"
        )
    return rows
