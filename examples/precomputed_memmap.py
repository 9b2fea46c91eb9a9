"""
A matrix of dissimilarities in a file
=====================================

Medoids from a matrix of dissimilarities in a file; only the entries that are needed are read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from onebatchpam import OneBatchPAM, distance_block

points, _ = make_blobs(8_000, 5, centers=10, random_state=0)
points = points.astype(np.float32)
n = len(points)

# %%
# The matrix is written piece by piece, in half precision, and in Fortran order, because whole columns are read.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "dissimilarities.npy"
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(n, n), fortran_order=True)
    for start in range(0, n, 500):
        file[:, start : start + 500] = distance_block(points, points[start : start + 500], "manhattan")
    file.flush()
    print(f"{path.name}: {n:,} x {n:,} entries, {path.stat().st_size / 1e6:.0f} MB")
    del file

    matrix = np.load(path, mmap_mode="r")
    model = OneBatchPAM(n_clusters=10, metric="precomputed", random_state=0).fit(matrix)
    print(f"medoids {model.medoid_indices_.tolist()}")
    print(f"found with {model.n_distances_ / n**2:.0%} of the entries, sum of dissimilarities {model.inertia_:,.0f}")
    del matrix
