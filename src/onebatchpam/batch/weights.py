"""What each variant corrects: the weights of the batch points, and their distances from themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WEIGHTED_BY_NEAREST = ("nniw", "progressive")  # a batch point weighs as much as the rows to which it is nearest
DEBIASED = ("debias", "nniw", "lwcs", "progressive")


def debiased_distances(
    weights: NDArray[np.float64], total_weight: float, n: int, largest: float
) -> NDArray[np.float64]:
    """Return how far from itself to put each batch point, given its weight, and the weight and number of all rows.

    At distance 0 of itself a batch point would be preferred as a medoid merely for being in the batch, so it is put at
    the largest distance. With weights a row may be so heavy that it is in the batch for its own sake: the more of the
    weight it stands for is its own, the nearer to itself it stays.
    """
    m = len(weights)
    own_shares = np.minimum(1, weights * (m / total_weight))  # m / n if all rows weigh the same
    return largest * np.minimum(1, (1 - own_shares) / (1 - m / n))
