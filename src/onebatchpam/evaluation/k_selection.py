"""Choosing the number of medoids: several k are tried on one shared block, and each is judged by two criteria."""

from __future__ import annotations

import time
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from onebatchpam._parameters import check_integer, describe
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._show import Columns, PrintedTable
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import (
    BatchSearch,
    InMemory,
    OneBatchPAM,
    improve,
    open_space_for_fit,
    read_features,
    warn_if_imperfect,
)
from onebatchpam.answers import LabelArray, settle
from onebatchpam.batch import resolve_batch_size
from onebatchpam.evaluation.plots import plot_k_selection
from onebatchpam.metrics import MetricLike
from onebatchpam.search import Build, draw_medoids
from onebatchpam.space import Space

# The inertia has an elbow only if it falls below the straight line by more than this fraction of its total decrease.
SMALLEST_ELBOW = 0.05


@dataclass(frozen=True, repr=False)
class KSelection(PrintedTable):
    """The result of `select_k`; it prints as a table, and is one in a notebook.

    Attributes
    ----------
    k : ndarray of shape (n_k,)
        Numbers of medoids that were tried, in ascending order.
    inertia : ndarray of shape (n_k,)
        Objective for each k: the sum over all rows of the dissimilarity to the nearest medoid.
    silhouette : ndarray of shape (n_k,)
        Average medoid silhouette of all rows for each k; NaN for k = 1.
    seconds : ndarray of shape (n_k,)
        Seconds taken by each k, without the block that all k share.
    block_seconds : float
        Seconds taken by the block.
    medoids : list of ndarray
        Row indices of the medoids for each k. A fit can start from them: ``OneBatchPAM(k[i], init=medoids[i])``.
    model : OneBatchPAM or None
        The model with `suggested_k` medoids, refined and fitted to all rows; None if no k is suggested. Its
        `n_distances_` and `fit_seconds_` are those of all k together.
    """

    k: NDArray[np.int64]
    inertia: NDArray[np.float64]
    silhouette: NDArray[np.float64]
    seconds: NDArray[np.float64]
    block_seconds: float
    medoids: list[NDArray[np.int64]]
    model: OneBatchPAM | None = None

    @property
    def k_by_silhouette(self) -> int | None:
        """The k with the largest medoid silhouette, the smallest such k if several; None if only k = 1 was tried."""
        return None if np.isnan(self.silhouette).all() else int(self.k[np.nanargmax(self.silhouette)])

    @property
    def k_by_elbow(self) -> int | None:
        """The k at which the inertia lies farthest below the straight line from its first to its last value.

        None if it lies nowhere clearly below that line, or if fewer than three k were tried.
        """
        depths = elbow_depths(self.k, self.inertia)
        return int(self.k[np.argmax(depths)]) if depths.max() > SMALLEST_ELBOW else None

    @property
    def suggested_k(self) -> int | None:
        """The k with the largest medoid silhouette; the k of the elbow if only k = 1 has been tried."""
        return self.k_by_elbow if self.k_by_silhouette is None else self.k_by_silhouette

    @property
    def criteria_agree(self) -> bool:
        """Whether silhouette and elbow suggest the same k."""
        return self.k_by_silhouette is not None and self.k_by_silhouette == self.k_by_elbow

    def advice(self) -> str:
        """Return a sentence or two that say which k is suggested, and whether the criteria agree on it."""
        by_silhouette, by_elbow = self.k_by_silhouette, self.k_by_elbow
        if by_silhouette is None and by_elbow is None:
            return "No k is suggested: try a wider range."
        if self.criteria_agree:
            advice = f"Suggested k: {self.suggested_k}. Silhouette and elbow agree."
        elif by_elbow is None:
            advice = f"Suggested k: {self.suggested_k}, by the silhouette. The inertia has no elbow."
        elif by_silhouette is None:
            advice = f"Suggested k: {self.suggested_k}, by the elbow of the inertia."
        else:
            advice = (
                f"Suggested k: {self.suggested_k}, by the silhouette. The criteria disagree: the elbow of the inertia "
                f"is at {by_elbow}."
            )
        if by_silhouette == self.k[-1] and len(self.k) > 1:
            advice += " The silhouette is largest at the end of the range: try larger k."
        return advice

    def _columns(self) -> Columns:
        return {
            "k": [str(k) for k in self.k],
            "inertia": [f"{inertia:.6g}" for inertia in self.inertia],
            "silhouette": [f"{silhouette:.4f}" for silhouette in self.silhouette],
            "seconds": [f"{seconds:.3f}" for seconds in self.seconds],
        }

    def _note(self) -> str:
        return self.advice()

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, with k as its index."""
        import pandas as pd  # imported here, because pandas is optional

        columns = {"inertia": self.inertia, "silhouette": self.silhouette, "seconds": self.seconds}
        return pd.DataFrame(columns, index=pd.Index(self.k, name="k"))

    def plot(self, axes: Any = None) -> Any:
        """Draw inertia and silhouette over k and mark the k that each suggests; return the axes of the inertia."""
        return plot_k_selection(self, axes)


def select_k(
    X: ArrayLike,
    k_range: Iterable[int],
    estimator: OneBatchPAM | None = None,
    *,
    metric: MetricLike | None = None,
    metric_params: dict[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
) -> KSelection:
    """Try several numbers of medoids on one shared block, and suggest the number that suits the data best.

    The batch is drawn and compared with all rows once. Each k then takes a swap search and n k dissimilarities, which
    give the objective and the silhouette over all rows. These medoids come from the batch search alone. For the k that
    is suggested, the search then goes on as in a fit, with refinement and as many starts as `effort` asks for; the
    result is a fitted model, `KSelection.model`.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        The rows, as in the `fit` of `OneBatchPAM`.
    k_range : iterable of int
        Numbers of medoids to try, such as ``range(2, 11)``.
    estimator : OneBatchPAM, default=None
        Estimator that holds the parameters for all k, such as `metric` and `random_state`; None means
        ``OneBatchPAM()``. Its `n_clusters` and `warm_start` are not used, and ``init="auto"`` means ``"random"``;
        `effort`, `n_init` and `min_cluster_size` are for the k that is suggested. With ``batch_size="auto"`` the batch
        has the size for the largest k.
    metric : str or callable, default=None
        Dissimilarity between two rows, as in `OneBatchPAM`, if there is no estimator; None means ``"euclidean"``.
    metric_params : dict, default=None
        Keyword arguments of the metric, if there is no estimator.
    sample_weight : array-like of shape (n,) or float, default=None
        How many rows each row stands for, as in the `fit` of `OneBatchPAM`; they count in both criteria.
    candidates : array-like of n booleans or of row indices, or "all", default=None
        Rows that may become medoids, as in the `fit` of `OneBatchPAM`.

    Returns
    -------
    KSelection
        With `k`, `inertia`, `silhouette`, `seconds`, `medoids`, `suggested_k`, `model`, `criteria_agree`, `advice()`,
        `to_frame()` and `plot()`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from onebatchpam import select_k
    >>> X, _ = make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    >>> selection = select_k(X, range(2, 8), metric="manhattan")
    >>> print(selection.advice())
    Suggested k: 4. Silhouette and elbow agree.
    >>> selection.model.n_clusters, selection.model.labels_.shape
    (4, (1000,))
    """
    template = choose_template(estimator, metric, metric_params)
    ks = check_k_range(k_range)
    settings = copy(template).set_params(n_clusters=ks[-1], warm_start=False)._check_settings()
    run = Run.of(settings)
    space = open_space_for_fit(X, template, settings, sample_weight, None, candidates, estimator=template)
    features = read_features(space.rows)
    present = space.present()
    m = resolve_batch_size(settings.batch_size, present.n, ks[-1], present.metric, refined=settings.refine > 0)

    starts = [draw_medoids(settings.init, present, k, run) for k in ks]
    began = time.perf_counter()
    batch = BatchSearch(InMemory(present, max(2, ks[0]), settings.memory_limit, run), m, settings, run, [*starts])
    block_seconds = time.perf_counter() - began

    searches, trials = [], []
    for k, start in zip(ks, starts, strict=True):
        began = time.perf_counter()
        search = batch.search(start)
        medoids, inertia, silhouette = judge(space, present.given_indices(search.medoids), search.advice, run.stages)
        searches.append(search)
        trials.append((k, inertia, silhouette, time.perf_counter() - began, medoids))
    k_tried, inertias, silhouettes, seconds, all_medoids = zip(*trials, strict=True)
    selection = KSelection(
        k=np.array(k_tried),
        inertia=np.array(inertias),
        silhouette=np.array(silhouettes),
        seconds=np.array(seconds),
        block_seconds=block_seconds,
        medoids=list(all_medoids),
    )
    if selection.suggested_k is None:
        return selection
    found = searches[ks.index(selection.suggested_k)]
    improved = improve(batch, found, is_build=isinstance(starts[0], Build))
    model = clone(template).set_params(n_clusters=selection.suggested_k)
    labels = LabelArray(np.empty(space.n, np.int32))
    model._finish(space, present, improved, labels, features, settings, run, is_weighted=sample_weight is not None)
    return replace(selection, model=model)


def choose_template(estimator: Any, metric: MetricLike | None, metric_params: dict[str, Any] | None) -> OneBatchPAM:
    """Return the estimator that holds the parameters for all k: the user's, or one with this metric."""
    if estimator is None:
        return OneBatchPAM(metric="euclidean" if metric is None else metric, metric_params=metric_params)
    if not isinstance(estimator, OneBatchPAM):
        raise ValueError(
            f"{describe(estimator, 'estimator')}: expected OneBatchPAM(...), because all k share its batch"
        )
    if metric is not None or metric_params is not None:
        raise ValueError("metric and metric_params are those of the estimator: expected None for both")
    if not isinstance(estimator.init, str):
        raise ValueError("init holds medoids for a single k: expected the name of a method, such as 'k-means++'")
    return estimator


