"""How well each row fits: its nearest and its second nearest medoid, and the medoid silhouette made of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._parameters import Weights, spread_weights
from onebatchpam._progress import Stages
from onebatchpam._show import Columns, PrintedTable
from onebatchpam._tiles import Indices
from onebatchpam.search import Assignment, assign, nearest_tiles
from onebatchpam.space import Distances, Space

SHOWN_QUANTILES = {"smallest": 0, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1}


@dataclass(frozen=True, repr=False)
class RowAssessment(PrintedTable):
    """How well each row fits its cluster, the result of `assess_rows`; it prints as a table of quantiles.

    With a single medoid there is no second one, and the last three attributes are None.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Nearest medoid of each row, from 0 to k - 1; the lowest one if several are equally near.
    distances : ndarray of shape (n,)
        Dissimilarity of each row to its nearest medoid. Rows with a large one are not like any medoid.
    second_labels : ndarray of shape (n,) or None
        Second nearest medoid of each row, which may be at the same distance.
    second_distances : ndarray of shape (n,) or None
        Dissimilarity of each row to its second nearest medoid.
    silhouettes : ndarray of shape (n,) or None
        Medoid silhouette of each row, ``1 - distances / second_distances``: near 1 for rows that clearly belong to
        their cluster, 0 for rows between two clusters. It is 1 for a row at distance 0 from a medoid.
    """

    labels: NDArray[Any]
    distances: NDArray[Any]
    second_labels: NDArray[Any] | None = None
    second_distances: NDArray[Any] | None = None
    silhouettes: NDArray[np.float64] | None = None

    def to_frame(self) -> Any:
        """Return the attributes that are not None as the columns of a pandas DataFrame, with a line for each row."""
        import pandas as pd  # imported here, because pandas is optional

        columns: dict[str, Any] = {"label": self.labels, "distance": self.distances}
        if self.silhouettes is not None:
            columns |= {"second_label": self.second_labels, "second_distance": self.second_distances}
            columns["silhouette"] = self.silhouettes
        return pd.DataFrame(columns)

    def _columns(self) -> Columns:
        shown: dict[str, NDArray[Any] | None] = {"distance": self.distances, "silhouette": self.silhouettes}
        columns = {"": [f"{name} of {len(self.labels):,} rows" for name, values in shown.items() if values is not None]}
        for heading, share in SHOWN_QUANTILES.items():
            columns[heading] = [f"{np.quantile(values, share):.4g}" for values in shown.values() if values is not None]
        return columns


def assess(distances: Distances, stages: Stages) -> RowAssessment:
    """Return the assessment of rows, given their dissimilarities to the medoids; tile by tile, in one pass."""
    n, count = distances.n_rows, min(2, distances.n_columns)
    labels = [np.empty(n, np.int32) for _ in range(count)]
    values = [np.empty(n, distances.dtype) for _ in range(count)]
    for rows, nearest in nearest_tiles(distances, stages, count):
        for rank, (slots, to_slots) in enumerate(nearest):
            labels[rank][rows], values[rank][rows] = slots, to_slots
    if count == 1:
        return RowAssessment(labels[0], values[0])
    return RowAssessment(labels[0], values[0], labels[1], values[1], medoid_silhouettes(*values))


def medoid_silhouettes(nearest: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return 1 - d1 / d2 for every row, given its distances to the two nearest medoids; 1 if d1 is 0."""
    ratios = np.divide(nearest, second, out=np.zeros(len(nearest)), where=nearest > 0)
    return np.subtract(1, ratios, out=ratios)


def mean_silhouette(assessment: RowAssessment, weights: Weights = None) -> float:
    """Return the average medoid silhouette of rows, by their weights if there are any; NaN if there is one medoid."""
    if weights is not None:
        weights = spread_weights(weights, len(assessment.labels))
    return np.nan if assessment.silhouettes is None else float(np.average(assessment.silhouettes, weights=weights))


def settle(space: Space, medoids: Indices, stages: Stages) -> tuple[Indices, Assignment, float]:
    """Return medoids, moved apart if they are duplicates, with the assignment of all rows and their mean silhouette."""
    assessment = assess(space.distances_from(medoids), stages)
    known = Assignment(assessment.labels, assessment.distances, space.weights)
    spread, assignment = assign(space, medoids, stages, known)
    if not np.array_equal(spread, medoids):
        assessment = assess(space.distances_from(spread), stages)
    return spread, assignment, mean_silhouette(assessment, space.weights)
