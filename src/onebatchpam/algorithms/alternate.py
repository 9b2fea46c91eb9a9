"""Alternate: assign rows to their nearest medoid and move medoids to the middle of their clusters, in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core
from onebatchpam._parameters import Rule, Settings, accept, integer
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.blocks import WholeBlock, fill_checked, is_mirrored, square_block, sum_mirrored
from onebatchpam.metrics import MetricLike
from onebatchpam.search import (
    Assignment,
    Build,
    Start,
    assign,
    choose_start,
    further_starts,
    most_central_first,
    split_by_label,
)
from onebatchpam.space import Space


class Alternate(MedoidEstimator):
    """k-medoids in the manner of k-means: assign all rows, move each medoid to the middle of its cluster, repeat.

    Each step is exact, but a medoid never leaves its cluster, so the objective stays far above that of swaps: 20 % in
    the paper of OneBatchPAM. Choose it as a baseline, or to polish medoids that are good already.

    A pass computes n k dissimilarities for the assignment, and those of all pairs within each cluster: n^2 / k in total
    if all clusters have the same size, n^2 at worst. It holds the pairs of a few hundred rows at a time.

    If a medoid is a duplicate of another medoid, its cluster is empty; the medoid then moves to the row farthest from
    all medoids. It stays where it is if there are not enough distinct rows.

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
          most. It holds n^2 dissimilarities while it does, and draws nothing: without exact ties, the result depends
          neither on `random_state` nor on the order of the rows.
        - ``"auto"``: BUILD for at most 200 rows, otherwise ``"random"``.
    n_init : int, default=1
        Number of starts; the result with the smallest objective is kept. With ``init="auto"``, BUILD is only the first
        of them, and the others are random.
    max_iter : int, default=100
        Largest number of passes. The fit ends early with the first pass in which no medoid moves. 0 returns the medoids
        of the start.
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
        Number of passes, from the best start.
    n_swaps_ : int
        Number of moves of a medoid, from the best start.
    n_distances_ : int
        Number of dissimilarities computed, or read if precomputed, including those of the assignment.
    fit_seconds_ : dict
        Seconds taken by each stage, all passes and starts together.
    n_features_in_ : int
        Number of features. Not set for strings and other objects, which have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

    See Also
    --------
    OneBatchPAM : Better medoids of data of any size; the estimator to start with.

    References
    ----------
    Park, Jun: A simple and fast algorithm for K-medoids clustering, Expert Systems with Applications 36, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import Alternate
    >>> X = load_digits().data
    >>> model = Alternate(n_clusters=10, metric="manhattan", random_state=0).fit(X)
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
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "init": accept,
        "n_init": accept,
        "max_iter": integer(at_least=0),
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        starts = [choose_start(settings.init, None, space, k, space.n, run)]
        starts += further_starts(settings.init, settings.n_init, space, k, run)
        found = [self._alternate(space, find_medoids(start, space, run), settings, run) for start in starts]
        return min(found, key=lambda each: each[0])[1]

    def _alternate(self, space: Space, medoids: Indices, settings: Settings, run: Run) -> tuple[float, Selection]:
        """Assign rows and move medoids in turn, until no medoid moves; return the objective as well."""
        medoids, assignment = assign(space, medoids, run.stages)
        n_moves = n_iter = 0
        converged = settings.max_iter == 0
        while n_iter < settings.max_iter and not converged:
            n_iter += 1
            moved = move_to_middles(space, medoids, assignment, run)
            n_moves += int(np.sum(moved != medoids))
            converged = np.array_equal(moved, medoids)
            if not converged:
                medoids, assignment = assign(space, moved, run.stages)
        moves_on = f"medoids still moved after max_iter={settings.max_iter} passes; increase max_iter"
        advice = None if converged else moves_on
        return assignment.inertia, Selection(medoids, n_iter, n_moves, advice, assignment)


def find_medoids(start: Start, space: Space, run: Run) -> Indices:
    """Return the medoids of a start; BUILD chooses them on the block of all candidates and rows."""
    if not isinstance(start, Build):
        return start
    block = WholeBlock(square_block(space, run.n_jobs, run.stages))
    order = most_central_first(block, space.weights, run.n_jobs)
    return space.candidates.rows(start.choose(block, order, space.weights, run))


def move_to_middles(space: Space, medoids: Indices, assignment: Assignment, run: Run) -> Indices:
    """Return the medoids, each moved to the candidate in its cluster with the smallest sum of dissimilarities.

    A medoid stays if no sum is smaller than its own; of equal sums the first candidate wins. The medoid of an empty
    cluster stays, and so does a fixed medoid. A medoid never moves onto another medoid, which may be a member of its
    cluster if it is equally near to both.
    """
    moved, may_become_medoid = medoids.copy(), space.candidates.marked()
    may_become_medoid[medoids] = False
    with run.stages.stage("middles of clusters", total=space.n) as bar:
        for slot, members in split_by_label(assignment.labels):
            if slot >= len(space.fixed):
                candidates = members[may_become_medoid[members] | (members == medoids[slot])]
                moved[slot] = find_middle(space, candidates, members, medoids[slot], assignment, run.n_jobs)
            bar.update(len(members))
    return moved


def find_middle(
    space: Space, candidates: Indices, members: Indices, medoid: np.int64, assignment: Assignment, n_jobs: int
) -> np.int64:
    """Return the middle of a cluster: the first of its candidates with the smallest sum of dissimilarities to it.

    The medoid itself is returned unless that sum is smaller than its own.
    """
    if len(candidates) == 0:
        return medoid
    sums = sum_to_members(space, candidates, members, n_jobs)
    is_medoid = candidates == medoid
    if is_medoid.any():
        sum_of_medoid = sums[is_medoid][0]
    else:  # the medoid is nearer to another medoid than to itself, so it is a member of that cluster
        sum_of_medoid = np.sum(assignment.distances[members] * space.weights[members])
    middle = np.argmin(sums)
    return candidates[middle] if sums[middle] < sum_of_medoid else medoid


def sum_to_members(space: Space, candidates: Indices, members: Indices, n_jobs: int) -> NDArray[np.float64]:
    """Return for each candidate the weighted sum of its dissimilarities to all members, computed tile by tile."""
    weights = space.weights[members]
    if is_mirrored(space, members, candidates):
        return sum_mirrored(space, members, weights, n_jobs)
    distances = space.distances_to(members, candidates)
    sums, buffer = np.empty(len(candidates)), TileBuffer(distances.n_columns)
    for rows in distances.tiles():
        tile = buffer.for_rows(rows)
        fill_checked(distances, rows, tile)
        _core.RowSummer(weights, sums[rows], n_jobs).see(tile)
    return sums
