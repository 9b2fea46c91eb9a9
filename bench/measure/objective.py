"""How good medoids are, computed by the benchmark itself: no method's own figure is used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

ROWS_PER_TILE = 5000


def check_medoids(medoids: Any, k: int, n: int) -> NDArray[np.int64]:
    """Return the medoids as integers; raise unless they are k indices of n rows."""
    medoids = np.asarray(medoids, dtype=np.int64)
    if medoids.shape != (k,) or medoids.min() < 0 or medoids.max() >= n:
        raise ValueError(f"the method returned {medoids!r}: expected {k} row indices below {n}")
    return medoids


def compute_objective(
    X: NDArray[Any], medoids: NDArray[np.int64], metric: str, rows: NDArray[np.int64] | None = None
) -> float:
    """Return the sum over all rows, or over some of them, of the distance to the nearest medoid, in float64."""
    points, name = X[medoids].astype(np.float64), {"manhattan": "cityblock"}.get(metric, metric)
    judged = X if rows is None else X[rows]
    starts = range(0, len(judged), ROWS_PER_TILE)
    return sum(float(cdist(judged[s : s + ROWS_PER_TILE], points, name).min(axis=1).sum()) for s in starts)
