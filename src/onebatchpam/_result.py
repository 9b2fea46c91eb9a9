"""What a fit found, in the names that users see."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from onebatchpam._assign import Assignment
from onebatchpam._swap import SwapResult


@dataclass(frozen=True)
class Clustering:
    """A finished fit: each field becomes the fitted attribute of the same name with an underscore."""

    medoid_indices: NDArray[np.int64]
    cluster_centers: NDArray[Any] | None
    labels: NDArray[np.int32]
    inertia: float
    batch_indices: NDArray[np.int64]
    batch_weights: NDArray[np.float64]
    batch_inertia: float
    n_iter: int
    n_swaps: int
    n_distances: int
    fit_seconds: dict[str, float]

    def publish(self, estimator: object) -> None:
        """Set the fitted attributes, all of them or none."""
        for each in fields(self):
            setattr(estimator, f"{each.name}_", getattr(self, each.name))


def warn_if_imperfect(search: SwapResult, assignment: Assignment, max_iter: int) -> None:
    """Say what a user would not see from the medoids alone."""
    if not search.converged:
        warnings.warn(
            f"the swap search was stopped after max_iter={max_iter} passes while swaps still improved the loss; "
            "increase max_iter",
            ConvergenceWarning,
            stacklevel=3,
        )
    n_found, k = len(np.unique(assignment.labels)), len(search.medoids)
    if n_found < k:
        warnings.warn(
            f"found {n_found} distinct clusters instead of n_clusters={k}: there are fewer distinct rows, or a medoid "
            "is nearer to another one than to itself",
            ConvergenceWarning,
            stacklevel=3,
        )
