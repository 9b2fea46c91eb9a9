"""The result of an algorithm, the fitted attributes that are made of it, and the warnings about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from onebatchpam._tiles import Indices
from onebatchpam.search import Assignment


@dataclass(frozen=True)
class Selection:
    """The medoids that an algorithm chose, and the number of passes and swaps that it took.

    An algorithm with fitted attributes of its own returns a subclass; each field that the subclass adds becomes one.
    """

    medoids: Indices
    n_iter: int = 0
    n_swaps: int = 0
    advice: str | None = None  # text of the warning if the algorithm was stopped early
    assignment: Assignment | None = None  # assignment of all rows to the medoids, if the algorithm computed it

    def own_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that only this algorithm has."""
        shared = {field.name for field in fields(Selection)}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in shared}


@dataclass(frozen=True)
class Clustering:
    """A finished fit: each field becomes the fitted attribute of the same name with an underscore."""

    medoid_indices: Indices
    cluster_centers: Any
    labels: Any
    inertia: float
    n_iter: int
    n_swaps: int
    n_distances: int
    fit_seconds: dict[str, float]

    def publish(self, estimator: object, own_attributes: dict[str, Any]) -> None:
        """Set the fitted attributes of an estimator: the shared ones, and those of its own algorithm."""
        shared = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in {**own_attributes, **shared}.items():
            setattr(estimator, f"{name}_", value)


def advise_more_passes(max_iter: int, converged: bool, where: str = "the swap search") -> str | None:
    """Return the warning for a search that `max_iter` stopped, or None if the search converged."""
    if converged:
        return None
    return (
        f"{where} was stopped after max_iter={max_iter} passes while swaps still improved the loss; increase max_iter"
    )


def warn_if_imperfect(advice: str | None, k: int, sizes: NDArray[np.int64]) -> None:
    """Warn if the search was stopped early, and if some of the k clusters have no rows."""
    if advice is not None:
        warnings.warn(advice, ConvergenceWarning, stacklevel=3)
    n_clusters = int(np.count_nonzero(sizes))
    if n_clusters < k:
        warnings.warn(
            f"found {n_clusters} distinct clusters instead of n_clusters={k}: X has fewer distinct rows, or a medoid "
            "is nearer to another medoid than to itself; reduce n_clusters or check the metric",
            ConvergenceWarning,
            stacklevel=3,
        )
