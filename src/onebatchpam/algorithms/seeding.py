"""Estimators that draw their medoids, without a search or with a short one; `search/first_medoids.py` does the drawing.

A row of weight w is as likely to be drawn as one of w copies of the row. So weights and copies give the same result on
average, but not for the same seed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onebatchpam._parameters import Rule, Settings, check_not_negative, integer
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection
from onebatchpam.metrics import MetricLike
from onebatchpam.search import (
    CHAIN_LENGTH,
    N_PROPOSALS,
    draw_by_weight,
    kmc2,
    kmeans_plus_plus,
    ls_kmeans_plus_plus,
)
from onebatchpam.space import Space

MOST_DRAWS = 2**31 - 1  # larger numbers of proposals or rows of a chain are surely a mistake


class RandomMedoids(MedoidEstimator):
    """k rows drawn at random by their weights; without weights each set of rows is equally likely.

    This is the baseline that every other method must beat. It computes no dissimilarities except the n k of the
    assignment. For the same `random_state`, a search with ``init="random"`` starts from the same rows.

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
        Seed or generator for drawing the medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
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
        Always 0.
    n_swaps_ : int
        Always 0.
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

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import RandomMedoids
    >>> X = load_digits().data
    >>> RandomMedoids(n_clusters=10, metric="manhattan", random_state=0).fit(X).n_distances_ == len(X) * 10
    True
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
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(draw_by_weight(space, k, run.rng))


class KMeansPlusPlus(MedoidEstimator):
    """Rows drawn one by one, each with a probability that grows with its distance to the rows drawn before.

    This is the seeding of k-means++ for any dissimilarity. Choose it to get rows from all over the data quickly, far
    rows included, or as the start of a search; the paper of OneBatchPAM finds its objective 18 to 30 % above the best.

    It computes n k dissimilarities to draw the medoids and n k to assign the rows, and holds n of them at a time.

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
        Seed or generator for drawing the medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    power : float, default=1.0
        Power of the distance to which the probabilities are proportional. 1 suits the k-medoids objective; 2 is
        k-means++ as published, with squared distances; 0 draws uniformly among rows that are not duplicates of medoids.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids, in the order in which they were drawn.
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
        Always 0.
    n_swaps_ : int
        Always 0.
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
    Arthur, Vassilvitskii: k-means++: The advantages of careful seeding, SODA 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import KMeansPlusPlus
    >>> X = load_digits().data
    >>> model = KMeansPlusPlus(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.n_distances_ == 2 * len(X) * 10
    True
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
        power: float = 1.0,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.power = power
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {**MedoidEstimator._rules, "power": check_not_negative}

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(kmeans_plus_plus(space, k, run, power=settings.power))


class LSKMeansPlusPlus(MedoidEstimator):
    """k-means++ followed by a local search: further rows are drawn in the same way, and swapped in if that helps.

    Each row that is drawn is a proposal to replace one of the medoids. All k swaps of a proposal are evaluated at once,
    because the nearest and the second nearest medoid of every row are known: a proposal costs n dissimilarities. A swap
    costs k more for each row that loses one of its two nearest medoids, about 2 n in all. Choose it to improve on
    `KMeansPlusPlus` at little cost; the paper of OneBatchPAM finds its objective 14 to 24 % above the best with 5 or 10
    proposals.

    It computes n (k + n_swaps) dissimilarities to draw the medoids, those of the swaps, and n k to assign the rows. It
    holds the two nearest medoids of every row, which take 16 n bytes.

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
        Seed or generator for drawing the medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    power : float, default=1.0
        Power of the distance to which the probabilities are proportional. 1 suits the k-medoids objective; 2 is
        k-means++ as published, with squared distances; 0 draws uniformly among rows that are not duplicates of medoids.
    n_swaps : int, default=5
        Number of proposals, Z in the paper. Only swaps that lower the objective are made.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids, in the order in which they were drawn; a row that was swapped in has the place of
        the medoid that it replaced.
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
        Number of proposals; fewer than `n_swaps` if the objective became 0.
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
    OneBatchPAM : Better medoids of data of any size; the estimator to start with.

    References
    ----------
    Lattanzi, Sohler: A better k-means++ algorithm via local search, ICML 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import LSKMeansPlusPlus
    >>> X = load_digits().data
    >>> model = LSKMeansPlusPlus(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.n_iter_, model.labels_.shape
    (5, (1797,))
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
        power: float = 1.0,
        n_swaps: int = N_PROPOSALS,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.power = power
        self.n_swaps = n_swaps
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "n_swaps": integer(at_least=0, at_most=MOST_DRAWS),
        "power": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        found = ls_kmeans_plus_plus(space, k, run, n_proposals=settings.n_swaps, power=settings.power)
        return Selection(*found)


class KMC2(MedoidEstimator):
    """k-means++ approximated by Markov chains, each of which looks at a few rows instead of all.

    Each medoid is the last row that a Markov chain accepts. The chain visits rows drawn by their weights; the longer it
    is, the closer its outcome to a draw of `KMeansPlusPlus`. Choose it as the start of another method when even n k
    dissimilarities are too many; in the paper of OneBatchPAM its objective on large data is close to that of
    `RandomMedoids`.

    To draw the medoids it computes chain_length k (k - 1) / 2 dissimilarities, however many rows there are, and never
    looks at all rows. The labels and the objective, which every estimator has, take n k more.

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
        Seed or generator for drawing the medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    power : float, default=1.0
        Power of the distance to which the probabilities are proportional. 1 suits the k-medoids objective; 2 is
        k-means++ as published, with squared distances; 0 draws uniformly among rows that are not duplicates of medoids.
    chain_length : int, default=20
        Number of rows in the chain of each medoid.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids, in the order in which they were drawn.
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
        Always 0.
    n_swaps_ : int
        Always 0.
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
    Bachem, Lucic, Hassani, Krause: Approximate k-means++ in sublinear time, AAAI 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import KMC2
    >>> X = load_digits().data
    >>> model = KMC2(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.n_distances_ == 20 * (10 * 9 // 2) + len(X) * 10
    True
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
        power: float = 1.0,
        chain_length: int = CHAIN_LENGTH,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.power = power
        self.chain_length = chain_length
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "chain_length": integer(at_least=1, at_most=MOST_DRAWS),
        "power": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(kmc2(space, k, run, chain_length=settings.chain_length, power=settings.power))
