"""
Words under the edit distance
=============================

Medoids of words under the edit distance: each stands for the words that are spelt like it.
"""

from __future__ import annotations

import re
import sysconfig
import time
from pathlib import Path

import numpy as np

from onebatchpam import OneBatchPAM

# %%
# The words are those in the code and the docstrings of Python's standard library.

library = Path(sysconfig.get_path("stdlib"))
paths = [path for path in sorted(library.rglob("*.py")) if not {"site-packages", "test", "tests"} & set(path.parts)]
text = "\n".join(path.read_text(encoding="utf-8", errors="ignore") for path in paths)
words = sorted({word.lower() for word in re.findall(r"\b[A-Za-z][a-z]{3,}\b", text)})

began = time.perf_counter()
model = OneBatchPAM(n_clusters=100, metric="levenshtein", n_jobs=-1, random_state=0).fit(words)
print(f"{len(words):,} words in {time.perf_counter() - began:.1f} seconds; some medoids and the words nearest to them:")
distances = model.transform(words)
for label in np.argsort(-np.bincount(model.labels_))[:10]:
    members = np.flatnonzero(model.labels_ == label)
    nearest = members[np.argsort(distances[members, label], kind="stable")[1:7]]
    print(f"{model.cluster_centers_[label]:>14}: {', '.join(words[i] for i in nearest)}")

# %%
# Another distance, with a parameter: a common prefix counts more here.

model = OneBatchPAM(100, metric="jaro_winkler", metric_params={"prefix_weight": 0.2}, n_jobs=-1, random_state=0)
model.fit(words)
for word in ("distanse", "encodding"):
    print(word, "belongs to", model.cluster_centers_[model.predict([word])[0]])
