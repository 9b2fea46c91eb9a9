"""Answers: what a fitted model tells about its rows and clusters, and where their labels go.

`fitted.Answers` has the methods that every estimator inherits. Each answer has a file: `row_assessment` for rows,
`cluster_table` for clusters, `fit_summary` for the fit as a whole, `labels_out` for labels that are written to a file
or an array as they are computed.

In: a fitted model, or the dissimilarities of rows to its medoids. Out: small tables, and labels.
"""

from onebatchpam.answers.cluster_table import ClusterTable
from onebatchpam.answers.fit_summary import STORAGES, FitSummary
from onebatchpam.answers.fitted import Answers
from onebatchpam.answers.labels_out import LabelArray, LabelsOut, check_apart, check_labels_out, open_labels
from onebatchpam.answers.row_assessment import RowAssessment, assess, mean_silhouette, settle
