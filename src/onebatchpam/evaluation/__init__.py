"""Evaluation: `select_k` helps to choose the number of clusters, `medoid_silhouette` tells how well they are separated.

`plots` draws the results of `select_k`, and medoids that are images.

In: data, or a fitted model. Out: numbers, a table (`KSelection`), a picture.
"""

from onebatchpam.evaluation.k_selection import KSelection, select_k
from onebatchpam.evaluation.plots import save_medoids
from onebatchpam.evaluation.silhouette import medoid_silhouette
