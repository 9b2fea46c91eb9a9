"""BanditPAM: the package `banditpam` of its authors, as an estimator like the others here."""

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

# The metrics of the package `banditpam`, with its own names for them.
PACKAGE_METRICS = {"manhattan": "L1", "euclidean": "L2", "chebyshev": "inf", "cosine": "cos"}


class BanditPAM(MedoidEstimator):
    """k-medoids by PAM's swaps, with gains estimated on samples that grow until the best swap is certain.

    This is BanditPAM++ from the package `banditpam` of its authors; ``pip install onebatchpam[banditpam]`` installs
    it. Choose it as a baseline: the paper of OneBatchPAM finds the objective 2 to 4 % above that of FasterPAM, and the
    time many times that of FasterPAM.

    It computes on the order of n log n dissimilarities for each of the k first medoids and for each swap. In float32,
    it holds a copy of the data and the dissimilarities of all rows to 1000 rows. While the package is running, Ctrl-C
    has no effect and the progress bar does not move.

    The package fails on data with hardly more distinct rows than medoids; the fit then raises an error that says so.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : {"euclidean", "manhattan", "chebyshev", "cosine"}, default="euclidean"
        Dissimilarity between two rows; ``"l1"``, ``"cityblock"`` and ``"l2"`` are understood as well. The package has
        no other metrics; for these, and for a precomputed matrix, use `FasterPAM` or `OneBatchPAM`.
    metric_params : dict, default=None
        Must be None or empty, because these metrics have no parameters.
    max_iter : int, default=100
        Largest number of swaps, T in the paper. With 0 the medoids are those of BUILD, the first stage.
    n_jobs : int, default=None
        Number of threads for the assignment. None means 1 unless in a `joblib.parallel_config` context, -1 means all
        processors. The package itself runs in one thread, so the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the seed of the package. An int gives the same result each time.
    verbose : int, default=0
        With 1 or more, long stages show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids.
    cluster_centers_ : ndarray of shape (k, n_features)
        The medoids themselves.
    labels_ : ndarray of shape (n,)
        Cluster of each row, from 0 to k - 1.
    inertia_ : float
        Objective: the sum over all n rows of the dissimilarity to the nearest medoid.
    n_iter_ : int
        Number of steps of SWAP, the second stage.
    n_swaps_ : int
        Number of swaps made: one in each step, except in the last step of a search that converged.
    n_distances_ : int
        Number of dissimilarities computed, including those of the assignment; look-ups in the cache of the package do
        not count.
    fit_seconds_ : dict
        Seconds taken by each stage.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

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
            The rows, as in `OneBatchPAM`, but not sparse; all of them are loaded into memory.
        y : ignored
            Present by the conventions of scikit-learn.
        fixed_medoids : None
            Must be None or empty, because the package cannot keep medoids fixed.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: the path of a new .npy file, which `labels_` then maps into
            memory, or an array, which then becomes `labels_`.

        Returns
        -------
        self
            The fitted estimator.
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
                f"metric={self.metric!r}: expected {', '.join(map(repr, PACKAGE_METRICS))}, the metrics of the package "
                "banditpam; use FasterPAM or OneBatchPAM, which take any metric"
            )
        settings.package = require("banditpam", extra="banditpam", needed_by="BanditPAM")
        return settings

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        if k == space.n:
            return Selection(np.arange(k))  # every row is a medoid
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
                f"the package banditpam failed with n_clusters={k} on X of shape {rows.shape}: {failure}. It needs "
                "more distinct rows than medoids; use FasterPAM or OneBatchPAM"
            )
        space.tally.n_distances += model.getDistanceComputations(True) - model.cache_hits
        # The package sets its loss only in a step that finds no swap, so a positive loss shows convergence.
        converged = model.steps < max_iter or model.average_loss > 0
        advice = None if converged or max_iter == 0 else _MORE_STEPS.format(max_iter)
        return Selection(medoids, model.steps, max(0, model.steps - converged), advice)


_MORE_STEPS = (
    "BanditPAM was stopped after max_iter={} swaps, while further swaps might improve the objective; increase max_iter"
)


def convert_rows(space: Space, metric: str) -> NDArray[np.float32]:
    """Return the rows in float32, the only type in which the package computes."""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(space.rows.in_memory().tile(slice(0, space.n)), dtype=np.float32)
    if not np.isfinite(rows).all():
        raise ValueError("X has values too large for float32, in which the package banditpam computes: rescale X")
    if metric == "cosine" and not rows.any(axis=1).all():
        raise ValueError(
            f"row {int(np.argmin(rows.any(axis=1)))} of X is zero, and the package banditpam has no cosine distance of "
            "zero rows: leave it out, or use FasterPAM or OneBatchPAM"
        )
    return rows
