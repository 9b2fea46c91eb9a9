"""The specification: every stage in plain NumPy and float64, as short as possible.

A function that the package has as well has the same name here. The code is slow on purpose, and independent: it imports
nothing of the package.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np


def distance_block(X, Y, metric):
    """Return d(row of X, row of Y) for all pairs."""
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    if metric == "cosine":
        return _cosine(X, Y)
    if metric == "jaccard":
        return _jaccard(X != 0, Y != 0)
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


def _jaccard(X, Y):
    """Return the number of features that only one row has, divided by those that either has; 0 for two empty rows."""
    either = (X[:, None, :] | Y[None, :, :]).sum(axis=2)
    only_one = (X[:, None, :] ^ Y[None, :, :]).sum(axis=2)
    return np.divide(only_one, either, out=np.zeros(either.shape), where=either > 0)


def gower(a, b, ranges, weights):
    """Return Gower's dissimilarity of two rows; 1 if there is no column in which both have a value.

    A missing value is None. The range of a column is None if its values are compared by equality.
    """
    total = weight = 0.0
    for x, y, extent, w in zip(a, b, ranges, weights, strict=True):
        if x is None or y is None:
            continue
        weight += w
        if extent is None:
            total += w * (x != y)
        elif extent > 0:
            total += w * min(1.0, abs(x - y) / extent)
    return total / weight if weight else 1.0


def gower_ranges(rows, numeric):
    """Return the range of every numeric column, and None for the other columns."""
    known = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [
        max(values, default=0) - min(values, default=0) if is_numeric else None
        for values, is_numeric in zip(known, numeric, strict=True)
    ]


def batch_size(n, k):
    """Return 100 ln(k n), but at least ten points per medoid; return n if it is less than four times that number."""
    m = max(math.ceil(100 * math.log(k * n)), 10 * k)
    return n if n < 4 * m else m


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


def loss(block, medoids, weights=None):
    """Return the weighted sum over the columns of the distance to the nearest medoid."""
    weights = np.ones(block.shape[1]) if weights is None else weights
    return float(np.asarray(block, np.float64)[np.asarray(medoids)].min(axis=0) @ weights)


def swap_gains(block, medoids, weights):
    """Return, for every candidate and slot, by how much the loss falls if the candidate replaces the medoid there."""
    before = loss(block, medoids, weights)
    gains = np.empty((len(block), len(medoids)))
    for i in range(len(block)):
        for slot in range(len(medoids)):
            swapped = np.array(medoids)
            swapped[slot] = i
            gains[i, slot] = before - loss(block, swapped, weights)
    return gains


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


def swap_search(block, medoids, weights=None, *, max_iter=100, tol=0.0, chunk=1, n_fixed=0, least_progress=0.0):
    """Swap eagerly until a full cycle of candidates brings no improvement. With chunk = 1 this is FasterPAM.

    With larger chunks, all candidates of a chunk are first evaluated with the medoids before the chunk; those that
    improve are evaluated again, in order, with the medoids of that moment. The first `n_fixed` medoids stay. The search
    also ends with a pass that lowers the loss by less than the fraction `least_progress` of it.
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
        loss_before = loss(block, medoids, weights)
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
        done = n_idle >= n or loss(block, medoids, weights) > loss_before * (1 - least_progress)
    return SwapResult(medoids, loss(block, medoids, weights), n_iter, n_swaps, done)


def search_in_levels(block, medoids, weights=None, *, many, least_progress=0.0, **options):
    """Swap as `swap_search` does, but if there are more than `many` candidates, first among some of them.

    These are the medoids and evenly spaced candidates: every 16th, or more if these would be fewer than a fifth of
    `many`. If they are still more than `many`, they are searched in the same way. `least_progress` counts only where
    there are more than `many` candidates.
    """
    n_swaps, medoids = 0, np.array(medoids)
    if len(block) > many:
        spaced = np.arange(0, len(block), min(16, 5 * len(block) // many))
        some = np.array(sorted({*spaced.tolist(), *medoids.tolist()}))
        start = [some.tolist().index(medoid) for medoid in medoids]
        first = search_in_levels(block[some], start, weights, many=many, least_progress=least_progress, **options)
        medoids, n_swaps = some[first.medoids], first.n_swaps
        options["least_progress"] = least_progress
    result = swap_search(block, medoids, weights, **options)
    result.n_swaps += n_swaps
    return result


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


@functools.cache
def levenshtein(a, b):
    """Return the smallest number of insertions, deletions and replacements of characters that turn a into b."""
    if not a or not b:
        return len(a) + len(b)
    replaced = levenshtein(a[1:], b[1:]) + (a[0] != b[0])
    return min(replaced, 1 + levenshtein(a[1:], b), 1 + levenshtein(a, b[1:])) if a[0] != b[0] else replaced


def dissimilarities(candidates, points, function):
    """Return function(candidate, point) for all pairs."""
    return np.array([[function(candidate, point) for point in points] for candidate in candidates], np.float64)


def medoid_of(block):
    """Return the row of a square matrix with the smallest sum (the first of equal ones), and the sum."""
    sums = np.asarray(block, np.float64).sum(axis=1)
    return int(np.argmin(sums)), float(sums.min())


def medoid_silhouette(block):
    """Return the mean over all columns of 1 - d1 / d2, with the two smallest entries d1 <= d2; of 1 where d1 is 0."""
    nearest, second = np.sort(np.asarray(block, np.float64), axis=0)[:2]
    return float(np.mean([1.0 if d1 == 0 else 1 - d1 / d2 for d1, d2 in zip(nearest, second, strict=True)]))
