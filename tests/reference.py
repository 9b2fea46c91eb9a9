"""The specification: every stage in plain NumPy and float64, as short as possible.

A function that the package has as well has the same name here. The code is slow on purpose, and independent: it imports
nothing of the package. The dissimilarities, the loss and the gains of swaps are those that the fuzzer uses as well.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from naive import (  # noqa: F401 (tests find them here)
    cluster_statistics,
    dissimilarities,
    distance_block,
    gower,
    gower_ranges,
    levenshtein,
    loss,
    medoid_of,
    medoid_silhouette,
    swap_gains,
)


def batch_size(n, k, costly=False, symmetric=False, refined=True):
    """Return 100 ln(k n), but at least ten points per medoid; return n if it is less than four times that number.

    With refinement, return n also if it is less than 5 (m + 15 k), and all pairs are at most 2^28.

    If dissimilarities are costly, return n if all pairs are not more than the n (m + 15 k + 100) of a batch.
    """
    m = max(math.ceil(100 * math.log(k * n)), 10 * k)
    if costly and refined:
        return n if n * n / (2 if symmetric else 1) <= n * (m + 15 * k + 100) else m
    return n if n < 4 * m or (refined and n < 5 * (m + 15 * k) and n**2 <= 2**28) else m


def lightweight_coreset_probabilities(X, metric):
    """Return the probability of each row: half uniform, half proportional to the distance to the mean."""
    distances = distance_block(X, np.asarray(X, np.float64).mean(axis=0, keepdims=True), metric)[:, 0]
    return 0.5 / len(X) + 0.5 * distances / distances.sum()


def scan_block(block):
    """Return the nearest column of every row (of equally near ones, the first), and the largest entry."""
    return np.argmin(block, axis=1), np.max(block)


def nearest_neighbour_weights(nearest, m):
    """Return a weight for each column: the number of rows nearest to it, scaled to mean 1."""
    counts = np.array([np.sum(nearest == j) for j in range(m)])
    return counts / counts.mean()


def debias(block, batch_indices):
    """Return the block with every batch point at the largest distance from itself."""
    block = np.array(block)
    block[batch_indices, np.arange(block.shape[1])] = np.max(block)
    return block


def build_gains(block, medoids):
    """Return, for every candidate and point, by how much the loss at the point falls if the candidate is added.

    If there are no medoids yet, it is minus the distance.
    """
    block = np.asarray(block, np.float64)
    return np.maximum(block[medoids].min(axis=0) - block, 0) if len(medoids) else -block


def swap_gains_by_point(block, medoids):
    """Return the gain of every swap at every point: an array of candidates x slots x points."""
    block, medoids = np.asarray(block, np.float64), np.asarray(medoids)
    before = block[medoids].min(axis=0)
    others = [block[np.delete(medoids, slot)].min(axis=0) for slot in range(len(medoids))]
    return np.stack([before - np.minimum(block, other) for other in others], axis=1)


def nearest_and_second(block, medoids):
    """Return slots and distances of the two nearest medoids of every column; in a tie the lower slot comes first."""
    distances = np.asarray(block, np.float64)[np.asarray(medoids)]
    near, second = np.argsort(distances, axis=0, kind="stable")[:2]
    columns = np.arange(block.shape[1])
    return near, second, distances[near, columns], distances[second, columns]


def swap_gains_of_candidate(row, near, d1, d2, weights, k):
    """Return the gains of one candidate for every medoid that it may replace, without recomputing the loss."""
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


def swap_search(block, medoids, weights=None, *, max_iter=100, tol=0.0, chunk=1, n_fixed=0):
    """Swap eagerly until a full cycle of candidates brings no improvement. With chunk = 1 this is FasterPAM.

    With larger chunks, all candidates of a chunk are first evaluated with the medoids before the chunk; those that
    improve are evaluated again, in order, with the medoids of that moment. The first `n_fixed` medoids stay.
    """
    n, m = block.shape
    weights = np.ones(m) if weights is None else np.asarray(weights, np.float64)
    medoids = np.array(medoids)

    def best_swap(i):
        near, _, d1, d2 = nearest_and_second(block, medoids)
        gains = swap_gains_of_candidate(np.asarray(block[i], np.float64), near, d1, d2, weights, len(medoids))
        gains[:n_fixed] = -np.inf
        improves = gains.max() > tol * loss(block, medoids, weights) and i not in medoids
        return int(gains.argmax()) if improves else None

    n_iter = n_swaps = n_idle = 0
    done = False
    while n_iter < max_iter and not done:
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
        done = n_idle >= n
    return SwapResult(medoids, loss(block, medoids, weights), n_iter, n_swaps, done)


def pam(block, medoids, weights=None, *, n_fixed=0, order=None):
    """Make the best of all swaps, the first candidate in `order` of equally good ones, until none lowers the loss."""
    weights = np.ones(block.shape[1]) if weights is None else np.asarray(weights, np.float64)
    order = np.arange(len(block)) if order is None else np.asarray(order)
    medoids, n_swaps = np.array(medoids), 0
    while n_fixed < len(medoids):
        gains = np.array(swap_gains(block, medoids, weights), np.float64)
        gains[medoids], gains[:, :n_fixed] = -np.inf, -np.inf
        best = order[np.argmax(gains.max(axis=1)[order])]
        if gains[best].max() <= 0:
            break
        medoids[np.argmax(gains[best])] = best
        n_swaps += 1
    return medoids, n_swaps


def build(block, k, weights=None):
    """Add the candidate that lowers the loss most, k times; of equally good ones, the one with the smallest sum."""
    weights = np.ones(block.shape[1]) if weights is None else np.asarray(weights, np.float64)
    medoids, order = [], np.argsort(np.asarray(block, np.float64) @ weights, kind="stable")
    for _ in range(k):
        others = [i for i in order if i not in medoids]
        medoids.append(min(others, key=lambda i: loss(block, [*medoids, i], weights)))
    return np.array(medoids)


def silhouette_loss(block, medoids, weights=None):
    """Return the weighted sum over the columns of d1 / d2, the distances to the two nearest medoids; 0 / 0 is 0."""
    nearest, second = np.sort(np.asarray(block, np.float64)[np.asarray(medoids)], axis=0)[:2]
    ratios = np.divide(nearest, second, out=np.zeros(len(nearest)), where=nearest > 0)
    return float(np.sum(ratios if weights is None else ratios * weights))


def silhouette_gains(block, medoids, weights=None):
    """Return by how much each swap lowers the silhouette loss: an array of candidates x slots."""
    before = silhouette_loss(block, medoids, weights)
    gains = np.empty((len(block), len(medoids)))
    for i, slot in np.ndindex(gains.shape):
        gains[i, slot] = before - silhouette_loss(block, [*medoids[:slot], i, *medoids[slot + 1 :]], weights)
    return gains


def silhouette_search(block, medoids, weights=None, *, chunk=1, n_fixed=0, least_gain=1e-9):
    """Swap eagerly for the silhouette, as `swap_search` does for the sum of distances."""
    n, medoids, i = len(block), list(medoids), 0
    n_idle = n if n_fixed == len(medoids) else 0
    while n_idle < n:
        chunked = range(i, min(i + chunk, n))
        gains = silhouette_gains(block, medoids, weights)[:, n_fixed:].max(axis=1)
        n_idle += len(chunked)
        for candidate in [c for c in chunked if gains[c] > least_gain and c not in medoids]:
            swaps = silhouette_gains(block, medoids, weights)[candidate, n_fixed:]
            if swaps.max() > least_gain:
                medoids[n_fixed + int(np.argmax(swaps))] = candidate
                n_idle = 0
        i = chunked.stop % n
    return np.array(medoids)


def best_single(block, weights=None):
    """Return the row with the smallest weighted sum; of equal ones, the first."""
    weights = np.ones(block.shape[1]) if weights is None else weights
    return int(np.argmin(np.asarray(block, np.float64) @ weights))


def clara(block, samples, starts, *, tol=0.0, chunk=1):
    """Return the smallest loss over all columns of the medoids of a sample, and these medoids; the first of equals."""
    found = []
    for sample, start in zip(samples, starts, strict=True):
        result = swap_search(block[np.ix_(sample, sample)], start, tol=tol, chunk=chunk)
        medoids = np.asarray(sample)[result.medoids]
        found.append((loss(block, medoids), medoids))
    return min(found, key=lambda each: each[0])


def alternate(block, medoids):
    """Move each medoid to the row with the smallest sum in its cluster, until none moves; no cluster may be empty."""
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
    """Let each candidate in turn replace the medoid whose replacement gains most, if that lowers the loss."""
    medoids, n_swaps = np.array(medoids), 0
    for candidate in candidates:
        gains = swap_gains(block, medoids, np.ones(block.shape[1]))[candidate]
        if candidate not in medoids and gains.max() > 0:
            medoids[np.argmax(gains)] = candidate
            n_swaps += 1
    return medoids, n_swaps


def kmeans_plus_plus_probabilities(block, medoids, power):
    """Return the probability that each column is drawn next."""
    odds = block[np.asarray(medoids)].min(axis=0) ** power
    return odds / odds.sum()


def kmc2_probabilities(block, medoids, power, chain_length):
    """Return the probability that the chain ends at each column."""
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
    """Return the slot of the nearest medoid of every row (of equally near ones, the lowest), and the distance to it."""
    distances = distance_block(X, np.asarray(X)[medoids], metric)
    return np.argmin(distances, axis=1), distances.min(axis=1)


def inertia(X, medoids, metric):
    """Return the sum over all rows of the distance to the nearest medoid."""
    return float(nearest_medoids(X, medoids, metric)[1].sum())


def lagrangian_bound(block, multipliers, weights, k, fixed=()):
    """Return the reduced cost of every row, and the lower bound on the loss of k medoids, with the fixed ones."""
    block, multipliers = np.asarray(block, np.float64), np.asarray(multipliers, np.float64)
    costs = np.minimum(0, block - multipliers) @ weights
    others = np.sort(np.delete(costs, fixed))[: k - len(fixed)]
    return costs, float(weights @ multipliers + costs[list(fixed)].sum() + others.sum())


def smallest_loss(block, k, weights=None, fixed=()):
    """Return the loss of the best k medoids that contain the fixed ones, by trying all of them."""
    others = [i for i in range(len(block)) if i not in fixed]
    return min(loss(block, [*fixed, *free], weights) for free in itertools.combinations(others, k - len(fixed)))


def greedy_order(block, weights, n_fixed=0):
    """Return the rows of a block: the first ones that are fixed, then each time the row that lowers the loss most."""
    order = list(range(n_fixed))
    while len(order) < len(block):
        others = [row for row in range(len(block)) if row not in order]
        order.append(min(others, key=lambda row: loss(block, [*order, row], weights)))
    return order


def prefix_losses(block, order, weights):
    """Return the loss of the first 1, 2, ... rows of an order."""
    return np.array([loss(block, order[: j + 1], weights) for j in range(len(order))])


def cluster_weights(block, medoids, weights):
    """Return the weight of the columns that are nearest to each medoid; in a tie the lower slot is nearer."""
    near = np.argmin(np.asarray(block)[np.asarray(medoids)], axis=0)
    return np.array([np.sum(weights[near == slot]) for slot in range(len(medoids))])
