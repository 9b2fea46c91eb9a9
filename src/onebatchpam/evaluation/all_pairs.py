"""How compact and how well separated clusters are, by all pairs of rows: what R prints for `pam` and `silhouette`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._parameters import check_verbose
from onebatchpam._progress import Stages
from onebatchpam._show import Columns, PrintedTable
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import check_labels, check_n_labels, split_clusters, split_points
from onebatchpam.metrics import MetricLike, are_dissimilarities, resolve_metric, resolve_threads
from onebatchpam.space import Space, open_space

MOST_LINES = 20  # the printed table has no more clusters than this; the attributes and `to_frame` have all


@dataclass(frozen=True, repr=False)
class ClusterStatistics(PrintedTable):
    """How compact and how well separated clusters are, the result of `cluster_statistics`; it prints as a table.

    Attributes
    ----------
    labels : ndarray of shape (k,)
        Label of each cluster, in ascending order; noise is left out.
    sizes : ndarray of shape (k,)
        Number of rows in each cluster.
    diameters : ndarray of shape (k,)
        Largest dissimilarity between two rows of each cluster; 0 for a single row.
    separations : ndarray of shape (k,)
        Smallest dissimilarity between a row of each cluster and a row of another; NaN if there is no other.
    isolations : ndarray of shape (k,)
        ``"L*"`` if the diameter is smaller than the separation; ``"L"`` if that is not so, but every row is nearer to
        all rows of its cluster than to any other row; otherwise, and for a single row, ``"no"``.
    mean_silhouettes : ndarray of shape (k,)
        Average silhouette of the rows of each cluster.
    silhouettes : ndarray of shape (n,)
        Silhouette of each row, ``(b - a) / max(a, b)``: a is its mean dissimilarity to the other rows of its cluster, b
        that to the rows of the neighbour cluster. It is 0 for the only row of a cluster, and NaN for noise and if there
        is no other cluster.
    neighbours : ndarray of shape (n,)
        Neighbour cluster of each row, the other cluster with the smallest mean dissimilarity, as a position in
        `labels`; -1 for noise and if there is no other cluster.
    """

    labels: NDArray[Any]
    sizes: NDArray[np.int64]
    diameters: NDArray[np.float64]
    separations: NDArray[np.float64]
    isolations: NDArray[np.str_]
    mean_silhouettes: NDArray[np.float64]
    silhouettes: NDArray[np.float64]
    neighbours: NDArray[np.int64]

    @property
    def silhouette(self) -> float:
        """The average silhouette of all rows that belong to a cluster."""
        return float(self.sizes @ self.mean_silhouettes / self.sizes.sum())

    def to_frame(self) -> Any:
        """Return the table of clusters as a pandas DataFrame, with their labels as its index."""
        import pandas as pd  # imported here, because pandas is optional

        columns = {
            "size": self.sizes,
            "diameter": self.diameters,
            "separation": self.separations,
            "isolation": self.isolations,
            "silhouette": self.mean_silhouettes,
        }
        return pd.DataFrame(columns, index=pd.Index(self.labels, name="cluster"))

    def _columns(self) -> Columns:
        shown = slice(0, MOST_LINES)
        return {
            "cluster": [str(label) for label in self.labels[shown]],
            "size": [f"{size:,}" for size in self.sizes[shown]],
            "diameter": [f"{diameter:.4g}" for diameter in self.diameters[shown]],
            "separation": [f"{separation:.4g}" for separation in self.separations[shown]],
            "isolation": self.isolations[shown].tolist(),
            "silhouette": [f"{silhouette:.4f}" for silhouette in self.mean_silhouettes[shown]],
        }

    def _note(self) -> str:
        n_more = len(self.labels) - MOST_LINES
        return f"and {n_more:,} more clusters" if n_more > 0 else ""


def cluster_statistics(
    X: ArrayLike,
    labels: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ClusterStatistics:
    """Return diameter, separation, isolation and silhouette of clusters, and silhouette and neighbour of each row.

    This compares all pairs of rows, n² dissimilarities, in tiles that need little memory. The medoid silhouette of
    `assess_rows` and `medoid_silhouette` takes only n k. R prints the same numbers for `pam`, `clara` and `silhouette`.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        The rows, as in the `fit` of `OneBatchPAM`.
    labels : array-like of shape (n,)
        Cluster of each row, all integers or all strings, such as `labels_` of a model. Rows with a negative integer,
        such as the noise of HDBSCAN, belong to no cluster and are left out.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`. If it is not symmetric, the row whose
        silhouette is computed is the second argument.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    verbose : int or bool, default=0
        With 1 or more, a long run shows a progress bar, or prints a line if the output is not a terminal.

    Returns
    -------
    ClusterStatistics
        With `labels`, `sizes`, `diameters`, `separations`, `isolations`, `mean_silhouettes`, `silhouettes`,
        `neighbours`, `silhouette` and `to_frame()`.

    References
    ----------
    Kaufman, Rousseeuw: Finding Groups in Data, 1990, chapters 2 and 3.

    Examples
    --------
    >>> from onebatchpam import cluster_statistics
    >>> cluster_statistics([[0.0], [1.0], [2.0], [8.0], [9.0]], [0, 0, 0, 1, 1])
    cluster  size  diameter  separation  isolation  silhouette
          0     3         2           6         L*      0.8198
          1     2         1           6         L*      0.8661
    """
    stages = Stages(check_verbose(verbose, "verbose"))
    n_threads = resolve_threads(n_jobs, metric)
    resolve_metric(metric, metric_params)
    checked_labels = check_labels(labels)
    names, clusters = split_clusters(checked_labels)
    space = open_space(X, metric, metric_params, n_threads)
    check_n_labels(checked_labels, space.n)
    codes = np.full(space.n, -1)
    for code, cluster in enumerate(clusters):
        codes[cluster] = code
    pairs = compare_clusters(space, codes, clusters, stages)
    sizes = np.array([len(cluster) for cluster in clusters])
    diameters = np.array([pairs.farthest[cluster].max() for cluster in clusters])
    space.check_scale(diameters.max())
    separations = np.array([pairs.nearest_other[cluster].min() for cluster in clusters])
    is_nearer = pairs.farthest < pairs.nearest_other
    are_nearer = np.array([is_nearer[cluster].all() for cluster in clusters])
    silhouettes = pairs.silhouettes()
    return ClusterStatistics(
        labels=names,
        sizes=sizes,
        diameters=diameters,
        separations=np.where(np.isinf(separations), np.nan, separations),
        isolations=np.select(
            [(sizes == 1) | np.isinf(separations), diameters < separations, are_nearer], ["no", "L*", "L"], "no"
        ),
        mean_silhouettes=np.array([silhouettes[cluster].mean() for cluster in clusters]),
        silhouettes=silhouettes,
        neighbours=pairs.neighbours,
    )


@dataclass(frozen=True)
class Pairs:
    """Means and extremes of the dissimilarities of each row to all others; those of noise mean nothing."""

    within: NDArray[np.float64]  # mean to the other rows of its cluster; NaN for the only row of a cluster
    farthest: NDArray[np.float64]  # largest to a row of its cluster
    nearest_other: NDArray[np.float64]  # smallest to a row of another cluster; infinite if there is none
    between: NDArray[np.float64]  # mean to the rows of the neighbour cluster; infinite if there is none
    neighbours: NDArray[np.int64]  # the neighbour cluster, or -1

    def silhouettes(self) -> NDArray[np.float64]:
        """Return the silhouette of each row."""
        larger = np.maximum(self.within, self.between)
        # It is 0 for the only row of a cluster, and for a row at distance 0 from all rows of both clusters.
        is_defined = (larger > 0) & np.isfinite(larger)
        known = np.divide(self.between - self.within, larger, out=np.zeros(len(larger)), where=is_defined)
        return np.where(self.neighbours < 0, np.nan, known)


def compare_clusters(space: Space, codes: NDArray[np.int64], clusters: list[Indices], stages: Stages) -> Pairs:
    """Compare all rows that have a code with all rows of each cluster, one cluster after the other."""
    within, farthest = np.full(space.n, np.nan), np.zeros(space.n)
    nearest_other, between = np.full(space.n, np.inf), np.full(space.n, np.inf)
    neighbours = np.full(space.n, -1)
    with stages.stage("pairs", total=len(clusters)) as bar:
        for code, cluster in enumerate(clusters):
            sums, smallest, largest = compare_with(space, cluster)
            is_own = codes == code
            if len(cluster) > 1:
                within[is_own] = sums[is_own] / (len(cluster) - 1)
            farthest[is_own] = largest[is_own]
            means = sums / len(cluster)
            is_nearest = (codes >= 0) & ~is_own & (means < between)
            between[is_nearest], neighbours[is_nearest] = means[is_nearest], code
            nearest_other[~is_own] = np.minimum(nearest_other, smallest)[~is_own]
            bar.update(1)
    return Pairs(within, farthest, nearest_other, between, neighbours)


def compare_with(space: Space, cluster: Indices) -> tuple[NDArray[np.float64], ...]:
    """Return the sum, the smallest and the largest dissimilarity of each row to the rows of a cluster.

    The dissimilarity of a row to itself counts as 0.
    """
    sums, smallest, largest = np.zeros(space.n), np.full(space.n, np.inf), np.zeros(space.n)
    for points in split_points(cluster, space.rows.row_size):
        distances = space.distances_from(points)
        for rows, tile in distances.each_tile():
            own = np.flatnonzero((points >= rows.start) & (points < rows.stop))
            tile[points[own] - rows.start, own] = 0
            if not are_dissimilarities(tile).all():
                distances.refuse(rows, tile)
            sums[rows] += tile.sum(axis=1, dtype=np.float64)
            smallest[rows] = np.minimum(smallest[rows], tile.min(axis=1))
            largest[rows] = np.maximum(largest[rows], tile.max(axis=1))
    return sums, smallest, largest
