"""The objective of k-medoids, computed by the benchmark itself: no method's own figure is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

ROWS_PER_OBJECTIVE_TILE = 5000


def objective(X: NDArray[Any], medoids: NDArray[np.int64], metric: str) -> float:
    """Return the sum over all rows of the distance to the nearest medoid, in float64."""
    points, name = X[medoids].astype(np.float64), {"manhattan": "cityblock"}.get(metric, metric)
    starts = range(0, len(X), ROWS_PER_OBJECTIVE_TILE)
    return sum(float(cdist(X[s : s + ROWS_PER_OBJECTIVE_TILE], points, name).min(axis=1).sum()) for s in starts)
