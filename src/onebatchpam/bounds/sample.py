"""A sample of points for a statistical bound, and the confidence limit that follows from it.

Points are drawn with probabilities proportional to w_j T_j, where T_j is a ceiling on the multiplier of point j that is
fixed before the draw. For the best medoids M, each drawn point then contributes min(d_j(M), T_j) / T_j, a number
between 0 and 1, whose mean over all draws estimates a lower bound on the objective, divided by the sum of all w_j T_j.
The dual of the sample is at most this mean. So only the mean of independent numbers between 0 and 1 is uncertain, and
Chernoff's inequality limits it without any assumption on the data. Far points have large ceilings, so that they are
drawn often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import rel_entr

from onebatchpam._tiles import Indices
from onebatchpam.bounds.solution import Solution
from onebatchpam.search import ClusterProfile

# Draws: at least this many, because the uncertainty falls with their square root, and so many for each medoid, because
# the best medoids of a sample fit it better than those of all rows do, by about k / draws.
FEWEST_DRAWS, DRAWS_PER_MEDOID = 20_000, 100


@dataclass(frozen=True)
class PointSample:
    """Distinct rows that were drawn, and weights that make sums over them unbiased estimates of sums over all rows."""

    points: Indices
    weights: NDArray[np.float64]
    n_draws: int
    total: float  # the sum of w_j T_j over all rows

    @classmethod
    def of(
        cls, points: Indices, counts: NDArray[np.int64], ceilings: NDArray[np.float64], n_draws: int, total: float
    ) -> PointSample:
        """Return the sample in which these points were drawn so many times."""
        return cls(points, counts * total / (n_draws * ceilings), n_draws, total)

    def limit(self, bound: float, confidence: float) -> float:
        """Return the bound that holds for all rows with this confidence, given that of the sample."""
        return self.total * limit_of_mean(bound / self.total, self.n_draws, confidence)


def choose_ceilings(solution: Solution, profile: ClusterProfile) -> NDArray[np.float64]:
    """Return T for every row: large enough for good multipliers, and small, because the uncertainty grows with T.

    A good multiplier lies between the distances to the nearest and to the second nearest medoid. Good multipliers also
    let every cluster pay about the same in excess of its cost, and no more than the cost of the costliest cluster; in
    a cluster far from all others, this is much less than the distance to the second nearest medoid. `profile` is that
    of the whole data, of which the solution may have only some rows.
    """
    nearest, second = solution.nearest.astype(np.float64), solution.second.astype(np.float64)
    return np.minimum(second, nearest + profile.losses.max() / profile.weights[solution.labels])


def count_draws(k: int) -> int:
    """Return the number of draws for k medoids."""
    return max(FEWEST_DRAWS, DRAWS_PER_MEDOID * k)


def draw_sample(
    weights: NDArray[np.float64], ceilings: NDArray[np.float64], k: int, rng: np.random.RandomState
) -> PointSample | None:
    """Draw rows with replacement, by weight times ceiling; return None if all ceilings are zero."""
    odds = weights * ceilings
    total = float(odds.sum())
    if total == 0:
        return None
    n_draws = count_draws(k)
    points, counts = np.unique(rng.choice(len(odds), n_draws, p=odds / total), return_counts=True)
    return PointSample.of(points, counts, ceilings[points], n_draws, total)


def limit_of_mean(mean: float, n: int, confidence: float) -> float:
    """Return a number that the expectation exceeds with this confidence, given the mean of n numbers from 0 to 1.

    By Chernoff's inequality, in the form of Hoeffding (1963): the probability that the mean of n independent numbers
    with expectation e is at least x > e is at most exp(-n KL(x, e)).
    """
    excess = -math.log1p(-confidence) / n
    mean = min(mean, 1.0)

    def divergence(expectation: float) -> float:
        return float(rel_entr(mean, expectation) + rel_entr(1 - mean, 1 - expectation))

    smallest = np.finfo(np.float64).tiny
    if divergence(smallest) <= excess:
        return 0.0
    return float(brentq(lambda expectation: divergence(expectation) - excess, smallest, mean, xtol=1e-15))
