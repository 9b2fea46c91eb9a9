"""The solution that a bound judges: the distances of all rows to its medoids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.search import ClusterProfile, find_nearest
from onebatchpam.space import Distances, Space


@dataclass(frozen=True)
class Solution:
    """Medoids, and how far every row, as a point, is from them."""

    medoids: Indices
    n_fixed: int  # the first medoids are fixed
    labels: NDArray[Any]  # slot of the nearest medoid
    nearest: NDArray[Any]  # distance to the nearest medoid
    second: NDArray[Any]  # distance to the second nearest medoid; infinite if there is only one
    to_fixed: NDArray[Any]  # distance to the nearest fixed medoid; infinite if no medoid is fixed
    objective: float
    profile: ClusterProfile  # weight and distances of each cluster

    @property
    def n_free(self) -> int:
        """The number of medoids that are not fixed."""
        return len(self.medoids) - self.n_fixed


def compare_with_medoids(space: Space, medoids: Indices, stages: Stages) -> Solution:
    """Return the solution with these medoids, of which those that are fixed in the space come first."""
    others = medoids[~np.isin(medoids, space.fixed)]
    medoids = np.concatenate([space.fixed, others])
    return compare_rows(space.distances_from(medoids), medoids, len(space.fixed), space.weights, stages)


def compare_rows(
    distances: Distances, medoids: Indices, n_fixed: int, weights: NDArray[np.float64], stages: Stages
) -> Solution:
    """Return the solution with these medoids, given the distances of all rows from them; fixed medoids come first."""
    assignment = find_nearest(distances, weights, stages)
    second, to_fixed = (np.full(distances.n_rows, np.inf, distances.dtype) for _ in range(2))
    for rows, tile in distances.each_tile():
        if len(medoids) > 1:
            second[rows] = np.partition(tile, 1, axis=1)[:, 1]
        if n_fixed:
            to_fixed[rows] = tile[:, :n_fixed].min(axis=1)
    return Solution(
        medoids=medoids,
        n_fixed=n_fixed,
        labels=assignment.labels,
        nearest=assignment.distances,
        second=second,
        to_fixed=to_fixed,
        objective=assignment.inertia,
        profile=assignment.profile(len(medoids)),
    )
