"""Who is compared: the rows of the paper's Table 2, our own defaults, and the packages that a user could install.

To add a method, add one line to the table at the end. What a line needs is imported when it runs, so that a package
that is not installed costs its own rows only.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """What a contestant is given."""

    X: NDArray[Any]
    k: int
    metric: str
    seed: int
    threads: int

    @property
    def paper_batch_size(self) -> int:
        """Return the paper's m."""
        n = len(self.X)
        return min(n, int(100 * math.log(self.k * n)))


@dataclass(frozen=True)
class Answer:
    """What a contestant returns; the objective is not its business."""

    medoids: Indices
    stages: dict[str, float] = field(default_factory=dict)
    n_distances: int | None = None


@dataclass(frozen=True)
class Contestant:
    """A way to choose medoids."""

    name: str
    solve: Callable[[Problem], Answer]
    kind: str  # "paper": a row of its tables, "ours", or "peer"
    package: str = "onebatchpam"
    metrics: tuple[str, ...] | None = None  # those that it can take; None for all
    paper_row: str | None = None  # the row of the paper's tables to be shown beside
    matrix_bytes: int = 0  # per entry of an n x n matrix, for those that hold one

    def memory_needed(self, problem: Problem) -> int:
        """Return about how much memory it uses: the data, and a matrix or three times a float32 block."""
        n = len(problem.X)
        return problem.X.nbytes + n * (self.matrix_bytes * n or 3 * 4 * problem.paper_batch_size)

    def why_unavailable(self) -> str | None:
        """Say which package is missing, if one is."""
        if importlib.util.find_spec(self.package) is None:
            return f"the package {self.package} is not installed"
        return None


# Ours


def estimator(name: str, **parameters: Any) -> Callable[[Problem], Answer]:
    """Return a contestant's `solve`: fit an estimator of this package. A parameter may be a function of the problem."""

    def solve(problem: Problem) -> Answer:
        kind = getattr(importlib.import_module("onebatchpam"), name, None)
        if kind is None:
            raise ImportError(f"this version of onebatchpam has no {name}")
        given = {key: value(problem) if callable(value) else value for key, value in parameters.items()}
        if "n_jobs" in inspect.signature(kind).parameters:
            given["n_jobs"] = problem.threads
        model = kind(problem.k, metric=problem.metric, random_state=problem.seed, **given).fit(problem.X)
        return Answer(model.medoid_indices_, model.fit_seconds_, model.n_distances_)

    return solve


def clara_size(problem: Problem) -> int:
    """Return the paper's sample size of FasterCLARA."""
    return min(len(problem.X), 80 + 4 * problem.k)


def times_m(factor: float) -> Callable[[Problem], int]:
    """Return a batch size relative to the paper's."""
    return lambda problem: max(problem.k, min(len(problem.X), int(factor * problem.paper_batch_size)))


def times_k(points_per_medoid: int) -> Callable[[Problem], int]:
    """Return a batch size relative to the number of medoids."""
    return lambda problem: min(len(problem.X), points_per_medoid * problem.k)


def paper_onebatch(variant: str) -> Callable[[Problem], Answer]:
    """Return OneBatchPAM as in the paper, whatever our defaults are."""

    def solve(problem: Problem) -> Answer:
        settings = {"variant": variant, "batch_size": problem.paper_batch_size, "init": "random", "max_iter": 100}
        return estimator("OneBatchPAM", tol=1e-6, refine=0, **settings)(problem)

    return solve


