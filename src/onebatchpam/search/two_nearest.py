"""The nearest and the second nearest medoid of every row, which is all that swaps of single medoids need to know."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks import fill_checked
from onebatchpam.space import Space


class TwoNearest:
    """The slots and the dissimilarities of the two medoids that are nearest to each of n rows."""

    def __init__(self, n: int) -> None:
        self.slots = np.full((2, n), -1, np.int32)
        self.distances = np.full((2, n), np.inf, np.float32)

    def add(self, slot: int, distances: NDArray[np.float32]) -> None:
        """Take in a new medoid, given its dissimilarities to all rows."""
        nearest, second = self.distances
        is_nearest = distances < nearest
        is_second = (distances < second) & ~is_nearest
        self.slots[1] = np.where(is_nearest, self.slots[0], np.where(is_second, slot, self.slots[1]))
        self.slots[0][is_nearest] = slot
        self.distances[1] = np.where(is_nearest, nearest, np.where(is_second, distances, second))
        self.distances[0][is_nearest] = distances[is_nearest]

    def changes(self, distances: NDArray[np.float32], weights: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Return how the loss changes if a candidate, given by its dissimilarities, replaces each of the k medoids."""
        nearest, second = self.distances.astype(np.float64)
        kept = np.minimum(distances, nearest)  # the new distance if the nearest medoid stays
        lost = np.minimum(distances, second) - kept
        return weights @ (kept - nearest) + np.bincount(self.slots[0], weights * lost, minlength=k)

    def loss_after(self, slot: int, distances: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
        """Return the loss if a candidate, given by its dissimilarities, replaces the medoid of a slot.

        It has no rounding errors as large as those of `changes`, whose terms may cancel.
        """
        others = np.where(self.slots[0] == slot, self.distances[1], self.distances[0])
        return float(weights @ np.minimum(distances, others))

    def replace(self, slot: int, distances: NDArray[np.float32], space: Space, medoids: Indices) -> None:
        """Replace the medoid of a slot; `medoids` are those after the swap, `distances` those of the new one."""
        losers = np.flatnonzero((self.slots == slot).any(axis=0))  # rows that lose one of their two medoids
        self.add(slot, distances)
        compared, buffer = space.distances_from(medoids, losers), TileBuffer(len(medoids))
        for rows in compared.tiles():
            tile = buffer.for_rows(rows)
            fill_checked(compared, rows, tile)
            found = TwoNearest(len(tile))
            for each, column in enumerate(tile.T):
                found.add(each, column)
            self.slots[:, losers[rows]], self.distances[:, losers[rows]] = found.slots, found.distances


def compare_with_all(space: Space, medoid: np.int64) -> NDArray[np.float32]:
    """Return the dissimilarities of a row, as a medoid, to all rows."""
    return space.distances_from(np.array([medoid])).column().astype(np.float32, copy=False)
