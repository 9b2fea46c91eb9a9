"""
Where all pairs end
===================

Classical algorithms compare all pairs of rows: twice as many rows take four times as much time and memory. With one
batch, both grow little faster than the rows. They are measured here, on data that double again and again.
"""

# %%
# Double the rows until it hurts
# ------------------------------
#
# ``effort="fast"`` makes one start, as ``FasterPAM`` does. The package kmedoids, if it is installed, gets the matrix
# of all pairs; scikit-learn's ``AgglomerativeClustering``, which one might take instead, computes all pairs itself. The
# memory is that of the matrix or of the block, which are most of what a fit takes.

from __future__ import annotations

import time
from importlib import import_module
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs

from onebatchpam import FasterPAM, OneBatchPAM, distance_block

X = make_blobs(64_000, 16, centers=50, random_state=0)[0].astype(np.float32)
K, PARAMETERS = 20, {"metric": "manhattan", "random_state": 0, "n_jobs": 1}


def fit_one_batch(X: np.ndarray) -> int:
    """Fit with one batch, and return the bytes of the block."""
    model = OneBatchPAM(K, effort="fast", **PARAMETERS).fit(X)
    return 4 * len(X) * len(model.batch_indices_)


def fit_all_pairs(X: np.ndarray) -> int:
    """Fit with all pairs, and return the bytes of the matrix."""
    FasterPAM(K, **PARAMETERS).fit(X)
    return 4 * len(X) ** 2


def fit_kmedoids(X: np.ndarray) -> int:
    """Let the package kmedoids fit with all pairs, and return the bytes of the matrix."""
    matrix = distance_block(X, X, "manhattan")
    import_module("kmedoids").fasterpam(matrix, K, random_state=0, n_cpu=1)
    return matrix.nbytes


def fit_average_linkage(X: np.ndarray) -> int:
    """Let scikit-learn merge rows by all pairs, and return the bytes of the float64 distances and their copy."""
    AgglomerativeClustering(K, metric="manhattan", linkage="average").fit(X)
    return 2 * 8 * (len(X) * (len(X) - 1) // 2)


FITS = {  # how to fit, up to how many rows, a colour and a marker
    "OneBatchPAM": (fit_one_batch, 64_000, "#1f6f43", "o"),
    "FasterPAM, all pairs": (fit_all_pairs, 8000, "#4c72b0", "s"),
    "average linkage": (fit_average_linkage, 8000, "#937860", "v"),
}
if find_spec("kmedoids"):
    FITS["kmedoids, all pairs"] = (fit_kmedoids, 4000, "#dd8452", "D")

found: dict[str, list[tuple[int, float, float]]] = {name: [] for name in FITS}
for name, (fit, most, _, _) in FITS.items():
    n = 1000
    while n <= most:
        began = time.perf_counter()
        megabytes = fit(X[:n]) / 1e6
        seconds = time.perf_counter() - began
        found[name].append((n, seconds, megabytes))
        print(f"{name}: {n:6,} rows, {seconds:5.2f} s, {megabytes:5.0f} MB")
        n *= 2

# %%
# The slopes tell the rest
# ------------------------
#
# On logarithmic axes a power of n is a straight line. The dotted lines go on as n²: a million rows have 10¹² pairs,
# which are 4 TB in float32. Up to a few thousand rows, comparing all pairs is quickest; the batch is then all rows.

figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for panel, title, column in zip(panels, ("time in seconds", "memory in MB"), (1, 2), strict=True):
    for name, (_, _, colour, marker) in FITS.items():
        rows = np.array(found[name])
        panel.loglog(rows[:, 0], rows[:, column], marker=marker, color=colour, label=name)
    n, value = (found["FasterPAM, all pairs"][-1][place] for place in (0, column))
    further = np.array([n, 64_000])
    panel.loglog(further, value * (further / n) ** 2, ":", color="#4c72b0", label="all pairs, as n²")
    panel.set(
        title=title,
        xlabel="rows",
        xticks=[1000, 4000, 16_000, 64_000],
        xticklabels=["1,000", "4,000", "16,000", "64,000"],
    )
    panel.yaxis.set_major_formatter("{x:,g}")
    panel.minorticks_off()
    panel.spines[["top", "right"]].set_visible(False)
panels[1].legend(frameon=False)
plt.show()

# %%
# On to ten million rows
# ----------------------
#
# :doc:`Benchmarks </benchmarks>` go on where this example stops, with the measured memory of each fit, beside kmedoids,
# scikit-learn-extra, average linkage and apricot:
#
# .. image:: /limits.png
#    :alt: Time and memory against the number of rows; the others end at 20,000 rows, OneBatchPAM at ten million
