"""The corrections of the variants: the weights of the batch points, and their distances from themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Variants in which a batch point weighs as much as the rows to which it is the nearest.
WEIGHTED_BY_NEAREST = ("nniw", "progressive")
# Variants in which a batch point is put far from itself.
DEBIASED = ("debias", "nniw", "lwcs", "progressive")


def debiased_distances(
    weights: NDArray[np.float64], total_weight: float, n: int, largest: float
) -> NDArray[np.float64]:
    """Return the distance from itself at which to put each batch point, given its weight.

    At distance 0 from itself, a batch point would be preferred as a medoid merely because it is in the batch. So it is
    put at the largest distance. A heavy row, however, is in the batch for its own sake: the larger its own share of the
    weight that it stands for, the nearer to itself it stays. `total_weight` and `n` are those of all rows.
    """
    m = len(weights)
    own_shares = np.minimum(1, weights * (m / total_weight))  # m / n for each row if all weights are equal
    return largest * np.minimum(1, (1 - own_shares) / (1 - m / n))
