"""What a fitted model tells about its rows and clusters, beyond labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from onebatchpam._parameters import check_weights
from onebatchpam._progress import Stages
from onebatchpam.answers.cluster_table import ClusterTable
from onebatchpam.answers.fit_summary import FitSummary
from onebatchpam.answers.row_assessment import RowAssessment, assess, mean_silhouette
from onebatchpam.bounds import LowerBound
from onebatchpam.search import find_nearest
from onebatchpam.space import Distances


class Answers:
    """The methods by which a fitted model tells which rows fit badly, and how large its clusters are."""

    if TYPE_CHECKING:
        medoid_indices_: NDArray[np.int64]

        def _distances_to_medoids(self, X: ArrayLike) -> Distances: ...

        def _check_at_hand(self, X: Any, method: str, expected: str = ...) -> None: ...

    def assess_rows(self, X: ArrayLike) -> RowAssessment:
        """Return how well each row fits: its nearest and its second nearest medoid, and its medoid silhouette.

        This lists rows that are like no medoid, which have a large distance, and rows between two clusters, which have
        a silhouette near 0. Unlike `transform`, it needs memory for a few numbers per row only, however many medoids
        there are.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            The rows, as in `predict`: those of the fit, or new ones.

        Returns
        -------
        RowAssessment
            With `labels`, `distances`, `second_labels`, `second_distances`, `silhouettes` and `to_frame()`.

        Examples
        --------
        >>> from onebatchpam import OneBatchPAM
        >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
        >>> model = OneBatchPAM(n_clusters=2).fit(X)
        >>> rows = model.assess_rows([[9.0], [5.1], [30.0]])
        >>> rows.distances.round(2), rows.silhouettes.round(2)
        (array([ 0. ,  3.9, 21. ]), array([1.  , 0.05, 0.28]))
        """
        return assess(self._distances_to_medoids(X), Stages())

    def score_samples(self, X: ArrayLike) -> NDArray[Any]:
        """Return minus the dissimilarity of each row to its nearest medoid: the lower, the less the row fits.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            The rows, as in `predict`.

        Returns
        -------
        ndarray of shape (n,)
            Never positive. Without weights, the sum is `score(X)`.
        """
        distances = self._distances_to_medoids(X)
        return -find_nearest(distances, np.ones(distances.n_rows)).distances

    def describe_clusters(self) -> ClusterTable:
        """Return the clusters of the fit as a table, the largest first.

        Returns
        -------
        ClusterTable
            With the label, the medoid, the size, the share and the mean and the largest distance of each cluster, and
            `to_frame()`.
        """
        check_is_fitted(self)
        return ClusterTable.of(self)

    def summary(self, X: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> FitSummary:
        """Return what happened in the fit: sizes, work, seconds and objective.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path, default=None
            The rows of the fit, if the summary is to hold their average medoid silhouette, which takes n k
            dissimilarities. None leaves it out.
        sample_weight : array-like of shape (n,) or float, default=None
            The weights of the fit, by which the silhouette is an average; None means 1 for every row.

        Returns
        -------
        FitSummary
            It prints as a list, is a table in a notebook, and has `as_dict()`.
        """
        weights = check_weights(sample_weight)
        check_is_fitted(self)
        rows = None if X is None or len(self.medoid_indices_) == 1 else self.assess_rows(X)
        return FitSummary.of(self, None if rows is None else mean_silhouette(rows, weights))

    def report(
        self,
        X: ArrayLike,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        row_names: Sequence[Any] | None = None,
        show_as: str | tuple[int, ...] = "auto",
        selection: Any = None,
        certificate: LowerBound | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Write a page on the clusters: one HTML file that needs no other file; needs the extra ``cli``.

        It shows the medoids and what sets each cluster apart, sizes, distances and silhouettes, a map of the rows, the
        distances between medoids, the nearest and the farthest rows of each cluster, and whatever a reader should be
        alerted to. It takes one pass over X, n k dissimilarities; of many rows it shows a sample.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            The rows of the fit.
        path : path
            The file to write, such as ``"report.html"``. An existing file is replaced.
        title : str, default=None
            Title of the page; None means a general one.
        row_names : sequence of n names, default=None
            Names of the rows, such as the ids of customers; None means their numbers.
        show_as : {"auto", "table", "series"} or tuple, default="auto"
            How rows are shown: as the cells of a table, as curves, or as images if it is their height and width, as in
            ``(28, 28)``, or ``(32, 32, 3)`` with colours. ``"auto"`` means text for strings, curves for objects that
            are lists of numbers, and tables otherwise.
        selection : KSelection, default=None
            The result of `select_k`, if it is to be shown.
        certificate : LowerBound, default=None
            The result of `certify`, if it is to be shown.
        sample_weight : array-like of shape (n,) or float, default=None
            The weights of the fit, by which mean distances and silhouettes are averages; None means 1 for every row.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from onebatchpam import OneBatchPAM
        >>> X = load_digits().data
        >>> OneBatchPAM(10, random_state=0).fit(X).report(X, "report.html", show_as=(8, 8))  # doctest: +SKIP
        """
        check_is_fitted(self)
        self._check_at_hand(X, "report")
        # The room of the report stands above this one, and is opened when a report is wanted: it needs Jinja2.
        write_report = import_module("onebatchpam.report").write_report
        write_report(
            self,
            X,
            path,
            title=title,
            row_names=row_names,
            show_as=show_as,
            selection=selection,
            certificate=certificate,
            sample_weight=sample_weight,
        )
