"""Choosing the number of medoids: several k are tried on one shared block, and each is judged by two criteria."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._parameters import check_integer, check_n_clusters
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam.algorithms import InMemory, OneBatchPAM, advise_more_passes, warn_if_imperfect
from onebatchpam.batch import draw_batch, resolve_batch_size
from onebatchpam.evaluation.plots import plot_k_selection
from onebatchpam.evaluation.silhouette import mean_silhouette
from onebatchpam.search import SwapOptions, assign, draw_medoids, run_swaps
from onebatchpam.space import open_space

# The inertia has an elbow only if it falls below the straight line by more than this fraction of its total decrease.
SMALLEST_ELBOW = 0.05


@dataclass(frozen=True, repr=False)
class KSelection:
    """The result of `select_k`; it prints as a table.

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
    """

    k: NDArray[np.int64]
    inertia: NDArray[np.float64]
    silhouette: NDArray[np.float64]
    seconds: NDArray[np.float64]
    block_seconds: float
    medoids: list[NDArray[np.int64]]

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

    def __repr__(self) -> str:
        head = f"{'k':>6}{'inertia':>16}{'silhouette':>12}{'seconds':>10}"
        lines = [
            f"{k:>6}{inertia:>16.6g}{silhouette:>12.4f}{seconds:>10.3f}"
            for k, inertia, silhouette, seconds in zip(self.k, self.inertia, self.silhouette, self.seconds, strict=True)
        ]
        return "\n".join([head, *lines, self.advice()])

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, with k as its index."""
        import pandas as pd  # imported here, because pandas is optional

        columns = {"inertia": self.inertia, "silhouette": self.silhouette, "seconds": self.seconds}
        return pd.DataFrame(columns, index=pd.Index(self.k, name="k"))

    def plot(self, axes: Any = None) -> Any:
        """Draw inertia and silhouette over k and mark the k that each suggests; return the axes of the inertia."""
        return plot_k_selection(self, axes)


def select_k(X: ArrayLike, k_range: Iterable[int], estimator: OneBatchPAM | None = None) -> KSelection:
    """Try several numbers of medoids on one shared block, and suggest the number that suits the data best.

    The batch is drawn and compared with all rows once. Each k then takes a swap search and 2 n k dissimilarities, half
    of them for the objective over all rows and half for the silhouette. The medoids come from the batch search alone,
    without refinement, so fit the estimator with the k that you choose.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        The rows, as in the `fit` of `OneBatchPAM`.
    k_range : iterable of int
        Numbers of medoids to try, such as ``range(2, 11)``.
    estimator : OneBatchPAM, default=None
        Estimator that holds the parameters for all k, such as `metric` and `random_state`; None means
        ``OneBatchPAM()``. Its `n_clusters`, `refine`, `n_init` and `warm_start` are not used, and ``init="auto"`` means
        ``"random"``. With ``batch_size="auto"`` the batch has the size for the largest k.

    Returns
    -------
    KSelection
        With `k`, `inertia`, `silhouette`, `seconds`, `medoids`, `suggested_k`, `criteria_agree`, `advice()`,
        `to_frame()` and `plot()`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from onebatchpam import OneBatchPAM, select_k
    >>> X, _ = make_blobs(1000, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    >>> selection = select_k(X, range(2, 8), OneBatchPAM(random_state=0))
    >>> print(selection.advice())
    Suggested k: 4. Silhouette and elbow agree.
    """
    template = OneBatchPAM() if estimator is None else estimator
    if not isinstance(template, OneBatchPAM):
        raise ValueError(f"estimator={template!r}: expected OneBatchPAM(...), because all k share its batch")
    if not isinstance(template.init, str):
        raise ValueError("init holds medoids for a single k: expected the name of a method, such as 'k-means++'")
    settings = template._check_settings()
    wanted = check_k_range(k_range)
    run = Run(settings.n_jobs, settings.random_state, Stages(settings.verbose))
    space = open_space(X, template.metric, template.metric_params, run.n_jobs, template)
    ks = [check_n_clusters(k, space.n) for k in wanted]
    m = resolve_batch_size(settings.batch_size, space.n, ks[-1])

    starts = [draw_medoids(settings.init, space, k, run) for k in ks]
    began = time.perf_counter()
    batch, block = draw_batch(InMemory(space, max(2, ks[0]), settings.memory_limit, run), m, settings.variant)
    block_seconds = time.perf_counter() - began

    options = SwapOptions(settings.max_iter, settings.tol)
    inertias, silhouettes, seconds, all_medoids = [], [], [], []
    for k, start in zip(ks, starts, strict=True):
        began = time.perf_counter()
        search = run_swaps(block, start, batch.weights, options, run)
        medoids, assignment = assign(space, search.medoids, run.stages)
        advice = advise_more_passes(search.n_iter, search.converged)
        warn_if_imperfect(advice, k, np.bincount(assignment.labels, minlength=k))
        silhouettes.append(mean_silhouette(space.distances_from(medoids), run.stages) if k > 1 else np.nan)
        inertias.append(assignment.inertia)
        all_medoids.append(medoids)
        seconds.append(time.perf_counter() - began)
    return KSelection(
        k=np.array(ks),
        inertia=np.array(inertias),
        silhouette=np.array(silhouettes),
        seconds=np.array(seconds),
        block_seconds=block_seconds,
        medoids=all_medoids,
    )


def check_k_range(k_range: Iterable[int]) -> list[int]:
    """Return the numbers of medoids to try, each once and in ascending order."""
    if isinstance(k_range, (str, int, np.integer)) or not isinstance(k_range, Iterable):
        raise ValueError(f"k_range={k_range!r}: expected several numbers of medoids, such as range(2, 11)")
    ks = sorted({check_integer(k, "n_clusters", at_least=1) for k in k_range})
    if not ks:
        raise ValueError("k_range is empty: expected several numbers of medoids, such as range(2, 11)")
    return ks


def elbow_depths(k: NDArray[np.int64], inertia: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far each inertia lies below the line from the first to the last, as a fraction of their difference."""
    height = inertia[0] - inertia[-1]
    if len(k) < 3 or height <= 0:
        return np.zeros(len(k))
    line = inertia[0] - height * (k - k[0]) / (k[-1] - k[0])
    return (line - inertia) / height
