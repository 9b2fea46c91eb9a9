"""Candidates for refinement: the few rows of each cluster that are most likely to be better medoids.

They come from two estimates. The batch estimates the gain of every swap, but with only about m / k batch points in
each cluster; it finds medoids that are needed elsewhere. The judges, a sample of one cluster, compare only members of
this cluster with each other, but far more precisely; they find the row in its middle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._tiles import Indices, TileBuffer, mark, tile_bounds
from onebatchpam.blocks import Block
from onebatchpam.search.assignment import find_nearest, split_by_label
from onebatchpam.space import Distances, Space

# Candidates for each medoid in each round: those that the batch prefers, and those that the judges prefer.
CANDIDATES_BY_BATCH = 5
CANDIDATES_BY_CLUSTER = 5
CANDIDATES_PER_MEDOID = CANDIDATES_BY_BATCH + CANDIDATES_BY_CLUSTER
JUDGES_PER_CLUSTER = 100
# With more rows than this, only about a share of each cluster is judged: the members nearest to its medoid. The best
# ones are hardly ever among the others, because rows in the middle of a cluster are near the medoid that it has.
MOST_ALL_JUDGED, SHARE_JUDGED = 100_000, 0.25
# Candidates of a round, for each medoid, that a pool search tries again, because they came closest to replacing it.
RUNNERS_UP_PER_MEDOID = 1
# Rows that are labelled and judged at a time: many, because judges are made ready anew for the rows of each part. Of a
# file, there are no more than its cache holds, because the rows of one cluster after the other are taken from it.
PART_ROWS = 2**18


def share_judged(n: int) -> float:
    """Return the share of the members of each cluster that is judged, given the number of all rows."""
    return 1.0 if n <= MOST_ALL_JUDGED else SHARE_JUDGED


@dataclass(frozen=True)
class Nearest:
    """The slot of the nearest medoid of each point, the distances to it and to the second nearest, and the loss."""

    nearest: NDArray[Any]
    nearest_distances: NDArray[np.float32]
    second_distances: NDArray[np.float32]
    loss: float


@dataclass(frozen=True)
class Judges:
    """Points of a cluster over which the losses of its members are compared."""

    points: Batch
    second_distances: NDArray[np.float32]  # distance of each judge to its second nearest medoid
    reach: float = math.inf  # members that are farther from the medoid than this are not judged


@dataclass(frozen=True)
class Labelled:
    """Rows, each with the slot of its nearest medoid and the distance to it."""

    rows: Indices
    labels: NDArray[Any]
    distances: NDArray[Any]


@dataclass(frozen=True)
class Ranked:
    """Candidates, each with the slot of the medoid that it might replace, and a score; smaller scores are better."""

    indices: Indices
    slots: NDArray[Any]
    scores: NDArray[np.float64]


def best_by_batch(
    block: Block, search: _core.SwapSearch, is_open: NDArray[np.bool_], tried: NDArray[np.bool_], n_jobs: int
) -> Indices:
    """Return, for each open medoid, the few untried rows of a block that gain most on the batch by replacing it."""
    gains, slots = block.best_swaps(search, n_jobs)
    untried = np.flatnonzero(~tried & is_open[slots])
    return untried[smallest_of_each(slots[untried], -gains[untried], CANDIDATES_BY_BATCH)]


def find_runners_up(block: Block, medoids: Indices, weights: NDArray[np.float64], n_fixed: int, n_jobs: int) -> Indices:
    """Return, for each medoid, the rows of a block that would cost least in its place."""
    search = _core.SwapSearch(block.n, medoids, block.rows(medoids), weights, 0.0, n_fixed)
    gains, slots = block.best_swaps(search, n_jobs)
    others = np.flatnonzero(~mark(medoids, block.n))
    return others[smallest_of_each(slots[others], -gains[others], RUNNERS_UP_PER_MEDOID)]


def smallest_of_each(groups: NDArray[Any], keys: NDArray[np.float64], count: int) -> Indices:
    """Return the positions of the smallest keys of each group, at most `count` per group.

    Rows that are equal to each other have the same key, and one of them is as good as all. So only the first position
    of each key counts.
    """
    order = np.lexsort((keys, groups))
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(groups[order]) != 0) | (np.diff(keys[order]) != 0)
    order = order[is_first]
    starts = np.searchsorted(groups[order], groups[order])
    return order[np.arange(len(order)) - starts < count]


def draw_judges(
    points: Batch,
    state: Nearest | _core.SwapSearch,
    is_open: NDArray[np.bool_],
    rng: np.random.RandomState,
    share: float = 1.0,
) -> dict[int, Judges]:
    """Draw the judges of each open cluster, by slot, among its points; `state` knows the cluster of every point.

    They judge a share of the members of the cluster: those that are nearest to its medoid.
    """
    judges, second_distances = {}, state.second_distances
    for slot, cluster in split_by_label(state.nearest):
        if is_open[slot]:
            drawn = sample_by_weight(points.weights[cluster], min(len(cluster), JUDGES_PER_CLUSTER), rng)
            chosen = cluster[drawn.indices]
            reach = find_reach(state.nearest_distances[cluster], share)
            judges[slot] = Judges(Batch(points.indices[chosen], drawn.weights), second_distances[chosen], reach)
    return judges


def find_reach(distances: NDArray[np.float32], share: float) -> float:
    """Return the distance from the medoid within which this share of its cluster lies, estimated from some members.

    It is infinite if there are too few members for an estimate, so that all members are judged.
    """
    if share == 1 or len(distances) < JUDGES_PER_CLUSTER:
        return math.inf
    last = math.ceil(share * len(distances)) - 1
    return float(np.partition(distances, last)[last])


def label_parts(space: Space, medoids: Indices) -> Iterator[Labelled]:
    """Yield all candidates of a space in parts, with their nearest medoids."""
    for part in tile_bounds(space.candidates.n, min(PART_ROWS, space.rows.n_at_hand)):
        rows = space.candidates.rows(np.arange(part.start, part.stop))
        assignment = find_nearest(space.distances_from(medoids, rows), space.weights[rows])
        yield Labelled(rows, assignment.labels, assignment.distances)


def best_by_cluster(
    space: Space,
    judges: dict[int, Judges],
    parts: Iterable[Labelled],
    tried: NDArray[np.bool_],
    n_jobs: int,
) -> Indices:
    """Return, for each judged cluster, the few untried rows with the smallest mean loss over its judges."""
    best = [Ranked(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for part in parts:

        def judge(slot: int, places: Indices, rows: Indices = part.rows) -> NDArray[np.float64]:
            points = judges[slot].points
            distances = space.distances_to(points.indices, rows[places])
            return mean_losses(distances, rows[places], points, judges[slot].second_distances, n_jobs)

        reaches = {slot: each.reach for slot, each in judges.items()}
        is_judged = are_within_reach(part.labels, part.distances, reaches) & ~tried[part.rows]
        ranked = rank_members(part.labels, is_judged, judge)
        best.append(Ranked(part.rows[ranked.indices], ranked.slots, ranked.scores))
    return best_of_ranked(best).indices


def are_within_reach(labels: NDArray[Any], distances: NDArray[Any], reaches: dict[int, float]) -> NDArray[np.bool_]:
    """Tell which rows are within the reach of the judges of their cluster; if it has no judges, they are not."""
    of_slots = np.full(1 + max([int(labels.max(initial=0)), *reaches]), -math.inf)
    of_slots[list(reaches)] = list(reaches.values())
    return np.asarray(distances <= of_slots[labels])


def rank_members(
    labels: NDArray[Any], is_judged: NDArray[np.bool_], judge: Callable[[int, Indices], NDArray[np.float64]]
) -> Ranked:
    """Return, for each cluster, the few judged members with the smallest loss, as positions among the labels.

    `judge` takes the slot of a cluster and the positions of some of its members, and returns the loss of each member.
    """
    indices, slots, scores = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    judged = np.flatnonzero(is_judged)
    for slot, places in split_by_label(labels[judged]):
        members = judged[places]
        losses = judge(slot, members)
        best = smallest_of_each(np.zeros(len(losses), np.int64), losses, CANDIDATES_BY_CLUSTER)
        indices.append(members[best])
        slots.append(np.full(len(best), slot))
        scores.append(losses[best])
    return Ranked(np.concatenate(indices), np.concatenate(slots), np.concatenate(scores))


def best_of_ranked(parts: list[Ranked]) -> Ranked:
    """Return, for each cluster, the best candidates of all parts together."""
    indices, slots, scores = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "slots", "scores")
    )
    best = smallest_of_each(slots, scores, CANDIDATES_BY_CLUSTER)
    return Ranked(indices[best], slots[best], scores[best])


def mean_losses(
    distances: Distances,
    members: Indices,
    judges: Batch,
    second_distances: NDArray[np.float32],
    n_jobs: int,
) -> NDArray[np.float64]:
    """Return each member's mean loss over the judges of its cluster.

    The loss of a judge is its distance to the member, or to its second nearest medoid if that is smaller. A member that
    is itself a judge is left out of its own mean, because its distance 0 would favour it over other members.
    """
    losses, buffer = np.empty(len(members)), TileBuffer(distances.n_columns)
    for rows in distances.tiles():
        summer = _core.RowSummer(judges.weights, losses[rows], n_jobs, second_distances)
        tile = buffer.for_rows(rows)
        distances.fill(rows, tile, summer)
        if not summer.valid:  # squares of large numbers may overflow although the distances do not
            distances.mend(rows, tile)
            summer.see(tile)
    order = np.argsort(judges.indices)
    places = np.searchsorted(judges.indices, members, sorter=order)
    places = order[np.minimum(places, len(order) - 1)]
    own_weights = np.where(judges.indices[places] == members, judges.weights[places], 0)
    other_weights = judges.weights.sum() - own_weights
    return np.divide(losses, other_weights, out=losses, where=other_weights > 0)
