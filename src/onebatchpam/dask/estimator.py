"""OneBatchPAM on Dask arrays and frames: the rows stay in their partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from onebatchpam import algorithms
from onebatchpam._parameters import Settings, check_fixed_medoids, check_medoids, check_n_clusters
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import Clustering, LabelsOut, read_features, warn_if_imperfect
from onebatchpam.batch import resolve_batch_size
from onebatchpam.dask.known import KnownRows
from onebatchpam.dask.partition import GivenRows, join
from onebatchpam.dask.population import Partitioned, PartitionedData, rows_to_gather
from onebatchpam.dask.scheduler import Partitions, example_of, known_sizes, lazy_array, parts_of
from onebatchpam.dask.tasks import assess, label_rows, transform_rows
from onebatchpam.metrics import Metric, tags_of
from onebatchpam.search import choose_start

if TYPE_CHECKING:
    from typing_extensions import Self


class OneBatchPAM(algorithms.OneBatchPAM):
    """k-medoids of a Dask array or frame, whose rows stay in their partitions.

    The parameters, methods and fitted attributes are those of `onebatchpam.OneBatchPAM`. For an X that is not a Dask
    collection, the two estimators are the same.

    The driver holds a sample of the rows: as many as have 256 MB of dissimilarities to the batch, or four rows for each
    batch point if that is more. The search starts among these rows. It goes on in passes over all partitions: the
    workers get the batch and the medoids, and return the few rows that would best replace a medoid; the driver tries
    these one after the other. Refinement compares candidates with the sample; its medoids are kept unless they make the
    objective over all rows worse. A data set that is not larger than the sample is gathered and fitted in memory.

    The result depends on `random_state` and on the partitions, but not on the scheduler or the number of workers. Data
    that are not persisted are read again in each of about twenty passes, most of which are short. If the cluster loses
    a worker, the lost results are computed again.

    ``metric="precomputed"`` is not possible, and ``"seuclidean"`` and ``"mahalanobis"`` need their ``V`` or ``VI`` in
    `metric_params`. `n_jobs` is the number of threads of the driver; a task on a partition uses one thread.

    Attributes
    ----------
    labels_ : dask array of shape (n,)
        Cluster of each row, from 0 to k - 1; computed on demand.
    n_iter_ : int
        Number of passes over all partitions in the batch search.
    medoid_indices_, cluster_centers_, inertia_, batch_indices_, ...
        As in `onebatchpam.OneBatchPAM`, held in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from onebatchpam.dask import OneBatchPAM
    >>> from sklearn.datasets import load_digits
    >>> X = da.from_array(load_digits().data, chunks=(500, 64))
    >>> model = OneBatchPAM(n_clusters=10, metric="manhattan", random_state=0).fit(X)
    >>> model.cluster_centers_.shape, model.labels_.compute().shape
    ((10, 64), (1797,))
    """

    def _fit(self, X: Any, sample_weight: Any, fixed_medoids: ArrayLike | None, labels_out: LabelsOut) -> Self:
        if not dask.is_dask_collection(X):
            return super()._fit(X, sample_weight, fixed_medoids, labels_out)
        check_lazy(labels_out, "labels_out", "labels_")
        if tags_of(self.metric).is_pairwise:
            raise ValueError(f"metric={self.metric!r} does not work with Dask: expected a metric that compares rows")
        settings = self._check_settings()
        run = Run(settings.n_jobs, settings.random_state, Stages(settings.verbose))
        partitions = Partitions(X, sample_weight)
        try:
            data = PartitionedData(partitions, self.metric, self.metric_params, run)
            head = data.metric.read(data.head, "X")
            features = read_features(head)
            k = check_n_clusters(settings.n_clusters, data.n, n_absent=data.n - data.n_present)
            m = resolve_batch_size(settings.batch_size, data.n_present, k)
            n_gathered = rows_to_gather(m, head.row_size)
            if data.n <= n_gathered:
                whole = data.gather_all()
                super()._fit(whole.rows, None if sample_weight is None else whole.weights, fixed_medoids, None)
                self.labels_ = label_lazily(partitions.parts, partitions.sizes, self._metric, self.cluster_centers_)
            else:
                fixed = check_fixed_medoids(fixed_medoids, k, data.n)
                self._fit_partitions(self._gather_sample(data, n_gathered, fixed, settings), m, settings, features)
        finally:
            partitions.stop()
        return self

    def _gather_sample(self, data: PartitionedData, size: int, fixed: Indices, settings: Settings) -> Partitioned:
        """Gather on the driver a sample of the rows, the fixed medoids, and the medoids of the start."""
        sample, weights = data.draw(size)
        last_medoids = self._last_medoids(settings.warm_start, data.n, settings.n_clusters)
        wanted = [fixed]
        if not isinstance(settings.init, str):
            wanted.append(check_medoids(settings.init, settings.n_clusters, data.n, "init"))
        wanted += [] if last_medoids is None else [last_medoids]
        missing = np.setdiff1d(np.concatenate(wanted), sample.indices)
        if len(missing):
            taken = data.take(missing)
            absent = taken.indices[taken.weights == 0]
            if len(absent):
                raise ValueError(
                    f"row {absent[0]} is in init, fixed_medoids or medoid_indices_ of the last fit (warm_start=True), "
                    "but its weight is zero: expected rows with a positive weight"
                )
            # These rows may become medoids, but they do not stand for other rows, so their weight is zero.
            sample, weights = join([sample, taken]), np.concatenate([weights, np.zeros(len(taken))])
        known = KnownRows(sample, weights, data.metric, data.run.n_jobs, data.n)
        known.fix(known.space.find(fixed, len(fixed), "fixed_medoids"))
        return Partitioned(data, known)

    def _fit_partitions(self, population: Partitioned, m: int, settings: Settings, features: dict[str, Any]) -> None:
        data, k = population.data, settings.n_clusters
        last_medoids = self._last_medoids(settings.warm_start, data.n, k)
        start = choose_start(settings.init, last_medoids, population.space, k, m, data.run)
        selection = self._search(population, start, m, settings, data.run)
        medoids = population.spread_medoids(selection.medoids)
        (assessment,) = population.assess([medoids])
        warn_if_imperfect(selection.advice, k, assessment.sizes)
        given = population.known.given_rows(medoids)
        centers = data.metric.read(given.rows, "X").given(np.arange(k))
        clustering = Clustering(
            medoid_indices=given.indices,
            cluster_centers=centers,
            labels=label_lazily(data.partitions.parts, data.partitions.sizes, data.metric, centers),
            inertia=assessment.inertia,
            n_iter=selection.n_iter,
            n_swaps=selection.n_swaps,
            n_distances=data.n_distances + population.space.tally.n_distances,
            fit_seconds=data.run.stages.seconds,
        )
        self._publish(clustering, selection, data.metric, features)

    def predict(self, X: Any, *, out: LabelsOut = None) -> Any:
        """Assign rows to the nearest medoid.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            New rows. If X is not a Dask collection, the result is computed at once, in memory.
        out : path or ndarray of n integers, default=None
            Where to write the labels, as in `onebatchpam.OneBatchPAM`; must be None if X is a Dask collection.

        Returns
        -------
        dask array of shape (n,)
            Labels from 0 to k - 1; the lowest one if several medoids are equally near. Computed on demand.
        """
        if not dask.is_dask_collection(X):
            return super().predict(X, out=out)
        check_lazy(out, "out", "the labels")
        self._check_new(X)
        return label_lazily(parts_of(X), known_sizes(X), self._metric, self.cluster_centers_)

    def transform(self, X: Any) -> Any:
        """Return the dissimilarities of rows to the medoids.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            New rows. If X is not a Dask collection, the result is computed at once, in memory.

        Returns
        -------
        dask array of shape (n, k)
            Dissimilarities, in float32 if the rows are compared as bytes or in float32, otherwise in float64. Computed
            on demand.
        """
        if not dask.is_dask_collection(X):
            return super().transform(X)
        self._check_new(X)
        example = example_of(X) if hasattr(self, "n_features_in_") else self.cluster_centers_
        dtype = self._distances_to_medoids(example).dtype
        width, told = (len(self.medoid_indices_),), (self._metric, self.cluster_centers_)
        return lazy_array("transform", transform_rows, parts_of(X), known_sizes(X), width, dtype, *told)

    def score(self, X: Any, y: object = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of the dissimilarities of rows to their nearest medoid.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            New rows, as in `predict`; the score is computed at once.
        y : ignored
            Present by the conventions of scikit-learn.
        sample_weight : dask or NumPy array of shape (n,) or float, default=None
            Weights of the rows, not negative; None means 1 for every row. A Dask array must have the partitions of X.

        Returns
        -------
        float
            Never positive; the closer to 0, the better.
        """
        if not dask.is_dask_collection(X):
            return super().score(X, y, sample_weight)
        self._check_new(X)
        medoids = GivenRows(np.empty(0, np.int64), self.cluster_centers_, np.empty(0))  # not rows of X
        found = Partitions(X, sample_weight).run("assign", assess, self._metric, [medoids])
        return -sum(each.inertia for (each,) in found)

    def _check_new(self, X: Any) -> None:
        """Raise unless the estimator is fitted and X has the same features as the data of the fit."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            validate_data(self, example_of(X), reset=False, skip_check_array=True)


def label_lazily(parts: list[Any], sizes: NDArray[np.int64] | None, metric: Metric, medoids: Any) -> Any:
    """Return the label of each row, the position of its nearest medoid, as a Dask array that is computed on demand."""
    return lazy_array("predict", label_rows, parts, sizes, (), np.int32, metric, medoids)


def check_lazy(out: LabelsOut, name: str, labels: str) -> None:
    """Raise if the user wants labels of a Dask collection to be written, because they are computed on demand."""
    if out is not None:
        raise ValueError(f"{name} does not work with Dask, whose labels are lazy: store {labels} with dask.array.store")
