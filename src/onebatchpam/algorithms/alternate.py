"""Alternate: rows to their nearest medoid, medoids to the middle of their rows, in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _core
from onebatchpam._parameters import check_integer
from onebatchpam._progress import Stages
from onebatchpam.algorithms.base import WeightedMedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.blocks import BlockScan, square_block
from onebatchpam.metrics import MetricLike, each_tile
from onebatchpam.search import Assignment, assign, build, initial_medoids, starts_by_build
from onebatchpam.space import Space


class Alternate(WeightedMedoidEstimator):
    """k-medoids in the manner of k-means: assign all rows, move each medoid to the middle of its cluster, repeat.

    Each step is exact, but medoids never leave their clusters, so the objective stays far above that of swaps: 20 % in
    the paper of OneBatchPAM. Choose it to compare with, or when a given start must only be polished.

    A pass computes n k dissimilarities for the assignment and all pairs within each cluster, n^2 / k in all if the
    clusters are of equal size and n^2 at worst. It holds a few hundred rows of those pairs at a time.

    A cluster is empty when its medoid is a duplicate of another one; that medoid moves to the row farthest from all
    medoids. If there are not enough distinct rows it stays where it is.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str, default="euclidean"
        Dissimilarity, as in `OneBatchPAM`; ``"precomputed"`` takes a square matrix whose entry (i, j) is the
        dissimilarity of candidate i and point j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    init : {"auto", "random", "k-means++", "ls-k-means++", "kmc2"} or array-like of shape (k,), default="auto"
        Medoids to start from; an array holds row indices. ``"random"`` draws rows by their weights, each set with
        equal probability if there are none; the next names are those of `KMeansPlusPlus`, `LSKMeansPlusPlus` and
        `KMC2`, with their default parameters. ``"auto"`` is ``"random"``, but for at most 200 rows it is PAM's BUILD,
        which chooses one medoid after the other: the result then depends neither on `random_state` nor on the order
        of the rows.
    max_iter : int, default=100
        Largest number of passes; the last one is that in which no medoid moves.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the first medoids.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids.
    cluster_centers_ : ndarray of shape (k, n_features) or None
        The medoids themselves; None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_iter_ : int
        Passes.
    n_swaps_ : int
        Moves of a medoid.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed.
    fit_seconds_ : dict
        Seconds that each stage took, all passes together.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: str | ArrayLike = "auto",
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, space: Space, k: int, rng: np.random.RandomState, n_jobs: int, stages: Stages) -> Selection:
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)

        if starts_by_build(self.init, space.n, space.n):
            medoids = build(square_block(space, n_jobs, stages), k, space.weights, space.fixed, n_jobs)
        else:
            medoids = initial_medoids(self.init, space, k, rng, stages)
        medoids, assignment = assign(space, medoids, stages)
        n_moves = n_iter = 0
        converged = False
        while n_iter < max_iter and not converged:
            n_iter += 1
            moved = move_to_middles(space, medoids, assignment, n_jobs, stages)
            n_moves += int(np.sum(moved != medoids))
            converged = np.array_equal(moved, medoids)
            if not converged:
                medoids, assignment = assign(space, moved, stages)
        advice = None if converged else _MORE_PASSES.format(max_iter)
        return Selection(medoids, n_iter, n_moves, advice, assignment=assignment)


_MORE_PASSES = "medoids still moved after max_iter={} passes; increase max_iter"


def move_to_middles(
    space: Space, medoids: NDArray[np.int64], assignment: Assignment, n_jobs: int, stages: Stages
) -> NDArray[np.int64]:
    """Return for each cluster the row with the smallest sum of dissimilarities to the others.

    A medoid moves only if that is smaller than its own sum, and to the first of equal rows; that of an empty cluster
    stays, and so does one that is fixed.
    """
    moved = medoids.copy()
    order = np.argsort(assignment.labels, kind="stable")
    clusters = np.split(order, np.cumsum(np.bincount(assignment.labels, minlength=len(medoids)))[:-1])
    with stages.stage("middles of clusters", total=space.n) as bar:
        for slot, members in enumerate(clusters):
            if len(members) > 0 and slot >= len(space.fixed):
                moved[slot] = middle_of(space, members, slot, medoids, assignment, n_jobs)
            bar.update(len(members))
    return moved


def middle_of(
    space: Space,
    members: NDArray[np.int64],
    slot: int,
    medoids: NDArray[np.int64],
    assignment: Assignment,
    n_jobs: int,
) -> np.int64:
    """Return the medoid, or the first member with the smallest sum if that is smaller.

    It is no other medoid: to each of these rows all others are at least as far as the one they belong to.
    """
    sums = sums_within(space, members, n_jobs)
    is_medoid = members == medoids[slot]
    # A medoid can belong to the cluster of another one, if it is nearer to that than to itself.
    of_medoid = (
        sums[is_medoid][0] if is_medoid.any() else np.sum(assignment.distances[members] * space.weights[members])
    )
    middle = np.argmin(sums)
    return members[middle] if sums[middle] < of_medoid else medoids[slot]


def sums_within(space: Space, members: NDArray[np.int64], n_jobs: int) -> NDArray[np.float64]:
    """Return for each of these rows the weighted sum of its dissimilarities to all of them, tile by tile."""
    sums = np.empty(len(members))
    weights = space.weights[members]
    columns = space.to_points(members, members)
    scan = BlockScan(len(members), n_jobs)
    for rows, tile in each_tile(columns):
        scan.see(tile, rows.start)
        _core.RowSummer(weights, sums[rows], n_jobs).see(tile)
    return sums
