"""What every estimator shares: its parameters, the frame of its fit, and what it offers once it has its medoids."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from onebatchpam._parameters import (
    Rule,
    Settings,
    accept,
    check_fixed_medoids,
    check_n_clusters,
    check_parameters,
    check_sample_weight,
    integer,
    resolve_n_jobs,
)
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms.labels_out import LabelsOut, check_labels_out, open_labels
from onebatchpam.algorithms.result import Clustering, Selection, warn_if_imperfect
from onebatchpam.data import Rows, load_sparse
from onebatchpam.metrics import Metric, MetricLike, resolve_metric, tags_of
from onebatchpam.search import assign, check_init, find_nearest, label_tiles
from onebatchpam.space import Distances, Space, open_space

if TYPE_CHECKING:
    from typing_extensions import Self


class MedoidEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the k-medoids estimators.

    A subclass has at least the parameters named here, and a rule for each that it adds. Its `_select` chooses the
    medoids.
    """

    n_clusters: int
    metric: MetricLike
    metric_params: dict[str, Any] | None
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int

    _rules: ClassVar[dict[str, Rule]] = {
        "n_clusters": integer(at_least=1),
        "metric": accept,
        "metric_params": accept,
        "n_jobs": resolve_n_jobs,
        "random_state": lambda value, name: check_random_state(value),
        "verbose": integer(at_least=0),
    }

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
            Rows. Arrays of bytes, integers, float32 and float64 are used as they are, without a converted copy. Numbers
            that are bytes, or bytes divided by 255, are compared as bytes, which is faster and more exact.
            Data on disk are never read as a whole: the path of a .npy file, of a Parquet file or of a folder of them,
            a `numpy.memmap`, an array of Zarr or h5py. The .npz file of a sparse matrix is loaded.
            With ``metric="precomputed"`` a square matrix of dissimilarities, of any real type and possibly
            memory-mapped: only the columns of the batch and the rows of medoids and candidates are read and copied.
            With ``metric="gower"`` a frame, or the path of Parquet files. With a metric of text n strings, or the path
            of a file of strings; with a callable also a list of n objects of any kind.
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

    def _fit(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        fixed_medoids: ArrayLike | None,
        labels_out: LabelsOut,
    ) -> Self:
        settings = self._check_settings()
        run = Run(settings.n_jobs, settings.random_state, Stages(settings.verbose))
        space = open_space(X, self.metric, self.metric_params, run.n_jobs, self, sample_weight)
        features = read_features(space.rows)
        k = check_n_clusters(settings.n_clusters, space.n, n_absent=int(np.sum(space.weights == 0)))
        space.fixed = check_fixed_medoids(fixed_medoids, k, space.n)
        check_labels_out(labels_out, "labels_out", space.n, k)
        present = space.present()

        selection = self._select(present, k, settings, run)
        known = selection.assignment if present is space else None
        with open_labels(labels_out, space.n) as labels:
            chosen = present.given_indices(selection.medoids)
            medoids, assignment = assign(space, chosen, run.stages, known, labels)
            warn_if_imperfect(selection.advice, k, np.bincount(assignment.labels, minlength=k))
            clustering = Clustering(
                medoid_indices=medoids,
                cluster_centers=space.given(medoids),
                labels=assignment.labels,
                inertia=assignment.inertia,
                n_iter=selection.n_iter,
                n_swaps=selection.n_swaps,
                n_distances=space.tally.n_distances,
                fit_seconds=run.stages.seconds,
            )
            self._publish(clustering, selection, space.metric, features)
        return self

    def _check_settings(self) -> Settings:
        """Check all parameters, before any data are read."""
        settings = check_parameters(self, self._rules)
        if "init" in self._rules:
            settings.init = check_init(settings.init, settings.n_clusters)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise ValueError(f"metric_params={self.metric_params!r}: expected a dictionary, or None")
        resolve_metric(self.metric, self.metric_params)
        return settings

    @abstractmethod
    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        """Choose k medoids among the rows of a space, which all have a weight."""

    def _last_medoids(self, warm_start: bool, n: int, k: int) -> Indices | None:
        """Return the medoids of the last fit for a warm start, if that had as many rows and medoids."""
        if not warm_start or not hasattr(self, "medoid_indices_"):
            return None
        return self.medoid_indices_ if (len(self.labels_), len(self.medoid_indices_)) == (n, k) else None

    def _publish(self, clustering: Clustering, selection: Selection, metric: Metric, features: dict[str, Any]) -> None:
        """Set all fitted attributes; what an earlier fit found of the features is forgotten."""
        for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
            delattr(self, name)
        for name, value in features.items():
            setattr(self, name, value)
        self._metric = metric
        clustering.publish(self, selection.own_attributes())

    def _read(self, X: ArrayLike) -> Rows:
        """Return new rows as the fitted metric compares them."""
        check_is_fitted(self)
        rows = self._metric.check(load_sparse(X), "X", estimator=self)
        if rows.n_features is not None:
            validate_data(self, rows.header, reset=False, skip_check_array=True)
        return self._metric.encode(rows)

    def _distances_to_medoids(self, X: ArrayLike) -> Distances:
        """Return the dissimilarities of new rows to the medoids."""
        rows = self._read(X)
        medoids = self._metric.read_medoids(self.cluster_centers_, self.medoid_indices_)
        points = self._metric.pack(medoids, rows, resolve_n_jobs(self.n_jobs), rows_first=False)
        return Distances(rows, points, name_column=lambda slot: f"medoid {slot}")

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
        distances = self._distances_to_medoids(X)
        check_labels_out(out, "out", distances.n_rows, distances.n_columns)
        with open_labels(out, distances.n_rows) as labels:
            for rows, nearest, _ in label_tiles(distances, Stages()):
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
        return self._distances_to_medoids(X).compute()

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
        distances = self._distances_to_medoids(X)
        return -find_nearest(distances, check_sample_weight(sample_weight, distances.n_rows)).inertia

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Tags:
        tags, metric = super().__sklearn_tags__(), tags_of(self.metric)
        tags.input_tags.pairwise = metric.is_pairwise
        tags.input_tags.allow_nan = metric.allows_nan
        tags.input_tags.categorical = metric.takes_categories
        tags.input_tags.sparse = metric.takes_sparse
        tags.input_tags.string = metric.takes_only_text
        tags.input_tags.two_d_array = not metric.takes_only_text
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if metric.keeps_float64 else ["float32"]
        return tags


def read_features(rows: Rows) -> dict[str, Any]:
    """Return the attributes of scikit-learn for the number and the names of features; none for objects."""
    if rows.n_features is None:
        return {}
    estimator = BaseEstimator()
    validate_data(estimator, rows.header, skip_check_array=True)
    return vars(estimator)
