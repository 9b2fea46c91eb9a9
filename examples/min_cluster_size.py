"""
No cluster below a minimum size
===============================

With a minimum size, no medoid is spent on a few rows far away.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from onebatchpam import OneBatchPAM

X = StandardScaler().fit_transform(load_wine().data)
X = np.concatenate([X, X[:3] + np.array([[20], [-20], [40]])])  # three wines with errors of measurement

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for least in (None, 5, 20, 40):
    model = OneBatchPAM(n_clusters=4, metric="manhattan", min_cluster_size=least, random_state=0).fit(X)
    sizes = np.sort(np.bincount(model.labels_))
    print(f"min_cluster_size={least!s:>4}: clusters of {sizes.tolist()} rows, objective {model.inertia_:,.0f}")
    ax.barh(str(least), sizes, left=np.cumsum(sizes) - sizes, color=["C0", "C1", "C2", "C3"], edgecolor="black")
ax.set(xlabel="rows of the four clusters", ylabel="min_cluster_size")
plt.show()

# %%
# Every row still belongs to its nearest medoid, so that new rows are assigned by the same rule.

print("new rows:", model.predict(X[:5]).tolist())

# %%
# More than the mean size is impossible, and says so at once.

try:
    OneBatchPAM(n_clusters=4, min_cluster_size=60).fit(X)
except ValueError as error:
    print(error)
