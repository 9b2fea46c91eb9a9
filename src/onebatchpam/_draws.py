"""How rows are drawn: by odds, by weight, without looking at all of them where that can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

# A row that weighs next to nothing rings late, but at a finite time.
SMALLEST_RATE = 1e-290


@dataclass(frozen=True)
class Batch:
    """Reference points, with the weights that their sampling calls for."""

    indices: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def unweighted(cls, indices: NDArray[np.int64]) -> Batch:
        return cls(indices, np.ones(len(indices)))


def sample_by_odds(
    odds: NDArray[np.float64], size: int, rng: np.random.RandomState, exclude: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw rows without replacement, one after the other with probability proportional to what is left of the odds.

    An exponential clock of this rate for each row; the first to ring are drawn. Rows without odds come last, those to
    exclude never.
    """
    clocks = rng.standard_exponential(len(odds))
    with np.errstate(divide="ignore"):
        np.divide(clocks, odds, out=clocks)  # in place: there may be very many rows
    never_rings = np.flatnonzero(np.isinf(clocks))
    clocks[never_rings] = np.finfo(np.float64).max * rng.random_sample(len(never_rings))
    clocks[exclude] = np.inf
    first = np.argpartition(clocks, size - 1)[:size]
    return np.sort(first).astype(np.int64)


def sample_by_weight(
    weights: NDArray[np.float64], size: int, rng: np.random.RandomState, include: NDArray[np.int64] | None = None
) -> Batch:
    """Draw rows without replacement, in order, with probability proportional to what is left of the weights.

    Rows to include are drawn first. The batch has the mean weight of all rows, of which its weights make an estimate.
    """
    n, include = len(weights), np.empty(0, np.int64) if include is None else include
    if size == n:
        return Batch(np.arange(n), weights)
    if are_equal(weights):
        others = sample_without_replacement(n - len(include), size - len(include), random_state=rng)
        return Batch(np.sort(np.concatenate([include, other_rows(others.astype(np.int64), include)])), weights[:size])
    rates = np.maximum(weights / weights.max(), SMALLEST_RATE)
    clocks = rng.standard_exponential(n) / rates
    clocks[include] = 0
    order = np.argpartition(clocks, size)
    drawn = np.sort(order[:size])
    # Judged by when the first of the others rings, a row had this probability to be drawn; divided by it the weights
    # are unbiased (bottom-k sampling).
    estimates = weights[drawn] / -np.expm1(-rates[drawn] * clocks[order[size]])
    return Batch(drawn, estimates * (weights.mean() / estimates.mean()))


def are_equal(weights: NDArray[np.float64]) -> bool:
    """Say whether no row weighs more than another, so that rows are drawn as if there were no weights."""
    return bool((weights == weights[0]).all())


def other_rows(ranks: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what has these ranks among all rows but those given, without looking at all of them."""
    # The row of rank r comes after as many of the given rows as have at most r others before them.
    others_before = np.sort(rows) - np.arange(len(rows))
    return ranks + np.searchsorted(others_before, ranks, side="right")