def solve_lwcs_as_published(problem: Problem) -> Answer:
    """OneBatchPAM-lwcs as the published experiments weight it: by the probability q of a row instead of 1/q."""
    from onebatchpam import distance_block, swap_search

    X, rng = problem.X, np.random.RandomState(problem.seed)
    n, m = len(X), problem.paper_batch_size
    mean = X.mean(axis=0, dtype=np.float64, keepdims=True).astype(X.dtype)
    far = distance_block(X, mean, problem.metric, n_jobs=problem.threads)[:, 0].astype(np.float64)
    q = 0.5 / n + 0.5 * far / far.sum()
    batch = rng.choice(n, size=m, replace=False, p=q / q.sum())
    block = distance_block(X, X[batch], problem.metric, n_jobs=problem.threads)
    block[batch, np.arange(m)] = block.max()
    found = swap_search(
        block,
        problem.k,
        weights=q[batch] / q[batch].mean(),
        n_jobs=problem.threads,
        random_state=rng,
    )
    return Answer(found.medoids, n_distances=n * (m + 1))


# The packages of others, called as their documentation says and with their defaults


def solve_onebatch(problem: Problem) -> Answer:
    """Fit the authors' package; its batch size is the paper's."""
    import onebatch

    model = onebatch.OneBatchPAM(problem.k, distance=problem.metric, random_state=problem.seed).fit(problem.X)
    return Answer(np.asarray(model.medoid_indices_, dtype=np.int64))


def solve_kmedoids(problem: Problem) -> Answer:
    """Compute the matrix with scikit-learn, then FasterPAM of the package kmedoids."""
    import kmedoids
    from sklearn.metrics import pairwise_distances

    matrix = pairwise_distances(problem.X, metric=problem.metric)
    found = kmedoids.fasterpam(matrix, problem.k, random_state=problem.seed, n_cpu=problem.threads)
    return Answer(np.asarray(found.medoids, dtype=np.int64), n_distances=len(problem.X) ** 2)


BANDITPAM_METRICS = {"manhattan": "L1", "euclidean": "L2", "cosine": "cos"}


def solve_banditpam(problem: Problem) -> Answer:
    """Fit the official BanditPAM."""
    import banditpam

    banditpam.set_num_threads(problem.threads)
    model = banditpam.KMedoids(n_medoids=problem.k, algorithm="BanditPAM")
    model.seed = problem.seed
    model.fit(problem.X, BANDITPAM_METRICS[problem.metric])
    return Answer(np.asarray(model.medoids, dtype=np.int64).ravel(), n_distances=model.getDistanceComputations(True))


def k_means(name: str) -> Callable[[Problem], Answer]:
    """Return k-means of scikit-learn, its centres moved to the nearest rows."""

    def solve(problem: Problem) -> Answer:
        import sklearn.cluster

        model = getattr(sklearn.cluster, name)(problem.k, random_state=problem.seed).fit(problem.X)
        return Answer(snap(problem.X, model.cluster_centers_))

    return solve


def snap(X: NDArray[Any], centres: NDArray[Any]) -> Indices:
    """Return for each centre, in their order, the nearest row that is unlike those before."""
    from sklearn.metrics.pairwise import euclidean_distances

    chosen: list[int] = []
    for centre in centres:
        distances = euclidean_distances(X, centre[None].astype(X.dtype))[:, 0]
        nearest = int(distances.argmin())
        while (X[chosen] == X[nearest]).all(axis=1).any() and np.isfinite(distances[nearest]):
            distances[nearest] = np.inf
            nearest = int(distances.argmin())
        chosen.append(nearest)
    return np.array(chosen)


def _table(*contestants: Contestant) -> dict[str, Contestant]:
    return {each.name: each for each in contestants}


def _paper(name: str, solve: Callable[[Problem], Answer], **options: Any) -> Contestant:
    return Contestant(name, solve, "paper", paper_row=options.pop("paper_row", name), **options)


def _onebatch(name: str, **parameters: Any) -> Contestant:
    return Contestant(name, estimator("OneBatchPAM", **parameters), "ours")


def _peer(name: str, solve: Callable[[Problem], Answer], package: str, *metrics: str, **options: Any) -> Contestant:
    return Contestant(name, solve, "peer", package, metrics or None, **options)


