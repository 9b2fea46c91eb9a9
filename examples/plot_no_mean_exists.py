"""
No mean exists
==============

Under dynamic time warping two series are near if one can be stretched to match the other. There is no mean for that:
the average of the values, time point by time point, blurs what happens sooner in one series and later in another. The
medoid is a series that was recorded.

The data are hands that draw a gun, or only point: 200 recordings, which come with aeon (``pip install aeon``).
"""

# %%
# aeon compares blocks of series in compiled code, on all processors; `block_metric` hands them over.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from aeon.datasets import load_gunpoint
from aeon.distances import dtw_pairwise_distance

from onebatchpam import OneBatchPAM, block_metric


@block_metric
def dtw(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return dtw_pairwise_distance(A, B, window=0.2, n_jobs=-1)


X, classes = load_gunpoint()
X = X[:, 0]  # one channel
model = OneBatchPAM(4, metric=dtw, random_state=0).fit(X)
for label, medoid in enumerate(model.medoid_indices_):
    found, counts = np.unique(classes[model.labels_ == label], return_counts=True)
    members = ", ".join(f"{count} of class {each}" for each, count in zip(found, counts, strict=True))
    print(f"series {medoid} stands for {members}")

# %%
# The mean of each cluster is smoother than all of its series: its steps are slopes, and what some hands do at the end
# becomes something that all do a little. The medoid has the steps of a hand that moved.

figure, axes = plt.subplots(1, 4, figsize=(11, 3), sharey=True, layout="constrained")
for label, (ax, medoid) in enumerate(zip(axes, model.medoid_indices_, strict=True)):
    members = X[model.labels_ == label]
    ax.plot(members.T, color="lightgray", lw=0.5)
    ax.plot(members.mean(axis=0), color="tab:blue", lw=2, label="mean of the values")
    ax.plot(X[medoid], color="tab:red", lw=2, label=f"medoid: series {medoid}")
    ax.set(title=f"{len(members)} series", xlabel="time")
    ax.legend(fontsize=7, loc="lower center")
axes[0].set_ylabel("height of the hand")
plt.show()
