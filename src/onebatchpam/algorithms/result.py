"""The result of an algorithm, the fitted attributes that are made of it, and the warnings about it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from onebatchpam._parameters import WEIGHT_ROUNDING
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.search import Assignment, ClusterProfile


@dataclass(frozen=True)
class Selection:
    """The medoids that an algorithm chose, and the number of passes and swaps that it took.

    An algorithm with fitted attributes of its own returns a subclass; each field that the subclass adds becomes one.
    """

    is_settled: ClassVar[bool] = False  # whether medoids of empty clusters have been moved, so that they stay now
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
    medoids: Any
    labels: Any
    distances: Any
    cluster_sizes: NDArray[Any]
    mean_distances: NDArray[np.float64]
    max_distances: NDArray[np.float64]
    inertia: float
    n_candidates: int
    n_iter: int
    n_swaps: int
    n_distances: int
    fit_seconds: dict[str, float]

    def attributes(self, own: dict[str, Any]) -> dict[str, Any]:
        """Return the fitted attributes by name: the shared ones, and the given ones of the algorithm itself."""
        shared = {field.name: getattr(self, field.name) for field in fields(self)}
        return {f"{name}_": value for name, value in {**own, **shared}.items()}


def describe_profile(profile: ClusterProfile, *, is_weighted: bool) -> dict[str, NDArray[Any]]:
    """Return the fields of a `Clustering` that describe each cluster; sizes are integers unless rows have weights."""
    sizes = profile.weights if is_weighted else profile.weights.astype(np.int64)
    means = np.divide(profile.losses, profile.weights, out=np.zeros(len(sizes)), where=profile.weights > 0)
    return {"cluster_sizes": sizes, "mean_distances": means, "max_distances": profile.largest_distances}


def advise_more_passes(max_iter: int, converged: bool, where: str = "the swap search") -> str | None:
    """Return the warning for a search that `max_iter` stopped; None if it converged, or was to make no pass at all."""
    if converged or max_iter == 0:
        return None
    return (
        f"{where} was stopped after max_iter={max_iter} passes while swaps still improved the loss; increase max_iter"
    )


def warn_if_imperfect(advice: str | None, k: int, sizes: NDArray[Any]) -> None:
    """Warn if the search was stopped early, and if some of the k clusters have no rows."""
    if advice is not None:
        warn(advice, ConvergenceWarning)
    n_clusters = int(np.count_nonzero(sizes))
    if n_clusters < k:
        warn(
            f"found {n_clusters} distinct clusters instead of n_clusters={k}: X has fewer distinct rows, or a medoid "
            "is nearer to another medoid than to itself; reduce n_clusters or check the metric",
            ConvergenceWarning,
        )


def warn_if_small(weights: NDArray[np.float64], min_cluster_size: float | None) -> None:
    """Warn if clusters of these weights are smaller than the user asked for."""
    if min_cluster_size is None:
        return
    n_small = int(np.count_nonzero(weights < min_cluster_size * (1 - WEIGHT_ROUNDING)))
    if n_small:
        warn(
            f"{n_small} of {len(weights)} clusters are smaller than min_cluster_size={min_cluster_size:g}, the "
            f"smallest has the weight {weights.min():g}: the search found no medoids with larger clusters, though "
            "there may be some; reduce min_cluster_size or n_clusters, or try another random_state",
            ConvergenceWarning,
        )
