"""What a fit found, in the names that users see."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from onebatchpam._progress import Stages
from onebatchpam.search import Assignment, Refined, SwapResult, assign_all
from onebatchpam.space import Space


@dataclass(frozen=True)
class Selection:
    """The medoids that an algorithm chose, and how it came to them."""

    medoids: NDArray[np.int64]
    n_iter: int = 0
    n_swaps: int = 0
    advice: str | None = None  # what to do if the algorithm was stopped before its end
    attributes: dict[str, Any] = field(default_factory=dict)  # fitted attributes that only this algorithm has
    assignment: Assignment | None = None  # of all rows, if the algorithm has made it

    @classmethod
    def of_search(cls, search: SwapResult, **attributes: Any) -> Selection:
        """Return the outcome of a swap search."""
        advice = None if search.converged else _MORE_PASSES.format(search.n_iter)
        return cls(search.medoids, search.n_iter, search.n_swaps, advice, attributes)

    def improved(self, medoids: NDArray[np.int64], n_swaps: int) -> Selection:
        """Return the same with other medoids, reached by that many more swaps."""
        return replace(self, medoids=medoids, n_swaps=self.n_swaps + n_swaps)

    def refined(self, refined: Refined) -> Selection:
        """Return the same after refinement, of which there may have been some before."""
        n_rounds = self.attributes["n_refine_rounds"] + refined.n_rounds
        better = self.improved(refined.medoids, refined.n_swaps)
        return replace(better, attributes={**self.attributes, "n_refine_rounds": n_rounds})


def best_of(selections: list[Selection], space: Space, stages: Stages) -> Selection:
    """Return the selection with the smallest objective over all rows, the first of equal ones."""
    if len(selections) == 1:
        return selections[0]
    return min(selections, key=lambda each: assign_all(space, each.medoids, stages).inertia)


_MORE_PASSES = (
    "the swap search was stopped after max_iter={} passes while swaps still improved the loss; increase max_iter"
)


@dataclass(frozen=True)
class Clustering:
    """A finished fit: each field becomes the fitted attribute of the same name with an underscore."""

    medoid_indices: NDArray[np.int64]
    cluster_centers: Any
    labels: NDArray[Any]
    inertia: float
    n_iter: int
    n_swaps: int
    n_distances: int
    fit_seconds: dict[str, float]
    attributes: dict[str, Any]

    def publish(self, estimator: object) -> None:
        """Set the fitted attributes, all of them or none."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in {**found.pop("attributes"), **found}.items():
            setattr(estimator, f"{name}_", value)


def warn_if_imperfect(selection: Selection, n_found: int) -> None:
    """Say what a user would not see from the medoids alone: that the search was stopped, or found fewer clusters."""
    if selection.advice is not None:
        warnings.warn(selection.advice, ConvergenceWarning, stacklevel=3)
    k = len(selection.medoids)
    if n_found < k:
        warnings.warn(
            f"found {n_found} distinct clusters instead of n_clusters={k}: there are fewer distinct rows, or a medoid "
            "is nearer to another one than to itself",
            ConvergenceWarning,
            stacklevel=3,
        )
