"""
What will mine cost?
====================

Ask what a fit will cost before it begins, and what it has cost afterwards.
"""

from __future__ import annotations

from sklearn.datasets import load_digits

from onebatchpam import OneBatchPAM, estimate_cost

# %%
# Sizes are enough: no data are needed.

print("a million embeddings, a hundred medoids:")
print(estimate_cost(1_000_000, 768, 100, metric="cosine", dtype="float32", memory_limit="4GB"))

# %%
# With the data, before the fit and after it.

X = load_digits().data
model = OneBatchPAM(10, metric="manhattan", batch_size=300, random_state=0)
print("the digits, before the fit:")
print(model.estimate_cost(X))
print("\nthe digits, after the fit:")
print(model.fit(X).summary(X))
