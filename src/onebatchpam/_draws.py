"""Drawing rows without replacement, by weights or by other odds.

Every row has an exponential clock, whose rate is its weight; the rows whose clocks ring first are drawn. That equals
drawing one row after the other with probability proportional to the weights that are left, and it can be done in parts:
the first clocks of all parts together are the first of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam._tiles import Indices

# The rate of a row that weighs next to nothing, so that its clock rings late, but at a finite time.
SMALLEST_RATE = 1e-290


@dataclass(frozen=True)
class Batch:
    """Rows that stand for others, with the weights that their sampling calls for."""

    indices: Indices
    weights: NDArray[np.float64]


def ring_clocks(rates: NDArray[np.float64], rng: np.random.RandomState | np.random.Generator) -> NDArray[np.float64]:
    """Return when the clock of each row rings: never, that is infinity, for a rate of zero."""
    clocks = rng.standard_exponential(len(rates))
    with np.errstate(divide="ignore"):
        np.divide(clocks, rates, out=clocks)  # in place, because the rows may be very many
    return clocks


def estimate_weights(
    weights: NDArray[np.float64], rates: NDArray[np.float64], next_clock: float
) -> NDArray[np.float64]:
    """Return the weights of drawn rows such that their sum estimates that of all rows without bias.

    Given the clock of the first row that was not drawn, a row was drawn with a probability that its rate tells
    (bottom-k sampling); divided by it the weights are unbiased.
    """
    return weights / -np.expm1(-rates * next_clock)


def scale_to_mean(weights: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Return weights in proportion, with this mean."""
    return weights * (mean / weights.mean())


def sample_by_odds(odds: NDArray[np.float64], size: int, rng: np.random.RandomState, exclude: Indices) -> Indices:
    """Draw rows by their odds, in the order of their indices; rows without odds come last, excluded ones never."""
    clocks = ring_clocks(odds, rng)
    never_rings = np.flatnonzero(np.isinf(clocks))
    clocks[never_rings] = np.finfo(np.float64).max * rng.random_sample(len(never_rings))
    clocks[exclude] = np.inf
    first = np.argpartition(clocks, size - 1)[:size]
    return np.sort(first).astype(np.int64)


def sample_by_weight(
    weights: NDArray[np.float64], size: int, rng: np.random.RandomState, include: Indices | None = None
) -> Batch:
    """Draw rows by their weights, in the order of their indices; rows to include are drawn first.

    The weights of the batch estimate those of all rows, and have their mean.
    """
    n, include = len(weights), np.empty(0, np.int64) if include is None else include
    if size == n:
        return Batch(np.arange(n), weights)
    if are_equal(weights):
        ranks = sample_without_replacement(n - len(include), size - len(include), random_state=rng)
        others = rows_of_ranks(ranks.astype(np.int64), include)
        return Batch(np.sort(np.concatenate([include, others])), weights[:size])
    rates = np.maximum(weights / weights.max(), SMALLEST_RATE)
    clocks = ring_clocks(rates, rng)
    clocks[include] = 0
    order = np.argpartition(clocks, size)
    drawn = np.sort(order[:size])
    estimates = estimate_weights(weights[drawn], rates[drawn], clocks[order[size]])
    return Batch(drawn, scale_to_mean(estimates, weights.mean()))


def are_equal(weights: NDArray[np.float64]) -> bool:
    """Tell whether no row weighs more than another, so that rows can be drawn without looking at their weights."""
    return bool((weights == weights[0]).all())


def rows_of_ranks(ranks: NDArray[Any], excluded: Indices) -> Indices:
    """Return the rows that have these ranks among all rows but the excluded ones, without listing them."""
    # A row of rank r comes after all excluded rows that have at most r other rows before them.
    others_before = np.sort(excluded) - np.arange(len(excluded))
    return ranks + np.searchsorted(others_before, ranks, side="right")


def coreset_odds(shares: NDArray[np.float64], far: NDArray[np.float64], total_far: float) -> NDArray[np.float64]:
    """Return the odds of a lightweight coreset: half by weight, half by weight times distance to the mean.

    Both are given for some rows: their shares of the weight of all rows, and their weights times distances, of which
    `total_far` is the sum over all rows.
    """
    return 0.5 * shares + 0.5 * far / total_far if total_far > 0 else shares
