"""
Rows that fit badly
===================

List the rows far from every medoid, and those between two clusters.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from onebatchpam import OneBatchPAM

digits = load_digits()
rng = np.random.RandomState(0)
noise = rng.randint(0, 17, (5, 64)).astype(float)  # five "digits" of random pixels, which are like no digit
X = np.concatenate([digits.data, noise])
model = OneBatchPAM(10, metric="manhattan", random_state=0).fit(X)

print("clusters, the largest first:")
print(model.describe_clusters())

rows = model.assess_rows(X)
print("\nall rows:")
print(rows)

frame = rows.to_frame()
print("\nfarthest from every medoid, so possible outliers (rows from 1797 on are noise):")
print(frame.nlargest(7, "distance").round(3).to_string())
print("\nbetween two clusters, so worth a second look:")
print(frame.nsmallest(5, "silhouette").round(3).to_string())

lines = plt.figure(figsize=(6, 3.6), layout="constrained").subfigures(2)
for line, title, found in (
    (lines[0], "farthest from every medoid", frame.nlargest(7, "distance")),
    (lines[1], "between two clusters", frame.nsmallest(7, "silhouette")),
):
    line.suptitle(title)
    for ax, row in zip(line.subplots(1, 7), found.index, strict=True):
        ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[], xlabel=f"row {row}")
plt.show()

# %%
# In production the same distance tells whether a new row is like anything that was fitted.

threshold = np.quantile(model.distances_, 0.99)
print(f"new rows: {(-model.score_samples(noise) > threshold).sum()} of 5 are unlike all medoids")
