"""Candidates for refinement: estimated by the batch, and by a sample of each cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch, sample_by_weight
from onebatchpam._tiles import Indices, Room
from onebatchpam.blocks import Block
from onebatchpam.metrics import Columns
from onebatchpam.space import Space

CANDIDATES_BY_BATCH = 5  # for each medoid, in each round

CANDIDATES_BY_CLUSTER = 5

CANDIDATES_PER_MEDOID = CANDIDATES_BY_BATCH + CANDIDATES_BY_CLUSTER

POINTS_PER_CLUSTER = 100  # with which the candidates of a cluster are compared


def best_by_batch(
    block: Block,
    search: _core.SwapSearch,
    is_open: NDArray[np.bool_],
    tried: NDArray[np.bool_],
    n_jobs: int,
) -> Indices:
    """Return for each open medoid the untried candidates of a block that had best take its place."""
    gains, slots = block.best_swaps(search, n_jobs)
    untried = np.flatnonzero(~tried & is_open[slots])
    return untried[smallest_of_each(slots[untried], -gains[untried], CANDIDATES_BY_BATCH)]


def smallest_of_each(groups: NDArray[Any], keys: NDArray[np.float64], count: int) -> Indices:
    """Return the positions of the smallest keys of each group, at most `count`; of equal keys the first."""
    order = np.lexsort((keys, groups))
    starts = np.searchsorted(groups[order], groups[order])
    return order[np.arange(len(order)) - starts < count]


@dataclass(frozen=True)
class Judges:
    """Some points of a cluster, by which its members are compared."""

    points: Batch
    second_distances: NDArray[np.float32]  # to the medoid that is left if that of the cluster goes


def draw_judges(
    points: Batch, state: _core.SwapSearch, is_open: NDArray[np.bool_], rng: np.random.RandomState
) -> dict[int, Judges]:
    """Draw some of the points of each open cluster; the state is that of a search whose columns they are."""
    judges, second_distances = {}, state.second_distances
    for slot, cluster in clusters_of(state.nearest):
        if is_open[slot]:
            drawn = sample_by_weight(points.weights[cluster], min(len(cluster), POINTS_PER_CLUSTER), rng)
            chosen = cluster[drawn.indices]
            judges[slot] = Judges(Batch(points.indices[chosen], drawn.weights), second_distances[chosen])
    return judges


def best_by_cluster(
    space: Space,
    judges: dict[int, Judges],
    labelled_rows: Iterable[tuple[Indices, NDArray[Any]]],
    tried: NDArray[np.bool_],
    n_jobs: int,
) -> Indices:
    """Return which untried rows the judges of their cluster would have for a medoid, some for each of these clusters.

    A member's loss is the sum over the judges of the distance to it, or to the second nearest medoid if that is less.
    """
    chosen, slots, losses = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for rows, labels in labelled_rows:
        for slot, cluster in clusters_of(labels):
            members = rows[cluster]
            members = members[~tried[members]]
            if slot in judges and len(members):
                found = mean_losses(space, members, judges[slot], n_jobs)
                best = np.argsort(found, kind="stable")[:CANDIDATES_BY_CLUSTER]
                chosen.append(members[best])
                slots.append(np.full(len(best), slot))
                losses.append(found[best])
    best = smallest_of_each(np.concatenate(slots), np.concatenate(losses), CANDIDATES_BY_CLUSTER)
    return np.concatenate(chosen)[best]


def clusters_of(labels: NDArray[Any]) -> Iterator[tuple[int, Indices]]:
    """Return each label that occurs, and where."""
    order = np.argsort(labels.astype(np.min_scalar_type(labels.max())), kind="stable")  # short ones in linear time
    for cluster in np.split(order, np.flatnonzero(np.diff(labels[order])) + 1):
        yield int(labels[cluster[0]]), cluster


def mean_losses(space: Space, members: Indices, judges: Judges, n_jobs: int) -> NDArray[np.float64]:
    """Return the mean loss of each member over the judges but itself."""
    points = judges.points
    columns = space.to_points(points.indices, members)
    return mean_losses_of(columns, members, points.indices, points.weights, judges.second_distances, n_jobs)


def mean_losses_of(
    columns: Columns,
    members: Indices,
    judges: Indices,
    weights: NDArray[np.float64],
    second_distances: NDArray[np.float32],
    n_jobs: int,
) -> NDArray[np.float64]:
    """Return the mean loss of each row, given their numbers and those of the columns, which may be some of them.

    The distance of a row to itself tells nothing, and would only prefer the rows that happen to be judges.
    """
    losses, room = np.empty(len(members)), Room(columns.n_columns)
    for rows in columns.tiles():
        columns.fill_viewed(rows, room.of(rows), _core.RowSummer(weights, losses[rows], n_jobs, second_distances))
    order = np.argsort(judges)
    places = order[np.minimum(np.searchsorted(judges, members, sorter=order), len(judges) - 1)]
    other_weights = weights.sum() - np.where(judges[places] == members, weights[places], 0)
    return np.divide(losses, other_weights, out=losses, where=other_weights > 0)
