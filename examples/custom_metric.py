"""
A dissimilarity of your own
===========================

A metric may be a function of two objects, a function of two blocks of rows, or a compiled function.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from onebatchpam import OneBatchPAM, native_metric

rng = np.random.default_rng(0)

# %%
# A function of two objects, here sets. X is a list, and the medoids are elements of it.

baskets = [set(rng.choice(8, size=4, replace=False) + 8 * (i % 3)) for i in range(300)]


def jaccard(a: set[int], b: set[int]) -> float:
    return 1 - len(a & b) / len(a | b)


model = OneBatchPAM(3, metric=jaccard, init="k-means++", random_state=0).fit(baskets)
print("typical baskets:", [sorted(map(int, basket)) for basket in model.cluster_centers_])


# %%
# A function of two blocks of rows: the cost to climb from each depot to each customer. It is asymmetric; the medoids,
# here the depots, are always the first argument. `metric_params` holds its keyword arguments.
def climb(depots: np.ndarray, customers: np.ndarray, uphill: float) -> np.ndarray:
    step = customers[None] - depots[:, None]
    return np.hypot(step[..., 0], step[..., 1]) + uphill * np.maximum(0, step[..., 2])


places = rng.uniform(size=(2000, 3))
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, uphill in zip(axes, (0.0, 10.0), strict=True):
    model = OneBatchPAM(5, metric=climb, metric_params={"uphill": uphill}, random_state=0).fit(places)
    print(f"uphill costs {uphill:4.1f}: mean height of the depots {model.cluster_centers_[:, 2].mean():.2f}")
    for label, depot in enumerate(model.cluster_centers_):
        ax.scatter(*places[model.labels_ == label][:, [0, 2]].T, s=3)
        ax.scatter(depot[0], depot[2], s=200, color="black", marker="*")
    ax.set(title=f"uphill costs {uphill:.0f}", xlabel="east", ylabel="height")
plt.show()

# %%
# The same function compiled by numba runs at the speed of the built-in metrics, in all threads.

try:
    import numba
except ImportError:
    print("numba is not installed: the compiled version is left out")
else:
    pointer = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.float64(pointer, pointer, numba.types.intp))
    def compiled(depot, customer, n):  # type: ignore[no-untyped-def]
        east, north, up = customer[0] - depot[0], customer[1] - depot[1], customer[2] - depot[2]
        return (east * east + north * north) ** 0.5 + 10.0 * max(0.0, up)

    same = OneBatchPAM(5, metric=native_metric(compiled), n_jobs=-1, random_state=0).fit(places)
    print("compiled, the same medoids:", np.array_equal(same.medoid_indices_, model.medoid_indices_))
