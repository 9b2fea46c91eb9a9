"""Every row to its nearest medoid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._progress import Stages
from onebatchpam._tiles import tile_bounds
from onebatchpam.metrics import Columns, check_distances, each_tile, only_column
from onebatchpam.space import Space


@dataclass(frozen=True)
class Assignment:
    """The nearest medoid of every row, the lowest slot of equally near ones, and the distance to it."""

    labels: NDArray[Any]
    distances: NDArray[Any]
    weights: NDArray[np.float64]

    @property
    def inertia(self) -> float:
        # Not summed by the tiles in which the rows came: they must not show in the last digits.
        parts = tile_bounds(len(self.labels), _tiles.ROWS_PER_SUM)
        return math.fsum(np.sum(self.distances[part] * self.weights[part], dtype=np.float64) for part in parts)


def nearest_of_tiles(columns: Columns, stages: Stages) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[Any]]]:
    """Return tile by tile the rows, their nearest medoids and the distances to these."""
    with stages.stage("assignment", total=columns.n_rows) as bar:
        for rows, tile in each_tile(columns, columns.dtype):
            nearest = tile.argmin(axis=1)
            distances = tile[np.arange(len(tile)), nearest]
            check_distances(distances, rows.start)
            yield rows, nearest, distances
            bar.update(len(tile))


def nearest_medoids(
    columns: Columns, weights: NDArray[np.float64], stages: Stages, labels: NDArray[Any] | None = None
) -> Assignment:
    """Assign all rows, with labels in the array that is given if one is."""
    labels = np.empty(columns.n_rows, dtype=np.int32) if labels is None else labels
    distances = np.empty(columns.n_rows, dtype=columns.dtype)
    for rows, nearest, nearest_distances in nearest_of_tiles(columns, stages):
        labels[rows], distances[rows] = nearest, nearest_distances
    return Assignment(labels, distances, weights)


def assign_all(
    space: Space, medoids: NDArray[np.int64], stages: Stages, labels: NDArray[Any] | None = None
) -> Assignment:
    """Assign all rows of the data to these medoids."""
    return nearest_medoids(space.to_medoids(medoids), space.weights, stages, labels)


def assign(
    space: Space,
    medoids: NDArray[np.int64],
    stages: Stages,
    assignment: Assignment | None = None,
    labels: NDArray[Any] | None = None,
) -> tuple[NDArray[np.int64], Assignment]:
    """Assign all rows, unless that is done; a medoid that is a duplicate of another moves to a row that is not."""
    if assignment is None:
        assignment = assign_all(space, medoids, stages, labels)
    elif labels is not None:
        labels[:] = assignment.labels
        assignment = replace(assignment, labels=labels)
    spread = spread_duplicates(space, medoids, assignment)
    if np.array_equal(spread, medoids):
        return medoids, assignment
    return spread, assign_all(space, spread, stages, labels)


def spread_duplicates(space: Space, medoids: NDArray[np.int64], assignment: Assignment) -> NDArray[np.int64]:
    """Return the medoids with every duplicate that is not fixed moved to the row farthest from all medoids.

    A batch may not contain the rare rows that would have drawn the duplicate away during the search.
    """
    is_duplicate = (assignment.labels[medoids] != np.arange(len(medoids))) & (assignment.distances[medoids] == 0)
    is_duplicate[: len(space.fixed)] = False
    if not is_duplicate.any():
        return medoids
    medoids, nearest = medoids.copy(), np.where(space.weights > 0, assignment.distances, 0)
    for slot in np.flatnonzero(is_duplicate):
        farthest = int(np.argmax(nearest))
        if nearest[farthest] == 0:
            break  # there are fewer distinct rows than medoids
        medoids[slot] = farthest
        np.minimum(nearest, only_column(space.to_medoids(medoids[slot : slot + 1])), out=nearest)
    return medoids
