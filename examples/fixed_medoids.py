"""
Depots: fixed medoids, candidates, warm start
=============================================

Something is known before the fit: medoids that must stay, rows that may become medoids, or an earlier result.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from onebatchpam import OneBatchPAM

# %%
# 20,000 households around eight towns, in km; each is to have a depot near it.

rng = np.random.default_rng(0)
towns = rng.uniform(0, 100, (8, 2))
homes = towns[rng.integers(0, 8, 20_000)] + rng.normal(0, 4, (20_000, 2))
free = OneBatchPAM(6, random_state=0).fit(homes)
print(f"six depots anywhere: {free.inertia_ / len(homes):.2f} km on average")

# %%
# Two depots exist, at the homes 0 and 1. They count among the six and come first.

model = OneBatchPAM(6, random_state=0).fit(homes, fixed_medoids=[0, 1])
print(f"with two that exist: {model.inertia_ / len(homes):.2f} km, medoids {model.medoid_indices_.tolist()}")

# %%
# Two more depots are added; the six stay where they are.

larger = OneBatchPAM(8, random_state=0).fit(homes, fixed_medoids=model.medoid_indices_)
assert (larger.medoid_indices_[:6] == model.medoid_indices_).all()
print(f"two more: {larger.inertia_ / len(homes):.2f} km")

# %%
# Depots can be built at 50 homes only, while all homes are to be near one.

sites = rng.choice(len(homes), 50, replace=False)
built = OneBatchPAM(6, random_state=0).fit(homes, candidates=sites)
assert set(built.medoid_indices_) <= set(sites)
print(f"six at one of {built.n_candidates_} sites each: {built.inertia_ / len(homes):.2f} km")

# %%
# The sites, as a map.

figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.scatter(*homes.T, s=1, c=built.labels_, cmap="Pastel1")
ax.scatter(*homes[sites].T, s=14, color="gray", label="sites")
ax.scatter(*built.cluster_centers_.T, s=160, color="#1f6f43", marker="*", label="depots")
ax.set(xlabel="km east", ylabel="km north", title="Six depots at 50 possible sites")
ax.legend()
plt.show()

# %%
# Some households move. With warm_start, a further fit starts from the rows that were the medoids.

daily = OneBatchPAM(8, warm_start=True, random_state=0).fit(homes)
moving = rng.choice(len(homes), 500, replace=False)
moved = homes.copy()
moved[moving] = towns[rng.integers(0, 8, 500)] + rng.normal(0, 4, (500, 2))
n_swaps = daily.n_swaps_
print(f"{n_swaps} swaps for the first fit, {daily.fit(moved).n_swaps_} for the second")

# %%
# Other households join. The old rows keep their indices, so the old medoids can be passed as `init`.

joined = np.vstack([moved, towns[rng.integers(0, 8, 500)] + rng.normal(0, 4, (500, 2))])
grown = OneBatchPAM(8, init=daily.medoid_indices_, random_state=0).fit(joined)
print(f"{grown.n_swaps_} swaps with {len(joined) - len(moved)} more rows: {grown.inertia_ / len(joined):.2f} km")
