"""
Documents as sparse vectors
===========================

Medoids of documents as sparse tf-idf vectors; the documents are the docstrings of the functions of scipy.
"""

from __future__ import annotations

import importlib
import inspect

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from onebatchpam import OneBatchPAM

MODULES = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "special", "stats")

documents = {}
for module in MODULES:
    functions = inspect.getmembers(importlib.import_module(f"scipy.{module}"), callable)
    documents |= {f"{module}.{name}": inspect.getdoc(function) or "" for name, function in functions}
names = np.array(list(documents))

X = TfidfVectorizer(stop_words="english", min_df=2).fit_transform(documents.values())
print(f"{X.shape[0]:,} documents, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} different words in a document")

# %%
# X stays sparse, and so do the medoids.

model = OneBatchPAM(n_clusters=8, metric="cosine", n_jobs=-1, random_state=0).fit(X)

for label, medoid in enumerate(model.medoid_indices_):
    members = np.flatnonzero(model.labels_ == label)
    nearest = members[np.argsort(model.transform(X[members])[:, label])][1:5]
    print(f"{len(members):5} like {names[medoid]:28} such as {', '.join(names[nearest])}")
