"""Medoids of time series of unequal length, under dynamic time warping."""

from __future__ import annotations

import numpy as np

from onebatchpam import OneBatchPAM, pair_metric

try:
    from aeon.distances import dtw_distance as dtw
except ImportError:

    def dtw(a: np.ndarray, b: np.ndarray) -> float:
        """Return the smallest sum of squared differences over all alignments of two series."""
        cost = [0.0] + [np.inf] * len(b)
        for value in a.tolist():
            diagonal, cost[0] = cost[0], np.inf
            for j, other in enumerate(b.tolist(), start=1):
                diagonal, cost[j] = cost[j], (value - other) ** 2 + min(diagonal, cost[j], cost[j - 1])
        return cost[-1]


rng = np.random.default_rng(0)


def make_series(shape: int) -> np.ndarray:
    """Return a wave, a ramp or a step, faster or slower, with noise."""
    time = np.linspace(0, 1, rng.integers(15, 30)) ** rng.uniform(0.7, 1.4)
    return [np.sin(2 * np.pi * time), time, (time > 0.5).astype(float)][shape] + 0.05 * rng.normal(size=len(time))


shapes = np.arange(45) % 3
series = [make_series(shape) for shape in shapes]  # a list can hold series of different lengths

# The function is called for each pair of a series and a batch point; custom_metric.py shows how to compile it.
model = OneBatchPAM(3, metric=pair_metric(dtw), init="k-means++", random_state=0).fit(series)
print("lengths:", sorted({len(each) for each in series}))
for label, medoid in enumerate(model.cluster_centers_):
    members = shapes[model.labels_ == label]
    print(f"medoid {label}: {len(medoid)} values, {len(members)} series of shape {sorted(set(members.tolist()))}")
print("new series:", model.predict([make_series(0), make_series(1), make_series(2)]).tolist())

# Series of equal length are the rows of an array; each is passed as a one-dimensional array.
equal = np.array([np.interp(np.linspace(0, 1, 20), np.linspace(0, 1, len(each)), each) for each in series])
model = OneBatchPAM(3, metric=pair_metric(dtw), init="k-means++", random_state=0).fit(equal)
print("equal length:", model.cluster_centers_.shape)
