"""What every estimator shares: how it takes data, the frame of its fit, and what it offers once it has its medoids."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from onebatchpam._parameters import (
    check_fixed_medoids,
    check_integer,
    check_n_clusters,
    check_sample_weight,
    resolve_n_jobs,
)
from onebatchpam._progress import Stages
from onebatchpam.algorithms.labels_out import LabelsOut, check_labels_out, opened_labels
from onebatchpam.algorithms.result import Clustering, Selection, warn_if_imperfect
from onebatchpam.data import check_matrix, has_features, header_of, in_memory
from onebatchpam.metrics import ALIASES, SPARSE_METRICS, Columns, MetricLike, compares_text, fill_all
from onebatchpam.search import Assignment, assign, nearest_medoids, nearest_of_tiles
from onebatchpam.space import MatrixColumns, Space, VectorSpace, WholeSpace, open_space

if TYPE_CHECKING:
    from typing_extensions import Self


class MedoidEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the k-medoids estimators.

    A subclass has at least the parameters named here, and says in `_select` how it chooses the medoids.
    """

    n_clusters: int
    metric: MetricLike
    metric_params: dict[str, Any] | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        labels_out: LabelsOut = None,
    ) -> Self:
        """Choose the medoids and assign all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), or path
            Rows. Arrays of bytes, integers, float32 and float64 are used as they are, without a converted copy. Numbers
            that are bytes, or bytes divided by 255, are compared as bytes, which is faster and more exact. What is on
            disk is never read as a whole: the path of a .npy file, of a Parquet file or of a folder of them, a
            `numpy.memmap`, an array of Zarr or h5py.
            With ``metric="precomputed"`` a square matrix of dissimilarities, of any real type and possibly
            memory-mapped: only the columns of the batch and the rows of medoids and candidates are read and copied.
            With a metric of text n strings; with a callable also a list of n objects of any kind.
        y : ignored
            For the conventions of scikit-learn.
        fixed_medoids : array-like of row indices, default=None
            Rows that are medoids whatever the others are. They count in `n_clusters` and come first, in this order.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: a new .npy file, which `labels_` then is as a memory map,
            or an array, which `labels_` then is.
        """
        return self._fit(X, None, fixed_medoids, labels_out)

    def _fit(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        fixed_medoids: ArrayLike | None,
        labels_out: LabelsOut,
    ) -> Self:
        n_jobs = resolve_n_jobs(self.n_jobs)
        stages = Stages(check_integer(self.verbose, "verbose", at_least=0))
        rng = check_random_state(self.random_state)
        space = self._open_space(X, n_jobs, sample_weight)
        copy(self)._remember_input(X, space)  # so that bad names of features are not found out at the end
        k = check_n_clusters(self.n_clusters, space.n, n_absent=int(np.sum(space.weights == 0)))
        space.fixed = check_fixed_medoids(fixed_medoids, k, space.n)
        check_labels_out(labels_out, "labels_out", space.n, k)
        present = space.present()

        selection = self._select(present, k, rng, n_jobs, stages)
        known = selection.assignment if present is space else None
        with opened_labels(labels_out, space.n) as labels:
            medoids, assignment = assign(space, present.numbers(selection.medoids), stages, known, labels)

            warn_if_imperfect(selection, len(np.unique(assignment.labels)))
            found = Clustering(
                medoid_indices=medoids,
                cluster_centers=space.rows(medoids),
                labels=assignment.labels,
                inertia=assignment.inertia,
                n_iter=selection.n_iter,
                n_swaps=selection.n_swaps,
                n_distances=space.n_distances,
                fit_seconds=stages.seconds,
                attributes=selection.attributes,
            )
            self._remember_input(X, space)
            found.publish(self)
        return self

    @abstractmethod
    def _select(self, space: Space, k: int, rng: np.random.RandomState, n_jobs: int, stages: Stages) -> Selection:
        """Check the parameters of the subclass, then choose k medoids."""

    def _open_space(self, X: ArrayLike, n_jobs: int, sample_weight: ArrayLike | None = None) -> WholeSpace:
        """Check training data."""
        return open_space(X, self.metric, self.metric_params, n_jobs, self, sample_weight)

    def _remember_input(self, X: ArrayLike, space: WholeSpace) -> None:
        """Set what `predict` needs of the input: number and names of features, and the metric as fitted."""
        if isinstance(space, VectorSpace) and not has_features(space.X):
            for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
                delattr(self, name)  # from an earlier fit to rows
        else:
            validate_data(self, header_of(X, space.X), skip_check_array=True)
        self._metric = space.metric if isinstance(space, VectorSpace) else None

    def _columns(self, X: ArrayLike) -> Columns:
        """Return the dissimilarities of new rows to the medoids."""
        check_is_fitted(self)
        check = check_matrix if self._metric is None else self._metric.check
        rows = check(X, "X", estimator=self)
        if has_features(rows):
            validate_data(self, header_of(X, rows), reset=False, skip_check_array=True)
        if self._metric is None:
            return MatrixColumns(rows, self.medoid_indices_)
        medoids = in_memory(self._metric.check(self.cluster_centers_, "cluster_centers_", estimator=self))
        return self._metric.comparing(rows).to_medoids(medoids, rows, resolve_n_jobs(self.n_jobs))

    def _assign_new(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Assignment:
        columns = self._columns(X)
        return nearest_medoids(columns, check_sample_weight(sample_weight, columns.n_rows), Stages())

    def predict(self, X: ArrayLike, *, out: LabelsOut = None) -> NDArray[Any]:
        """Assign rows to the nearest medoid.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            Rows, also on disk as in `fit`; with ``metric="precomputed"`` of shape (n, n_fitted), entry (i, j) the
            dissimilarity of the fitted row j and the new row i.
        out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: a new .npy file, returned as a memory map, or an array.

        Returns
        -------
        ndarray of shape (n,)
            Labels from 0 to k - 1; of equally near medoids the lowest. int32 unless `out` is of another type.
        """
        columns = self._columns(X)
        check_labels_out(out, "out", columns.n_rows, columns.n_columns)
        with opened_labels(out, columns.n_rows) as labels:
            for rows, nearest, _ in nearest_of_tiles(columns, Stages()):
                labels[rows] = nearest
        return labels

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the dissimilarities to the medoids.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as in `predict`.

        Returns
        -------
        ndarray of shape (n, k)
            float32 when the rows are compared in float32, else float64.
        """
        columns = self._columns(X)
        return fill_all(columns, np.empty((columns.n_rows, columns.n_columns), columns.dtype), Stages(), "distances")

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the weighted sum of the dissimilarities of these rows to their nearest medoid.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows, as in `predict`.
        y : ignored
            For the conventions of scikit-learn.
        sample_weight : array-like of shape (n,) or float, default=None
            Weights of the rows, ones when None.
        """
        return -self._assign_new(X, sample_weight).inertia

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        metric = ALIASES.get(self.metric, self.metric) if isinstance(self.metric, str) else None
        tags.input_tags.pairwise = metric == "precomputed"
        # What NaN means to a function of the user's own is for that function to say.
        tags.input_tags.allow_nan = metric in (None, "nan_euclidean", "gower")
        tags.input_tags.categorical = metric == "gower"
        tags.input_tags.sparse = metric in SPARSE_METRICS
        tags.input_tags.string = compares_text(metric)
        tags.input_tags.two_d_array = not tags.input_tags.string
        tags.transformer_tags.preserves_dtype = ["float32"] if metric == "gower" else ["float64", "float32"]
        return tags


class WeightedMedoidEstimator(MedoidEstimator):
    """Base of the estimators that search: a weight is to them what as many copies of the row would be.

    Where medoids are merely drawn that could hold on average only, so those estimators take no weights.
    """

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        labels_out: LabelsOut = None,
    ) -> Self:
        """Choose the medoids and assign all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), or path
            Rows. Arrays of bytes, integers, float32 and float64 are used as they are, without a converted copy. What
            is on disk is never read as a whole: the path of a .npy file, of a Parquet file or of a folder of them, a
            `numpy.memmap`, an array of Zarr or h5py.
            With ``metric="precomputed"`` a square matrix of dissimilarities, of any real type and possibly
            memory-mapped: only the columns of the batch and the rows of medoids and candidates are read and copied.
            With a metric of text n strings; with a callable also a list of n objects of any kind.
        y : ignored
            For the conventions of scikit-learn.
        sample_weight : array-like of shape (n,) or float, default=None
            How many rows each row stands for, not negative; ones when None. A row of weight zero is as good as absent:
            it neither counts nor becomes a medoid. It has a label all the same.
        fixed_medoids : array-like of row indices, default=None
            Rows that are medoids whatever the others are. They count in `n_clusters` and come first, in this order.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: a new .npy file, which `labels_` then is as a memory map,
            or an array, which `labels_` then is.
        """
        return self._fit(X, sample_weight, fixed_medoids, labels_out)
