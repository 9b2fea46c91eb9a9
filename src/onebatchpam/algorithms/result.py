"""What a fit found, in the names that users see."""

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
    """The medoids that an algorithm chose, and how it came to them.

    An algorithm with fitted attributes of its own has a subclass: each field that it adds becomes an attribute.
    """

    medoids: Indices
    n_iter: int = 0
    n_swaps: int = 0
    advice: str | None = None  # what to do, if the algorithm was stopped before its end
    assignment: Assignment | None = None  # of all rows, if the algorithm has made it

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
        """Set the fitted attributes of an estimator, its own ones included."""
        shared = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in {**own_attributes, **shared}.items():
            setattr(estimator, f"{name}_", value)


def advise_more_passes(max_iter: int, converged: bool, where: str = "the swap search") -> str | None:
    """Return the advice for a search that was stopped, None for one that came to its end."""
    if converged:
        return None
    return (
        f"{where} was stopped after max_iter={max_iter} passes while swaps still improved the loss; increase max_iter"
    )


def warn_if_imperfect(advice: str | None, k: int, sizes: NDArray[np.int64]) -> None:
    """Warn of what medoids alone do not show: that the search was stopped, or that clusters are empty."""
    if advice is not None:
        warnings.warn(advice, ConvergenceWarning, stacklevel=3)
    n_clusters = int(np.count_nonzero(sizes))
    if n_clusters < k:
        warnings.warn(
            f"found {n_clusters} distinct clusters instead of n_clusters={k}: there are fewer distinct rows, or a "
            "medoid is nearer to another one than to itself",
            ConvergenceWarning,
            stacklevel=3,
        )
