"""Drawing rows without replacement, by weights or by other odds.

Every row has an exponential clock, whose rate is its weight; the rows whose clocks ring first are drawn. That equals
drawing one row after the other, each with a probability proportional to its weight among the rows that are left. It can
be done in parts, because the rows that ring first among all are among those that ring first in their part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam._tiles import Indices

# The smallest rate of a clock, so that the clock of a row that weighs next to nothing rings late, but at a finite time.
SMALLEST_RATE = 1e-290
# The part of a sample that is drawn by distance instead of by weight alone.
FAR_SHARE = 0.1


@dataclass(frozen=True)
class Batch:
    """A sample of rows, with the weights by which they stand for all rows."""

    indices: Indices
    weights: NDArray[np.float64]


def ring_clocks(rates: NDArray[np.float64], rng: np.random.RandomState | np.random.Generator) -> NDArray[np.float64]:
    """Return the time at which the clock of each row rings; infinity, that is never, for a rate of zero."""
    clocks = rng.standard_exponential(len(rates))
    with np.errstate(divide="ignore"):
        np.divide(clocks, rates, out=clocks)  # in place, because there may be very many rows
    return clocks


def estimate_weights(
    weights: NDArray[np.float64], rates: NDArray[np.float64], next_clock: float
) -> NDArray[np.float64]:
    """Return weights of drawn rows whose sum is an unbiased estimate of the weight of all rows (bottom-k sampling).

    A row was drawn because its clock rang before `next_clock`, the clock of the first row that was not drawn. Each
    weight is divided by the probability of this, which follows from the rate of the row.
    """
    return weights / -np.expm1(-rates * next_clock)


def scale_to_mean(weights: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """Return the weights, scaled to this mean."""
    return weights * (mean / weights.mean())


def sample_by_odds(odds: NDArray[np.float64], size: int, rng: np.random.RandomState, exclude: Indices) -> Indices:
    """Draw rows by their odds, and return them in ascending order.

    Rows with odds of zero are drawn only if no other rows are left, and excluded rows are never drawn.
    """
    clocks = ring_clocks(odds, rng)
    never_rings = np.flatnonzero(np.isinf(clocks))
    clocks[never_rings] = np.finfo(np.float64).max * rng.random_sample(len(never_rings))
    clocks[exclude] = np.inf
    first = np.argpartition(clocks, size - 1)[:size]
    return np.sort(first).astype(np.int64)


def sample_by_weight(
    weights: NDArray[np.float64], size: int, rng: np.random.RandomState, include: Indices | None = None
) -> Batch:
    """Draw rows by their weights, and return them in ascending order; rows to include are always drawn.

    The weights of the batch make up for unequal odds of being drawn, and have the mean of the weights of all rows.
    """
    n, include = len(weights), np.empty(0, np.int64) if include is None else include
    if size == n:
        return Batch(np.arange(n), weights)
    if are_equal(weights):
        ranks = sample_without_replacement(n - len(include), size - len(include), random_state=rng)
        others = rows_of_ranks(ranks.astype(np.int64), include)
        return Batch(np.sort(np.concatenate([include, others])), weights[:size])
    rates = np.maximum(weights / weights.max(), SMALLEST_RATE)
    drawn, estimates = draw_first_to_ring(weights, rates, size, include, rng)
    return Batch(drawn, scale_to_mean(estimates, weights.mean()))


def draw_first_to_ring(
    weights: NDArray[np.float64],
    rates: NDArray[np.float64],
    size: int,
    include: Indices,
    rng: np.random.RandomState,
) -> tuple[Indices, NDArray[np.float64]]:
    """Return the rows whose clocks ring first, in ascending order, and their weights as estimates for all rows.

    The clocks of rows to include ring at once.
    """
    clocks = ring_clocks(rates, rng)
    clocks[include] = 0
    order = np.argpartition(clocks, size)
    drawn = np.sort(order[:size])
    return drawn, estimate_weights(weights[drawn], rates[drawn], clocks[order[size]])


def sample_odds(
    weights: NDArray[np.float64],
    total_weight: float,
    far: NDArray[np.float64],
    total_far: float,
    are_candidates: NDArray[np.bool_] | None = None,
    candidate_weight: float = 0.0,
) -> NDArray[np.float64]:
    """Return the odds by which some rows are drawn to a sample that stands for all rows in a search.

    Most of the odds go by weight, a part by weight times distance to the first medoids, `far`, so that small groups far
    away are not lost. If only some rows are candidates, half of what goes by weight goes to these. The totals are
    sums over all rows, and over all candidates.
    """
    odds = weights / total_weight
    if are_candidates is not None:
        odds *= 0.5
        odds[are_candidates] *= 1 + total_weight / candidate_weight
    if total_far > 0:
        odds *= 1 - FAR_SHARE
        odds += far * (FAR_SHARE / total_far)
    return np.maximum(odds, SMALLEST_RATE, out=odds)


def draw_by_odds(
    weights: NDArray[np.float64],
    odds: NDArray[np.float64],
    size: int,
    include: Indices,
    rng: np.random.RandomState,
) -> Batch:
    """Draw rows by their odds, and return them in ascending order; rows to include are drawn for certain.

    The weights of the sample make up for unequal odds of being drawn, and have the mean of the weights of all rows.
    """
    drawn, estimates = draw_first_to_ring(weights, odds, size, include, rng)
    places = np.searchsorted(drawn, include)
    estimates[places] = weights[include]  # rows drawn for certain stand only for themselves
    return Batch(drawn, scale_to_mean(estimates, weights.mean()))


class DrawOrder:
    """All rows in the order in which they are drawn by their weights: the first ones are a sample of any size."""

    def __init__(self, weights: NDArray[np.float64], rng: np.random.RandomState) -> None:
        self._rates = np.maximum(weights / weights.max(), SMALLEST_RATE)
        self.is_uniform = are_equal(weights)
        self._clocks = ring_clocks(self._rates, rng)
        self.rows: Indices = np.argsort(self._clocks, kind="stable")

    def weights(self, size: int) -> NDArray[np.float64]:
        """Return the weights, of mean 1, by which the first rows stand for all rows."""
        if self.is_uniform:
            return np.ones(size)
        weights = self._rates[self.rows[:size]]
        if size < len(self.rows):
            weights = estimate_weights(weights, weights, self._clocks[self.rows[size]])
        return scale_to_mean(weights, 1.0)

    def variance(self, size: int) -> float:
        """Return the variance of a mean over the first rows, relative to that of a single row; at most, if weighted.

        It is zero for all rows, because rows are drawn without replacement.
        """
        if size == len(self.rows):
            return 0.0
        lightest_odds = -np.expm1(-self._rates.min() * self._clocks[self.rows[size]])
        return float(1 - (size / len(self.rows) if self.is_uniform else lightest_odds)) / size


def are_equal(weights: NDArray[np.float64]) -> bool:
    """Tell whether all weights are equal, so that rows can be drawn uniformly."""
    return bool((weights == weights[0]).all())


def rows_of_ranks(ranks: NDArray[Any], excluded: Indices) -> Indices:
    """Return the rows of these ranks among all rows that are not excluded, without an array of all rows."""
    # A row of rank r comes after all excluded rows that have at most r rows before them that are not excluded.
    others_before = np.sort(excluded) - np.arange(len(excluded))
    return ranks + np.searchsorted(others_before, ranks, side="right")


def coreset_odds(shares: NDArray[np.float64], far: NDArray[np.float64], total_far: float) -> NDArray[np.float64]:
    """Return the odds of a lightweight coreset: half by weight, half by weight times distance to the mean.

    `shares` are the shares of some rows in the weight of all rows; `far` are the weights of these rows times their
    distances to the mean, and `total_far` is the sum of such products over all rows.
    """
    return 0.5 * shares + 0.5 * far / total_far if total_far > 0 else shares
