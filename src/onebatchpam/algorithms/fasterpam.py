"""FasterPAM: the swap search in which all rows are reference points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onebatchpam._parameters import (
    Rule,
    Settings,
    accept,
    check_flag,
    check_min_cluster_size,
    check_not_negative,
    integer,
)
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.population import InMemory
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.blocks import WholeBlock, of_all_rows, square_block
from onebatchpam.metrics import MetricLike
from onebatchpam.search import SwapOptions, WholeContest, choose_start, enlarge_clusters, further_starts, run_swaps
from onebatchpam.space import Space


class FasterPAM(MedoidEstimator):
    """k-medoids by swaps whose gains are computed on all rows.

    It is the reference by which the other algorithms are measured. Choose it while n^2 dissimilarities are affordable:
    they take 4 n^2 bytes, 0.4 GB for 10,000 rows and 14.4 GB for 60,000. For more rows choose `OneBatchPAM`, which
    finds medoids about as good.

    It computes n^2 dissimilarities, and n k more to assign the rows. A precomputed matrix in float32 and C order is
    searched in place, without a copy.

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
        Seed or generator for drawing the first medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    init : {"auto", "build", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="auto"
        Medoids from which the search starts: the name of a method, an array of k row indices, k rows of numbers, whose
        nearest rows of X are the first medoids, or a function ``init(X, n_clusters, random_state)`` that returns
        indices or rows. Of several rows with the same nearest row of X, the later ones take the next nearest.

        - ``"random"``: rows drawn by their weights; without weights each set of rows is equally likely.
        - ``"k-means++"``, ``"ls-k-means++"``, ``"kmc2"``: the medoids of `KMeansPlusPlus`, `LSKMeansPlusPlus` or `KMC2`
          with their default parameters, at their cost in dissimilarities.
        - ``"lab"``: medoids chosen one after the other, each among 10 + sqrt(n) random rows by its loss at as many.
        - ``"build"``: PAM's BUILD, which adds one medoid after the other, each time the row that lowers the objective
          most. It makes k passes over all dissimilarities, and draws nothing: without exact ties, the result depends
          neither on `random_state` nor on the order of the rows.
        - ``"auto"``: BUILD for at most 200 rows, otherwise ``"random"``.

        The same `random_state` gives the same start as in `OneBatchPAM`.
    n_init : int, default=1
        Number of starts; the result with the smallest objective is kept. With ``init="auto"``, BUILD is only the first
        of them, and the others are random.
    warm_start : bool, default=False
        Whether a further fit starts from the medoids of the last fit instead of `init`, that is from the rows that now
        have their indices. A fit with another number of rows or another `n_clusters` starts from `init`.
    max_iter : int, default=100
        Largest number of passes over all candidates. The search ends early when a full cycle of candidates brings no
        swap. 0 returns the medoids of the start.
    tol : float, default=1e-6
        A swap is made only if it lowers the objective by more than this fraction of it. The farthest row does not
        count in the objective of which the fraction is taken.
    min_cluster_size : float, default=None
        Least number of rows in a cluster; with sample weights, its least weight. None sets no limit. Rows still belong
        to their nearest medoid, so the limit restricts which rows are medoids: after the search, swaps replace medoids
        until all clusters are large enough, and from then on only swaps are made that keep them so. This raises the
        objective, though by little if only a few far rows have medoids of their own. It is a heuristic, which may end
        with clusters that are too small although other medoids would meet the limit; a `ConvergenceWarning` then says
        which sizes were reached. It takes longer the closer the limit comes to the mean size of a cluster, and no time
        if no cluster is too small.
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
        Number of passes over all candidates, from the best start.
    n_swaps_ : int
        Number of swaps made, from the best start.
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
    OneBatchPAM : The same search with a batch instead of all rows, for data of any size.
    select_k : Choose the number of medoids.
    medoids_of : The medoids of clusters that are known already.

    References
    ----------
    Schubert, Rousseeuw: Fast and eager k-medoids clustering: O(k) runtime improvement of the PAM, CLARA, and CLARANS
    algorithms, Information Systems 101, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import FasterPAM
    >>> X = load_digits().data
    >>> model = FasterPAM(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.n_distances_ == len(X) * (len(X) + 10)
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
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int = 1,
        warm_start: bool = False,
        max_iter: int = 100,
        tol: float = 1e-6,
        min_cluster_size: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.init = init
        self.n_init = n_init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.min_cluster_size = min_cluster_size
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "init": accept,
        "n_init": accept,
        "max_iter": integer(at_least=0),
        "tol": check_not_negative,
        "warm_start": check_flag,
        "min_cluster_size": check_min_cluster_size,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        last_medoids = self._last_medoids(settings.warm_start, space.n_given, k)
        start = choose_start(settings.init, last_medoids, space, k, space.n, run)
        starts = [start, *further_starts(settings.init, settings.n_init, space, k, run)]
        candidates = space.candidates
        block = of_all_rows(WholeBlock(square_block(space, run.n_jobs, run.stages)), candidates)
        options = SwapOptions(settings.max_iter, settings.tol, len(space.fixed))
        searches = [run_swaps(block, start, space.weights, options, run, candidates) for start in starts]
        search = min(searches, key=lambda search: search.loss)
        advice = advise_more_passes(settings.max_iter, search.converged)
        population = InMemory(space, k, 0, run)  # only assigns rows: it needs no memory for a block of its own
        contests = WholeContest(block, space.weights)
        enlarged = enlarge_clusters(population, search.medoids, settings.min_cluster_size, options, run, contests)
        return Selection(enlarged.medoids, search.n_iter, search.n_swaps + enlarged.n_swaps, advice)
