"""
One batch, many swaps
=====================

How OneBatchPAM searches, swap by swap: every row may become a medoid, but swaps are judged by a batch of few rows. At
the end the medoids are refined with all rows.

The search is written here in NumPy, to be read. The package does the same in native code, and quicker.
"""

# %%
# Rows, a batch, and six medoids to start with
# --------------------------------------------

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.datasets import make_blobs

from onebatchpam import OneBatchPAM, distance_block

K = 6
X, _ = make_blobs(3000, centers=K, cluster_std=1.1, random_state=8)
rng = np.random.default_rng(1)
batch = rng.choice(len(X), 60, replace=False)
start = rng.choice(len(X), K, replace=False)

# All rows are compared with the batch, once: n x m numbers instead of n x n.
block = distance_block(X, X[batch], "euclidean")
block[batch, np.arange(len(batch))] = block.max()  # a batch point does not win by being near itself

# %%
# The swaps
# ---------
#
# A swap is made as soon as it lowers the loss, which is summed over the batch.


def search(block: np.ndarray, medoids: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the medoids before the search, and after each swap."""
    medoids = medoids.copy()
    yield medoids.copy()
    improved = True
    while improved:
        improved = False
        for candidate in range(len(block)):
            loss = block[medoids].min(axis=0).sum()
            without = [np.delete(block[medoids], place, axis=0).min(axis=0) for place in range(len(medoids))]
            losses = np.minimum(without, block[candidate]).sum(axis=1)
            if candidate not in medoids and losses.min() < loss - 1e-9:
                medoids[losses.argmin()] = candidate
                improved = True
                yield medoids.copy()


# %%
# The refinement
# --------------
#
# Sixty points tell roughly where a medoid should be. For each medoid, the rows that look best to the batch are compared
# with all rows.


def refine(block: np.ndarray, medoids: np.ndarray, n_candidates: int = 100) -> Iterator[np.ndarray]:
    """Yield the medoids after each swap that lowers the loss of all rows."""
    medoids = medoids.copy()
    for place in range(len(medoids)):
        kept = np.delete(medoids, place)
        on_batch = np.minimum(block[kept].min(axis=0), block).sum(axis=1)
        candidates = np.append(medoids[place], on_batch.argsort()[:n_candidates])
        nearest = distance_block(X, X[kept], "euclidean").min(axis=1, keepdims=True)
        losses = np.minimum(nearest, distance_block(X, X[candidates], "euclidean")).sum(axis=0)
        if losses.argmin() > 0:
            medoids[place] = candidates[losses.argmin()]
            yield medoids.copy()


steps = list(search(block, start))
SWAPS = len(steps) - 1  # on the batch
steps += refine(block, steps[-1])
objectives = [distance_block(X, X[medoids], "euclidean").min(axis=1).mean() for medoids in steps]
fitted = OneBatchPAM(K, batch_size=60, random_state=0).fit(X)
print(f"{SWAPS} swaps on {len(batch)} batch points of {len(X):,} rows, {len(steps) - 1 - SWAPS} with all rows")
print(f"mean distance: {objectives[0]:.3f} at the start, {objectives[SWAPS]:.3f} after the swaps on the batch")
print(f"refined: {objectives[-1]:.3f}; by the package: {fitted.inertia_ / len(X):.3f}")


def draw(ax: plt.Axes, medoids: np.ndarray, title: str) -> None:
    """Draw the rows, the batch and the medoids, and a line from each batch point to its medoid."""
    nearest = medoids[distance_block(X[batch], X[medoids], "euclidean").argmin(axis=1)]
    ax.clear()
    ax.scatter(*X.T, s=2, color="lightgray", label="rows")
    ax.plot(*np.stack([X[batch], X[nearest]]).transpose(2, 0, 1), color="#4c72b0", lw=0.5, alpha=0.5)
    ax.scatter(*X[batch].T, s=12, color="#4c72b0", label="batch")
    ax.scatter(*X[medoids].T, s=140, color="#1f6f43", marker="*", label="medoids", zorder=3)
    ax.set(xticks=[], yticks=[], title=title)


figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
titles = (
    f"Start: mean distance {objectives[0]:.2f}",
    f"After {SWAPS} swaps on the batch: {objectives[SWAPS]:.2f}",
    f"Refined with all rows: {objectives[-1]:.2f}",
)
for ax, medoids, title in zip(axes, (steps[0], steps[SWAPS], steps[-1]), titles, strict=True):
    draw(ax, medoids, title)
axes[0].legend(loc="best", fontsize=8)
plt.show()

# %%
# The same as a film
# ------------------
#
# First the rows, then the batch, then every swap: an arrow leads from the medoid that goes to the row that takes its
# place. The last swaps are those of the refinement.

figure, ax = plt.subplots(figsize=(6, 4.8), layout="constrained")
FIRST = 2  # pictures before the medoids come


def show(picture: int) -> None:
    """Draw a picture of the film."""
    step = picture - FIRST
    if step < 0:
        ax.clear()
        ax.scatter(*X.T, s=2, color="lightgray")
        ax.scatter(*X[batch[: len(batch) * picture]].T, s=12, color="#4c72b0")
        ax.set(xticks=[], yticks=[], title=f"the batch: {len(batch)} points" if picture else f"{len(X):,} rows")
        return
    stage = "start" if step == 0 else f"swap {step}" if step <= SWAPS else f"refined, swap {step}"
    draw(ax, steps[step], f"{stage}: mean distance {objectives[step]:.3f}")
    if step > 0:
        place = int(np.flatnonzero(steps[step] != steps[step - 1])[0])
        gone, come = X[steps[step - 1][place]], X[steps[step][place]]
        ax.scatter(*gone, s=140, facecolor="white", edgecolor="#1f6f43", marker="*", zorder=3)
        ax.annotate("", come, gone, arrowprops={"arrowstyle": "->", "color": "#1f6f43", "lw": 1.5}, zorder=4)


film = FuncAnimation(figure, show, frames=FIRST + len(steps), interval=700)
plt.show()