def judge(space: Space, medoids: Indices, advice: str | None, stages: Stages) -> tuple[Indices, float, float]:
    """Return medoids, moved apart if they are duplicates, with their objective and their average silhouette."""
    spread, assignment, silhouette = settle(space, medoids, stages)
    warn_if_imperfect(advice, len(medoids), assignment.profile(len(medoids)).weights)
    return spread, assignment.inertia, silhouette


def check_k_range(k_range: Any) -> list[int]:
    """Return the numbers of medoids to try, each once and in ascending order."""
    # Text and arrays without a dimension also look like iterables.
    values = [] if isinstance(k_range, (str, bytes)) or not np.iterable(k_range) else list(k_range)
    if not values:
        raise ValueError(f"{describe(k_range, 'k_range')}: expected several numbers of medoids, such as range(2, 11)")
    return sorted({check_integer(k, f"k_range[{i}]", at_least=1) for i, k in enumerate(values)})


def elbow_depths(k: NDArray[np.int64], inertia: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each inertia lies below the line from the first to the last, as a fraction of their difference."""
    height = inertia[0] - inertia[-1]
    if len(k) < 3 or height <= 0:
        return np.zeros(len(k))
    line = inertia[0] - height * (k - k[0]) / (k[-1] - k[0])
    return (line - inertia) / height
