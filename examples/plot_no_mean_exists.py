"""
No mean exists
==============

The outline of a leaf is a series: the distance from its middle, on the way around it. Under dynamic time warping two
series are near if one can be stretched to match the other. The average of the values, point by point, blurs lobes that
come sooner in one leaf and later in another. Barycentre averages (DBA) stretch the series before they average them, and
look more like leaves; but they too are outlines that nobody recorded. The medoid is a leaf that grew.

The data are 442 leaves of six species, which come with aeon (``pip install "aeon<1.7"``).
"""

# %%
# aeon compares blocks of series in compiled code, on all processors; `block_metric` hands them over.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from aeon.datasets import load_classification
from aeon.distances import dtw_pairwise_distance

from onebatchpam import OneBatchPAM, block_metric


@block_metric
def dtw(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return dtw_pairwise_distance(A, B, window=0.1, n_jobs=-1)


X, species = load_classification("OSULeaf")
X = X[:, 0, ::3]  # one channel; a third of the points show the same lobes
model = OneBatchPAM(4, metric=dtw, random_state=0).fit(X)
for label, medoid in enumerate(model.medoid_indices_):
    members = species[model.labels_ == label]
    print(f"leaf {medoid} stands for {len(members)}, of {len(np.unique(members))} species")

# %%
# Above, the mean of each cluster: an outline that no leaf has. Below, its medoid. Series are normalised, so how far the
# outlines are from the middle is a guess.

around = np.linspace(0, 2 * np.pi, X.shape[1])
figure, axes = plt.subplots(2, 4, figsize=(9, 4.8), subplot_kw={"projection": "polar"}, layout="constrained")
for label, (above, below, medoid) in enumerate(zip(*axes, model.medoid_indices_, strict=True)):
    members = X[model.labels_ == label]
    above.fill(around, members.mean(axis=0) + 4, color="#4c72b0", alpha=0.6)
    above.set_title(f"mean of {len(members)} leaves", fontsize=10, y=0.95)
    below.fill(around, X[medoid] + 4, color="#1f6f43", alpha=0.8)
    below.set_title(f"medoid: leaf {medoid}", fontsize=10, y=0.95)
for ax in axes.flat:
    ax.set(rlim=(0, 7))
    ax.axis("off")
plt.show()
