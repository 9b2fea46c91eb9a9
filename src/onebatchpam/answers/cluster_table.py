"""The clusters of a fitted model as a small table, the largest cluster first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._show import Columns, PrintedTable, show_size

MOST_LINES = 20  # the printed table has no more clusters than this; the attributes and `to_frame` have all


@dataclass(frozen=True, repr=False)
class ClusterTable(PrintedTable):
    """The clusters of a fitted model, the largest first; it prints as a table.

    Attributes
    ----------
    labels : ndarray of shape (k,)
        Label of each cluster, as in `labels_`.
    medoid_indices : ndarray of shape (k,)
        Row index of the medoid of each cluster.
    sizes : ndarray of shape (k,)
        Number of rows in each cluster, or their total weight if the model was fitted with `sample_weight`.
    shares : ndarray of shape (k,)
        Sizes as fractions of the whole.
    mean_distances : ndarray of shape (k,)
        Mean dissimilarity of the rows of each cluster to their medoid, by their weights if there are any.
    max_distances : ndarray of shape (k,)
        Largest dissimilarity of a row of each cluster to its medoid.
    """

    labels: NDArray[np.int64]
    medoid_indices: NDArray[np.int64]
    sizes: NDArray[Any]
    shares: NDArray[np.float64]
    mean_distances: NDArray[np.float64]
    max_distances: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any) -> ClusterTable:
        """Return the table of a fitted model."""
        order = np.argsort(-model.cluster_sizes_, kind="stable")
        return cls(
            order,
            model.medoid_indices_[order],
            model.cluster_sizes_[order],
            model.cluster_sizes_[order] / model.cluster_sizes_.sum(),
            model.mean_distances_[order],
            model.max_distances_[order],
        )

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, with the labels of the clusters as its index."""
        import pandas as pd  # imported here, because pandas is optional

        columns = {
            "medoid": self.medoid_indices,
            "size": self.sizes,
            "share": self.shares,
            "mean_distance": self.mean_distances,
            "max_distance": self.max_distances,
        }
        return pd.DataFrame(columns, index=pd.Index(self.labels, name="cluster"))

    def _columns(self) -> Columns:
        shown = slice(0, MOST_LINES)
        return {
            "cluster": [str(label) for label in self.labels[shown]],
            "medoid": [f"X[{index}]" for index in self.medoid_indices[shown]],
            "size": [show_size(size) for size in self.sizes[shown]],
            "share": [f"{share:.1%}" for share in self.shares[shown]],
            "mean distance": [f"{distance:.4g}" for distance in self.mean_distances[shown]],
            "max distance": [f"{distance:.4g}" for distance in self.max_distances[shown]],
        }

    def _note(self) -> str:
        n_more = len(self.labels) - MOST_LINES
        return f"and {n_more:,} smaller clusters" if n_more > 0 else ""
