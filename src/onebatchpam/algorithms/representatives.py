"""Representatives: k rows that stand for all rows, in an order of which every prefix is a good smaller selection.

The rows are the medoids of OneBatchPAM. They are ordered greedily on a sample of points. Then all rows are compared
with them once, which yields the loss of every prefix and the number of rows that each representative stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from onebatchpam._draws import sample_by_weight
from onebatchpam._parameters import Names, check_flag, check_integer
from onebatchpam._run import Run
from onebatchpam._show import Columns, PrintedTable, show_size
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.algorithms.base import open_space_for_fit
from onebatchpam.algorithms.onebatchpam import OneBatchPAM
from onebatchpam.metrics import MetricLike
from onebatchpam.search import Ordered, Prefixes, assign, find_empty, measure_prefixes, order_medoids
from onebatchpam.space import Space

# The order is found on so many points that they take this many dissimilarities to the representatives, but on at least
# this many points for each representative. It does not depend on the memory, because the result must not.
ENTRIES_OF_ORDER = 2**24
POINTS_PER_REPRESENTATIVE = 10
# Representatives that a table shows: the first ones, and after a gap the last one.
MOST_LINES = 10


@dataclass(frozen=True, repr=False, eq=False)
class Representatives(PrintedTable):
    """Rows that stand for all rows, the most important first; it prints as a table.

    Every prefix is a selection of its own: ``indices[:j]`` are j good representatives, for any j.

    Attributes
    ----------
    indices : ndarray of shape (k,)
        Row indices of the representatives: the fixed ones in the given order, then the others, each the one that lowers
        the loss most, given those before it.
    rows : ndarray, frame, sparse matrix or None
        The representatives themselves, as you passed them: rows of the frame if X is one, and with all columns of a
        Parquet file; None with ``metric="precomputed"``.
    losses : ndarray of shape (k,)
        Loss of the first 1, 2, ..., k representatives: the sum over all rows of the dissimilarity to the nearest of
        them, times the weight of the row. The last loss is the objective of k-medoids.
    coverage : ndarray of shape (k,)
        Share of the loss that the first 1, 2, ..., k representatives explain: ``1 - losses / loss_of_one``, where
        ``loss_of_one`` is the loss of the best single one of the k. So it is 0 for the first representative, and would
        be 1 if every row were one. It begins below 0 if the first rows are fixed and worse than that single one.
    counts : ndarray of shape (k,)
        Number of rows that each of the k representatives stands for, which are those to which it is the nearest; the
        weight of these rows if there are sample weights.
    labels : ndarray of shape (n,) or None
        For each row, the place among `indices` of its nearest representative; None unless ``with_labels=True``.
    n_rows : int
        Number of rows, n, without those of weight 0.
    n_fixed : int
        Number of fixed rows, which come first.
    n_distances : int
        Number of dissimilarities computed, or read if precomputed.
    seconds : dict
        Seconds taken by each stage.
    """

    indices: NDArray[np.int64]
    rows: Any
    losses: NDArray[np.float64]
    coverage: NDArray[np.float64]
    counts: NDArray[Any]
    labels: NDArray[np.int32] | None
    n_rows: int
    n_fixed: int
    n_distances: int
    seconds: dict[str, float]

    def __len__(self) -> int:
        return len(self.indices)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the row index, the count and the coverage of each representative."""
        import pandas as pd  # imported here, because pandas is optional

        columns = {"row": self.indices, "stands_for": self.counts, "coverage": self.coverage, "loss": self.losses}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self) + 1, name="rank"))

    def summary(self) -> str:
        """Return a sentence or two that say how much half of the representatives and all of them explain."""
        k, half = len(self), len(self) // 2
        of_half = f"the first {half} explain {self.coverage[half - 1]:.1%} of the loss, " if k > 3 else ""
        fixed = f", {self.n_fixed} of them fixed" if self.n_fixed else ""
        return (
            f"{k} representatives of {self.n_rows:,} rows{fixed}: {of_half}all {k} explain {self.coverage[-1]:.1%}"
            f"{'' if of_half else ' of the loss'}."
        )

    def _columns(self) -> Columns:
        """Return the cells of the first and the last representatives, and a line of dots for those between them."""
        k = len(self)
        shown = range(k) if k <= MOST_LINES + 1 else [*range(MOST_LINES), None, k - 1]
        return {
            "rank": ["..." if i is None else f"{i + 1}" for i in shown],
            "row": ["" if i is None else f"X[{self.indices[i]}]" for i in shown],
            "stands for": ["" if i is None else show_size(self.counts[i]) for i in shown],
            "coverage": ["" if i is None else f"{self.coverage[i]:.1%}" for i in shown],
        }

    def _note(self) -> str:
        return self.summary()


