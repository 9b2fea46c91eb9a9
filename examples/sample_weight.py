"""
Weights: half a million answers, few of them distinct
=====================================================

Duplicates are collapsed to one row with a weight; rows of weight zero do not count.
"""

from __future__ import annotations

import numpy as np

from onebatchpam import FasterPAM, OneBatchPAM, collapse_duplicates

# %%
# Half a million people answer five questions on a scale from 1 to 5; few of the rows are distinct.

rng = np.random.default_rng(0)
types = np.array([[1, 1, 5, 5, 3], [5, 4, 1, 2, 3], [3, 3, 3, 3, 3]])
answers = np.clip(types[rng.integers(0, 3, 500_000)] + rng.binomial(2, 0.3, (500_000, 5)) - 1, 1, 5).astype(np.uint8)
rows, weights, inverse = collapse_duplicates(answers)
print(f"{len(answers):,} rows, {len(rows)} of them distinct")

# %%
# A row of weight w counts like w copies, so this equals FasterPAM on all rows, which would take 4 n^2 bytes = 1 TB.

model = FasterPAM(3, metric="manhattan").fit(rows, sample_weight=weights)
labels = model.labels_[inverse]  # labels of all rows
print(f"medoids {model.cluster_centers_.tolist()}, {np.bincount(labels)} rows each, objective {model.inertia_:,.0f}")

# %%
# A row of weight zero does not count and cannot become a medoid, but gets a label: here the rows that occur once.

frequent = OneBatchPAM(3, metric="manhattan", random_state=0).fit(rows, sample_weight=np.where(weights > 1, weights, 0))
print(f"without what came only once: medoids {frequent.cluster_centers_.tolist()}")
