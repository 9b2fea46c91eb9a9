"""
Where all pairs end
===================

Classical algorithms compare all pairs of rows: twice as many rows take four times as long. With one batch the cost
grows little faster than the rows. Both are measured here, on data that double again and again.
"""

# %%
# Double the rows until it hurts
# ------------------------------
#
# ``effort="fast"`` makes one start, as ``FasterPAM`` does.

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from onebatchpam import FasterPAM, OneBatchPAM

X = make_blobs(64_000, 16, centers=50, random_state=0)[0].astype(np.float32)
MODELS = {
    "FasterPAM, all pairs": FasterPAM(20, metric="manhattan", random_state=0, n_jobs=1),
    "OneBatchPAM": OneBatchPAM(20, metric="manhattan", effort="fast", random_state=0, n_jobs=1),
}
MOST_ROWS = {"FasterPAM, all pairs": 8000, "OneBatchPAM": 64_000}

found: dict[str, list[tuple[int, float, float]]] = {name: [] for name in MODELS}
for name, model in MODELS.items():
    n = 1000
    while n <= MOST_ROWS[name]:
        began = time.perf_counter()
        model.fit(X[:n])
        seconds = time.perf_counter() - began
        found[name].append((n, seconds, model.n_distances_))
        print(f"{name}: {n:6,} rows, {seconds:5.2f} s, {model.n_distances_ / 1e6:6.1f} million dissimilarities")
        n *= 2

# %%
# The slopes tell the rest
# ------------------------
#
# On logarithmic axes a power of n is a straight line. The dotted lines go on as n²: a million rows have 10¹² pairs,
# which are 4 TB in float32. Up to some thousand rows all pairs are quickest, so they are the batch.
# :doc:`Benchmarks </benchmarks>` has this picture for ten million rows and four other packages.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for panel, title, column in zip(panels, ("seconds", "dissimilarities"), (1, 2), strict=True):
    for name, colour in zip(MODELS, ("#4c72b0", "#1f6f43"), strict=True):
        rows = np.array(found[name])
        panel.loglog(rows[:, 0], rows[:, column], "o-", color=colour, label=name)
    n, value = (found["FasterPAM, all pairs"][-1][place] for place in (0, column))
    further = np.array([n, 64_000])
    panel.loglog(further, value * (further / n) ** 2, ":", color="#4c72b0", label="all pairs, as n²")
    panel.set(
        title=title,
        xlabel="rows",
        xticks=[1000, 4000, 16_000, 64_000],
        xticklabels=["1,000", "4,000", "16,000", "64,000"],
    )
    panel.minorticks_off()
    panel.spines[["top", "right"]].set_visible(False)
panels[0].legend(frameon=False)
plt.show()
