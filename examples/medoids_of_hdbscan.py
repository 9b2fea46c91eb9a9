"""
A representative row for every cluster of HDBSCAN
=================================================

HDBSCAN finds the clusters, and `medoids_of` the most central row of each.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons

from onebatchpam import medoids_of

X, _ = make_moons(12_000, noise=0.06, random_state=0)
X = np.concatenate([X, np.random.default_rng(0).uniform(-3, 3, size=(400, 2))])  # HDBSCAN labels noise as -1
labels = HDBSCAN(min_cluster_size=50, copy=True).fit_predict(X)

# %%
# The medoids are exact. A row is dismissed as soon as a sample of its distances shows that it cannot be the medoid.

found = medoids_of(X, labels, metric="euclidean", n_jobs=-1, random_state=0)
for label, index, size, inertia in zip(found.labels, found.indices, found.sizes, found.inertias, strict=True):
    print(f"cluster {label}: {size} rows, medoid {index} at {X[index].round(2)}, mean distance {inertia / size:.3f}")
print(f"noise: {np.sum(labels == -1)} rows")
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(*X[labels < 0].T, s=2, color="lightgray", label="noise")
ax.scatter(*X[labels >= 0].T, s=2, c=labels[labels >= 0], cmap="Set2", vmin=0, vmax=7)
ax.scatter(*X[found.indices].T, s=160, color="#1f6f43", marker="*", label="medoids")
ax.legend()
plt.show()

print(f"distances computed: {found.n_distances / np.sum(found.sizes**2):.0%} of all pairs within clusters")
