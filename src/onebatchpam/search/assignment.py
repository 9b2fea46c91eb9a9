"""Assigning every row to its nearest medoid, and moving medoids that duplicate another medoid to other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.space import Distances, Space

# Rows whose distances are compared at a time with the largest ones of their clusters so far.
ROWS_PER_MAXIMUM = 2**14


@dataclass(frozen=True)
class Assignment:
    """The slot of the nearest medoid of every row (of equally near ones, the lowest), and the distance to it."""

    labels: NDArray[Any]
    distances: NDArray[Any]
    weights: NDArray[np.float64]

    @property
    def inertia(self) -> float:
        """The weighted sum of the distances, added up in parts of a fixed size so that tile sizes do not change it."""
        parts = tile_bounds(len(self.labels), _tiles.ROWS_PER_SUM)
        return math.fsum(np.sum(self.distances[part] * self.weights[part], dtype=np.float64) for part in parts)

    def profile(self, k: int) -> ClusterProfile:
        """Return the weight and the distances of each of the k clusters."""
        profile = ClusterProfile(np.zeros(k), np.zeros(k), np.zeros(k))
        for part in tile_bounds(len(self.labels), _tiles.ROWS_PER_SUM):
            weights, labels = self.weights[part], self.labels[part].astype(np.int64, copy=False)
            distances = np.where(weights > 0, self.distances[part], 0)
            profile.weights[:] += np.bincount(labels, weights, minlength=k)
            profile.losses[:] += np.bincount(labels, weights * distances, minlength=k)
            profile.raise_largest(labels, distances)
        return profile


@dataclass(frozen=True)
class ClusterProfile:
    """For each cluster: the total weight of its rows, their weighted sum of distances, and the largest distance."""

    weights: NDArray[np.float64]
    losses: NDArray[np.float64]
    largest_distances: NDArray[np.float64]

    def raise_largest(self, labels: NDArray[np.int64], distances: NDArray[Any]) -> None:
        """Raise the largest distances to those of further rows.

        Few rows after the first are farther than all before them, so that a comparison spares most of the slow maxima.
        """
        for part in tile_bounds(len(labels), ROWS_PER_MAXIMUM):
            is_larger = distances[part] > self.largest_distances[labels[part]]
            np.maximum.at(self.largest_distances, labels[part][is_larger], distances[part][is_larger])

    @classmethod
    def join(cls, parts: list[ClusterProfile]) -> ClusterProfile:
        """Return the profile of the rows of all parts together."""
        return cls(
            np.sum([part.weights for part in parts], axis=0),
            np.sum([part.losses for part in parts], axis=0),
            np.max([part.largest_distances for part in parts], axis=0),
        )


def nearest_tiles(
    distances: Distances, stages: Stages, count: int = 1
) -> Iterator[tuple[slice, list[tuple[NDArray[np.int64], NDArray[Any]]]]]:
    """Yield, for each tile, the range of its rows and their `count` nearest medoids, the nearest first.

    Medoids are given by their slots and by the distances to them; of equally near ones, the lowest slot comes first.
    """
    with stages.stage("assignment", total=distances.n_rows) as bar:
        for rows, tile in distances.each_tile():
            yield rows, nearest_in_tile(distances, rows, tile, count)
            bar.update(len(tile))


def nearest_in_tile(
    distances: Distances, rows: slice, tile: NDArray[Any], count: int
) -> list[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Return the `count` nearest medoids of each row of a computed tile; entries that are not finite are mended."""
    nearest = smallest_entries(tile, count)
    if not all(np.isfinite(values).all() for _, values in nearest):
        distances.mend(rows, tile)
        nearest = smallest_entries(tile, count)
    for slots, values in nearest:
        distances.check(rows, slots, values)
    return nearest


