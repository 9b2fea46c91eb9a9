"""Estimators whose medoids are drawn, without a search or with a short one; `search/first_medoids.py` draws them.

With weights, a row is drawn as often as if it came as many times. That holds on average, not draw by draw.
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


class RandomMedoids(MedoidEstimator):
    """k rows drawn at random by their weights; without weights each set of rows is equally likely.

    The floor that every other method must beat. It computes no dissimilarity but the n k of the assignment. The rows
    are those with which ``init="random"`` starts a search for the same `random_state`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str, default="euclidean"
        Dissimilarity, as in `OneBatchPAM`; ``"precomputed"`` takes a square matrix whose entry (i, j) is the
        dissimilarity of candidate i and point j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the medoids.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids, in the order in which they were drawn.
    cluster_centers_ : ndarray of shape (k, n_features) or None
        The medoids themselves; None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_iter_ : int
        Always 0.
    n_swaps_ : int
        Always 0.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed; those of the assignment included.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import RandomMedoids
    >>> X = load_digits().data
    >>> RandomMedoids(n_clusters=10, metric="manhattan", random_state=0).fit(X).n_distances_ == len(X) * 10
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(draw_by_weight(space, k, run.rng))


class KMeansPlusPlus(MedoidEstimator):
    """Rows drawn one by one, each with a probability that grows with its distance to those before it.

    The seeding of k-means++ for any dissimilarity. Choose it for a quick spread of rows, far ones included, or as the
    start of a search; the paper of OneBatchPAM finds its objective 18 to 30 % above the best.

    It computes n k dissimilarities to draw and n k to assign the rows, and holds n of them at a time.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str, default="euclidean"
        Dissimilarity, as in `OneBatchPAM`; ``"precomputed"`` takes a square matrix whose entry (i, j) is the
        dissimilarity of candidate i and point j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    power : float, default=1.0
        Power of the distance in the probabilities. With 1 they follow the k-medoids objective; 2 is k-means++ as it was
        published, for squared distances; 0 draws uniformly among the rows that are no duplicates.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the medoids.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids, in the order in which they were drawn.
    cluster_centers_ : ndarray of shape (k, n_features) or None
        The medoids themselves; None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_iter_ : int
        Always 0.
    n_swaps_ : int
        Always 0.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed; those of the assignment included.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        power: float = 1.0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.power = power
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {**MedoidEstimator._rules, "power": check_not_negative}

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(kmeans_plus_plus(space, k, run, power=settings.power))


class LSKMeansPlusPlus(MedoidEstimator):
    """k-means++ followed by a local search: further rows are drawn alike, and swapped in where that helps.

    A proposal is weighed against all k medoids at once: the nearest and the second nearest medoid of every row are
    kept, so that it costs n dissimilarities and O(n + k) steps; a swap costs O(k) more for each row that loses one of
    the two. Choose it to improve on `KMeansPlusPlus` for little; the paper of OneBatchPAM finds its objective 14 to
    24 % above the best with 5 or 10 proposals.

    It computes n (k + n_swaps) dissimilarities to draw and n k to assign the rows, and holds k n of them, twice for a
    moment: 8 k n bytes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str, default="euclidean"
        Dissimilarity, as in `OneBatchPAM`; ``"precomputed"`` takes a square matrix whose entry (i, j) is the
        dissimilarity of candidate i and point j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_swaps : int, default=5
        Number of proposals, Z in the paper. Those that would not lower the objective are not made.
    power : float, default=1.0
        Power of the distance in the probabilities. With 1 they follow the k-medoids objective; 2 is k-means++ as it was
        published, for squared distances; 0 draws uniformly among the rows that are no duplicates.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the medoids.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids, in the order in which they were drawn.
    cluster_centers_ : ndarray of shape (k, n_features) or None
        The medoids themselves; None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_iter_ : int
        Proposals made; fewer than `n_swaps` if the objective has become 0.
    n_swaps_ : int
        Swaps made.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed; those of the assignment included.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    Lattanzi, Sohler: A better k-means++ algorithm via local search, ICML 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import LSKMeansPlusPlus
    >>> X = load_digits().data
    >>> model = LSKMeansPlusPlus(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.n_distances_ == len(X) * (10 + 5) + len(X) * 10
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        n_swaps: int = N_PROPOSALS,
        power: float = 1.0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.n_swaps = n_swaps
        self.power = power
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "n_swaps": integer(at_least=0),
        "power": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        found = ls_kmeans_plus_plus(space, k, run, n_proposals=settings.n_swaps, power=settings.power)
        return Selection(*found)


class KMC2(MedoidEstimator):
    """k-means++ approximated by Markov chains that look at a few rows instead of all.

    Each medoid is the end of a chain of uniformly drawn rows; the longer the chain, the nearer to the draw of
    `KMeansPlusPlus`. Choose it when even n k dissimilarities are too many, as a start for another method; in the
    paper of OneBatchPAM its objective is close to that of `RandomMedoids` on large data.

    To draw, it computes chain_length k (k - 1) / 2 dissimilarities whatever n, and never looks at all rows. The labels
    and the objective, which every estimator here has, take n k more.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str, default="euclidean"
        Dissimilarity, as in `OneBatchPAM`; ``"precomputed"`` takes a square matrix whose entry (i, j) is the
        dissimilarity of candidate i and point j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    chain_length : int, default=20
        Rows in the chain of each medoid.
    power : float, default=1.0
        Power of the distance in the probabilities. With 1 they follow the k-medoids objective; 2 is k-means++ as it was
        published, for squared distances; 0 draws uniformly among the rows that are no duplicates.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the medoids.
    verbose : int, default=0
        With 1, stages that take long show a progress bar.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids, in the order in which they were drawn.
    cluster_centers_ : ndarray of shape (k, n_features) or None
        The medoids themselves; None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    n_iter_ : int
        Always 0.
    n_swaps_ : int
        Always 0.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed; those of the assignment included.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        chain_length: int = CHAIN_LENGTH,
        power: float = 1.0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.chain_length = chain_length
        self.power = power
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "chain_length": integer(at_least=1),
        "power": check_not_negative,
    }

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        return Selection(kmc2(space, k, run, chain_length=settings.chain_length, power=settings.power))
