"""Dissimilarities, losses and swap gains in plain NumPy and float64, as short as possible.

The fuzzer compares the package with them, and so do the tests: `tests/reference.py` begins with these functions. The
code is slow on purpose, and independent: it imports nothing of the package.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def distance_block(X: ArrayLike, Y: ArrayLike, metric: str) -> Floats:
    """Return d(row of X, row of Y) for all pairs."""
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    if metric == "cosine":
        return _cosine(X, Y)
    if metric == "jaccard":
        return _jaccard(X != 0, Y != 0)
    difference = np.abs(X[:, None, :] - Y[None, :, :])
    computed: dict[str, Callable[[], Floats]] = {
        "manhattan": lambda: difference.sum(axis=2),
        "euclidean": lambda: np.sqrt((difference**2).sum(axis=2)),
        "sqeuclidean": lambda: (difference**2).sum(axis=2),
        "chebyshev": lambda: difference.max(axis=2),
    }
    return computed[metric]()


def _cosine(X: Floats, Y: Floats) -> Floats:
    """Return 1 - cos; a zero row is at distance 1 from every other row and at 0 from another zero row."""
    # Rows of any scale: the squares of very large or small numbers would not fit in float64.
    X, Y = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 5e-324) for rows in (X, Y))
    lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
    both_zero = ~X.any(axis=1, keepdims=True) & ~Y.any(axis=1)
    cosines = np.divide(X @ Y.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.where(both_zero, 0.0, 1 - cosines)


def _jaccard(X: NDArray[np.bool_], Y: NDArray[np.bool_]) -> Floats:
    """Return the number of features that only one row has, divided by those that either has; 0 for two empty rows."""
    either = (X[:, None, :] | Y[None, :, :]).sum(axis=2)
    only_one = (X[:, None, :] ^ Y[None, :, :]).sum(axis=2)
    return np.divide(only_one, either, out=np.zeros(either.shape), where=either > 0)


def gower(
    a: Sequence[Any],
    b: Sequence[Any],
    ranges: Sequence[float | None],
    weights: Sequence[float],
    asymmetric: Sequence[int] = (),
) -> float:
    """Return Gower's dissimilarity of two rows.

    A missing value is None. The range of a column is None if its values are compared by equality. The columns whose
    numbers are in `asymmetric` do not count if both rows have 0. If no column counts, the dissimilarity is 0 if both
    rows have 0 in an asymmetric column, otherwise 1.
    """
    total = weight = 0.0
    both_lack = False
    for column, (x, y, extent, w) in enumerate(zip(a, b, ranges, weights, strict=True)):
        if x is None or y is None:
            continue
        if column in asymmetric and not x and not y:
            both_lack = both_lack or w > 0
            continue
        weight += w
        if extent is None:
            total += w * (x != y)
        elif extent > 0:
            total += w * min(1.0, abs(x - y) / extent)
    return total / weight if weight else float(not both_lack)


def gower_ranges(rows: Sequence[Sequence[Any]], numeric: Sequence[bool]) -> list[float | None]:
    """Return the range of every numeric column, and None for the other columns."""
    known = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    return [
        max(values, default=0) - min(values, default=0) if is_numeric else None
        for values, is_numeric in zip(known, numeric, strict=True)
    ]


@functools.cache
def levenshtein(a: str, b: str) -> int:
    """Return the smallest number of insertions, deletions and replacements of characters that turn a into b."""
    if not a or not b:
        return len(a) + len(b)
    replaced = levenshtein(a[1:], b[1:]) + (a[0] != b[0])
    return min(replaced, 1 + levenshtein(a[1:], b), 1 + levenshtein(a, b[1:])) if a[0] != b[0] else replaced


def dissimilarities(candidates: Sequence[Any], points: Sequence[Any], function: Callable[[Any, Any], Any]) -> Floats:
    """Return function(candidate, point) for all pairs."""
    return np.array([[function(candidate, point) for point in points] for candidate in candidates], np.float64)


def loss(block: ArrayLike, medoids: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the weighted sum over the columns of the distance to the nearest medoid."""
    nearest = np.asarray(block, np.float64)[np.asarray(medoids)].min(axis=0)
    return float(nearest @ (np.ones(len(nearest)) if weights is None else np.asarray(weights, np.float64)))


def swap_gains(block: ArrayLike, medoids: ArrayLike, weights: ArrayLike) -> Floats:
    """Return, for every candidate and slot, by how much the loss falls if the candidate replaces the medoid there."""
    rows, k = np.asarray(block, np.float64), len(np.asarray(medoids))
    gains = np.empty((len(rows), k))
    for slot in range(k):
        kept = rows[np.delete(medoids, slot)].min(axis=0, initial=np.inf)
        gains[:, slot] = loss(rows, medoids, weights) - np.minimum(rows, kept) @ np.asarray(weights, np.float64)
    return gains


def medoid_of(block: ArrayLike) -> tuple[int, float]:
    """Return the row of a square matrix with the smallest sum (the first of equal ones), and the sum."""
    sums = np.asarray(block, np.float64).sum(axis=1)
    return int(np.argmin(sums)), float(sums.min())


def cluster_statistics(block: ArrayLike, labels: Sequence[int]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return (diameter, separation, isolation) of each cluster and (silhouette, neighbour) of each row.

    The block holds all pairs of rows, all of which belong to one of several clusters.
    """
    D, labels = np.asarray(block, np.float64), list(labels)
    members = [[i for i, label in enumerate(labels) if label == name] for name in sorted(set(labels))]
    clusters, rows = [], []
    for inside in members:
        outside = [i for i in range(len(labels)) if i not in inside]
        diameter = max(D[j, i] for i in inside for j in inside if i != j) if len(inside) > 1 else 0.0
        separation = min(D[j, i] for i in inside for j in outside)
        is_l = all(D[j, i] < D[h, i] for i in inside for j in inside if i != j for h in outside)
        isolation = "no" if len(inside) == 1 else "L*" if diameter < separation else "L" if is_l else "no"
        clusters.append((diameter, separation, isolation))
    for i in range(len(labels)):
        own = next(c for c, inside in enumerate(members) if i in inside)
        means = [np.mean([D[j, i] for j in inside if j != i]) if inside != [i] else 0.0 for inside in members]
        b, neighbour = min((mean, c) for c, mean in enumerate(means) if c != own)
        a = means[own]
        rows.append(((b - a) / max(a, b) if len(members[own]) > 1 and max(a, b) > 0 else 0.0, neighbour))
    return clusters, rows


def medoid_silhouette(block: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the mean over all columns of 1 - d1 / d2, with the two smallest entries d1 <= d2; of 1 where d1 is 0."""
    nearest, second = np.sort(np.asarray(block, np.float64), axis=0)[:2]
    values = np.array([1.0 if d1 == 0 else 1 - d1 / d2 for d1, d2 in zip(nearest, second, strict=True)])
    counted = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    return float(np.average(values, weights=counted))