def select_representatives(
    X: ArrayLike,
    k: int,
    *,
    metric: MetricLike = "euclidean",
    metric_params: dict[str, Any] | None = None,
    fixed: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    with_labels: bool = False,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    memory_limit: int | str | None = None,
    verbose: int = 0,
) -> Representatives:
    """Choose k rows that stand for all rows, in an order of which every prefix is a good smaller selection.

    The rows are the medoids of `OneBatchPAM`: all rows are as near as possible to their nearest representative. In
    other words, they nearly maximise the facility location function, without the n x n matrix that it is defined by.

    The choice costs what a fit of `OneBatchPAM` costs. The order is found on a sample of max(10 k, 2^24 / k) rows, or
    on all rows if there are fewer. `losses`, `coverage` and `counts` are exact: they are summed over all rows, in one
    pass of n k dissimilarities that keeps nothing for each row. Labels, if asked for, come from the same pass.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
        The rows: everything that the `fit` of `OneBatchPAM` takes, also files that do not fit in memory.
    k : int
        Number of representatives, fixed ones included.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    fixed : array-like of row indices, default=None
        Rows that are representatives already, such as those that have labels. They count in `k` and come first.
    candidates : array-like of n booleans or of row indices, or "all", default=None
        Rows that may become representatives; all others still count in the loss. None means ``"all"``, except that rows
        without missing values are preferred with ``metric="gower"``, as in the `fit` of `OneBatchPAM`.
    sample_weight : array-like of shape (n,) or float, default=None
        How many rows each row stands for, not negative; None means 1 for every row. A row of weight 0 does not count
        and cannot become a representative, but it gets a label.
    with_labels : bool, default=False
        Whether to return the nearest representative of every row.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing. An int gives the same result each time.
    memory_limit : int or str, default=None
        Memory for dissimilarities, in bytes or as text like ``"4GB"``; None means half of the free memory.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar.

    Returns
    -------
    Representatives
        With `indices`, `rows`, `coverage`, `losses`, `counts`, `labels` and others; it prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import select_representatives
    >>> chosen = select_representatives(load_digits().data, 5, random_state=0)
    >>> chosen.rows.shape, int(chosen.counts.sum())
    ((5, 64), 1797)
    >>> bool((chosen.coverage[1:] > chosen.coverage[:-1]).all())
    True
    """
    check_integer(k, "k", at_least=1)
    model = OneBatchPAM(
        k,
        metric=metric,
        metric_params=metric_params,
        memory_limit=memory_limit,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    with_labels, names = check_flag(with_labels, "with_labels"), Names("k", "fixed")
    return find_representatives(X, model, sample_weight, fixed, candidates, names, with_labels)[0]


def find_representatives(
    X: ArrayLike,
    model: OneBatchPAM,
    sample_weight: ArrayLike | None,
    fixed: ArrayLike | None,
    candidates: ArrayLike | None,
    names: Names,
    with_labels: bool = False,
    estimator: object = None,
) -> tuple[Representatives, Space]:
    """Choose representatives by the parameters of a model; return them, and the space of all rows.

    `names` and `estimator` are those by which errors speak of the parameters and of the caller.
    """
    settings = model._check_settings()
    run = Run.of(settings)
    space = open_space_for_fit(X, model, settings, sample_weight, fixed, candidates, names, estimator)
    present = space.present(names)
    chosen = present.given_indices(model._select(present, settings.n_clusters, settings, run).medoids)
    labels = np.empty(space.n, np.int32) if with_labels else None
    ordered, prefixes = measure(space, chosen, run, labels)
    if len(find_empty(prefixes.counts, len(space.fixed))):
        # Duplicates of other representatives move to rows that are far from all, as they do in a fit.
        chosen, _ = assign(space, ordered.medoids, run.stages)
        ordered, prefixes = measure(space, chosen, run, labels)
        warn_of_duplicates(prefixes.counts, names)
    representatives = Representatives(
        indices=ordered.medoids,
        rows=space.show(ordered.medoids),
        losses=prefixes.losses,
        coverage=explain(prefixes.losses, prefixes.loss_alone),
        counts=prefixes.counts.astype(np.int64) if sample_weight is None else prefixes.counts,
        labels=labels,
        n_rows=present.n,
        n_fixed=len(space.fixed),
        n_distances=space.tally.n_distances,
        seconds=run.stages.seconds,
    )
    return representatives, space


def measure(space: Space, chosen: Indices, run: Run, labels: NDArray[np.int32] | None) -> tuple[Ordered, Prefixes]:
    """Order the chosen rows on a sample of points, and compare all rows with them."""
    n, k = int(np.count_nonzero(space.weights)), len(chosen)
    n_points = min(n, max(ENTRIES_OF_ORDER // k, POINTS_PER_REPRESENTATIVE * k))
    points = sample_by_weight(space.weights, n_points, run.rng)
    ordered = order_medoids(space, chosen, points, run)
    return ordered, measure_prefixes(space, ordered, run, labels)


def explain(losses: NDArray[np.float64], loss_alone: float) -> NDArray[np.float64]:
    """Return the share of a loss that smaller losses explain; 1 if there is nothing to explain."""
    return 1 - losses / loss_alone if loss_alone > 0 else np.ones(len(losses))


def warn_of_duplicates(counts: NDArray[np.float64], names: Names) -> None:
    """Warn if representatives still stand for no row."""
    n_idle = int(np.count_nonzero(counts == 0))
    if n_idle:
        warn(
            f"{n_idle} of the {names.k}={len(counts)} representatives stand for no row: X has fewer distinct rows, or "
            f"a representative is nearer to another one than to itself; reduce {names.k} or check the metric",
            ConvergenceWarning,
        )
