"""
Time series
===========

Medoids of time series under dynamic time warping, by the parallel distances of aeon (`pip install aeon`).
"""

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import numpy as np
from aeon.datasets import load_gunpoint, load_italy_power_demand, load_pickup_gesture_wiimoteZ
from aeon.distances import dtw_pairwise_distance

from onebatchpam import OneBatchPAM, block_metric


# %%
# A function of two blocks of series: aeon compares all pairs in compiled code, on all processors. A function of two
# series would be called once for each pair, from Python. `metric_params` are its keyword arguments.
@block_metric
def dtw(A: np.ndarray, B: np.ndarray, window: float) -> np.ndarray:
    return dtw_pairwise_distance(A, B, window=window, n_jobs=-1)


dtw_pairwise_distance(np.zeros((2, 8)), np.zeros((2, 8)), window=0.1)  # compiles the function, which takes a while


def report(name: str, model: OneBatchPAM, classes: np.ndarray, seconds: float) -> None:
    """Say what a fit has cost, and which classes the medoids stand for."""
    print(f"{name}: {len(model.labels_):,} series, {model.n_distances_:,} DTW distances, {seconds:.1f} s")
    for label, medoid in enumerate(model.medoid_indices_):
        found, counts = np.unique(classes[model.labels_ == label], return_counts=True)
        members = ", ".join(f"{count} of class {each}" for each, count in zip(found, counts, strict=True))
        print(f"  series {medoid} stands for {members}")


# %%
# Series of equal length are the rows of an array. Days of electricity demand in Italy, in winter (1) and summer (2):

X, classes = load_italy_power_demand()
X = X[:, 0]  # of shape (series, channels, time points), with one channel
start = time.perf_counter()
model = OneBatchPAM(4, metric=dtw, metric_params={"window": 0.1}, random_state=0).fit(X)
report("Italian power demand", model, classes, time.perf_counter() - start)

figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), sharey=True, layout="constrained")
for label, (ax, medoid) in enumerate(zip(axes, model.medoid_indices_, strict=True)):
    ax.plot(X[model.labels_ == label].T, color="lightgray", lw=0.3)
    ax.plot(X[medoid], color="#1f6f43", lw=2)
    ax.set(title=f"day {medoid}", xlabel="hour")
plt.show()

# %%
# Hands that draw a gun (1) or point (2).

X, classes = load_gunpoint()
start = time.perf_counter()
model = OneBatchPAM(4, metric=dtw, metric_params={"window": 0.1}, random_state=0).fit(X[:, 0])
report("GunPoint", model, classes, time.perf_counter() - start)

# %%
# Series of different lengths are a list; aeon takes blocks of them as lists, too.

series, classes = load_pickup_gesture_wiimoteZ()
series = [each[0] for each in series]


@block_metric
def dtw_of_lists(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return dtw_pairwise_distance(list(A), list(B), n_jobs=-1)


start = time.perf_counter()
model = OneBatchPAM(5, metric=dtw_of_lists, random_state=0).fit(series)
lengths = sorted(map(len, series))
report(f"gestures of {lengths[0]} to {lengths[-1]} time points", model, classes, time.perf_counter() - start)
