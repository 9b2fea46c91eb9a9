"""Evaluation: how many clusters, and how good they are. `select_k`, the medoid silhouette, and plots of both.

In: data, or a fitted model. Out: numbers, a table (`KSelection`), a picture.
"""

from onebatchpam.evaluation.k_selection import KSelection, select_k
from onebatchpam.evaluation.plots import save_medoids
from onebatchpam.evaluation.silhouette import medoid_silhouette
