"""BanditPAM: PAM whose best medoids and swaps are found on samples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import Rule, Settings, integer
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.metrics import MetricLike
from onebatchpam.search import build_and_swap
from onebatchpam.space import Space


class BanditPAM(MedoidEstimator):
    """k-medoids by PAM, in which each best medoid and best swap is found on samples that grow until it is certain.

    This is BanditPAM++. BUILD adds one medoid after the other, SWAP makes the best swap again and again. Each step
    compares all candidates on a sample of 100 rows, drops those that are almost certainly not the best, and compares
    the others on a sample of twice the size. It ends with a single candidate, or with sums over all rows as soon as
    these are expected to take less work than larger samples. So almost all steps are those of PAM; with at most 400
    rows all of them are. A group of so few rows that the first sample misses it may be overlooked, however far away it
    is.

    Choose it as a baseline: the paper of OneBatchPAM finds the objective 2 to 4 % above that of FasterPAM, which makes
    every improving swap at once and needs less time.

    It computes on the order of n log n dissimilarities for each medoid and each swap if few candidates are nearly the
    best, and all n^2 if many are. All steps use the same samples, and dissimilarities that are kept are not computed
    again. Rows in files are read into memory as a whole.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`. With ``"precomputed"``, X is a square
        matrix whose entry (i, j) is the dissimilarity of row i, as a medoid, to row j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the samples. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    max_iter : int, default=100
        Largest number of swaps, T in the paper. With 0 the medoids are those of BUILD.
    memory_limit : int or str, default=None
        Memory for dissimilarities that are kept: a number of bytes, or text like ``"500MB"`` or ``"4GB"``; None means
        half of the free memory. Those to the first rows of the samples are kept, 4 bytes for each pair of rows that
        were compared, at most 4 n^2 bytes. If a native metric compares at most 16 features, no more than 67 MB are
        kept. The other dissimilarities are computed again when they are needed again. The limit does not change the
        result. The search itself takes about 40 n k bytes more.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids.
    cluster_centers_ : ndarray of shape (k, n_features) or (k,), frame, sparse matrix or None
        The medoids themselves, of the same type as in `OneBatchPAM`; None with ``metric="precomputed"``.
    medoids_ : ndarray, frame, sparse matrix or None
        The medoids as you passed them: rows of the frame if X is one, and with all columns of a Parquet file.
    labels_ : ndarray of shape (n,)
        Cluster of each row, from 0 to k - 1.
    distances_ : ndarray of shape (n,)
        Dissimilarity of each row to its medoid. Held in memory, also if `labels_out` is a file.
    cluster_sizes_ : ndarray of shape (k,)
        Number of rows in each cluster; their total weight if there are sample weights.
    mean_distances_, max_distances_ : ndarray of shape (k,)
        Mean, by weight, and largest dissimilarity of the rows of each cluster to its medoid.
    inertia_ : float
        Objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_candidates_ : int
        Number of rows that could become medoids; see `candidates` of `fit`.
    n_iter_ : int
        Number of steps of SWAP.
    n_swaps_ : int
        Number of swaps made: one in each step, except in the last step of a search that converged.
    n_distances_ : int
        Number of dissimilarities computed, or read if precomputed, including those of the assignment.
    fit_seconds_ : dict
        Seconds taken by each stage.
    n_features_in_ : int
        Number of features. Not set for strings and other objects, which have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

    See Also
    --------
    OneBatchPAM : Better medoids of data of any size; the estimator to start with.

    References
    ----------
    Tiwari, Zhang, Mayclin, Thrun, Piech, Shomorony: BanditPAM: Almost linear time k-medoids clustering via multi-armed
    bandits, NeurIPS 2020. Tiwari, Kang, Lee, Thrun, Piech, Shomorony, Zhang: BanditPAM++: Faster k-medoids clustering,
    NeurIPS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import BanditPAM
    >>> X = load_digits().data
    >>> model = BanditPAM(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.n_distances_ < len(X) ** 2
    ((10, 64), True)
    """

    __module__ = "onebatchpam"  # the public place, by which saved models find the class

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        max_iter: int = 100,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.memory_limit = memory_limit
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "max_iter": integer(at_least=0),
        "memory_limit": resolve_memory_limit,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        search = build_and_swap(space.in_memory(), k, settings.max_iter, settings.memory_limit, run)
        stopped = not search.converged and settings.max_iter > 0
        advice = _MORE_STEPS.format(settings.max_iter) if stopped else None
        return Selection(search.medoids, search.n_iter, search.n_swaps, advice)


_MORE_STEPS = (
    "BanditPAM was stopped after max_iter={} swaps, while further swaps might improve the objective; increase max_iter"
)
