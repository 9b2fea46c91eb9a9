"""OneBatchPAM: the stages in their order. Each stage is a file of the room that its name says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import Rule, Settings, accept, check_flag, check_not_negative, integer, one_of
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.population import InMemory
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.batch import VARIANTS, Drawable, check_batch_size, draw_batch, resolve_batch_size
from onebatchpam.blocks import Block
from onebatchpam.metrics import MetricLike
from onebatchpam.search import (
    PROGRESS_OF_PASS,
    Refinable,
    Refined,
    Refinement,
    Start,
    SwapOptions,
    SwapResult,
    check_n_init,
    check_rounds,
    choose_start,
    draw_medoids,
)
from onebatchpam.space import Space


class Population(Drawable, Refinable, Protocol):
    """All rows that have a weight, in memory or in partitions: see `population.py`."""

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult: ...


@dataclass(frozen=True)
class BatchSelection(Selection):
    """What OneBatchPAM found, with its own fitted attributes."""

    batch_indices: Indices | None = None
    batch_weights: NDArray[np.float64] | None = None
    batch_inertia: float = 0.0
    n_refine_rounds: int = 0
    block_storage: str = ""

    def refined(self, refined: Refined) -> BatchSelection:
        """Return the same with the medoids that refinement reached."""
        return replace(
            self,
            medoids=refined.medoids,
            n_swaps=self.n_swaps + refined.n_swaps,
            n_refine_rounds=self.n_refine_rounds + refined.n_rounds,
        )


class OneBatchPAM(MedoidEstimator):
    """k-medoids by swaps whose gain is estimated on one batch of reference points.

    All n rows are candidates for a medoid, but their dissimilarities are computed to m batch points only: n m
    instead of n^2, with medoids nearly as good as FasterPAM's.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str or callable, default="euclidean"
        ``"manhattan"``, ``"euclidean"``, ``"sqeuclidean"``, ``"chebyshev"`` and ``"cosine"`` (also ``"l1"``,
        ``"cityblock"``, ``"l2"``) run in native code; every other name of scipy and scikit-learn is computed by
        them; ``"gower"`` compares the rows of a table with numbers, categories and missing values, a pandas or polars
        frame or an array; sparse matrices go with ``"manhattan"``, ``"euclidean"``, ``"sqeuclidean"``, ``"cosine"`` and
        ``"jaccard"``; ``"precomputed"`` takes a square matrix whose entry (i, j) is the dissimilarity of
        candidate i and point j.

        ``"levenshtein"``, ``"damerau_levenshtein"``, ``"osa"``, ``"indel"``, ``"lcsseq"``, ``"jaro"``,
        ``"jaro_winkler"`` and ``"hamming"`` compare strings, with the extra ``text``.

        A function of your own, f(a, b) of two rows or objects or F(A, B) of two blocks, gets the candidate first and
        the point second; see `pair_metric`, `block_metric` and, for compiled functions, `native_metric`.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``; for ``"gower"`` the ``"weights"`` and
        the ``"kinds"`` of some columns, as ``{"kinds": {"grade": "ordinal"}}``.
    batch_size : "auto" or int, default="auto"
        Number of batch points, m; at most n. ``"auto"`` is `onebatchpam.batch_size`. With m = n the search is
        FasterPAM's.
    variant : {"progressive", "nniw", "debias", "unif", "lwcs"}, default="progressive"
        How the batch stands for all rows.

        - ``"progressive"``: half of the batch is a uniform sample, the other half grows in rounds of rows drawn with
          probability proportional to their distance to the batch so far, so that far small groups have their share;
          debiased and weighted as ``"nniw"``.
        - ``"unif"``: a uniform sample.
        - ``"debias"``: the same, with every batch point at the largest distance from itself, so that it is not
          preferred as a medoid for being in the batch.
        - ``"nniw"``: as ``"debias"``, with batch points weighted by the number of rows nearest to them. With
          ``refine=0`` this is the paper's algorithm.
        - ``"lwcs"``: as ``"debias"``, with a lightweight coreset for a batch: rows far from the mean are drawn more
          often and weigh less.

        A batch of all rows needs no correction; there all variants are the same.
    refine : "auto" or int, default="auto"
        Rounds of refinement after the batch search: a few promising candidates for each medoid are compared with all
        rows, or a large sample if these are very many, and swaps that lower the objective itself are made. It never
        makes the medoids of the batch search worse. ``"auto"`` goes on as long as it pays; a number is the largest
        number of rounds, 0 leaves the medoids as the batch search found them. A first round costs about n (11 k + 100)
        dissimilarities, and later ones less; where 11 n k is more than 2^26, no more than this, or 11 k m, and
        n (k + 100) besides.
    init : {"auto", "random", "k-means++", "ls-k-means++", "kmc2"} or array-like of shape (k,), default="auto"
        Medoids to start from; an array holds row indices. ``"random"`` draws rows by their weights, each set with
        equal probability if there are none; the next names are those of `KMeansPlusPlus`, `LSKMeansPlusPlus` and
        `KMC2`, with their default parameters and at their cost in dissimilarities. ``"auto"`` is ``"random"``, but
        for at most 200 rows that are all in the batch it is PAM's BUILD, which chooses one medoid after the other:
        the result then depends neither on `random_state` nor on the order of the rows.
    n_init : int, default=1
        Number of starts on the same batch, each refined; the one with the best objective over all rows is kept, and
        refined once more with the medoids of the others for candidates. With ``init="auto"`` or a warm start this is so
        for the first start; the others are drawn.
    max_iter : int, default=100
        Largest number of passes over all candidates; the search ends as soon as a full cycle brings no swap. If it is
        refined, and there are more than 100,000 rows, it ends with a pass that lowers the loss by less than 0.5 %.
    tol : float, default=1e-6
        A swap must lower the batch loss by more than this fraction of it.
    memory_limit : int or str, default=None
        How many bytes of dissimilarities may be kept, as a number or like ``"500MB"`` or ``"4GB"``; half of the memory
        that is free when None. The 4 n m bytes of the block are kept if they fit; otherwise only what is near enough to
        matter, at least 12 n m / (k + 1) bytes; otherwise, or if there are no more than 16 features and a native
        metric, nothing, and all is computed again in each pass. Changes the result by rounding only.
    n_jobs : int, default=None
        Number of threads: None means 1 unless in a `joblib.parallel_config` context, -1 all processors. Does not
        change the result.
    random_state : int, RandomState or None, default=None
        Draws the first medoids and the batch.
    warm_start : bool, default=False
        Whether a further fit starts from the medoids of the last one, instead of `init`: the rows that now have these
        indices. If the number of rows or `n_clusters` is another than in the last fit, it starts afresh.
    verbose : int, default=0
        With 1, stages that take long show a progress bar, and that of the search how the block is kept.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Rows that are medoids.
    cluster_centers_ : ndarray of shape (k, n_features) or (k,), frame, sparse matrix or None
        The medoids themselves: rows of the frame with ``metric="gower"``, a sparse matrix if X is one, strings and
        other objects as they are, None with ``metric="precomputed"``.
    labels_ : ndarray of shape (n,)
        Cluster of every row, from 0 to k - 1; the same as ``predict(X)``, or ``predict(X.T)`` if X is an asymmetric
        precomputed matrix.
    inertia_ : float
        The objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    batch_indices_ : ndarray of shape (m,)
        Rows in the batch.
    batch_weights_ : ndarray of shape (m,)
        Their weights, with the mean of those of all rows, 1 if there are none.
    batch_inertia_ : float
        The weighted loss over the batch that the search minimised. Times n / m it estimates `inertia_`.
    n_iter_ : int
        Passes over all candidates in the batch search.
    n_swaps_ : int
        Swaps made, those of the refinement included.
    n_refine_rounds_ : int
        Rounds of refinement.
    block_storage_ : {"whole", "reduced", "recomputed"}
        How much of the block was kept in memory: all, what is near enough to matter, or nothing.
    n_distances_ : int
        Dissimilarities computed, or read if precomputed.
    fit_seconds_ : dict
        Seconds that each stage took.
    n_features_in_ : int
        Number of features; strings and other objects have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    de Mathelin, Cecchi, Deheeger, Mougeot, Vayatis: OneBatchPAM: A Fast and Frugal K-Medoids Algorithm, AAAI 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import OneBatchPAM
    >>> X = load_digits().data
    >>> model = OneBatchPAM(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.labels_.shape
    ((10, 64), (1797,))
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        batch_size: str | int = "auto",
        variant: str = "progressive",
        refine: str | int = "auto",
        init: str | ArrayLike = "auto",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.batch_size = batch_size
        self.variant = variant
        self.refine = refine
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "batch_size": check_batch_size,
        "variant": one_of(*VARIANTS),
        "refine": check_rounds,
        "init": accept,
        "n_init": accept,
        "max_iter": integer(at_least=1),
        "tol": check_not_negative,
        "memory_limit": resolve_memory_limit,
        "warm_start": check_flag,
    }

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        settings.n_init = check_n_init(self.n_init, self.init)
        return settings

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        m = resolve_batch_size(settings.batch_size, space.n, k)
        last_medoids = self._last_medoids(settings.warm_start, space.n_given, k)
        start = choose_start(settings.init, last_medoids, space, k, m, run)
        population = InMemory(space, k, settings.memory_limit, run)
        return self._search(population, start, m, settings, run)

    def _search(self, population: Population, start: Start, m: int, settings: Settings, run: Run) -> BatchSelection:
        """Draw a batch of m points, search from each start, refine, and combine what the starts found."""
        batch, block = draw_batch(population, m, settings.variant)
        is_refined = settings.refine > 0 and block.m < population.n
        least_progress = PROGRESS_OF_PASS if is_refined else 0.0
        options = SwapOptions(settings.max_iter, settings.tol, len(population.space.fixed), least_progress)
        refinement = Refinement(population, block, batch.weights, options, settings.refine, settings.memory_limit, run)
        selections = []
        for number in range(settings.n_init):
            if number > 0:
                start = draw_medoids(settings.init, population.space, settings.n_clusters, run)
            found = population.search(block, start, batch.weights, options)
            selection = BatchSelection(
                found.medoids,
                found.n_iter,
                found.n_swaps,
                advise_more_passes(found.n_iter, found.converged),
                batch_indices=population.space.given_indices(batch.indices),
                batch_weights=batch.weights,
                batch_inertia=found.loss,
                block_storage=block.storage,
            )
            selections.append(selection.refined(refinement.refine(found.medoids)))
        if len(selections) == 1:
            return selections[0]
        # The medoids that the other starts have found are among the best candidates there are.
        objectives = population.objectives([selection.medoids for selection in selections])
        best = selections[int(np.argmin(objectives))]
        candidates = np.unique(np.concatenate([selection.medoids for selection in selections]))
        return best.refined(refinement.refine(best.medoids, candidates))
