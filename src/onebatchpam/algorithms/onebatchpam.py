"""OneBatchPAM: the stages of the method in their order; the diagram in `__init__.py` names the room of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import (
    Rule,
    Settings,
    accept,
    check_flag,
    check_min_cluster_size,
    check_n_clusters,
    check_not_negative,
    integer,
    integer_or_auto,
    one_of,
)
from onebatchpam._run import Run
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.algorithms.batch_search import BatchSearch, BatchSelection, Population
from onebatchpam.algorithms.cost import CostEstimate, check_dtype, check_shape, estimate, is_shape, make_rows
from onebatchpam.algorithms.effort import EFFORTS, KICKS_OF_CORE, KICKS_PER_START
from onebatchpam.algorithms.population import InMemory
from onebatchpam.algorithms.result import Selection
from onebatchpam.batch import VARIANTS, check_batch_size, resolve_batch_size
from onebatchpam.metrics import MetricLike
from onebatchpam.search import Build, Start, check_rounds, choose_start
from onebatchpam.space import Space, open_space


class OneBatchPAM(MedoidEstimator):
    """k-medoids: choose k rows that stand for all rows, without comparing all pairs of them.

    The medoids are the rows for which the sum of the dissimilarities of all rows to the nearest medoid is small. Every
    row may become one, but swaps are judged by a batch of m rows: n m dissimilarities instead of n^2, for medoids about
    as good as those of `FasterPAM`.

    After ``fit(X)``, `medoid_indices_` says which rows they are, `medoids_` has the rows themselves, and `labels_` the
    cluster of every row; `predict` and `transform` take new rows. X may be an array, a frame, a sparse matrix, a list
    of strings or other objects, a matrix of dissimilarities, or the path of a file: see `fit`.

    Most users set four parameters: `n_clusters`; `metric`, with `metric_params`; `random_state`, to get the same result
    each time; and `n_jobs`, the number of threads. All others are fine-tuning:

    - quality against time: `effort`, which is mostly enough; `batch_size`, `variant`, `refine`, `n_init`;
    - start and end of the search: `init`, `warm_start`, `max_iter`, `tol`;
    - no small clusters: `min_cluster_size`;
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
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing the first medoids and the batch. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    effort : {"auto", "fast", "balanced", "best"}, default="auto"
        How much the fit spends to come closer to the optimum.

        - ``"auto"``: as much as it takes to be about as good as `FasterPAM`. This is two starts, but one where a second
          would not pay: if the batch is all rows, with more than 100,000 rows, with text and functions of your own,
          which are costly to compare, with ``refine=0``, and from medoids that you pass.
        - ``"fast"``: one start, or as many as `n_init` says.
        - ``"balanced"``: at least two starts, whose medoids are combined as `n_init` says.
        - ``"best"``: at least three starts with more than 20,000 rows. With at most as many it is one start, after
          which the Lagrangian dual of the problem, by which `certify` proves a gap, finds the 3 k candidates that are
          most likely to be in the best solution, and a search combines them. This compares all pairs of rows: only
          once if 4 n^2 bytes of memory are free, otherwise several times.

        With at most 200 rows that are all in the batch, and ``init="auto"``, there is only one start, because BUILD
        draws nothing.
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
        than 2^26, n more than 100,000, or m less than 10 k, the candidates are compared with a sample of the rows
        instead; a round then computes at most 2^26 or 11 k m dissimilarities, whichever is more. In the first rounds
        this sample also proposes the candidates; in the last ones all rows do so, which takes n (k + 100) besides, or
        n (k + 25) with more than 100,000 rows. With 175 medoids or more, the sample has 200 k rows, each of which is
        compared with all medoids and the candidates of some 300.
    n_init : int, default=1
        Number of starts on the same batch, each followed by refinement. The medoids of all results, and the candidates
        that came closest to replacing one of them, form a pool: some medoids of the best result are replaced by others
        of the pool, at random, swaps within the pool follow, and the outcome is kept if its objective is not worse.
        This is repeated up to 20 times for each start, and what is new in the result is refined once more. With
        more than 200 k points, and more than 2^26 / (33 k), so many confirm the swaps of the starts and of the pool
        search, and all of the result is refined once more. The first start is the one that `init` and `warm_start` say;
        the others are drawn by the method of `init`, at random for ``"auto"``.
    init : {"auto", "build", "random", "k-means++", "ls-k-means++", "kmc2", "lab"}, array or callable, default="auto"
        Medoids from which the search starts: the name of a method, an array of k row indices, k rows of numbers, whose
        nearest rows of X are the first medoids, or a function ``init(X, n_clusters, random_state)`` that returns
        indices or rows.

        - ``"random"``: rows drawn by their weights; without weights each set of rows is equally likely.
        - ``"k-means++"``, ``"ls-k-means++"``, ``"kmc2"``: the medoids of `KMeansPlusPlus`, `LSKMeansPlusPlus` or `KMC2`
          with their default parameters, at their cost in dissimilarities.
        - ``"lab"``: medoids chosen one after the other, each among 10 + sqrt(n) random rows by its loss at as many.
        - ``"build"``: PAM's BUILD on the batch: one medoid after the other, each time the row that lowers the loss over
          the batch most, in k passes over the block. If all rows are in the batch, the result depends neither on
          `random_state` nor on the order of the rows.
        - ``"auto"``: BUILD for at most 200 rows that are all in the batch, otherwise ``"random"``.
    warm_start : bool, default=False
        Whether a further fit starts from the medoids of the last fit instead of `init`, that is from the rows that now
        have their indices. A fit with another number of rows or another `n_clusters` starts from `init`.
    max_iter : int, default=100
        Largest number of passes over all candidates. The search ends early when a full cycle of candidates brings no
        swap. With more than 100,000 rows and `refine` not 0, the candidates of the search are those of a sample of the
        rows; see Notes. 0 returns the medoids of the start, which are not refined either.
    tol : float, default=1e-6
        A swap is made only if it lowers the loss over the batch by more than this fraction of it. The farthest batch
        point does not count in the loss of which the fraction is taken.
    memory_limit : int or str, default=None
        Memory for dissimilarities: a number of bytes, or text like ``"500MB"`` or ``"4GB"``; None means half of the
        free memory. If the 4 n m bytes of the block fit, the block is kept whole. If not, only the entries that are
        near enough to matter are kept, which takes at least 12 n m / (k + 1) bytes. If these do not fit either, or if a
        native metric compares at most 16 features, nothing is kept, and the block is computed again in each pass. The
        limit changes the result by rounding only.
    min_cluster_size : float, default=None
        Least number of rows in a cluster; with sample weights, its least weight. None sets no limit. Rows still belong
        to their nearest medoid, so the limit restricts which rows are medoids: after the search, swaps replace medoids
        until all clusters are large enough, and from then on only swaps are made that keep them so. This raises the
        objective, though by little if only a few far rows have medoids of their own. It is a heuristic, which may end
        with clusters that are too small although other medoids would meet the limit; a `ConvergenceWarning` then says
        which sizes were reached. It takes longer the closer the limit comes to the mean size of a cluster, and no time
        if no cluster is too small.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar, or print a line each if the output is not a terminal. That of
        the search also says how the block is stored.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        Row indices of the medoids.
    cluster_centers_ : ndarray of shape (k, n_features) or (k,), frame, sparse matrix or None
        The medoids themselves: a sparse matrix if X is sparse, rows of the frame with ``metric="gower"``, an array of
        the objects if X holds strings or other objects, None with ``metric="precomputed"``, otherwise an array.
    medoids_ : ndarray, frame, sparse matrix or None
        The medoids as you passed them: rows of the frame if X is one, and with all columns of a Parquet file.
    labels_ : ndarray of shape (n,)
        Cluster of each row, from 0 to k - 1. Equal to ``predict(X)``, or to ``predict(X.T)`` if X is an asymmetric
        precomputed matrix.
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
        Number of rounds of refinement, without rounds whose swaps were all taken back.
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

    Notes
    -----
    With more than 100,000 rows and `refine` not 0, batch, weights and search run on a sample of the rows: 1,000 for
    each medoid, but at least 20,000 and at most 100,000, or four for each batch point if that is more. A tenth of it is
    drawn by the distance to the first medoids, so that small groups far away are not lost, and the weights of its rows
    make up for this. Refinement then tries candidates among all rows. With ``refine=0`` all rows are searched.

    See Also
    --------
    select_k : Choose the number of medoids.
    select_representatives : The same rows, the most important first.
    estimate_cost : What a fit will cost, before the data are there.
    medoids_of : The medoids of clusters that are known already, such as those of HDBSCAN.
    medoid_silhouette : How well separated the clusters are.
    lower_bound : How far the objective may be from the best possible one, as `certify`.
    FasterPAM : The same search with all pairs of rows.
    onebatchpam.dask.OneBatchPAM : The same method on Dask arrays and frames.

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

    __module__ = "onebatchpam"  # the public place, by which saved models find the class

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        effort: str = "auto",
        batch_size: str | int = "auto",
        variant: str = "progressive",
        refine: str | int = "auto",
        n_init: int = 1,
        init: str | ArrayLike | Callable[..., Any] = "auto",
        warm_start: bool = False,
        max_iter: int = 100,
        tol: float = 1e-6,
        memory_limit: int | str | None = None,
        min_cluster_size: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.effort = effort
        self.batch_size = batch_size
        self.variant = variant
        self.refine = refine
        self.n_init = n_init
        self.init = init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.memory_limit = memory_limit
        self.min_cluster_size = min_cluster_size
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        **MedoidEstimator._rules,
        "effort": one_of(*EFFORTS),
        "batch_size": integer_or_auto(at_least=1),
        "variant": one_of(*VARIANTS),
        "refine": check_rounds,
        "init": accept,
        "n_init": accept,
        "max_iter": integer(at_least=0),
        "tol": check_not_negative,
        "memory_limit": resolve_memory_limit,
        "warm_start": check_flag,
        "min_cluster_size": check_min_cluster_size,
    }

    def _check_settings(self) -> Settings:
        settings = super()._check_settings()
        check_batch_size(settings.batch_size, settings.n_clusters)
        if settings.max_iter == 0:
            settings.refine = 0  # a user who wants no swaps wants the start itself
        return settings

    def estimate_cost(self, X: Any, *, dtype: Any = "float64") -> CostEstimate:
        """Return what a fit will cost: batch size, memory, number of dissimilarities and about how many seconds.

        The seconds come from a second or two of the same work on some rows, on this machine as busy as it is now.
        They do not include reading files, and drawing first medoids by another `init` than ``"random"``.

        Parameters
        ----------
        X : tuple (n_samples, n_features), or rows as in `fit`
            The size of the data, or the data themselves, of which some rows are compared. With a metric of text or a
            function of your own, only the rows tell how long it takes.
        dtype : {"float64", "float32", "uint8"}, default="float64"
            Type of the numbers, if X is a size.

        Returns
        -------
        CostEstimate
            With `batch_size`, `block_storage`, `memory_bytes`, `n_distances`, `seconds`, `total_seconds` and others; it
            prints as a list.

        Examples
        --------
        >>> from onebatchpam import OneBatchPAM
        >>> cost = OneBatchPAM(n_clusters=100, metric="cosine").estimate_cost((1_000_000, 768), dtype="float32")
        >>> cost.batch_size, cost.block_bytes
        (1843, 737200000)
        """
        if is_shape(X):
            return self._estimate_cost(X, None, dtype)
        self._check_settings()
        check_dtype(dtype)
        self._check_at_hand(
            X, "estimate_cost", "rows in memory, or their number and that of the features, as (1_000_000, 768)"
        )
        return self._estimate_cost(None, X, dtype)

    def _estimate_cost(self, shape: tuple[Any, Any] | None, sample: Any, dtype: Any) -> CostEstimate:
        """Estimate the cost of a fit to data of this shape like the sample, or to the sample if there is no shape."""
        settings, number_type, n = self._check_settings(), check_dtype(dtype), None
        if shape is not None:
            n, n_features = check_shape(*shape, is_needed=sample is None)
            check_n_clusters(settings.n_clusters, n)
            sample = make_rows(n, n_features, number_type, self.metric) if sample is None else sample
        space = open_space(sample, self.metric, self.metric_params, settings.n_jobs, self)
        n = space.n if n is None else n
        check_n_clusters(settings.n_clusters, n)
        return estimate(space, n, self.metric, settings)

    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        m = resolve_batch_size(settings.batch_size, space.n, k, space.metric, refined=settings.refine > 0)
        last_medoids = self._last_medoids(settings.warm_start, space.n_given, k)
        start = choose_start(settings.init, last_medoids, space, k, m, run)
        population = InMemory(space, k, settings.memory_limit, run)
        selection = self._search(population, start, m, settings, run)
        medoids, assignment = population.recall(selection.medoids)
        return replace(selection, medoids=medoids, assignment=assignment)

    def _search(self, population: Population, start: Start, m: int, settings: Settings, run: Run) -> BatchSelection:
        """Draw a batch of m points, search from a start, and improve what is found."""
        batch = BatchSearch(population, m, settings, run, [start])
        return improve(batch, batch.search(start), is_build=isinstance(start, Build))


def improve(batch: BatchSearch, first: BatchSelection, *, is_build: bool) -> BatchSelection:
    """Refine what the first start has found, make as many further starts as the effort asks for, and combine all."""
    k, n_starts, has_core = len(first.medoids), batch.count_starts(is_build=is_build), batch.has_core
    needs_pool = batch.may_swap and (n_starts > 1 or has_core)
    selections = []
    for number in range(n_starts):
        found = first if number == 0 else batch.search(batch.draw_start(k))
        selections.append(batch.refine(found, for_pool=needs_pool))
    best = batch.choose_best(selections)
    if not needs_pool:
        return batch.enlarge(best)
    pool = np.unique(np.concatenate([selection.medoids for selection in selections] + batch.runners_up))
    if has_core:
        core = batch.find_core(best.medoids)
        cheapest = replace(best, medoids=core[:k])
        challenger = batch.combine(cheapest, np.union1d(pool, core), KICKS_OF_CORE, is_refined=False)
        best = batch.choose_best([best, challenger])
    else:
        best = batch.combine(best, pool, n_starts * KICKS_PER_START)
    return batch.enlarge(best)
