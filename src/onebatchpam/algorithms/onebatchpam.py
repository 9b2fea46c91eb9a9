"""OneBatchPAM: the stages of the method in their order; the diagram in `__init__.py` names the room of each."""

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
    """All rows with a positive weight: in memory (`population.py`), or in the partitions of a Dask collection."""

    def search(self, block: Block, start: Start, weights: NDArray[np.float64], options: SwapOptions) -> SwapResult: ...


@dataclass(frozen=True)
class BatchSelection(Selection):
    """The result of OneBatchPAM: a selection with the fitted attributes that only OneBatchPAM has."""

    batch_indices: Indices | None = None
    batch_weights: NDArray[np.float64] | None = None
    batch_inertia: float = 0.0
    n_refine_rounds: int = 0
    block_storage: str = ""

    def refined(self, refined: Refined) -> BatchSelection:
        """Return this selection with the refined medoids, and the swaps and rounds of the refinement added."""
        return replace(
            self,
            medoids=refined.medoids,
            n_swaps=self.n_swaps + refined.n_swaps,
            n_refine_rounds=self.n_refine_rounds + refined.n_rounds,
        )


class OneBatchPAM(MedoidEstimator):
    """k-medoids by swaps whose gains are estimated on one batch of reference points.

    Every row may become a medoid, but all n rows are compared with the m batch points only: n m dissimilarities
    instead of n^2, for medoids nearly as good as those of `FasterPAM`.

    Most users set four parameters: `n_clusters`; `metric`, with `metric_params`; `random_state`, to get the same result
    each time; and `n_jobs`, the number of threads. All others are fine-tuning:

    - quality against time: `batch_size`, `variant`, `refine`, `n_init`;
    - start and end of the search: `init`, `warm_start`, `max_iter`, `tol`;
    - memory and display: `memory_limit`, `verbose`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids, k.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name, or a function of your own.

        - ``"manhattan"``, ``"euclidean"``, ``"sqeuclidean"``, ``"chebyshev"`` and ``"cosine"`` run in native code and
          are the fastest; ``"l1"`` and ``"cityblock"`` are other names of the first, ``"l2"`` of the second.
        - Every other metric of scipy and scikit-learn goes by its name there and is computed by that library.
        - ``"gower"`` compares rows of a table with numbers, categories and missing values: of a pandas or polars frame,
          or of an array.
        - ``"levenshtein"``, ``"damerau_levenshtein"``, ``"osa"``, ``"indel"``, ``"lcsseq"``, ``"jaro"``,
          ``"jaro_winkler"`` and ``"hamming"`` compare strings; this needs the extra ``text``.
        - With ``"precomputed"``, X is a square matrix whose entry (i, j) is the dissimilarity of row i, as a medoid, to
          row j.
        - A function of your own is ``f(a, b)`` of two rows or objects, or ``F(A, B)`` of two blocks of them. The
          candidate for a medoid is the first argument, the point the second. See `pair_metric`, `block_metric` and, for
          compiled functions, `native_metric`.

        Sparse matrices work with ``"manhattan"``, ``"euclidean"``, ``"sqeuclidean"``, ``"cosine"`` and ``"jaccard"``.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``. ``"gower"`` takes the ``"weights"``
        and the ``"kinds"`` of columns, as in ``{"kinds": {"grade": "ordinal"}}``.
    batch_size : "auto" or int, default="auto"
        Number of batch points, m; a number above n means n. ``"auto"`` is the rule of `onebatchpam.batch_size`. With
        m = n the search is that of `FasterPAM`.
    variant : {"progressive", "nniw", "debias", "unif", "lwcs"}, default="progressive"
        How the batch is drawn, and how it is corrected to stand for all rows.

        - ``"progressive"``: half of the batch is drawn uniformly. The other half is drawn in rounds, each row with a
          probability proportional to its distance to the batch so far, so that small groups far away get batch points.
          Corrected as in ``"nniw"``.
        - ``"nniw"``: drawn uniformly. Corrected as in ``"debias"``; in addition, a batch point is weighted by the
          number of rows to which it is nearest. With ``refine=0`` this is the algorithm of the paper.
        - ``"debias"``: drawn uniformly. The distance of a batch point to itself is set to the largest distance, because
          otherwise a row would be preferred as a medoid merely for being in the batch.
        - ``"unif"``: drawn uniformly, and not corrected.
        - ``"lwcs"``: a lightweight coreset; rows far from the mean are drawn more often and weigh less. Corrected as in
          ``"debias"``.

        With sample weights, rows are drawn by their weights instead of uniformly. A batch of all rows needs no
        correction, so that all variants then give the same result.
    refine : "auto" or int, default="auto"
        Largest number of rounds of refinement after the batch search. With 0 the medoids stay as the batch search found
        them; ``"auto"`` means 10. A round compares about ten promising candidates for each medoid with all rows and
        makes the swaps that lower the objective itself, so refinement never makes the medoids worse. It ends early when
        a round lowers the objective by less than 0.02 %.

        The first round computes about n (11 k + 100) dissimilarities, later rounds compute fewer. If 11 n k is more
        than 2^26, or m less than 10 k, the candidates are compared with a sample of the rows instead; a round then
        computes at most 2^26 or 11 k m dissimilarities, whichever is more, and n (k + 100) besides.
    init : {"auto", "random", "k-means++", "ls-k-means++", "kmc2"} or array-like of shape (k,), default="auto"
        Medoids from which the search starts: the name of a method, or an array of row indices.

        - ``"random"``: rows drawn by their weights; without weights each set of rows is equally likely.
        - ``"k-means++"``, ``"ls-k-means++"``, ``"kmc2"``: the medoids of `KMeansPlusPlus`, `LSKMeansPlusPlus` or `KMC2`
          with their default parameters, at their cost in dissimilarities.
        - ``"auto"``: PAM's BUILD for at most 200 rows that are all in the batch, otherwise ``"random"``. BUILD adds one
          medoid after the other, so that the result depends neither on `random_state` nor on the order of the rows.
    n_init : int, default=1
        Number of starts on the same batch, each followed by refinement. The result with the lowest objective over all
        rows is kept and refined once more, with the medoids of the other results as candidates. The first start is the
        one that `init` and `warm_start` say; the others are drawn by the method of `init`, at random for ``"auto"``.
    max_iter : int, default=100
        Largest number of passes over all candidates. The search ends early when a full cycle of candidates brings no
        swap. With more than 100,000 rows, a search that is refined afterwards also ends with the first pass that lowers
        the loss by less than 0.5 %.
    tol : float, default=1e-6
        A swap is made only if it lowers the batch loss by more than this fraction of the loss, in which
        the farthest batch point does not count.
    memory_limit : int or str, default=None
        Memory for dissimilarities: a number of bytes, or text like ``"500MB"`` or ``"4GB"``; None means half of the
        free memory. If the 4 n m bytes of the block fit, the block is kept whole. If not, only the entries that are
        near enough to matter are kept, which takes at least 12 n m / (k + 1) bytes. If these do not fit either, or if a
        native metric compares at most 16 features, nothing is kept, and the block is computed again in each pass. The
        limit changes the result by rounding only.
    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1 means all processors. The
        result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the first medoids and the batch. An int gives the same result each time.
    warm_start : bool, default=False
        Whether a further fit starts from the medoids of the last fit instead of `init`, that is from the rows that now
        have their indices. A fit with another number of rows or another `n_clusters` starts from `init`.
    verbose : int, default=0
        With 1 or more, long stages show a progress bar; the bar of the search also shows how the block is stored.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids.
    cluster_centers_ : ndarray of shape (k, n_features) or (k,), frame, sparse matrix or None
        The medoids themselves: a sparse matrix if X is sparse, rows of the frame with ``metric="gower"``, an array of
        the objects if X holds strings or other objects, None with ``metric="precomputed"``, otherwise an array.
    labels_ : ndarray of shape (n,)
        Cluster of each row, from 0 to k - 1. Equal to ``predict(X)``, or to ``predict(X.T)`` if X is an asymmetric
        precomputed matrix.
    inertia_ : float
        Objective: the sum over all n rows of the dissimilarity to the nearest medoid, times the weight of the row.
    batch_indices_ : ndarray of shape (m,)
        Row indices of the batch points.
    batch_weights_ : ndarray of shape (m,)
        Weights of the batch points. Their mean is that of the positive sample weights, 1 without sample weights.
    batch_inertia_ : float
        Weighted loss over the batch, which the batch search minimised. Times n / m it estimates `inertia_`.
    n_iter_ : int
        Number of passes over all candidates in the batch search.
    n_swaps_ : int
        Number of swaps made, including those of the refinement.
    n_refine_rounds_ : int
        Number of rounds of refinement.
    block_storage_ : {"whole", "reduced", "recomputed"}
        How much of the block was kept in memory: all entries, those near enough to matter, or none.
    n_distances_ : int
        Number of dissimilarities computed, or read if precomputed, including those of the assignment.
    fit_seconds_ : dict
        Seconds taken by each stage.
    n_features_in_ : int
        Number of features. Not set for strings and other objects, which have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

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
        """Draw a batch of m points, search and refine from each start, and combine the results."""
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
        # The best result is refined once more, because the medoids of the other results are good candidates.
        objectives = population.objectives([selection.medoids for selection in selections])
        best = selections[int(np.argmin(objectives))]
        candidates = np.unique(np.concatenate([selection.medoids for selection in selections]))
        return best.refined(refinement.refine(best.medoids, candidates))
