"""
A mean is nobody
================

The centres of k-means are averages: nobody wrote these digits. A medoid is a row of the data: somebody wrote it, and it
has a number by which it can be looked up, labelled or shown.

Both methods divide the 1,797 handwritten digits of scikit-learn into ten clusters.
"""

# %%
# The ten centres of k-means, and the ten medoids
# -----------------------------------------------

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onebatchpam import OneBatchPAM

digits = load_digits()
X, names = digits.data, digits.target
means = KMeans(n_clusters=10, n_init=10, random_state=0).fit(X)
medoids = OneBatchPAM(n_clusters=10, n_init=10, random_state=0).fit(X)

# %%
# Each picture is placed by the digit that is the most frequent in its cluster. k-means finds one digit twice and
# another never; so may k-medoids, since neither knows what a digit is.


def find_places(labels: np.ndarray) -> np.ndarray:
    """Return the clusters, ordered by the digit that most of their rows are."""
    return np.argsort([np.bincount(names[labels == label]).argmax() for label in range(10)], kind="stable")


rows = medoids.medoid_indices_[find_places(medoids.labels_)]
pictures = {
    "k-means: averages that nobody wrote": means.cluster_centers_[find_places(means.labels_)],
    "k-medoids: digits that somebody wrote": X[rows],
}

figure = plt.figure(figsize=(10, 2.9), layout="constrained")
for line, (title, images) in zip(figure.subfigures(2, height_ratios=(1, 1.18)), pictures.items(), strict=True):
    line.suptitle(title, x=0.005, ha="left")
    for ax, image in zip(line.subplots(1, 10), images, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
for ax, row in zip(figure.axes[10:], rows, strict=True):
    ax.set_xlabel(f"row {row}")
plt.show()

# %%
# How far from a picture of the data?
# -----------------------------------
#
# The distance of each centre to the nearest row says how far it is from anything that was observed. A medoid is at
# distance 0 by definition.

nearest = np.linalg.norm(X[:, None] - means.cluster_centers_[None], axis=2).min(axis=0)
typical = np.median(medoids.transform(X).min(axis=1))
print(f"from a centre of k-means to the nearest digit: {nearest.min():.1f} to {nearest.max():.1f}")
print(f"from a digit to its medoid (median): {typical:.1f}")
print("medoids are rows", rows.tolist())
