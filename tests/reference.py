"""The specification: every stage in plain NumPy and float64, as short as it can be said.

Where the package has a function of the same purpose, it has the same name here. Slow on purpose, and independent:
nothing of the package is imported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


def distance_block(X, Y, metric):
    """Return d(row of X, row of Y) for all pairs."""
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    if metric == "cosine":
        return _cosine(X, Y)
    difference = np.abs(X[:, None, :] - Y[None, :, :])
    return {
        "manhattan": lambda: difference.sum(axis=2),
        "euclidean": lambda: np.sqrt((difference**2).sum(axis=2)),
        "sqeuclidean": lambda: (difference**2).sum(axis=2),
        "chebyshev": lambda: difference.max(axis=2),
    }[metric]()


def _cosine(X, Y):
    """Return 1 - cos; a zero row is at distance 1 from every other row and at 0 from another zero row."""
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    both_zero = ~X.any(axis=1)[:, None] & ~Y.any(axis=1)
    cosines = np.divide(X @ Y.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.where(both_zero, 0.0, 1 - cosines)


def batch_size(n, k):
    """Return 100 ln(k n), but at least ten points per medoid and at most all rows."""
    return min(n, max(math.ceil(100 * math.log(k * n)), 10 * k))


def lightweight_coreset_probabilities(X, metric):
    """Return q: half uniform, half proportional to the distance to the mean."""
    distances = distance_block(X, np.asarray(X, np.float64).mean(axis=0, keepdims=True), metric)[:, 0]
    return 0.5 / len(X) + 0.5 * distances / distances.sum()


def scan_block(block):
    """Return the nearest column of every row, the first of equal ones, and the largest entry."""
    return np.argmin(block, axis=1), np.max(block)


def nearest_neighbour_weights(nearest, m):
    """Weight a column by the number of rows nearest to it, with mean 1."""
    counts = np.array([np.sum(nearest == j) for j in range(m)])
    return counts / counts.mean()


def debias(block, batch_indices):
    """Return the block with every batch point at the largest distance from itself."""
    block = np.array(block)
    block[batch_indices, np.arange(block.shape[1])] = np.max(block)
    return block


def loss(block, medoids, weights=None):
    """Return the weighted sum over the columns of the distance to the nearest medoid."""
    weights = np.ones(block.shape[1]) if weights is None else weights
    return float(np.asarray(block, np.float64)[np.asarray(medoids)].min(axis=0) @ weights)


def swap_gains(block, medoids, weights):
    """Return for every candidate i and slot l the loss before minus the loss after i takes the place of l."""
    before = loss(block, medoids, weights)
    gains = np.empty((len(block), len(medoids)))
    for i in range(len(block)):
        for slot in range(len(medoids)):
            swapped = np.array(medoids)
            swapped[slot] = i
            gains[i, slot] = before - loss(block, swapped, weights)
    return gains


def nearest_and_second(block, medoids):
    """Return slots and distances of the two nearest medoids of every column; of equal ones the lower slot first."""
    distances = np.asarray(block, np.float64)[np.asarray(medoids)]
    near, second = np.argsort(distances, axis=0, kind="stable")[:2]
    columns = np.arange(block.shape[1])
    return near, second, distances[near, columns], distances[second, columns]


def swap_gains_of_candidate(row, near, d1, d2, weights, k):
    """Return the gains of one candidate for every removed medoid, without recomputing the loss."""
    shared = np.sum(weights * np.maximum(0, d1 - row))
    takes_over = np.where(row < d1, d2 - d1, np.where(row < d2, d2 - row, 0))
    return shared + np.array([np.sum((weights * (d1 - d2 + takes_over))[near == slot]) for slot in range(k)])


@dataclass
class SwapResult:
    medoids: np.ndarray
    loss: float
    n_iter: int
    n_swaps: int
    converged: bool


def swap_search(block, medoids, weights=None, *, max_iter=100, tol=0.0, chunk=1):
    """Swap eagerly until a full cycle of candidates brings no improvement. With chunk = 1: FasterPAM.

    With larger chunks the candidates of a chunk are first judged by the medoids before the chunk, and those that
    improve are judged again, in order, by the medoids as they have become.
    """
    n, m = block.shape
    weights = np.ones(m) if weights is None else np.asarray(weights, np.float64)
    medoids = np.array(medoids)

    def best_swap(i):
        near, _, d1, d2 = nearest_and_second(block, medoids)
        gains = swap_gains_of_candidate(np.asarray(block[i], np.float64), near, d1, d2, weights, len(medoids))
        improves = gains.max() > tol * loss(block, medoids, weights) and i not in medoids
        return int(gains.argmax()) if improves else None

    n_iter = n_swaps = n_idle = 0
    while n_iter < max_iter and n_idle < n:
        n_iter += 1
        for start in range(0, n, chunk):
            candidates = range(start, min(start + chunk, n))
            swaps_before = n_swaps
            for i in [i for i in candidates if best_swap(i) is not None]:
                slot = best_swap(i)
                if slot is not None:
                    medoids[slot] = i
                    n_swaps += 1
            n_idle = n_idle + len(candidates) if n_swaps == swaps_before else 0
            if n_idle >= n:
                break
    return SwapResult(medoids, loss(block, medoids, weights), n_iter, n_swaps, n_idle >= n)


def best_single(block, weights=None):
    """Return the row with the smallest weighted sum, the lowest of equal ones."""
    weights = np.ones(block.shape[1]) if weights is None else weights
    return int(np.argmin(np.asarray(block, np.float64) @ weights))


def clara(block, samples, starts, *, tol=0.0, chunk=1):
    """Return the medoids of the samples that suit all columns best, the first of equal ones, and their loss."""
    found = []
    for sample, start in zip(samples, starts, strict=True):
        result = swap_search(block[np.ix_(sample, sample)], start, tol=tol, chunk=chunk)
        medoids = np.asarray(sample)[result.medoids]
        found.append((loss(block, medoids), medoids))
    return min(found, key=lambda each: each[0])


def alternate(block, medoids):
    """Move each medoid to the row with the smallest sum in its cluster, until none moves; clusters are not empty."""
    medoids = np.array(medoids)
    while True:
        labels = np.argmin(block[medoids], axis=0)
        moved = medoids.copy()
        for slot in range(len(medoids)):
            members = np.flatnonzero(labels == slot)
            sums = block[np.ix_(members, members)].sum(axis=1)
            moved[slot] = members[np.argmin(sums)]
        if np.array_equal(moved, medoids):
            return medoids
        medoids = moved


def propose(block, medoids, candidates):
    """Swap each candidate in turn for the medoid whose place it takes best, if that lowers the loss."""
    medoids, n_swaps = np.array(medoids), 0
    for candidate in candidates:
        gains = swap_gains(block, medoids, np.ones(block.shape[1]))[candidate]
        if candidate not in medoids and gains.max() > 0:
            medoids[np.argmax(gains)] = candidate
            n_swaps += 1
    return medoids, n_swaps


def kmeans_plus_plus_probabilities(block, medoids, power):
    """Return with which probability each column is drawn next."""
    odds = block[np.asarray(medoids)].min(axis=0) ** power
    return odds / odds.sum()


def kmc2_probabilities(block, medoids, power, chain_length):
    """Return with which probability each column is the end of the chain."""
    others = np.setdiff1d(np.arange(block.shape[1]), medoids)
    odds = block[np.asarray(medoids)].min(axis=0)[others] ** power
    move = np.minimum(1, odds[None, :] / odds[:, None]) / len(others)
    np.fill_diagonal(move, 0)
    np.fill_diagonal(move, 1 - move.sum(axis=1))
    at = np.full(len(others), 1 / len(others)) @ np.linalg.matrix_power(move, chain_length - 1)
    probabilities = np.zeros(block.shape[1])
    probabilities[others] = at
    return probabilities


def nearest_medoids(X, medoids, metric):
    """Return the nearest medoid of every row, of equally near ones the lowest slot, and the distance to it."""
    distances = distance_block(X, np.asarray(X)[medoids], metric)
    return np.argmin(distances, axis=1), distances.min(axis=1)


def inertia(X, medoids, metric):
    """Return the sum over all rows of the distance to the nearest medoid."""
    return float(nearest_medoids(X, medoids, metric)[1].sum())
