"""
Label 20 rows, get 89 %
=======================

Which rows should be labelled, if only few can be? The digits of scikit-learn have labels, so that the answer can be
checked: label the k chosen rows, give every other row the label of the nearest chosen one, and count how many are
right.
"""

# %%
# Four ways to choose
# -------------------
#
# Farthest-first takes the row farthest from all chosen ones, again and again. Snapped k-means moves each centre to the
# nearest row.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances, pairwise_distances_argmin

from onebatchpam import OneBatchPAM

X, names = load_digits(return_X_y=True)
distances = pairwise_distances(X)


def choose_at_random(k: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(len(X), k, replace=False)


def choose_farthest_first(k: int, seed: int) -> np.ndarray:
    chosen = [int(np.random.default_rng(seed).integers(len(X)))]
    while len(chosen) < k:
        chosen.append(int(distances[chosen].min(axis=0).argmax()))
    return np.array(chosen)


def choose_by_kmeans(k: int, seed: int) -> np.ndarray:
    return pairwise_distances_argmin(KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_, X)


def choose_medoids(k: int, seed: int) -> np.ndarray:
    return OneBatchPAM(k, random_state=seed).fit(X).medoid_indices_


METHODS = {
    "random": choose_at_random,
    "farthest first": choose_farthest_first,
    "k-means, snapped": choose_by_kmeans,
    "medoids": choose_medoids,
}

# %%
# Five seeds for each
# -------------------

KS, SEEDS = [10, 20, 30, 50, 100], range(5)


def measure_accuracy(chosen: np.ndarray) -> float:
    """Return the share of the other rows whose label is that of the nearest chosen row."""
    others = np.setdiff1d(np.arange(len(X)), chosen)
    nearest = chosen[distances[np.ix_(others, chosen)].argmin(axis=1)]
    return float(np.mean(names[nearest] == names[others]))


accuracies = {
    method: np.array([[measure_accuracy(choose(k, seed)) for seed in SEEDS] for k in KS])
    for method, choose in METHODS.items()
}
print(f"{'accuracy':18}" + "".join(f"{f'k = {k}':>10}" for k in KS))
for method, values in accuracies.items():
    print(f"{method:18}" + "".join(f"{mean:>10.1%}" for mean in values.mean(axis=1)))

# %%
# Medoids are far better than random rows and farthest points. In Euclidean space, as here, snapped k-means is close to
# them, and with 100 labels as good. With strings, series, or tables of categories it does not exist; medoids do.

plt.rcParams["font.size"] = 13
STYLES = {  # a colour, a marker, and by how much the name is moved up from the end of the line
    "random": ("#7f7f7f", "D", -13),
    "farthest first": ("#dd8452", "v", -4),
    "k-means, snapped": ("#8172b3", "^", -7),
    "medoids": ("#1f6f43", "o", 9),
}
figure, ax = plt.subplots(figsize=(7.4, 4.4), layout="constrained")
for method, (colour, marker, up) in STYLES.items():
    values = accuracies[method]
    mean = values.mean(axis=1)
    ax.plot(KS, mean, marker=marker, color=colour, lw=3 if method == "medoids" else 1.5)
    ax.fill_between(KS, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.15)
    ax.annotate(method, (KS[-1], mean[-1]), (8, up), textcoords="offset points", va="center", color=colour)
ax.set(xscale="log", xticks=KS, xlabel="labelled rows of 1,797", ylabel="rows with the right label")
ax.xaxis.set_major_formatter("{x:.0f}")
ax.xaxis.set_minor_locator(plt.NullLocator())
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
ax.set_title("Handwritten digits; mean, lowest and highest of five seeds", fontsize=12)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
