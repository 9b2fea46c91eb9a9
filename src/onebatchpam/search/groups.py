"""Confirmation in groups: with very many medoids, only neighbouring medoids are searched together.

A swap of a medoid for a row near it concerns only the points around it. So the medoids are split into groups of
neighbours, drawn anew for each round, and each point belongs to the few groups that are nearest to it. A group is
searched with its own points and with the candidates near its medoids; for these points, all other groups together are
one more medoid, which is never swapped. Other points can only gain by a swap, because the medoids near them stay. So
no swap makes the loss over all points worse, although each point is compared with the candidates of a few groups only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.blocks import WholeBlock, fill_checked
from onebatchpam.search.assignment import Assignment, find_nearest, spread_medoids
from onebatchpam.search.candidates import Nearest, find_runners_up
from onebatchpam.search.confirmation import Confirmed, SearchBlock
from onebatchpam.search.refinable import Refinable
from onebatchpam.search.swaps import SwapOptions, run_swaps
from onebatchpam.space import Space, TransposedDistances

# Medoids in a group, at most, and the groups to which a point belongs. More of both find more swaps, but compare every
# point with more candidates.
GROUP_SIZE = 50
GROUPS_OF_POINT = 6
# Candidates of a group are tried in parts if all of them would have more dissimilarities to its points than this. It is
# not the memory limit that decides, because the result must not depend on it.
MOST_ENTRIES_OF_GROUP = 2**24


class GroupedConfirmation:
    """Medoids in groups, each with the points near it; makes the swaps that these points confirm, group by group."""

    def __init__(
        self,
        population: Refinable,
        medoids: Indices,
        points: Batch,
        options: SwapOptions,
        run: Run,
        *,
        finds_runners_up: bool,
    ) -> None:
        self.medoids, self._population, self._points = medoids, population, points
        self._options, self._run, self._finds_runners_up = options, run, finds_runners_up
        self._groups: list[Indices]  # the slots of each group, in ascending order
        self._near: NearGroups
        self._nearest: Nearest

    def begin_round(self) -> None:
        """Draw new groups, and compare all points with the medoids."""
        space = self._population.space
        self._groups = list(split_in_groups(space, self.medoids, self._run.rng))
        self._near, self._nearest = find_near_groups(space, self.medoids, self._groups, self._points)

    def state(self) -> Nearest:
        """Return the nearest and second nearest medoids of all points, and the loss, as the round began."""
        return self._nearest

    def spread_medoids(self) -> None:
        """Replace duplicate medoids, as the assignment would do at the end; this never makes the loss worse."""
        self.begin_round()
        state, space = self.state(), self._population.space
        assignment = Assignment(state.nearest, state.nearest_distances, space.weights)
        self.medoids = spread_medoids(space, self.medoids, assignment)

    def confirm(self, candidates: Indices, search_block: SearchBlock = run_swaps) -> Confirmed:
        """Swap candidates in where that lowers the loss over the points of their group."""
        self.medoids, n_swaps, runners_up = self.medoids.copy(), 0, []
        candidates = candidates[~np.isin(candidates, self.medoids)]
        distances = self._population.space.distances_from(self.medoids.copy(), candidates)
        labels = find_nearest(distances, np.ones(len(candidates))).labels
        for number, slots in enumerate(self._groups):
            of_group = candidates[np.isin(labels, slots)]
            found = self._search_group(number, slots, of_group, search_block)
            n_swaps += found.n_swaps
            runners_up.append(found.runners_up)
        return Confirmed(self._near.loss(self._points.weights), n_swaps, lambda: np.concatenate(runners_up))

    def _search_group(self, number: int, slots: Indices, candidates: Indices, search_block: SearchBlock) -> GroupSearch:
        """Swap candidates in for the medoids in some slots."""
        places, runners_up = self._near.places(number), [candidates[:0]]
        if len(candidates) == 0 or len(places[0]) == 0:
            return GroupSearch(0, candidates[:0])
        points, weights = self._points.indices[places[0]], self._points.weights[places[0]]
        rows = self._add_rows(self._near.outside(places)[None], self.medoids[slots], points)
        options = replace(self._options, n_fixed=1 + int(np.searchsorted(slots, self._options.n_fixed)))
        n_swaps = 0
        for part in tile_bounds(len(candidates), MOST_ENTRIES_OF_GROUP // len(points)):
            contenders = np.concatenate([self.medoids[slots], candidates[part]])
            block = WholeBlock(self._add_rows(rows, candidates[part], points))
            search = search_block(block, np.arange(len(rows)), weights, options, self._run.silent())
            if self._finds_runners_up:
                chosen = find_runners_up(block, search.medoids, weights, options.n_fixed, self._run.n_jobs)
                runners_up.append(contenders[chosen - 1])
            rows, self.medoids[slots] = block.rows(search.medoids), contenders[search.medoids[1:] - 1]
            n_swaps += search.n_swaps
        self._near.distances[places] = rows[1:].min(axis=0)
        return GroupSearch(n_swaps, np.concatenate(runners_up))

    def _add_rows(self, rows: NDArray[np.float32], candidates: Indices, points: Indices) -> NDArray[np.float32]:
        """Return rows of a block with the rows of candidates below them."""
        entries = np.empty((len(rows) + len(candidates), len(points)), np.float32)
        entries[: len(rows)] = rows
        distances = TransposedDistances(self._population.space, points, candidates, self._run.n_jobs)
        distances.fill(slice(0, len(candidates)), entries[len(rows) :])
        return entries


@dataclass(frozen=True)
class GroupSearch:
    """The number of swaps in a group, and the candidates that came close; none if they are not looked for."""

    n_swaps: int
    runners_up: Indices


class NearGroups:
    """The few groups nearest to each point, and the distance of the point to the nearest medoid of each."""

    def __init__(self, n_points: int, count: int) -> None:
        self.groups = np.empty((n_points, count), np.int32)
        self.distances = np.empty((n_points, count), np.float32)

    def places(self, group: int) -> tuple[Indices, Indices]:
        """Return the points of a group, and the rank that the group has among the groups of each point."""
        points, ranks = np.nonzero(self.groups == group)
        return points, ranks

    def outside(self, places: tuple[Indices, Indices]) -> NDArray[np.float32]:
        """Return the distances of the points of a group to the nearest medoid of their other groups."""
        distances = self.distances[places[0]]
        distances[np.arange(len(distances)), places[1]] = np.inf
        return distances.min(axis=1)

    def loss(self, weights: NDArray[np.float64]) -> float:
        """Return the loss over all points."""
        return Assignment(self.groups, self.distances.min(axis=1), weights).inertia


def split_in_groups(space: Space, medoids: Indices, rng: np.random.RandomState) -> Iterator[Indices]:
    """Yield the slots of each group of neighbouring medoids.

    A group that is too large is halved: one half is nearer than the other to the first of two medoids, drawn at random.
    """
    waiting = [np.arange(len(medoids))]
    while waiting:
        slots = waiting.pop()
        if len(slots) <= GROUP_SIZE:
            yield slots
            continue
        poles = medoids[rng.choice(slots, 2, replace=False)]
        to_first, to_second = space.distances_from(poles, medoids[slots]).compute().T
        order = np.argsort(to_first - to_second, kind="stable")
        waiting += [np.sort(half) for half in np.array_split(slots[order], 2)]


def find_near_groups(
    space: Space, medoids: Indices, groups: list[Indices], points: Batch
) -> tuple[NearGroups, Nearest]:
    """Compare points with all medoids, and return what a confirmation must know of them."""
    n, count = len(points.indices), min(GROUPS_OF_POINT, len(groups))
    near, by_group = NearGroups(n, count), np.concatenate(groups)
    starts = np.cumsum([0] + [len(slots) for slots in groups[:-1]])
    slots, first, second = np.empty(n, np.int64), np.empty(n, np.float32), np.empty(n, np.float32)
    compared = space.distances_from(medoids[by_group], None if n == space.n else points.indices)
    buffer = TileBuffer(len(medoids))
    for rows in compared.tiles():
        tile = buffer.for_rows(rows)
        fill_checked(compared, rows, tile)
        of_groups = np.minimum.reduceat(tile, starts, axis=1)
        chosen = np.argpartition(of_groups, count - 1, axis=1)[:, :count]
        near.groups[rows], near.distances[rows] = chosen, np.take_along_axis(of_groups, chosen, axis=1)
        nearest = tile.argmin(axis=1)
        each = np.arange(len(tile))
        slots[rows], first[rows] = by_group[nearest], tile[each, nearest]
        tile[each, nearest] = np.inf
        second[rows] = tile.min(axis=1)
    return near, Nearest(slots, first, second, near.loss(points.weights))
