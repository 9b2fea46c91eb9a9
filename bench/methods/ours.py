"""Contestants by this package: its estimators, and LWCS as the authors of the paper weight it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import onebatchpam
from bench.methods.contestant import Answer, Problem, Solve

FACTS = ("block_storage", "n_iter", "n_swaps")  # attributes of fitted estimators that records may show


def solve_by(class_name: str, **parameters: Any) -> Solve:
    """Return a `solve` that fits an estimator of this package; a parameter may be a function of the problem."""
    return partial(_fit, class_name, parameters)


def _fit(class_name: str, parameters: dict[str, Any], problem: Problem) -> Answer:
    given = {name: value(problem) if callable(value) else value for name, value in parameters.items()}
    estimator = getattr(onebatchpam, class_name)(
        problem.k, metric=problem.metric, random_state=problem.seed, n_jobs=problem.threads, **given
    )
    model = estimator.fit(problem.X)
    facts = {name: getattr(model, f"{name}_") for name in FACTS if hasattr(model, f"{name}_")}
    if hasattr(model, "batch_indices_"):
        facts["m"] = len(model.batch_indices_)
    return Answer(model.medoid_indices_, model.fit_seconds_, int(model.n_distances_), facts)


def choose_clara_size(problem: Problem) -> int:
    """Return the paper's sample size for FasterCLARA."""
    return min(problem.n, 80 + 4 * problem.k)


def choose_partial_batch(problem: Problem) -> int:
    """Return the size of our default's batch where that is not all rows."""
    return max(problem.paper_batch_size(), multiply_k(10, problem))


def multiply_paper_batch(factor: float, problem: Problem) -> int:
    """Return a batch size relative to the paper's."""
    return max(problem.k, min(problem.n, int(factor * problem.paper_batch_size())))


def multiply_k(points_per_medoid: int, problem: Problem) -> int:
    """Return a batch size relative to the number of medoids."""
    return min(problem.n, points_per_medoid * problem.k)


def solve_lwcs_as_published(problem: Problem) -> Answer:
    """Run OneBatchPAM-lwcs with the weights of the published experiments: the probability q of a row, not 1/q."""
    X, rng = problem.X, np.random.RandomState(problem.seed)
    n, m = problem.n, problem.paper_batch_size()
    mean = X.mean(axis=0, dtype=np.float64, keepdims=True).astype(X.dtype)
    far = onebatchpam.distance_block(X, mean, problem.metric, n_jobs=problem.threads)[:, 0].astype(np.float64)
    q = 0.5 / n + 0.5 * far / far.sum()
    batch = rng.choice(n, size=m, replace=False, p=q / q.sum())
    block = onebatchpam.distance_block(X, X[batch], problem.metric, n_jobs=problem.threads)
    block[batch, np.arange(m)] = block.max()
    weights = q[batch] / q[batch].mean()
    found = onebatchpam.swap_search(block, problem.k, weights=weights, n_jobs=problem.threads, random_state=rng)
    return Answer(found.medoids, n_distances=n * (m + 1))
