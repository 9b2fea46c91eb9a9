"""CLARANS: a random search in which rows are drawn and swapped in if that lowers the objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onebatchpam._parameters import Rule, Settings, accept, check_not_negative, integer_or_auto
from onebatchpam._run import Run
from onebatchpam.algorithms.alternate import find_medoids
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.metrics import MetricLike
from onebatchpam.search import choose_start, further_starts, is_drawn, wander
from onebatchpam.space import Space

# A search ends after this share of all candidates was tried in vain, but at least so many, as was published.
SHARE_OF_NEIGHBORS, LEAST_NEIGHBORS = 0.0125, 250


def resolve_max_neighbors(max_neighbors: int | None, n_candidates: int) -> int:
    """Return how many rows are tried in vain, one after the other, before a search ends; None stands for "auto"."""
    return max(LEAST_NEIGHBORS, round(SHARE_OF_NEIGHBORS * n_candidates)) if max_neighbors is None else max_neighbors


class CLARANS(MedoidEstimator):
    """k-medoids by random swaps: a row is drawn, compared with all rows, and swapped in if that lowers the objective.

    It needs memory for a few numbers per row only, and every swap that it makes lowers the objective over all rows.
    Choose it to compare with; `OneBatchPAM` finds better medoids with far fewer dissimilarities, because it computes
    those to a batch once and tries all rows.

    It computes n dissimilarities for each row that it tries, and k n for each start. After a swap, it compares rows
    that have lost one of their two nearest medoids with all k.

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
        Seed or generator for all draws. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    n_init : int, default=2
        Number of starts, each followed by a search; the result with the smallest objective is kept.
    max_neighbors : "auto" or int, default="auto"
        A search ends when this many rows in a row, or all rows, could not be swapped in. ``"auto"`` is 1.25 % of the
        rows, but at least 250. All k swaps of a row are evaluated together, so that this is k times as many neighbours
        of the present medoids as in the original algorithm.
    init : {"auto", "build", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="random"
        Medoids from which the search starts, as in `FasterPAM`. If they are not drawn, all searches start from the same
        ones, and differ in the rows that they draw. BUILD holds all pairs of rows in memory.
    tol : float, default=1e-6
        A swap is made only if it lowers the objective by more than this fraction of it.
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
        Number of rows that were tried as medoids, from the best start.
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
    OneBatchPAM : Better medoids of data of any size; the estimator to start with.

    References
    ----------
    Ng, Han: CLARANS: a method for clustering objects for spatial data mining, IEEE Transactions on Knowledge and Data
    Engineering 14, 2002. Schubert, Rousseeuw: Fast and eager k-medoids clustering, Information Systems 101, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import CLARANS
    >>> X = load_digits().data
    >>> model = CLARANS(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.labels_.shape
    ((10, 64), (1797,))
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
        n_init: int = 2,
        max_neighbors: str | int = "auto",
        init: str | ArrayLike | Callable[..., Any] = "random",
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.n_init = n_init
        self.max_neighbors = max_neighbors
        self.init = init
        self.tol = tol
        self.verbose = verbose

    _draws_in_search = True
    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "n_init": accept,
        "max_neighbors": integer_or_auto(at_least=1),
        "init": accept,
        "tol": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        space = space.in_memory()
        starts = [find_medoids(choose_start(settings.init, None, space, k, space.n, run), space, run)]
        if is_drawn(settings.init):
            drawn = further_starts(settings.init, settings.n_init, space, k, run)
            starts += [find_medoids(start, space, run) for start in drawn]
        else:
            starts *= settings.n_init
        n_failures = resolve_max_neighbors(settings.max_neighbors, space.candidates.n)
        ends = [wander(space, start, n_failures, settings.tol, run) for start in starts]
        best = min(ends, key=lambda end: end.loss)
        return Selection(best.medoids, best.n_tried, best.n_swaps)