AS_PUBLISHED = "OneBatchPAM-lwcs (as published)"
CONTESTANTS = _table(
    _paper("Random", estimator("RandomMedoids")),
    _paper("FasterPAM", estimator("FasterPAM", init="random", max_iter=100), matrix_bytes=4),
    _paper("Alternate", estimator("Alternate", init="random", max_iter=100)),
    _paper("FasterCLARA-5", estimator("FasterCLARA", n_samplings=5, sample_size=clara_size)),
    _paper("FasterCLARA-50", estimator("FasterCLARA", n_samplings=50, sample_size=clara_size)),
    _paper("kmc2-20", estimator("KMC2", chain_length=20)),
    _paper("kmc2-100", estimator("KMC2", chain_length=100)),
    _paper("kmc2-200", estimator("KMC2", chain_length=200)),
    _paper("k-means++", estimator("KMeansPlusPlus")),
    _paper("LS-k-means++-5", estimator("LSKMeansPlusPlus", n_swaps=5)),
    _paper("LS-k-means++-10", estimator("LSKMeansPlusPlus", n_swaps=10)),
    _paper("BanditPAM++-0", estimator("BanditPAM", max_iter=0), package="banditpam", metrics=tuple(BANDITPAM_METRICS)),
    _paper("BanditPAM++-2", estimator("BanditPAM", max_iter=2), package="banditpam", metrics=tuple(BANDITPAM_METRICS)),
    _paper("BanditPAM++-5", estimator("BanditPAM", max_iter=5), package="banditpam", metrics=tuple(BANDITPAM_METRICS)),
    _paper("OneBatchPAM-lwcs", paper_onebatch("lwcs")),
    _paper(AS_PUBLISHED, solve_lwcs_as_published, paper_row="OneBatchPAM-lwcs"),
    _paper("OneBatchPAM-unif", paper_onebatch("unif")),
    _paper("OneBatchPAM-debias", paper_onebatch("debias")),
    _paper("OneBatchPAM-nniw", paper_onebatch("nniw")),
    _onebatch("OneBatchPAM (default)"),
    _onebatch("OneBatchPAM, 3 starts", n_init=3),
    *(
        _onebatch(f"OneBatchPAM, {m} points, {n} starts", batch_size=m, n_init=n)
        for m, n in ((3000, 3), (4000, 2), (4000, 3))
    ),
    _onebatch("progressive", refine=0),
    _onebatch("progressive, 1 round", refine=1),
    *(_onebatch(f"{variant}, refined", variant=variant) for variant in ("unif", "debias", "nniw")),
    *(_onebatch(f"nniw, {x:g} m", variant="nniw", refine=0, batch_size=times_m(x)) for x in (0.25, 0.5, 2, 4)),
    *(_onebatch(f"refined, {x:g} m", batch_size=times_m(x)) for x in (0.25, 0.5, 2, 4)),
    *(_onebatch(f"refined, {c} k", batch_size=times_k(c)) for c in (5, 10, 20, 40)),
    _peer("onebatch", solve_onebatch, "onebatch"),
    _peer("kmedoids FasterPAM", solve_kmedoids, "kmedoids", matrix_bytes=8),
    _peer("banditpam", solve_banditpam, "banditpam", *BANDITPAM_METRICS),
    _peer("KMeans, snapped", k_means("KMeans"), "sklearn", "euclidean"),
    _peer("MiniBatchKMeans, snapped", k_means("MiniBatchKMeans"), "sklearn", "euclidean"),
)


def check_method(name: str, metric: str) -> Contestant:
    """Return the contestant of this name, which must take the metric."""
    if name not in CONTESTANTS:
        raise ValueError(f"there is no method {name!r}: expected one of {', '.join(CONTESTANTS)}")
    contestant = CONTESTANTS[name]
    if contestant.metrics is not None and metric not in contestant.metrics:
        raise ValueError(f"{name} takes the metrics {', '.join(contestant.metrics)}, not {metric!r}")
    return contestant
