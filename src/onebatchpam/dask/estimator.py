"""OneBatchPAM on Dask arrays and frames: the rows stay in their partitions. Needs Dask, the extra `dask`."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

import dask
from onebatchpam import algorithms
from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import (
    check_choice,
    check_fixed_medoids,
    check_integer,
    check_medoids,
    check_n_clusters,
    check_not_negative,
    resolve_n_jobs,
)
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import Clustering, LabelsOut, warn_if_imperfect
from onebatchpam.batch import VARIANTS, resolve_batch_size
from onebatchpam.dask.driver import GatheredRows, PartitionedRows, gather_sample, rows_to_gather, sample_batch
from onebatchpam.dask.scheduler import Partitions, example_of, known_sizes, lazy_array, parts_of
from onebatchpam.dask.search import PartitionedSearch, spread_duplicates
from onebatchpam.dask.tasks import assess, label_rows, transform_rows
from onebatchpam.search import check_n_init, choose_start, initial_medoids, resolve_rounds

if TYPE_CHECKING:
    from typing_extensions import Self


class OneBatchPAM(algorithms.OneBatchPAM):
    """k-medoids of a Dask array or frame, whose rows stay in their partitions.

    The parameters, the methods and the fitted attributes are those of `onebatchpam.OneBatchPAM`. With data that are no
    Dask collection it is that estimator.

    In each pass the workers are told the batch and the medoids, and return the few rows that had best take the place of
    a medoid; the driver tries them one after the other. It also holds a sample of the rows, as many as have 256 MB of
    dissimilarities to the batch, or four for each batch point if that is more: the search starts among these rows, and
    refinement confirms by them. Refined medoids are kept only if the objective over all rows is lower for it. A data
    set that is no larger than such a sample is gathered, and fitted as data in memory are.

    The result depends on `random_state` and on the partitions, but not on the scheduler or the number of workers. Rows
    that are not persisted are read anew in each pass: some twenty, most of them short. Where a cluster loses a
    worker, what it has lost is computed again.

    ``metric="precomputed"`` is not possible; ``"seuclidean"`` and ``"mahalanobis"`` need their matrix in
    `metric_params`. `n_jobs` is the number of threads of the driver; a task on a partition has one.

    Attributes
    ----------
    labels_ : dask array of shape (n,)
        Cluster of every row, computed when it is asked for; `predict` and `transform` return such arrays as well.
    n_iter_ : int
        Passes over all partitions in the batch search.
    medoid_indices_, cluster_centers_, inertia_, batch_indices_, ...
        As in `onebatchpam.OneBatchPAM`, in memory.

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
        if isinstance(self.metric, str) and self.metric == "precomputed":
            raise ValueError("metric='precomputed' does not work with Dask: expected rows and a metric")
        stages = Stages(check_integer(self.verbose, "verbose", at_least=0))
        rng = check_random_state(self.random_state)
        partitions = Partitions(X, sample_weight)
        try:
            data = PartitionedRows(partitions, self.metric, self.metric_params, resolve_n_jobs(self.n_jobs), stages)
            validate_data(copy(self), data.head, skip_check_array=True)  # bad names of features are not for the end
            k = check_n_clusters(self.n_clusters, data.n, n_absent=data.n - data.n_present)
            m = resolve_batch_size(self.batch_size, data.n_present, k)
            if data.n <= rows_to_gather(m, data.head.shape[1]):
                rows, weights = data.gather_all()
                super()._fit(rows, None if sample_weight is None else weights, fixed_medoids, None)
            else:
                self._fit_partitions(data, k, m, check_fixed_medoids(fixed_medoids, k, data.n), rng, stages)
        finally:
            partitions.stop()
        self.labels_ = self._labels(partitions.parts, partitions.sizes)
        return self

    def _fit_partitions(
        self,
        data: PartitionedRows,
        k: int,
        m: int,
        fixed: Indices,
        rng: np.random.RandomState,
        stages: Stages,
    ) -> None:
        variant = check_choice(self.variant, "variant", VARIANTS)
        max_iter = check_integer(self.max_iter, "max_iter", at_least=1)
        tol = check_not_negative(self.tol, "tol")
        rounds = resolve_rounds(self.refine)
        n_init = check_n_init(self.n_init, self.init)
        memory_limit = resolve_memory_limit(self.memory_limit)

        wanted = np.concatenate([fixed, self._rows_to_start_from(k, data.n)])
        sample = gather_sample(data, rows_to_gather(m, data.head.shape[1]), wanted, rng)
        space = GatheredRows(data, sample, fixed)
        first = choose_start(self, space, k, m, rng, stages)
        starts = [] if first is None else [first]  # BUILD would need the block, which is in the partitions
        starts += [initial_medoids(self.init, space, k, rng, stages) for _ in range(n_init - len(starts))]
        batch = sample_batch(data, m, variant, fixed, rng)
        search = PartitionedSearch(
            data,
            batch,
            sample,
            fixed,
            rng,
            max_iter=max_iter,
            tol=tol,
            rounds=rounds,
            memory_limit=memory_limit,
            stages=stages,
        )
        descents = [descent for start in starts for descent in search.descend(start)]
        assessments = data.assess([descent.medoids for descent in descents])
        best = int(np.argmin([assessment.inertia for assessment in assessments]))
        medoids, assessment = spread_duplicates(data, descents[best].medoids, assessments[best], len(fixed))

        selection = descents[best].selection
        warn_if_imperfect(selection, int(np.count_nonzero(assessment.sizes)))
        validate_data(self, data.head, skip_check_array=True)
        self._metric = data.metric
        Clustering(
            medoid_indices=medoids.numbers,
            cluster_centers=data.metric.as_given(data.metric.check(medoids.rows, "X")),
            labels=np.empty(0, np.int32),  # lazy
            inertia=assessment.inertia,
            n_iter=selection.n_iter,
            n_swaps=selection.n_swaps,
            n_distances=data.n_distances + space.n_distances,
            fit_seconds=stages.seconds,
            attributes=selection.attributes,
        ).publish(self)

    def _rows_to_start_from(self, k: int, n: int) -> Indices:
        """Return the numbers of the rows that `init` or a warm start asks for."""
        last = getattr(self, "medoid_indices_", np.empty(0, np.int64)) if self.warm_start else np.empty(0, np.int64)
        given = [] if isinstance(self.init, str) else [check_medoids(self.init, k, n, "init")]
        return np.concatenate([last[last < n], *given])

    def predict(self, X: Any, *, out: LabelsOut = None) -> Any:
        """Assign rows to the nearest medoid.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            Rows; what is no Dask collection is assigned at once.
        out : path or ndarray, default=None
            As in `onebatchpam.OneBatchPAM`, for what is no Dask collection.

        Returns
        -------
        dask array of shape (n,)
            Labels from 0 to k - 1; of equally near medoids the lowest.
        """
        if not dask.is_dask_collection(X):
            return super().predict(X, out=out)
        check_lazy(out, "out", "the labels")
        self._check_new(X)
        return self._labels(parts_of(X), known_sizes(X))

    def _labels(self, parts: list[Any], sizes: NDArray[np.int64] | None) -> Any:
        return lazy_array("predict", label_rows, parts, sizes, (), np.int32, self._metric, self.cluster_centers_)

    def transform(self, X: Any) -> Any:
        """Return the dissimilarities to the medoids.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            Rows; what is no Dask collection is transformed at once.

        Returns
        -------
        dask array of shape (n, k)
            float32 when the rows are compared in float32, else float64.
        """
        if not dask.is_dask_collection(X):
            return super().transform(X)
        self._check_new(X)
        dtype = self._columns(example_of(X)).dtype
        width, told = (len(self.medoid_indices_),), (self._metric, self.cluster_centers_)
        return lazy_array("transform", transform_rows, parts_of(X), known_sizes(X), width, dtype, *told)

    def score(self, X: Any, y: object = None, sample_weight: Any = None) -> float:
        """Return minus the weighted sum of the dissimilarities of these rows to their nearest medoid.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            Rows, as in `predict`; the sum is computed at once.
        y : ignored
            For the conventions of scikit-learn.
        sample_weight : dask or NumPy array of shape (n,) or float, default=None
            Weights of the rows, ones when None.
        """
        if not dask.is_dask_collection(X):
            return super().score(X, y, sample_weight)
        self._check_new(X)
        found = Partitions(X, sample_weight).run("assign", assess, self._metric, [self.cluster_centers_])
        return -sum(each.inertia for (each,) in found)

    def _check_new(self, X: Any) -> None:
        check_is_fitted(self)
        validate_data(self, example_of(X), reset=False, skip_check_array=True)


def check_lazy(out: LabelsOut, name: str, labels: str) -> None:
    """Refuse to write labels that are lazy."""
    if out is not None:
        raise ValueError(f"{name} does not work with Dask, whose labels are lazy: store {labels} with dask.array.store")
