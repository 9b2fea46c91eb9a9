"""The base class of all estimators: the shared parameters, the steps of `fit`, and the methods of a fitted model."""

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

    A subclass has at least the parameters declared here. For each further parameter it adds a rule to `_rules`, and its
    `_select` chooses the medoids.
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
        X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
            The rows.

            - Arrays of bytes, integers, float32 and float64 are used as they are, without a converted copy. If all
              values are whole numbers from 0 to 255, or such numbers divided by 255, rows are compared as bytes, which
              is faster and more exact.
            - Numbers on disk are read in parts, never as a whole. X is then the path of a .npy file, of a Parquet file
              or of a folder of Parquet files, a `numpy.memmap`, or an array of Zarr or h5py. The path of a .npz file
              is that of a sparse matrix, which is loaded.
            - With ``metric="precomputed"``, X is a square matrix of dissimilarities, of any real type and possibly
              memory-mapped. `OneBatchPAM` reads only the columns of the batch, and the rows of medoids and candidates.
            - With ``metric="gower"``, X is a frame, an array or the path of Parquet files.
            - With a metric of strings, X holds n strings, or is the path of a .npy or Parquet file of strings.
            - With a function as metric, X may also be a list of n objects of any kind.
        y : ignored
            Present by the conventions of scikit-learn.
        sample_weight : array-like of shape (n,) or float, default=None
            How many rows each row stands for, not negative; None means 1 for every row. A row of weight 0 is treated as
            absent: it does not count in the objective and cannot become a medoid, but it gets a label.
        fixed_medoids : array-like of row indices, default=None
            Rows that must be medoids. They count in `n_clusters` and come first, in the given order.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: the path of a new .npy file, which `labels_` then maps into
            memory, or an array, which then becomes `labels_`.

        Returns
        -------
        self
            The fitted estimator.
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

        with open_labels(labels_out, space.n) as labels:
            selection = self._select(present, k, settings, run)
            known = selection.assignment if present is space else None
            chosen = present.given_indices(selection.medoids)
            medoids, assignment = assign(space, chosen, run.stages, known, labels.values)
            warn_if_imperfect(selection.advice, k, np.bincount(assignment.labels, minlength=k))
            clustering = Clustering(
                medoid_indices=medoids,
                cluster_centers=space.given(medoids),
                labels=labels.finish(),
                inertia=assignment.inertia,
                n_iter=selection.n_iter,
                n_swaps=selection.n_swaps,
                n_distances=space.tally.n_distances,
                fit_seconds=run.stages.seconds,
            )
            self._publish(clustering, selection, space.metric, features)
        return self

    def _check_settings(self) -> Settings:
        """Return the checked parameters, before any data are read."""
        settings = check_parameters(self, self._rules)
        if "init" in self._rules:
            settings.init = check_init(settings.init, settings.n_clusters)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise ValueError(f"metric_params={self.metric_params!r}: expected a dictionary, or None")
        resolve_metric(self.metric, self.metric_params)
        return settings

    @abstractmethod
    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        """Choose k medoids among the rows of a space, all of which have a positive weight."""

    def _last_medoids(self, warm_start: bool, n: int, k: int) -> Indices | None:
        """Return the medoids of the last fit for a warm start; None if there is none with n rows and k medoids."""
        if not warm_start or not hasattr(self, "medoid_indices_"):
            return None
        return self.medoid_indices_ if (len(self.labels_), len(self.medoid_indices_)) == (n, k) else None

    def _publish(self, clustering: Clustering, selection: Selection, metric: Metric, features: dict[str, Any]) -> None:
        """Set all fitted attributes; those of features are deleted first, because new data may not have any."""
        for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():
            delattr(self, name)
        for name, value in features.items():
            setattr(self, name, value)
        self._metric = metric
        clustering.publish(self, selection.own_attributes())

    def _read(self, X: ArrayLike) -> Rows:
        """Return new rows, checked and encoded for the fitted metric."""
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
            New rows of any kind that `fit` takes. With ``metric="precomputed"``, a matrix of shape (n, n_fitted) whose
            entry (i, j) is the dissimilarity of the fitted row j, as a medoid, to the new row i.
        out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: the path of a new .npy file, which is returned as a memory
            map, or an array.

        Returns
        -------
        ndarray of shape (n,)
            Labels from 0 to k - 1; the lowest one if several medoids are equally near. The type is int32, or that of
            `out`.
        """
        distances = self._distances_to_medoids(X)
        check_labels_out(out, "out", distances.n_rows, distances.n_columns)
        with open_labels(out, distances.n_rows) as labels:
            for rows, nearest, _ in label_tiles(distances, Stages()):
                labels.values[rows] = nearest
            return labels.finish()

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the dissimilarities of rows to the medoids.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            New rows, as in `predict`.

        Returns
        -------
        ndarray of shape (n, k)
            Dissimilarities, in float32 if the rows are compared as bytes or in float32, otherwise in float64.
        """
        return self._distances_to_medoids(X).compute()

    def score(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return minus the weighted sum of the dissimilarities of rows to their nearest medoid.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            New rows, as in `predict`.
        y : ignored
            Present by the conventions of scikit-learn.
        sample_weight : array-like of shape (n,) or float, default=None
            Weights of the rows, not negative; None means 1 for every row.

        Returns
        -------
        float
            Never positive; the closer to 0, the better.
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
    """Return scikit-learn's attributes for the number and the names of the features; objects have neither."""
    if rows.n_features is None:
        return {}
    estimator = BaseEstimator()
    validate_data(estimator, rows.header, skip_check_array=True)
    return vars(estimator)
