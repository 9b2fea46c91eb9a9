"""
A page about a clustering
=========================

One HTML page shows what a clustering has found: the medoids, what sets each cluster apart, a map, and alerts.
"""

# sphinx_gallery_thumbnail_path = "report.png"
from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

from onebatchpam import OneBatchPAM, select_k

wine = load_wine(as_frame=True).data

# %%
# The columns of numbers have very different ranges; "gower" divides each by its own.

selection = select_k(wine, range(2, 8), OneBatchPAM(metric="gower", random_state=0))
model = selection.model
print(selection.advice())
print(model.describe_clusters())

with tempfile.TemporaryDirectory() as folder:  # keep the page by writing it elsewhere, and open it in a browser
    page = Path(folder) / "wine.html"
    model.report(
        wine,
        page,
        title="Wines of three growers",
        row_names=[f"wine {i}" for i in range(len(wine))],
        selection=selection,
        certificate=model.certify(wine),
    )
    print(f"the report has {page.stat().st_size // 1000} kB and needs no other file")

# %%
# The page that ``onebatchpam demo customers`` writes shows its medoids like this:
#
# .. image:: /report.png
#    :alt: Five medoids, how many rows each stands for, and in what the rows of its cluster differ from all rows
