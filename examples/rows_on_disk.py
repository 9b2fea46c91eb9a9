"""
Rows in a file larger than memory
=================================

Medoids of rows in a file, with the labels in another file; neither is ever in memory as a whole.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from onebatchpam import OneBatchPAM

N_FEATURES, N_PER_PART = 8, 20_000
centres = np.random.default_rng(0).uniform(-20, 20, size=(12, N_FEATURES))

# %%
# The rows are written piece by piece, as they might come from a measurement. A fit and a prediction read them from the
# file.

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    file = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, (5 * N_PER_PART, N_FEATURES))
    for part in range(5):
        rows, _ = make_blobs(N_PER_PART, centers=centres, random_state=part)
        file[part * N_PER_PART : (part + 1) * N_PER_PART] = rows
    file.flush()
    del file

    model = OneBatchPAM(n_clusters=12, metric="manhattan", random_state=0)
    model.fit(folder / "rows.npy", labels_out=folder / "labels.npy")
    print(f"rows.npy: {(folder / 'rows.npy').stat().st_size / 1e6:.1f} MB")
    print(f"sizes of the clusters: {np.bincount(np.load(folder / 'labels.npy')).tolist()}")

    new_rows, _ = make_blobs(1000, centers=centres, random_state=99)
    np.save(folder / "new_rows.npy", new_rows.astype(np.float32))
    labels = model.predict(folder / "new_rows.npy", out=folder / "new_labels.npy")
    print(f"labels of the first new rows: {labels[:10].tolist()}")
    del model, labels
