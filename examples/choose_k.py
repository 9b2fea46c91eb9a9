"""
Choose the number of medoids
============================

Try several k on one block, and judge them by medoid silhouette and elbow.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, make_blobs

from onebatchpam import OneBatchPAM, medoid_silhouette, select_k

X, _ = make_blobs(10_000, n_features=5, centers=7, random_state=3)
selection = select_k(X, range(2, 13), OneBatchPAM(n_jobs=-1, random_state=0))
print("seven groups:")
print(selection)
selection.plot()
plt.show()

# %%
# Real data are rarely as clear. If the two criteria disagree, the advice below the table says so.

digits = load_digits().data
selection = select_k(digits, range(2, 21, 2), OneBatchPAM(metric="manhattan", random_state=0))
print("handwritten digits:")
print(selection)
selection.plot()
plt.show()

# %%
# The model for the suggested k is fitted and refined already.

model = selection.model
print(f"model with k = {model.n_clusters}: inertia {model.inertia_:.6g}")
print(f"silhouette {medoid_silhouette(digits, model):.4f}; the largest clusters:")
print(model.describe_clusters().to_frame().head(3))
