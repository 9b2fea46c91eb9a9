"""Evaluation: which number of clusters (`select_k`), how well separated they are (`medoid_silhouette`, and by all pairs
of rows `cluster_statistics`), how far the objective may be from the best possible one (`lower_bound`), and what a fit
will cost (`estimate_cost`).

`plots` draws the results of `select_k`.

In: data, or a fitted model. Out: numbers, a table (`KSelection`), a picture.
"""

from onebatchpam.evaluation.all_pairs import ClusterStatistics, cluster_statistics
from onebatchpam.evaluation.cost import estimate_cost
from onebatchpam.evaluation.k_selection import KSelection, select_k
from onebatchpam.evaluation.optimality import lower_bound
from onebatchpam.evaluation.silhouette import medoid_silhouette
