"""What happened in a fit, as a text for people and as a dictionary for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onebatchpam._show import Items, Listing, show_share
from onebatchpam.metrics import name_metric

MOST_SIZES = 20  # the sizes of more clusters than this are shown by their smallest, median and largest


@dataclass(frozen=True, repr=False)
class FitSummary(Listing):
    """What happened in a fit, the result of `summary()`; it prints as a list.

    Attributes
    ----------
    estimator : str
        Name of the class of the estimator.
    metric : str
        Dissimilarity; the name of the function if it is one.
    n_samples : int
        Number of rows.
    n_clusters : int
        Number of medoids.
    n_candidates : int
        Number of rows that could become medoids.
    batch_size : int or None
        Number of batch points; None if the algorithm has no batch.
    block_storage : {"whole", "reduced", "recomputed"} or None
        How much of the block of dissimilarities was kept; None if the algorithm does not say.
    n_distances : int
        Number of dissimilarities computed.
    share_of_all_pairs : float
        Dissimilarities computed as a fraction of the n² that PAM computes.
    n_iter : int
        Number of passes over all candidates.
    n_swaps : int
        Number of swaps.
    n_refine_rounds : int or None
        Number of rounds of refinement; None if the algorithm has none.
    inertia : float
        Objective: the weighted sum over all rows of the dissimilarity to the nearest medoid.
    mean_distance : float
        Objective divided by the total weight of the rows.
    silhouette : float or None
        Average medoid silhouette; None unless it was asked for, and if there is a single medoid.
    cluster_sizes : list
        Number of rows, or their weight, in each cluster.
    seconds : dict
        Seconds taken by each stage.
    """

    estimator: str
    metric: str
    n_samples: int
    n_clusters: int
    n_candidates: int
    batch_size: int | None
    block_storage: str | None
    n_distances: int
    share_of_all_pairs: float
    n_iter: int
    n_swaps: int
    n_refine_rounds: int | None
    inertia: float
    mean_distance: float
    silhouette: float | None
    cluster_sizes: list[float]
    seconds: dict[str, float]

    @classmethod
    def of(cls, model: Any, silhouette: float | None) -> FitSummary:
        """Return the summary of a fitted model."""
        n, batch = int(model.labels_.shape[0]), getattr(model, "batch_indices_", None)
        return cls(
            estimator=type(model).__name__,
            metric=name_metric(model.metric),
            n_samples=n,
            n_clusters=len(model.medoid_indices_),
            n_candidates=int(model.n_candidates_),
            batch_size=None if batch is None else len(batch),
            block_storage=getattr(model, "block_storage_", None),
            n_distances=int(model.n_distances_),
            share_of_all_pairs=model.n_distances_ / n**2,
            n_iter=int(model.n_iter_),
            n_swaps=int(model.n_swaps_),
            n_refine_rounds=getattr(model, "n_refine_rounds_", None),
            inertia=float(model.inertia_),
            mean_distance=float(model.inertia_ / model.cluster_sizes_.sum()),
            silhouette=silhouette,
            cluster_sizes=model.cluster_sizes_.tolist(),
            seconds=dict(model.fit_seconds_),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of numbers, texts, lists and dictionaries, ready for JSON."""
        return asdict(self)

    def _items(self) -> Items:
        n = self.n_samples
        items = [("algorithm", f"{self.estimator}, metric {self.metric}"), ("rows n", f"{n:,}")]
        if self.n_candidates < n:
            items.append(("candidates", f"{self.n_candidates:,} rows may become medoids"))
        items.append(("medoids k", f"{self.n_clusters:,}"))
        if self.batch_size is not None:
            items.append(("batch points m", f"{self.batch_size:,}"))
        share = show_share(self.share_of_all_pairs)
        items.append(("distances", f"{self.n_distances:,} computed, {share} of the {n**2:,} of PAM"))
        if self.block_storage is not None:
            items.append(("block", STORAGES[self.block_storage]))
        refined = "" if self.n_refine_rounds is None else f", {self.n_refine_rounds} rounds of refinement"
        items.append(("swaps", f"{self.n_swaps:,} in {self.n_iter} passes{refined}"))
        items.append(("objective", f"{self.inertia:,.6g} in sum, {self.mean_distance:.6g} per row"))
        if self.silhouette is not None:
            items.append(("silhouette", f"{self.silhouette:.4f}"))
        items.append(("cluster sizes", self._show_sizes()))
        items.append(("seconds", f"{sum(self.seconds.values()):.3f}"))
        return items + [(f"  {name}", f"{seconds:8.3f} s") for name, seconds in self.seconds.items()]

    def _show_sizes(self) -> str:
        if self.n_clusters <= MOST_SIZES:
            return ", ".join(f"{size:g}" for size in self.cluster_sizes)
        smallest, median, largest = np.quantile(self.cluster_sizes, [0, 0.5, 1])
        return f"from {smallest:,g} to {largest:,g}, median {median:,g}"


STORAGES = {
    "whole": "kept whole in memory",
    "reduced": "reduced to the entries that matter",
    "recomputed": "not kept, computed again in each pass",
}
