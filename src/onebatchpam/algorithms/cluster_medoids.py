"""The medoids of clusters that are known already, such as those of HDBSCAN.

Every row of a cluster is a candidate, unless the user names the candidates, but most are dismissed early. The rows of
the cluster are also the points that candidates are compared with, in random order and in rounds; after a round,
candidates are dismissed whose sum over all points is almost certainly larger than that of the best candidate. The
candidates that remain at the end were compared with every point, so that their sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._parameters import as_array, check_candidates, check_seed, check_verbose
from onebatchpam._progress import Stages
from onebatchpam._show import Columns, PrintedTable
from onebatchpam._tiles import Indices
from onebatchpam.metrics import MetricLike, are_dissimilarities, resolve_metric, resolve_threads
from onebatchpam.search import split_by_label
from onebatchpam.space import Space, choose_candidates, open_space

# The number of points visited is FIRST_POINTS after the first round, and GROWTH times as many after each further one.
FIRST_POINTS = 64
GROWTH = 4
# If the dissimilarity is a metric, the medoid of a cluster is dismissed with at most this probability.
ERROR_PROBABILITY = 1e-6
# Points that are in memory at a time have at most this many numbers, because a cluster may be larger than memory.
MOST_POINT_ENTRIES = 2**23


@dataclass(frozen=True, repr=False)
class ClusterMedoids(PrintedTable):
    """The medoids of a labelling; they print as a table.

    Attributes
    ----------
    labels : ndarray of shape (n_clusters,)
        Label of each cluster, in ascending order; noise is left out.
    indices : ndarray of shape (n_clusters,)
        Row index of the medoid of each cluster.
    inertias : ndarray of shape (n_clusters,)
        Sum of the dissimilarities of each medoid to all rows of its cluster.
    sizes : ndarray of shape (n_clusters,)
        Number of rows in each cluster.
    n_distances : int
        Number of dissimilarities computed, or read if precomputed.
    """

    labels: NDArray[Any]
    indices: NDArray[np.int64]
    inertias: NDArray[np.float64]
    sizes: NDArray[np.int64]
    n_distances: int

    def _columns(self) -> Columns:
        return {
            "label": [str(label) for label in self.labels],
            "medoid": [f"X[{index}]" for index in self.indices],
            "size": [f"{size:,}" for size in self.sizes],
            "inertia": [f"{inertia:.6g}" for inertia in self.inertias],
        }


def medoids_of(
    X: ArrayLike,
    labels: ArrayLike,
    metric: MetricLike = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    candidates: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | np.random.RandomState | None = None,
    verbose: int = 0,
) -> ClusterMedoids:
    """Return the most central row, the medoid, of each cluster of a given labelling.

    The medoid has the smallest sum of dissimilarities to all rows of its cluster. In clusters of more than 256 rows,
    rows are compared with random samples first, and rows that cannot be the medoid are dismissed. If the dissimilarity
    is a metric, the row found is the exact medoid of its cluster with a probability of at least 1 - 1e-6, whatever the
    data; otherwise the same rule is used without this guarantee. The sums are exact in any case. How many rows are
    dismissed depends on the data; if all rows are equally central, none are.

    Parameters
    ----------
    X : array-like of shape (n, n_features), or n strings or objects
        The rows, as in the `fit` of `OneBatchPAM`.
    labels : array-like of shape (n,)
        Cluster of each row, all integers or all strings. Rows with a negative integer, such as the noise of HDBSCAN,
        belong to no cluster.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`. With ``"precomputed"``, X is a square
        matrix whose entry (i, j) is the dissimilarity of row i, as a medoid, to row j.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    candidates : array-like of n booleans or of row indices, or "all", default=None
        Rows that may be medoids, at least one in each cluster; all rows count in the sums. None means rows
        without missing values with ``metric="gower"``, as in the `fit` of `OneBatchPAM`, otherwise ``"all"``.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it. -1 means all processors that the process may use. None
        means the same, unless a `joblib.parallel_config` context or ``OMP_NUM_THREADS`` sets another number; a
        Python function as metric is then called from one thread.
    random_state : int, RandomState or None, default=None
        Seed or generator for the order in which rows are compared. An int gives the same result each time.
    verbose : int or bool, default=0
        With 1 or more, a long run shows a progress bar, or prints a line if the output is not a terminal.

    Returns
    -------
    ClusterMedoids
        With `labels`, `indices`, `inertias`, `sizes` and `n_distances`. Of equally central rows, the first is the
        medoid.

    Examples
    --------
    >>> from onebatchpam import medoids_of
    >>> found = medoids_of([[0.0], [1.0], [2.0], [50.0], [9.0]], [0, 0, 0, -1, 1])
    >>> found.labels, found.indices
    (array([0, 1]), array([1, 4]))
    """
    stages = Stages(check_verbose(verbose, "verbose"))
    rng, n_threads = check_seed(random_state, "random_state"), resolve_threads(n_jobs, metric)
    resolve_metric(metric, metric_params)
    checked_labels = check_labels(labels)
    names, clusters = split_clusters(checked_labels)
    if candidates is not None:
        check_candidates(candidates, None)
    space = open_space(X, metric, metric_params, n_threads)
    check_n_labels(checked_labels, space.n)
    is_candidate = choose_candidates(candidates, space, len(clusters)).marked()
    for name, cluster in zip(names.tolist(), clusters, strict=True):
        if not is_candidate[cluster].any():
            if candidates is not None:
                raise ValueError(f"no candidate has the label {name!r}: expected at least one candidate in each")
            is_candidate[cluster] = True  # a cluster without complete rows has an incomplete medoid
    found = []
    with stages.stage("medoids", total=sum(map(len, clusters))) as bar:
        for cluster in clusters:
            found.append(find_medoid(space, cluster[is_candidate[cluster]], cluster, rng))
            bar.update(len(cluster))
    space.check_scale(max(inertia for _, inertia in found))
    return ClusterMedoids(
        labels=names,
        indices=np.array([index for index, _ in found], dtype=np.int64),
        inertias=np.array([inertia for _, inertia in found], dtype=np.float64),
        sizes=np.array([len(cluster) for cluster in clusters], dtype=np.int64),
        n_distances=space.tally.n_distances,
    )


def check_labels(labels: ArrayLike) -> NDArray[Any]:
    """Return the labels of a number of rows that is not known yet as an array."""
    array = as_array(labels, "labels", "a label for each row of X")
    if array.ndim != 1 or array.size == 0 or array.dtype.kind in "cmMV":
        raise ValueError(
            f"labels has shape {array.shape} and dtype {array.dtype}: expected a label for each row of X, all integers "
            "or all strings"
        )
    if array.dtype == object and all(isinstance(label, Integral) for label in array):
        return as_integers(array)
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~((array == np.round(array)) & (np.abs(array) < 2**63)))
        if len(bad):
            raise ValueError(f"labels[{bad[0]}]={array[bad[0]]}: expected integers or strings")
        return array.astype(np.int64)
    return array


def check_n_labels(labels: NDArray[Any], n: int) -> None:
    """Raise unless there is a label for each of n rows."""
    if len(labels) != n:
        raise ValueError(f"labels has shape {labels.shape}: expected {(n,)}, a label for each row of X")


def as_integers(labels: NDArray[np.object_]) -> NDArray[np.int64]:
    """Return labels that are integers of any size as int64; raise if one does not fit."""
    limits = np.iinfo(np.int64)
    place = next((i for i, label in enumerate(labels) if not limits.min <= label <= limits.max), None)
    if place is not None:
        raise ValueError(f"labels[{place}]={labels[place]}: expected integers that fit in int64, or strings")
    return labels.astype(np.int64)


def split_clusters(labels: NDArray[Any]) -> tuple[NDArray[Any], list[Indices]]:
    """Return the labels that are clusters, and the rows of each in ascending order."""
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"labels cannot be sorted ({error}): expected all integers or all strings") from error
    is_cluster = names >= 0 if names.dtype.kind == "i" else np.ones(len(names), dtype=bool)
    if not is_cluster.any():
        raise ValueError("all labels are negative, which means noise: expected at least one label of a cluster")
    return names[is_cluster], [rows for code, rows in split_by_label(codes) if is_cluster[code]]


def find_medoid(space: Space, candidates: Indices, cluster: Indices, rng: np.random.RandomState) -> tuple[int, float]:
    """Return the candidate with the smallest sum of dissimilarities to all rows of its cluster, and that sum."""
    n = len(cluster)
    points = rng.permutation(cluster)
    sums = np.zeros(len(candidates))  # the sums over the points visited so far
    n_visited = 0
    while n_visited < n:
        n_new = min(n, max(FIRST_POINTS, GROWTH * n_visited)) - n_visited
        best = int(np.argmin(sums))
        comparison = compare(space, candidates, points[n_visited : n_visited + n_new], best)
        # A lead is a lower bound of the sum of a candidate minus the sum of the best, both over all points.
        if n_visited > 0 and n_new < n - n_visited:
            leads = sums - sums[best] + comparison.smallest_excess(n - n_visited, ERROR_PROBABILITY / n_rounds(n))
            leads[best] = 0
        else:
            leads = np.zeros(len(candidates))  # in the first round no best is known; in the last the sums are exact
        candidates, sums = candidates[leads <= 0], (sums + comparison.sums)[leads <= 0]
        n_visited += n_new
    best = int(np.argmin(sums))
    return int(candidates[best]), float(sums[best])


def n_rounds(n: int) -> int:
    """Return the number of rounds in which n points are visited."""
    return 1 + max(0, math.ceil(math.log(n / FIRST_POINTS, GROWTH)))


@dataclass(frozen=True)
class Comparison:
    """Candidates compared with a sample of points.

    `sums` are over these points. The other arrays describe the differences, point by point, between the distances of a
    candidate and those of the best candidate: their means, standard deviations and ranges.
    """

    n_points: int
    sums: NDArray[np.float64]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    ranges: NDArray[np.float64]

    def smallest_excess(self, population: int, error_probability: float) -> NDArray[np.float64]:
        """Return a lower bound of each candidate's sum minus that of the best, both over the whole population.

        The bound is the empirical Bernstein-Serfling inequality of Bardenet and Maillard (Bernoulli 21, 2015) for
        sampling without replacement. `population` is the number of points from which the sample was drawn.
        """
        n, logarithm = self.n_points, math.log(5 / error_probability)
        rest = 1 - (n - 1) / population if 2 * n <= population else (1 - n / population) * (1 + 1 / n)
        margins = self.deviations * math.sqrt(2 * rest * logarithm / n)
        margins += (7 / 3 + 3 / math.sqrt(2)) * self.ranges * logarithm / n
        return population * (self.means - margins)


def compare(space: Space, candidates: Indices, points: Indices, best: int) -> Comparison:
    """Compare the candidates with the points, and the best candidate (given by its position) with all candidates."""
    own = candidates[best : best + 1]
    # By the triangle inequality, the distances of two candidates to a point differ by at most the distance between the
    # candidates; so these differences, which may be positive or negative, range over at most twice that distance.
    ranges = 2 * space.distances_to(own, candidates).column().astype(np.float64)
    smallest, largest = np.full(len(candidates), np.inf), np.full(len(candidates), -np.inf)
    sums, excesses, squares = (np.zeros(len(candidates)) for _ in range(3))
    for part in split_points(points, space.rows.row_size):
        of_best = space.distances_to(part, own).compute()[0].astype(np.float64)
        distances = space.distances_to(part, candidates)
        for rows, tile in distances.each_tile():
            if not are_dissimilarities(tile).all():
                distances.refuse(rows, tile)
            differences = tile - of_best
            sums[rows] += tile.sum(axis=1, dtype=np.float64)
            excesses[rows] += differences.sum(axis=1)
            squares[rows] += np.square(differences).sum(axis=1)
            smallest[rows] = np.minimum(smallest[rows], differences.min(axis=1))
            largest[rows] = np.maximum(largest[rows], differences.max(axis=1))
    means = excesses / len(points)
    deviations = np.sqrt(np.maximum(0, squares / len(points) - means**2))
    return Comparison(len(points), sums, means, deviations, np.maximum(ranges, largest - smallest))


def split_points(points: Indices, row_size: int) -> list[Indices]:
    """Split points into parts that take little memory: a cluster may be larger than that."""
    return np.array_split(points, math.ceil(len(points) * row_size / MOST_POINT_ENTRIES))