def smallest_entries(tile: NDArray[Any], count: int) -> list[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Return the columns and the values of the smallest entries of each row, the smallest first."""
    each, found = np.arange(len(tile)), []
    for rank in range(1, count + 1):
        columns = tile.argmin(axis=1)
        found.append((columns, tile[each, columns]))
        if rank < count:
            tile[each, columns] = np.inf
    for columns, values in found[:-1]:
        tile[each, columns] = values
    return found


def find_nearest(
    distances: Distances,
    weights: NDArray[np.float64],
    stages: Stages | None = None,
    labels: NDArray[Any] | None = None,
) -> Assignment:
    """Assign each row to its nearest medoid, a column of `distances`; write the labels to `labels` if there is one."""
    labels = np.empty(distances.n_rows, dtype=np.int32) if labels is None else labels
    nearest_distances = np.empty(distances.n_rows, dtype=distances.dtype)
    buffer = TileBuffer(distances.n_columns, distances.dtype)
    with (Stages() if stages is None else stages).stage("assignment", total=distances.n_rows) as bar:
        for rows in distances.tiles():
            tile = buffer.for_rows(rows)
            labels[rows], nearest_distances[rows] = find_nearest_in_tile(distances, rows, tile)
            bar.update(len(tile))
    return Assignment(labels, nearest_distances, weights)


def find_nearest_in_tile(distances: Distances, rows: slice, tile: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compute a tile, and return the nearest medoid of each of its rows with the distance to it."""
    if tile.dtype != np.float32:
        distances.fill(rows, tile)
        return nearest_in_tile(distances, rows, tile, 1)[0]
    nearest, values = np.empty(len(tile), np.int32), np.empty(len(tile), np.float32)
    scanner = _core.RowScanner(nearest, values, distances.n_jobs)  # looks at entries while they are in the cache
    distances.fill(rows, tile, scanner)
    return (nearest, values) if scanner.valid else nearest_in_tile(distances, rows, tile, 1)[0]


def assign_all(
    space: Space, medoids: Indices, stages: Stages | None = None, labels: NDArray[Any] | None = None
) -> Assignment:
    """Assign all rows of a space to their nearest medoids."""
    return find_nearest(space.distances_from(medoids), space.weights, stages, labels)


def assign(
    space: Space,
    medoids: Indices,
    stages: Stages | None = None,
    assignment: Assignment | None = None,
    labels: NDArray[Any] | None = None,
    *,
    moves_empty: bool = True,
) -> tuple[Indices, Assignment]:
    """Move medoids of empty clusters to other rows; return the medoids and the assignment of all rows to them.

    `assignment` is the assignment to the medoids as they are passed in; it is computed if it is None. Medoids that were
    moved once stay, if `moves_empty` is False: where a row is away from itself, its cluster may be empty again.
    """
    if assignment is None:
        assignment = assign_all(space, medoids, stages, labels)
    elif labels is not None:
        labels[:] = assignment.labels
        assignment = replace(assignment, labels=labels)
    spread = spread_medoids(space, medoids, assignment) if moves_empty else medoids
    if np.array_equal(spread, medoids):
        return medoids, assignment
    return spread, assign_all(space, spread, stages, labels)


def weigh_clusters(labels: NDArray[Any], weights: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the weight of each of k clusters."""
    return np.bincount(labels.astype(np.int64, copy=False), weights, minlength=k).astype(np.float64, copy=False)


def spread_medoids(space: Space, medoids: Indices, assignment: Assignment) -> Indices:
    """Return the medoids with each one whose cluster is empty replaced by the candidate farthest from all medoids."""
    k, n_fixed = len(medoids), len(space.fixed)
    if len(find_empty(weigh_clusters(assignment.labels, assignment.weights, k), n_fixed)) == 0:
        return medoids
    labels, distances = assignment.labels.copy(), assignment.distances.copy()
    may_move = (space.weights > 0) & space.candidates.marked()

    def weigh(medoids: Indices, moved: int | None) -> NDArray[np.float64]:
        if moved is not None:
            column = space.distances_from(medoids[moved : moved + 1]).column()
            is_nearer = (column < distances) | ((column == distances) & (moved < labels))
            labels[is_nearer], distances[is_nearer] = moved, column[is_nearer]
        return weigh_clusters(labels, assignment.weights, k)

    def find_farthest(medoids: Indices) -> int | None:
        nearest = np.where(may_move, distances, 0)
        nearest[medoids] = 0  # a row that is a medoid must not become one twice, however far it is from itself
        farthest = int(np.argmax(nearest))
        return farthest if nearest[farthest] > 0 else None

    return move_empty(medoids, n_fixed, weigh, find_farthest)


def find_empty(sizes: NDArray[Any], n_fixed: int) -> Indices:
    """Return the slots of medoids whose clusters are empty, given the sizes of the clusters; fixed medoids must stay.

    A search ends with such a medoid if it is a duplicate of another one, and if the batch lacks the rare rows that
    would have drawn it away. A medoid at distance 0 from another one may still serve rows of its own, if the
    dissimilarity is not a metric; it is left where it is.
    """
    return np.flatnonzero((sizes == 0) & (np.arange(len(sizes)) >= n_fixed))


def move_empty(
    medoids: Indices,
    n_fixed: int,
    weigh: Callable[[Indices, int | None], NDArray[np.float64]],
    find_farthest: Callable[[Indices], int | None],
) -> Indices:
    """Return the medoids with those of empty clusters replaced, one after the other, by the farthest row.

    `weigh` returns the weights of the clusters, given the medoids and the slot that was replaced last, None at first.
    `find_farthest` returns None if every row is at distance 0 from a medoid; the remaining medoids then stay. If the
    dissimilarity is not a metric, a medoid that has moved may empty another cluster, whose medoid then moves too.
    """
    medoids, moved = medoids.copy(), list[int]()
    while True:
        # A medoid that has moved stays, because a row that is away from itself may leave its cluster empty again.
        empty = np.setdiff1d(find_empty(weigh(medoids, moved[-1] if moved else None), n_fixed), moved)
        farthest = find_farthest(medoids) if len(empty) else None
        if farthest is None:
            return medoids
        moved.append(int(empty[0]))
        medoids[moved[-1]] = farthest


def split_by_label(labels: NDArray[Any]) -> Iterator[tuple[int, Indices]]:
    """Yield each label that occurs, with the rows that have it in ascending order; no label is negative."""
    if len(labels) == 0:
        return
    # NumPy sorts integers of at most 16 bits in linear time.
    order = np.argsort(labels.astype(np.min_scalar_type(labels.max())), kind="stable")
    for cluster in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        yield int(labels[cluster[0]]), cluster
