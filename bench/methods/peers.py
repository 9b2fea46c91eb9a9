"""Contestants by the packages of others, called as their documentation says and with their defaults."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import sklearn.cluster
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances

from bench.methods.contestant import Answer, Indices, Problem
from onebatchpam import medoids_of

BANDITPAM_METRICS = {"manhattan": "L1", "euclidean": "L2", "cosine": "cos"}
ROWS_PER_PARTIAL_FIT = 10_000


def solve_onebatch(problem: Problem, n_jobs: int | None = None) -> Answer:
    """Fit the package of the paper's authors; its default batch size is the paper's."""
    import onebatch

    model = onebatch.OneBatchPAM(problem.k, distance=problem.metric, random_state=problem.seed, n_jobs=n_jobs)
    return Answer(np.asarray(model.fit(problem.X).medoid_indices_, dtype=np.int64))


def solve_kmedoids(problem: Problem) -> Answer:
    """Run FasterPAM of the package kmedoids, from a start of its own, on distances that one thread computes."""
    return _run_kmedoids(problem, 1, medoids=problem.k, random_state=problem.seed)


def solve_kmedoids_from_start(problem: Problem) -> Answer:
    """Run FasterPAM of the package kmedoids from the common start, with all threads for the distances as well."""
    return _run_kmedoids(problem, problem.threads, medoids=problem.draw_start().astype(np.uint64))


def _run_kmedoids(problem: Problem, distance_threads: int, **start: Any) -> Answer:
    import kmedoids

    began = time.perf_counter()
    matrix = problem.X
    if problem.metric != "precomputed":
        matrix = pairwise_distances(problem.X, metric=problem.metric, n_jobs=distance_threads)
    between = time.perf_counter()
    found = kmedoids.fasterpam(matrix, n_cpu=problem.threads, **start)
    stages = {"distances": between - began, "swap search": time.perf_counter() - between}
    return Answer(found.medoids.astype(np.int64), stages, problem.n**2)


def solve_banditpam(problem: Problem, **parameters: Any) -> Answer:
    """Fit BanditPAM++ of its authors; it counts dissimilarities that it finds in its cache, which are subtracted."""
    import banditpam

    banditpam.set_num_threads(problem.threads)
    model = banditpam.KMedoids(n_medoids=problem.k, algorithm="BanditPAM", **parameters)
    model.seed = problem.seed
    model.fit(problem.X, BANDITPAM_METRICS[problem.metric])
    n_distances = model.getDistanceComputations(True) - model.cache_hits
    return Answer(np.asarray(model.medoids, dtype=np.int64).ravel(), n_distances=n_distances)


def solve_sklearn_extra(problem: Problem) -> Answer:
    """Fit KMedoids of scikit-learn-extra with its default, the alternating method."""
    from sklearn_extra.cluster import KMedoids

    model = KMedoids(problem.k, metric=problem.metric, random_state=problem.seed).fit(problem.X)
    return Answer(np.asarray(model.medoid_indices_, dtype=np.int64))


def solve_clara(problem: Problem) -> Answer:
    """Fit CLARA of scikit-learn-extra with its defaults."""
    from sklearn_extra.cluster import CLARA

    model = CLARA(problem.k, metric=problem.metric, random_state=problem.seed).fit(problem.X)
    return Answer(np.asarray(model.medoid_indices_, dtype=np.int64))


def solve_agglomerative(problem: Problem) -> Answer:
    """Cluster by average linkage with scikit-learn, and take the medoid of each cluster."""
    model = sklearn.cluster.AgglomerativeClustering(problem.k, metric=problem.metric, linkage="average")
    labels = model.fit_predict(problem.X)
    return Answer(medoids_of(problem.X, labels, metric=problem.metric, random_state=problem.seed).indices)


def solve_apricot(problem: Problem) -> Answer:
    """Maximise facility location with apricot, on similarities made of the same distances as ours.

    By itself apricot would square Euclidean distances, and so optimise another sum than the one that is compared.
    """
    import apricot

    similarities = pairwise_distances(problem.X, metric=problem.metric, n_jobs=problem.threads)
    np.subtract(similarities.max(), similarities, out=similarities)
    selector = apricot.FacilityLocationSelection(problem.k, metric="precomputed", optimizer="lazy")
    return Answer(np.asarray(selector.fit(similarities).ranking, dtype=np.int64))


def solve_k_means(class_name: str, problem: Problem) -> Answer:
    """Fit k-means of scikit-learn, which is Euclidean, and move its centres to distinct rows."""
    model = getattr(sklearn.cluster, class_name)(problem.k, random_state=problem.seed).fit(problem.X)
    return Answer(snap(problem.X, model.cluster_centers_))


def solve_faiss(problem: Problem) -> Answer:
    """Train k-means of faiss with its defaults, on 256 rows for each centre, and move its centres to distinct rows."""
    import faiss

    faiss.omp_set_num_threads(problem.threads)
    model = faiss.Kmeans(problem.X.shape[1], problem.k, seed=problem.seed + 1)  # 0 would stand for its default seed
    model.train(np.ascontiguousarray(problem.X, np.float32))
    return Answer(snap(problem.X, np.asarray(model.centroids)))


def snap(X: NDArray[Any], centres: NDArray[Any]) -> Indices:
    """Return for each centre in turn the nearest row that differs from the rows chosen before."""
    centres = centres.astype(X.dtype)
    chosen: list[int] = []
    for centre, nearest in zip(centres, pairwise_distances_argmin(centres, X), strict=True):
        if (X[chosen] == X[nearest]).all(axis=1).any():
            nearest = find_other(X, centre, chosen)
        chosen.append(int(nearest))
    return np.array(chosen)


def find_other(X: NDArray[Any], centre: NDArray[Any], chosen: list[int]) -> int:
    """Return the row nearest to a centre that differs from the chosen rows; any row if there is none."""
    distances = euclidean_distances(X, centre[None])[:, 0]
    nearest = int(distances.argmin())
    while (X[chosen] == X[nearest]).all(axis=1).any() and np.isfinite(distances[nearest]):
        distances[nearest] = np.inf
        nearest = int(distances.argmin())
    return nearest


def solve_k_means_in_one_pass(problem: Problem) -> Answer:
    """Show all rows once to MiniBatchKMeans, and take the row nearest to each centre.

    Its `fit` draws every batch by weights, which takes time proportional to the number of all rows: for ten million
    rows it does not end within minutes.
    """
    model = sklearn.cluster.MiniBatchKMeans(problem.k, random_state=problem.seed)
    for first in range(0, problem.n, ROWS_PER_PARTIAL_FIT):
        model.partial_fit(problem.X[first : first + ROWS_PER_PARTIAL_FIT])
    return Answer(pairwise_distances_argmin(model.cluster_centers_, problem.X).astype(np.int64))
