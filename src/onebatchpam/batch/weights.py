"""The corrections of the variants: the weights of the batch points, and their distances from themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Variants in which a batch point weighs as much as the rows to which it is the nearest.
WEIGHTED_BY_NEAREST = ("nniw", "progressive")
# Variants in which a batch point is put far from itself.
DEBIASED = ("debias", "nniw", "lwcs", "progressive")


def debiased_distances(
    weights: NDArray[np.float64],
    total_weight: float,
    n: int,
    largest: float,
    stood_for: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the distance from itself at which to put each batch point, given its weight.

    At distance 0 from itself, a batch point would be preferred as a medoid merely because it is in the batch. So it is
    put at the largest distance. A heavy row, however, is in the batch for its own sake: the larger its own share of the
    weight that it stands for, the nearer to itself it stays. `total_weight` and `n` are those of all rows.

    In a sample, `stood_for` is the weight of the rows to which each batch point is the nearest: a point of a small
    group far away may be the only row of its group in the sample, so that no other row could be its medoid.
    """
    m = len(weights)
    own_shares = np.minimum(1, weights * (m / total_weight))  # m / n for each row if all weights are equal
    if stood_for is not None:
        shares = np.divide(weights, stood_for, out=np.zeros(m), where=stood_for > 0)
        own_shares = np.minimum(1, np.maximum(own_shares, shares))
    return largest * np.minimum(1, (1 - own_shares) / (1 - m / n))
