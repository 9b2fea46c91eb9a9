"""PAM: BUILD, and then the best of all swaps as long as one improves the objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onebatchpam._parameters import Rule, Settings, accept, check_not_negative, integer
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.blocks import WholeBlock, of_all_rows, square_block
from onebatchpam.metrics import MetricLike
from onebatchpam.search import SwapOptions, choose_start, run_swaps
from onebatchpam.space import Space


class PAM(MedoidEstimator):
    """k-medoids by partitioning around medoids: BUILD, and then the best of all swaps, again and again.

    Its result is that of R's ``pam`` and draws nothing: if no two swaps are equally good, it depends neither on
    `random_state` nor on the order of the rows. Choose it where it must be the same in every package. `FasterPAM` makes
    every swap that improves the objective as soon as it is found; its results are as good, and it takes a fraction of
    the time, because a pass of `PAM` over all swaps makes only one of them.

    It computes and holds n^2 dissimilarities, 4 bytes each, and computes n k more to assign the rows. A pass evaluates
    all k swaps of a candidate together, as FastPAM1 does, so that it takes n^2 steps and not k n^2.

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
        Seed or generator for drawing the first medoids; not used by ``init="build"``.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    init : {"build", "auto", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="build"
        Medoids from which the search starts, as in `FasterPAM`.
    max_iter : int, default=1000
        Largest number of passes, each of which makes a swap. The search ends early when no swap improves the objective.
        0 returns the medoids of the start, by default those of BUILD.
    tol : float, default=0
        A swap is made only if it lowers the objective by more than this fraction of the objective, in which the
        farthest row does not count, and by more than rounding errors.
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
        Number of passes over all swaps.
    n_swaps_ : int
        Number of swaps made.
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
    FasterPAM : Results as good in less time.
    OneBatchPAM : For data of any size.

    References
    ----------
    Kaufman, Rousseeuw: Partitioning around medoids (program PAM), Finding Groups in Data, Wiley, 1990. Schubert,
    Rousseeuw: Faster k-medoids clustering: improving the PAM, CLARA, and CLARANS algorithms, SISAP 2019.

    Examples
    --------
    >>> from onebatchpam import PAM
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = PAM(n_clusters=2).fit(X)
    >>> model.medoid_indices_, model.inertia_
    (array([1, 4]), 4.0)
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
        init: str | ArrayLike | Callable[..., Any] = "build",
        max_iter: int = 1000,
        tol: float = 0.0,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "init": accept,
        "max_iter": integer(at_least=0),
        "tol": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        start = choose_start(settings.init, None, space, k, space.n, run)
        block = of_all_rows(WholeBlock(square_block(space, run.n_jobs, run.stages)), space.candidates)
        options = SwapOptions(settings.max_iter, settings.tol, len(space.fixed), steepest=True)
        search = run_swaps(block, start, space.weights, options, run, space.candidates)
        advice = advise_more_passes(settings.max_iter, search.converged)
        return Selection(search.medoids, search.n_iter, search.n_swaps, advice)
