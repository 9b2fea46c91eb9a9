"""The assignment: every row to its nearest medoid; and medoids that are duplicates of others moved apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _tiles
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.space import Distances, Space


@dataclass(frozen=True)
class Assignment:
    """The nearest medoid of every row, the lowest slot of equally near ones, and the distance to it."""

    labels: NDArray[Any]
    distances: NDArray[Any]
    weights: NDArray[np.float64]

    @property
    def inertia(self) -> float:
        """The weighted sum of the distances. Its last digits do not depend on the tiles in which the rows came."""
        parts = tile_bounds(len(self.labels), _tiles.ROWS_PER_SUM)
        return math.fsum(np.sum(self.distances[part] * self.weights[part], dtype=np.float64) for part in parts)


def label_tiles(distances: Distances, stages: Stages) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[Any]]]:
    """Return tile by tile the range of rows, their nearest medoids and the distances to these."""
    with stages.stage("assignment", total=distances.n_rows) as bar:
        for rows, tile in distances.each_tile(distances.dtype):
            nearest = tile.argmin(axis=1)
            values = tile[np.arange(len(tile)), nearest]
            distances.check(rows, nearest, values)
            yield rows, nearest, values
            bar.update(len(tile))


def find_nearest(
    distances: Distances,
    weights: NDArray[np.float64],
    stages: Stages | None = None,
    labels: NDArray[Any] | None = None,
) -> Assignment:
    """Assign all rows; the labels are written to the array `labels`, if it is given."""
    labels = np.empty(distances.n_rows, dtype=np.int32) if labels is None else labels
    nearest_distances = np.empty(distances.n_rows, dtype=distances.dtype)
    for rows, nearest, values in label_tiles(distances, Stages() if stages is None else stages):
        labels[rows], nearest_distances[rows] = nearest, values
    return Assignment(labels, nearest_distances, weights)


def assign_all(
    space: Space, medoids: Indices, stages: Stages | None = None, labels: NDArray[Any] | None = None
) -> Assignment:
    """Assign all rows of a space to these medoids."""
    return find_nearest(space.distances_from(medoids), space.weights, stages, labels)


def assign(
    space: Space,
    medoids: Indices,
    stages: Stages | None = None,
    assignment: Assignment | None = None,
    labels: NDArray[Any] | None = None,
) -> tuple[Indices, Assignment]:
    """Assign all rows, unless the assignment is known; move medoids that are duplicates of others apart."""
    if assignment is None:
        assignment = assign_all(space, medoids, stages, labels)
    elif labels is not None:
        labels[:] = assignment.labels
        assignment = replace(assignment, labels=labels)
    spread = spread_medoids(space, medoids, assignment)
    if np.array_equal(spread, medoids):
        return medoids, assignment
    return spread, assign_all(space, spread, stages, labels)


def spread_medoids(space: Space, medoids: Indices, assignment: Assignment) -> Indices:
    """Return the medoids with every duplicate moved to the row farthest from all medoids."""
    duplicates = find_duplicates(assignment.labels[medoids], assignment.distances[medoids], len(space.fixed))
    if len(duplicates) == 0:
        return medoids
    nearest = np.where(space.weights > 0, assignment.distances, 0)

    def find_farthest(medoids: Indices, moved: slice) -> int | None:
        if len(medoids[moved]):
            np.minimum(nearest, space.distances_from(medoids[moved]).column(), out=nearest)
        farthest = int(np.argmax(nearest))
        return farthest if nearest[farthest] > 0 else None

    return move_duplicates(medoids, duplicates, find_farthest)


def find_duplicates(labels: NDArray[Any], distances: NDArray[Any], n_fixed: int) -> Indices:
    """Return the slots of medoids that are at distance 0 of another one, given the labels of the medoids.

    A batch may not contain the rare rows that would have drawn a duplicate away during the search.
    """
    is_duplicate = (labels != np.arange(len(labels))) & (distances == 0)
    is_duplicate[:n_fixed] = False
    return np.flatnonzero(is_duplicate)


def move_duplicates(
    medoids: Indices, duplicates: Indices, find_farthest: Callable[[Indices, slice], int | None]
) -> Indices:
    """Return the medoids with each duplicate moved to the farthest row, as long as a row is apart from all medoids.

    `find_farthest` is told the medoids and which of them was moved last, and returns None if no row is apart.
    """
    medoids, moved = medoids.copy(), slice(0, 0)
    for slot in duplicates:
        farthest = find_farthest(medoids, moved)
        if farthest is None:
            break
        medoids[slot], moved = farthest, slice(slot, slot + 1)
    return medoids


def split_by_label(labels: NDArray[Any]) -> Iterator[tuple[int, Indices]]:
    """Return each label that occurs, which are not negative, with the rows that have it in ascending order."""
    order = np.argsort(labels.astype(np.min_scalar_type(labels.max())), kind="stable")  # linear time for short types
    for cluster in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        yield int(labels[cluster[0]]), cluster
