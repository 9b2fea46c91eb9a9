"""Places on paper: a map of the rows by their distances alone, and the tree of the medoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from onebatchpam._tiles import Indices
from onebatchpam.data import columns_of
from onebatchpam.report.columns import Feature
from onebatchpam.report.study import Study

MAPPED_ROWS = 3_000
LANDMARKS = 100  # rows whose distances to each other, and to all rows of the map, give the map
LARGEST_TREE = 60  # medoids whose distances are shown


@dataclass(frozen=True)
class RowMap:
    """The places of rows, and of the medoids, on a map."""

    rows: Indices
    places: NDArray[np.float64]  # places of the rows
    medoids: NDArray[np.float64]  # places of the medoids
    axes: tuple[str, str] | None  # the names of the columns if the places are the data themselves


@dataclass(frozen=True)
class MedoidTree:
    """The medoids that are nearest to each other join first: their order, the joints of the tree, their distances."""

    clusters: NDArray[np.int64]  # clusters, in the order of the leaves
    joints: list[tuple[list[float], list[float]]]  # places 0 .. k - 1 of the four corners of a joint, and heights
    height: float
    distances: NDArray[np.float64]  # distances between the medoids, in the order of the leaves


def draw_map(study: Study, features: Sequence[Feature]) -> RowMap:
    """Return a map of some rows: the data themselves if they have two numbers, otherwise by landmarks.

    The distances of landmarks to each other place the landmarks (classical scaling, which for Euclidean distances is
    the principal components), and the distances of all other rows to the landmarks place the rows among them.
    """
    rng = np.random.RandomState(1)
    sample, share = study.sample, study.sample.weights / study.sample.weights.sum()
    n_rows = min(MAPPED_ROWS, int(np.count_nonzero(share)))
    rows = np.sort(rng.choice(sample.indices, n_rows, replace=False, p=share))
    if len(features) == 2 and all(feature.is_numeric for feature in features):
        return draw_columns(study, features, rows)
    landmarks = choose_landmarks(study, rows, rng)
    among = study.space.distances_from(landmarks, landmarks).compute().astype(np.float64)
    to_rows = study.space.distances_from(landmarks, rows).compute().astype(np.float64)
    to_medoids = study.space.distances_from(landmarks, study.medoids).compute().astype(np.float64)
    squares = (among**2 + among.T**2) / 2
    means = squares.mean(axis=0)
    centred = -0.5 * (squares - means - means[:, np.newaxis] + means.mean())
    values, vectors = np.linalg.eigh(centred)
    axes = vectors[:, ::-1][:, :2] / np.sqrt(np.maximum(values[::-1][:2], 1e-12))
    if axes.shape[1] < 2:
        axes = np.column_stack([axes, np.zeros(len(axes))])
    return RowMap(rows, -0.5 * (to_rows**2 - means) @ axes, -0.5 * (to_medoids**2 - means) @ axes, None)


def draw_columns(study: Study, features: Sequence[Feature], rows: Indices) -> RowMap:
    """Return the map of data that have two columns of numbers: these columns."""
    order = np.argsort(study.sample.indices)
    places = order[np.searchsorted(study.sample.indices, rows, sorter=order)]
    sampled = np.column_stack([feature.numbers for feature in features])
    medoids = np.column_stack([column.as_floats() for column in columns_of(study.single(study.medoids))])
    return RowMap(rows, sampled[places], medoids, (features[0].name, features[1].name))


def choose_landmarks(study: Study, rows: Indices, rng: np.random.RandomState) -> Indices:
    """Return the medoids of the largest clusters, and rows of the map up to the number of landmarks."""
    medoids = study.medoids[study.by_size[: LANDMARKS // 2]]
    others = np.setdiff1d(rows, medoids)
    n_others = min(len(others), LANDMARKS - len(medoids))
    return np.concatenate([medoids, rng.choice(others, n_others, replace=False)]) if n_others else medoids


def grow_tree(study: Study) -> MedoidTree | None:
    """Return the tree of the medoids of the largest clusters, by average linkage; None for a single cluster."""
    clusters = np.sort(study.by_size[:LARGEST_TREE])
    if len(clusters) < 2:
        return None
    medoids = study.medoids[clusters]
    distances = study.space.distances_from(medoids, medoids).compute().astype(np.float64)
    symmetric = (distances + distances.T) / 2
    np.fill_diagonal(symmetric, 0)
    tree = dendrogram(linkage(squareform(symmetric, checks=False), "average"), no_plot=True)
    order = np.array(tree["leaves"])
    joints = [
        ([(x - 5) / 10 for x in xs], list(heights)) for xs, heights in zip(tree["icoord"], tree["dcoord"], strict=True)
    ]
    height = max((max(heights) for _, heights in joints), default=0.0)
    return MedoidTree(clusters[order], joints, float(height) or 1.0, symmetric[np.ix_(order, order)])
