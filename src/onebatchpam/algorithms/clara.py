"""FasterCLARA: FasterPAM on several small samples; the best medoids are kept, by all rows or by a sample of these."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import Rule, Settings, check_not_negative, integer, integer_or_auto
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.batch import most_searched
from onebatchpam.blocks import WholeBlock, compute_block
from onebatchpam.metrics import MetricLike
from onebatchpam.search import (
    Assignment,
    Build,
    SwapOptions,
    SwapResult,
    assign_all,
    find_nearest,
    random_medoids,
    run_swaps,
    starts_by_build,
)
from onebatchpam.space import Space


def resolve_sample_size(size: int | None, n: int, k: int) -> int:
    """Return how many of n rows a sample for k medoids has; None stands for "auto"."""
    return min(n, 80 + 4 * k if size is None else size)


def draw_candidates(space: Space, size: int, include: Indices, run: Run) -> Indices:
    """Draw as many candidates as a sample has rows, or all of them if there are fewer; those to include are drawn."""
    candidates = space.candidates
    weights, size = candidates.of(space.weights), min(size, candidates.n)
    return candidates.rows(sample_by_weight(weights, size, run.rng, candidates.places(include)).indices)


def draw_judges(space: Space, n_samplings: int, run: Run) -> Batch | None:
    """Draw rows that judge the medoids of several samples if there are very many; None stands for all rows."""
    n = most_searched()
    return sample_by_weight(space.weights, n, run.rng) if n_samplings > 1 and space.n > n else None


def judge(space: Space, medoids: Indices, judges: Batch | None, run: Run) -> Assignment:
    """Return the assignment of all judges to the medoids; its inertia tells how good these are."""
    if judges is None:
        return assign_all(space, medoids, run.stages)
    return find_nearest(space.distances_from(medoids, judges.indices), judges.weights, run.stages)


class FasterCLARA(MedoidEstimator):
    """k-medoids by FasterPAM on several small samples; the medoids with the best objective are kept.

    A search sees only the rows of its sample, and only these can become medoids. This is fast and takes little memory
    however many rows there are, but the paper of OneBatchPAM finds the objective 8 to 13 % above the best. Choose it
    when not even the n x m block of `OneBatchPAM` is affordable.

    For each sample of s rows it computes s^2 dissimilarities, and n k more to judge the medoids by the objective over
    all n rows. With more than 100,000 rows, medoids are judged by 100,000 rows drawn by weight, and only the best ones
    are compared with all rows. It holds s^2 dissimilarities at a time, and the rows that judge if X is in a file.

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
        Seed or generator for drawing the samples and the first medoids in each. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    n_samplings : int, default=5
        Number of samples. Every sample after the first includes the best medoids so far. If there are at most 200
        rows and the sample holds all of them, a single search is made; it starts with PAM's BUILD, so that the result
        depends neither on `random_state` nor on the order of the rows.
    sample_size : "auto" or int, default="auto"
        Number of rows in a sample; a number above n means n. ``"auto"`` is 80 + 4 k.
    max_iter : int, default=100
        Largest number of passes over the candidates of a sample. A search ends early when a full cycle of candidates
        brings no swap. 0 keeps the best of the starts, one in each sample.
    tol : float, default=1e-6
        A swap is made only if it lowers the loss over the sample by more than this fraction of the loss, in
        which the farthest row does not count.
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
        Number of passes over the candidates, all samples together.
    n_swaps_ : int
        Number of swaps made, all samples together.
    n_distances_ : int
        Number of dissimilarities computed, or read if precomputed, including those of the assignment.
    fit_seconds_ : dict
        Seconds taken by each stage, all samples together.
    n_features_in_ : int
        Number of features. Not set for strings and other objects, which have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

    See Also
    --------
    OneBatchPAM : Better medoids of data of any size; the estimator to start with.

    References
    ----------
    Kaufman, Rousseeuw: Clustering large data sets, Pattern Recognition in Practice, 1986. Schubert, Rousseeuw: Fast and
    eager k-medoids clustering, Information Systems 101, 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import FasterCLARA
    >>> X = load_digits().data
    >>> model = FasterCLARA(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.n_distances_ == 5 * (120 * 120 + len(X) * 10)
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
        n_samplings: int = 5,
        sample_size: str | int = "auto",
        max_iter: int = 100,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.n_samplings = n_samplings
        self.sample_size = sample_size
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "n_samplings": integer(at_least=1),
        "sample_size": integer_or_auto(at_least=1),
        "max_iter": integer(at_least=0),
        "tol": check_not_negative,
    }

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        size, k = settings.sample_size, settings.n_clusters
        if size is not None and size < k:
            raise ValueError(f"sample_size={size} is smaller than n_clusters={k}: expected at least one row per medoid")
        return settings

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        size = resolve_sample_size(settings.sample_size, space.n, k)
        options = SwapOptions(settings.max_iter, settings.tol, len(space.fixed))
        builds = starts_by_build("auto", size, space.n)
        judges = draw_judges(space, settings.n_samplings, run)
        if judges is not None:
            space = space.hold(judges.indices, resolve_memory_limit(None))
        medoids, best = space.fixed, None
        searches: list[SwapResult] = []
        for _ in range(1 if builds else settings.n_samplings):  # BUILD finds the same medoids each time
            # Every sample includes the best medoids so far; the first one includes the fixed medoids.
            sample = sample_by_weight(space.weights, size, run.rng, include=medoids)
            candidates = sample.indices
            if space.candidates.indices is not None:
                candidates = draw_candidates(space, size, medoids, run)
            block = WholeBlock(compute_block(space, sample.indices, candidates, run.stages))
            fixed = np.searchsorted(candidates, space.fixed)
            start = Build(k, fixed) if builds else random_medoids(len(candidates), k, run.rng, fixed)
            search = run_swaps(block, start, sample.weights, options, run)
            searches.append(search)
            found = candidates[search.medoids]
            tried = judge(space, found, judges, run)
            if best is None or tried.inertia < best.inertia:
                medoids, best = found, tried

        converged = all(search.converged for search in searches)
        return Selection(
            medoids,
            n_iter=sum(search.n_iter for search in searches),
            n_swaps=sum(search.n_swaps for search in searches),
            advice=advise_more_passes(settings.max_iter, converged, "the swap search in a sample"),
            assignment=best if judges is None else None,
        )
