"""FasterMSC and DynMSC: swaps that raise the average medoid silhouette, for one number of medoids or for several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import Rule, Settings, accept, check_not_negative, integer, integer_or_auto
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.population import InMemory
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.answers import settle
from onebatchpam.batch import check_batch_size, draw_batch, resolve_batch_size
from onebatchpam.metrics import MetricLike
from onebatchpam.search import SwapOptions, SwapResult, choose_start, further_starts, run_swaps, search_silhouettes
from onebatchpam.space import Space

ALL_ROWS = 2**62  # a batch size above every number of rows


def check_size(value: Any, name: str) -> int | None:
    """Check a batch size that may be None, for all rows; return None for "auto"."""
    return ALL_ROWS if value is None else integer_or_auto(at_least=1, also="None for all rows")(value, name)


@dataclass(frozen=True)
class SilhouetteSelection(Selection):
    """The medoids of FasterMSC, to which the silhouette belongs."""

    is_settled: ClassVar[bool] = True
    medoid_silhouette: float = np.nan
    batch_indices: Indices | None = None


@dataclass(frozen=True)
class DynamicSelection(SilhouetteSelection):
    """The medoids of DynMSC, and the silhouettes by which their number was chosen."""

    n_clusters: int = 0
    k_tried: NDArray[np.int64] | None = None
    silhouettes: NDArray[np.float64] | None = None


class FasterMSC(MedoidEstimator):
    """k-medoids that maximise the average medoid silhouette, by swaps, on all rows or on a batch of them.

    The medoid silhouette of a row is 1 - d1 / d2, where d1 and d2 are its dissimilarities to the nearest and to the
    second nearest medoid. Maximising its mean looks for medoids that are far from each other and near to their own
    rows. So it prefers well separated clusters to close ones, whereas `FasterPAM` and `OneBatchPAM` minimise the sum of
    d1, which is the objective of k-medoids. Choose it if clusters are to be separated rather than compact; `DynMSC`
    also chooses their number.

    It computes n m dissimilarities with a batch of m rows, and n k more to assign the rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k. A single medoid has no silhouette; it is the row with the smallest sum of dissimilarities.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`. With ``"precomputed"``, X is a square
        matrix whose entry (i, j) is the dissimilarity of row i, as a medoid, to row j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the batch and the first medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    batch_size : "auto", int or None, default="auto"
        Number of rows, m, at which silhouettes are computed during the search. None means all rows, which is the
        published algorithm and takes n^2 dissimilarities. ``"auto"`` is the rule of `onebatchpam.batch_size`: all rows
        if there are a few thousand, otherwise a random sample, with which the search takes n m dissimilarities.
    init : {"auto", "build", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="auto"
        Medoids from which the search starts, as in `OneBatchPAM`. BUILD lowers the k-medoids objective.
    n_init : int, default=1
        Number of starts; the result with the largest silhouette is kept. With ``init="auto"``, BUILD is only the first
        of them, and the others are random.
    max_iter : int, default=100
        Largest number of passes over all candidates. The search ends early when a full cycle of candidates
        brings no swap. 0 returns the medoids of the start.
    tol : float, default=1e-6
        A swap is made only if it lowers the loss, the sum of d1 / d2, by more than this fraction of it.
    memory_limit : int or str, default=None
        Memory for dissimilarities, as in `OneBatchPAM`; None means half of the free memory. Dissimilarities that do not
        fit are computed again in each pass, with the same result.
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
    medoid_silhouette_ : float
        Average medoid silhouette of all rows, by their weights; NaN with a single medoid.
    batch_indices_ : ndarray of shape (m,)
        Row indices of the batch points: all rows if there is no batch.
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
    DynMSC : The same for several numbers of medoids, of which it chooses the best.
    medoid_silhouette : The average medoid silhouette of any model.
    select_k : Choose the number of medoids by several criteria.

    References
    ----------
    Lenssen, Schubert: Clustering by direct optimization of the medoid silhouette, SISAP 2022. Lenssen, Schubert: Medoid
    silhouette clustering with automatic cluster number selection, Information Systems 120, 2024.

    Examples
    --------
    >>> from onebatchpam import FasterMSC
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = FasterMSC(n_clusters=2).fit(X)
    >>> sorted(model.medoid_indices_.tolist()), round(model.medoid_silhouette_, 3)
    ([1, 4], 0.915)
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
        batch_size: str | int | None = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.batch_size = batch_size
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.memory_limit = memory_limit
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "batch_size": check_size,
        "init": accept,
        "n_init": accept,
        "max_iter": integer(at_least=0),
        "tol": check_not_negative,
        "memory_limit": resolve_memory_limit,
    }

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        check_batch_size(settings.batch_size, settings.n_clusters)
        return settings

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        m = resolve_batch_size(settings.batch_size, space.n, k, None, refined=False)
        starts = [choose_start(settings.init, None, space, k, m, run)]
        starts += further_starts(settings.init, settings.n_init, space, k, run)
        # The variant does not count a batch point as its own medoid, because that would favour batch points.
        batch, block = draw_batch(InMemory(space, k, settings.memory_limit, run), m, "debias")
        options = SwapOptions(settings.max_iter, settings.tol, len(space.fixed))
        if k == 1:
            searches = [[run_swaps(block, starts[0], batch.weights, options, run, space.candidates)]]
        else:
            searches = [
                search_silhouettes(block, each, batch.weights, options, run, space.candidates, settings.min_clusters)
                for each in starts
            ]
        best = [min(results, key=lambda result: result.loss) for results in zip(*searches, strict=True)]
        return self._choose(space, best, settings, run, batch.indices, float(batch.weights.sum()))

    def _choose(
        self, space: Space, found: list[SwapResult], settings: Settings, run: Run, batch: Indices, total: float
    ) -> SilhouetteSelection:
        """Return the selection of the only result; `total` is the weight of all batch points."""
        (search,) = found
        medoids, assignment, silhouette = settle(space, search.medoids, run.stages)
        advice = advise_more_passes(settings.max_iter, search.converged)
        points = space.given_indices(batch)
        return SilhouetteSelection(medoids, search.n_iter, search.n_swaps, advice, assignment, silhouette, points)


class DynMSC(FasterMSC):
    """k-medoids with the number of medoids, and the medoids, that maximise the average medoid silhouette.

    It runs `FasterMSC` with `n_clusters` medoids, removes the medoid that is missed most, so that the others have to
    rearrange, searches again, and so on down to `min_clusters`; the number with the largest silhouette is kept. All
    searches share the dissimilarities of the first. The medoid silhouette tends to favour few clusters; `select_k`
    shows other criteria beside it.

    It computes n m dissimilarities with a batch of m rows, and n k more to assign the rows.

    Parameters
    ----------
    n_clusters : int, default=8
        Largest number of medoids. A single medoid has no silhouette, and is then the only number that is tried.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`. With ``"precomputed"``, X is a square
        matrix whose entry (i, j) is the dissimilarity of row i, as a medoid, to row j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the batch and the first medoids. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    min_clusters : int, default=2
        Smallest number of medoids; fixed medoids are never removed.
    batch_size : "auto", int or None, default="auto"
        Number of rows, m, at which silhouettes are computed during the search. None means all rows, which is the
        published algorithm and takes n^2 dissimilarities. ``"auto"`` is the rule of `onebatchpam.batch_size`: all rows
        if there are a few thousand, otherwise a random sample, with which the search takes n m dissimilarities.
    init : {"auto", "build", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="auto"
        Medoids from which the search starts, as in `OneBatchPAM`. BUILD lowers the k-medoids objective.
    n_init : int, default=1
        Number of starts with `n_clusters` medoids; for each number of medoids, the result with the largest silhouette
        is kept. With ``init="auto"``, BUILD is only the first of the starts, and the others are random.
    max_iter : int, default=100
        Largest number of passes over all candidates with each number of medoids. A search ends early when a full
        cycle of candidates brings no swap. 0 only removes medoids of the start, one after the other.
    tol : float, default=1e-6
        A swap is made only if it lowers the loss, the sum of d1 / d2, by more than this fraction of it.
    memory_limit : int or str, default=None
        Memory for dissimilarities, as in `OneBatchPAM`; None means half of the free memory. Dissimilarities that do not
        fit are computed again in each pass, with the same result.
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
    n_clusters_ : int
        Number of medoids that was chosen, k.
    k_tried_ : ndarray
        Numbers of medoids that were tried, the smallest first.
    silhouettes_ : ndarray
        Average medoid silhouette for each of them, over the batch.
    medoid_silhouette_ : float
        Average medoid silhouette of all rows, by their weights; NaN with a single medoid.
    batch_indices_ : ndarray of shape (m,)
        Row indices of the batch points: all rows if there is no batch.
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
    FasterMSC : The search for a given number of medoids.
    select_k : Choose the number of medoids by several criteria.

    References
    ----------
    Lenssen, Schubert: Medoid silhouette clustering with automatic cluster number selection, Information Systems 120,
    2024.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from onebatchpam import DynMSC
    >>> X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    >>> model = DynMSC(n_clusters=6).fit(X)
    >>> model.n_clusters_, model.k_tried_
    (4, array([2, 3, 4, 5, 6]))
    """

    __module__ = "onebatchpam"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        min_clusters: int = 2,
        batch_size: str | int | None = "auto",
        init: str | ArrayLike | Callable[..., Any] = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            metric_params=metric_params,
            random_state=random_state,
            n_jobs=n_jobs,
            batch_size=batch_size,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            memory_limit=memory_limit,
            verbose=verbose,
        )
        self.min_clusters = min_clusters

    _rules: ClassVar[dict[str, Rule]] = {
        **FasterMSC._rules,
        "min_clusters": integer(at_least=2),
    }

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        if settings.min_clusters > max(2, settings.n_clusters):
            raise ValueError(
                f"min_clusters={settings.min_clusters} is larger than n_clusters={settings.n_clusters}: expected at "
                "most the largest number of medoids, n_clusters"
            )
        return settings

    def _choose(
        self, space: Space, found: list[SwapResult], settings: Settings, run: Run, batch: Indices, total: float
    ) -> DynamicSelection:
        """Return the selection with the largest silhouette, with the fewest medoids of equal ones."""
        found = found[::-1]  # the result with the fewest medoids comes first
        losses = np.array([search.loss for search in found])
        best = super()._choose(space, [found[int(np.argmin(losses))]], settings, run, batch, total)
        ks = np.array([len(search.medoids) for search in found])
        silhouettes = np.where(ks > 1, 1 - losses / total, np.nan)
        return DynamicSelection(**vars(best), n_clusters=len(best.medoids), k_tried=ks, silhouettes=silhouettes)
