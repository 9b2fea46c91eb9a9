"""
Typical customers of a mixed table
==================================

Medoids of a table with numbers, categories, ordered categories and missing values.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from onebatchpam import OneBatchPAM

rng = np.random.default_rng(0)
n = 5_000
persona = rng.integers(0, 3, n)
customers = pd.DataFrame(
    {
        "age": rng.normal(np.array([23, 45, 70])[persona], 4).round(),
        "spent": rng.lognormal(np.array([3.0, 5.0, 4.0])[persona], 0.4).round(2),
        "channel": np.array(["app", "web", "shop"], dtype=object)[persona],
        "plan": pd.Categorical.from_codes(np.array([0, 2, 1])[persona], ["free", "basic", "full"], ordered=True),
        "newsletter": rng.random(n) < np.array([0.1, 0.9, 0.5])[persona],
    }
)
customers = customers.mask(rng.random(customers.shape) < 0.05)

# %%
# Gower's dissimilarity compares numbers relative to their range, "plan" by its order, and other columns by equality; it
# skips missing values. All rows count, but only complete ones become medoids.

model = OneBatchPAM(
    n_clusters=3,
    metric="gower",
    metric_params={"weights": {"spent": 2.0}},
    random_state=0,
).fit(customers)

print(f"typical customers, which are rows of the table; {model.n_candidates_} of {n} are complete:")
print(model.cluster_centers_.assign(customers=np.bincount(model.labels_)).to_string())

# %%
# With candidates="all", rows that lack values become medoids, because they differ less from the other rows.

every = OneBatchPAM(n_clusters=3, metric="gower", metric_params={"weights": {"spent": 2.0}}, random_state=0)
every.fit(customers, candidates="all")
print(f"if every row may be a medoid, the medoids lack {every.cluster_centers_.isna().sum().sum()} values")

# %%
# New customers may lack values, too. A channel that the fit has not seen is a mismatch, not an error.

new = pd.DataFrame(
    {
        "age": [19, 66],
        "spent": [15.0, None],
        "channel": ["app", "fax"],
        "plan": ["free", "basic"],
        "newsletter": [False, True],
    }
)
print("new customers belong to", model.predict(new).tolist())
