"""OneBatchPAM on Dask arrays and frames: the rows stay in their partitions."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import dask
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from onebatchpam import algorithms
from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import (
    Settings,
    check_candidates,
    check_fixed_medoids,
    check_medoids,
    check_n_clusters,
    check_sizes_fit,
    describe,
)
from onebatchpam._run import Run
from onebatchpam._show import paragraph
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import (
    Clustering,
    describe_profile,
    read_features,
    warn_if_imperfect,
    warn_if_small,
)
from onebatchpam.answers import LabelsOut, RowAssessment
from onebatchpam.batch import resolve_batch_size
from onebatchpam.bounds import LowerBound, check_confidence, choose_confidence, set_deadline
from onebatchpam.dask.bound import bound_by_sample
from onebatchpam.dask.known import KnownRows
from onebatchpam.dask.partition import GivenRows, join
from onebatchpam.dask.population import FIRST_PER_MEDOID, Partitioned, PartitionedData, most_rows_of_driver
from onebatchpam.dask.scheduler import Partitions, Parts, example_of, lazy_array, parts_of
from onebatchpam.dask.tasks import (
    assess,
    assess_each_row,
    distances_of_rows,
    label_rows,
    transform_rows,
    type_of_assessment,
)
from onebatchpam.metrics import Metric, tags_of
from onebatchpam.search import choose_start
from onebatchpam.space import check_number_of_candidates, warn_of_data

if TYPE_CHECKING:
    from typing import Self

BYTES_OF_NUMBER = 8  # each number of a gathered row takes at most this many bytes


class OneBatchPAM(algorithms.OneBatchPAM):
    """k-medoids of a Dask array or frame, whose rows stay in their partitions.

    The parameters, methods and fitted attributes are those of `onebatchpam.OneBatchPAM`. For an X that is not a Dask
    collection, the two estimators are the same.

    The driver holds a sample of the rows: 1,000 for each medoid, but at least 20,000 and at most 100,000, or four for
    each batch point if that is more. The batch is drawn from this sample, and only the sample is searched. Refinement
    compares candidates with it, and in its last rounds the workers return the best candidates among all rows. Its
    medoids are kept unless they make the objective over all rows worse. A data set that is not larger than the sample
    is gathered and fitted in memory.

    The result depends on `random_state` and on the partitions, but not on the scheduler or the number of workers. Data
    that are not persisted are read again in each of about ten passes, most of which are short. If the cluster loses
    a worker, the lost results are computed again.

    ``metric="precomputed"`` is not possible, and ``"seuclidean"`` and ``"mahalanobis"`` need their ``V`` or ``VI`` in
    `metric_params`. `n_jobs` is the number of threads of the driver; a task on a partition uses one thread.

    Attributes
    ----------
    labels_ : dask array of shape (n,)
        Cluster of each row, from 0 to k - 1; computed on demand.
    distances_ : dask array of shape (n,)
        Dissimilarity of each row to its medoid; computed on demand.
    n_iter_ : int
        Number of passes over all candidates of the sample in the batch search.
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

    __module__ = "onebatchpam.dask"  # the public place, by which saved models find the class

    def _fit(
        self, X: Any, sample_weight: Any, fixed_medoids: ArrayLike | None, candidates: Any, labels_out: LabelsOut
    ) -> Self:
        if not dask.is_dask_collection(X):
            return super()._fit(X, sample_weight, fixed_medoids, candidates, labels_out)
        check_lazy(labels_out, "labels_out", "labels_")
        if tags_of(self.metric).is_pairwise:
            raise ValueError(f"metric={self.metric!r} does not work with Dask: expected a metric that compares rows")
        settings = self._check_settings()
        check_start(settings.init)
        check_fixed_medoids(fixed_medoids, settings.n_clusters, None)
        if candidates is not None and not dask.is_dask_collection(candidates):
            check_candidates(candidates, None)
        run = Run.of(settings)
        partitions = Partitions(X, sample_weight, candidates)
        try:
            data = PartitionedData(partitions, self.metric, self.metric_params, run)
            head = data.metric.read(data.head, "X")
            features = read_features(head)
            k = check_n_clusters(settings.n_clusters, data.n, n_absent=data.n - data.n_present)
            check_sizes_fit(settings.min_cluster_size, k, data.total_weight)
            m = resolve_batch_size(settings.batch_size, data.n_present, k, None, refined=settings.refine > 0)
            if data.n <= most_rows_of_driver(m, k, head.row_size):
                whole = data.gather_all()
                weights = None if sample_weight is None else whole.weights
                marked = None if candidates is None else whole.are_candidates
                super()._fit(whole.rows, weights, fixed_medoids, marked, None)
                told = (partitions.measured, self._metric, self.cluster_centers_)
                measured = measure_lazily(*told, vars(self)["distances_"].dtype)
                self.labels_, self.distances_ = label_lazily(*told), measured
            else:
                fixed = check_fixed_medoids(fixed_medoids, k, data.n)
                warn_of_data(data.metric)
                if candidates is None:
                    data.prefer_complete_rows(k)
                self._fit_partitions(self._gather_first(data, fixed, settings), m, settings, features)
        finally:
            partitions.runner.close()
        return self

    def _gather_first(self, data: PartitionedData, fixed: Indices, settings: Settings) -> Partitioned:
        """Gather rows on the driver among which the first medoids are chosen, and those that the user named."""
        k = settings.n_clusters
        check_number_of_candidates(data.n_candidates + len(fixed), k, len(fixed))
        rows, weights = data.draw_candidates(min(data.n_candidates, FIRST_PER_MEDOID * k))
        last_medoids = self._last_medoids(settings.warm_start, data.n, k)
        wanted = [fixed]
        if not isinstance(settings.init, str):
            wanted.append(check_medoids(settings.init, k, data.n, "init"))
        wanted += [] if last_medoids is None else [last_medoids]
        missing = np.setdiff1d(np.concatenate(wanted), rows.indices)
        if len(missing):
            taken = data.take(missing)
            absent = taken.indices[taken.weights == 0]
            if len(absent):
                raise ValueError(
                    f"row {absent[0]} is in init, fixed_medoids or medoid_indices_ of the last fit (warm_start=True), "
                    "but its weight is zero: expected rows with a positive weight"
                )
            rows, weights = join([rows, taken]), np.append(weights, np.zeros(len(taken)))
        known = KnownRows(rows, weights, data.metric, data.run.n_jobs, data.n)
        places = known.space.find(fixed, len(fixed), "fixed_medoids")
        n_candidates = data.n_candidates + int(np.sum(~rows.are_candidates[places]))
        check_number_of_candidates(n_candidates, k, len(fixed))
        known.fix(places)
        return Partitioned(data, known, n_candidates, settings.memory_limit)

    def _fit_partitions(self, population: Partitioned, m: int, settings: Settings, features: dict[str, Any]) -> None:
        data, k = population.data, settings.n_clusters
        last_medoids = self._last_medoids(settings.warm_start, data.n, k)
        start = choose_start(settings.init, last_medoids, population.space, k, None, data.run)
        selection = self._search(population, start, m, settings, data.run)
        medoids = population.spread_medoids(selection.medoids)
        (assessment,) = population.assess([medoids])
        warn_if_imperfect(selection.advice, k, assessment.profile.weights)
        warn_if_small(assessment.profile.weights, settings.min_cluster_size)
        given = population.known.given_rows(medoids)
        centers = data.metric.read(given.rows, "X").given(np.arange(k))
        told = (data.partitions.measured, data.metric, centers)
        clustering = Clustering(
            medoid_indices=given.indices,
            cluster_centers=centers,
            medoids=centers,
            labels=label_lazily(*told),
            distances=measure_lazily(*told, population.space.distances_from(medoids, medoids[:1]).dtype),
            **describe_profile(assessment.profile, is_weighted=data.partitions.is_weighted),
            inertia=assessment.inertia,
            n_candidates=population.n_candidates,
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
        return label_lazily(parts_of(X), self._metric, self.cluster_centers_)

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
        width, told = (len(self.medoid_indices_),), (self._metric, self.cluster_centers_)
        return lazy_array("transform", transform_rows, parts_of(X), width, self._type_of_distances(X), *told)

    def assess_rows(self, X: Any) -> RowAssessment:
        """Return how well each row fits: its nearest and its second nearest medoid, and its medoid silhouette.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            The rows, as in `predict`. If X is not a Dask collection, the result is computed at once, in memory.

        Returns
        -------
        RowAssessment
            Its attributes are Dask arrays, computed on demand. ``compute()`` returns the same assessment in memory,
            in one pass over the data.
        """
        if not dask.is_dask_collection(X):
            return super().assess_rows(X)
        self._check_new(X)
        dtype = type_of_assessment(self._type_of_distances(X), len(self.medoid_indices_))
        table = lazy_array("assess", assess_each_row, parts_of(X), (), dtype, self._metric, self.cluster_centers_)
        return LazyAssessment(**{name: table[name] for name in dtype.names or ()})

    def score_samples(self, X: Any) -> Any:
        """Return minus the dissimilarity of each row to its nearest medoid: the lower, the less the row fits.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            The rows, as in `predict`. If X is not a Dask collection, the result is computed at once, in memory.

        Returns
        -------
        dask array of shape (n,)
            Never positive; computed on demand.
        """
        if not dask.is_dask_collection(X):
            return super().score_samples(X)
        self._check_new(X)
        return -measure_lazily(parts_of(X), self._metric, self.cluster_centers_, self._type_of_distances(X))

    def _type_of_distances(self, X: Any) -> np.dtype[Any]:
        """Return the type of the dissimilarities of a Dask collection to the medoids."""
        example = example_of(X) if hasattr(self, "n_features_in_") else self.cluster_centers_
        return self._distances_to_medoids(example).dtype

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
        # The medoids are not rows of X, so they have no indices in it.
        medoids = GivenRows(np.empty(0, np.int64), self.cluster_centers_, np.empty(0), np.empty(0, bool))
        found = Partitions(X, sample_weight).run("assign", assess, self._metric, [medoids])
        return -sum(each.inertia for (each,) in found)

    def certify(
        self,
        X: Any,
        sample_weight: Any = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        confidence: float | None = None,
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
    ) -> LowerBound:
        """Return a lower bound on the objective of any k medoids, and so the largest possible gap of this fit.

        With more than 60,000 rows, or if `confidence` is passed, the bound is statistical. The driver then gathers only
        the random sample over which the bound sums, and some candidates for medoids; the partitions compare all rows
        with the sample. The sample, and so the bound, differs from that of the same rows in memory, with the same
        confidence. An exact bound needs all rows on the driver, where they must fit in `memory_limit`.

        Parameters
        ----------
        X : dask array or frame of shape (n, n_features)
            The rows of the fit.
        sample_weight : dask or NumPy array of shape (n,) or float, default=None
            The weights of the fit.
        fixed_medoids, confidence, time_limit, memory_limit
            As in `onebatchpam.OneBatchPAM`. The time limit of an exact bound begins when the rows are gathered.

        Returns
        -------
        LowerBound
            With `bound`, `objective`, `gap` and `is_exact`; it prints as a sentence.
        """
        others = {
            "fixed_medoids": fixed_medoids,
            "confidence": confidence,
            "time_limit": time_limit,
            "memory_limit": memory_limit,
        }
        if not dask.is_dask_collection(X):
            return super().certify(X, sample_weight, **others)  # type: ignore[arg-type]
        self._check_new(X)
        settings, most_bytes = self._check_settings(), resolve_memory_limit(memory_limit)
        medoids = self.medoid_indices_
        check_fixed_medoids(fixed_medoids, len(medoids), None)
        confidence, deadline = check_confidence(confidence), set_deadline(time_limit)
        partitions = Partitions(X, sample_weight)
        try:
            run = Run.of(settings)
            data = PartitionedData(partitions, self.metric, self.metric_params, run)
            confidence = choose_confidence(confidence, data.n_present)
            if confidence is not None:
                fixed = check_fixed_medoids(fixed_medoids, len(medoids), data.n)
                warn_of_data(data.metric)
                return bound_by_sample(data, medoids, fixed, self.inertia_, confidence, deadline, most_bytes)
            check_gatherable(data, most_bytes)
            whole = data.gather_all()
        finally:
            partitions.runner.close()
        weights = whole.weights if partitions.is_weighted else None
        return super().certify(whole.rows, weights, **others)  # type: ignore[arg-type]

    def _check_at_hand(self, X: Any, method: str, expected: str = "X in memory, or the path of a file") -> None:
        if dask.is_dask_collection(X):
            raise ValueError(f"{method} does not work with Dask: expected {expected}")

    def _check_new(self, X: Any) -> None:
        """Raise unless the estimator is fitted and X has the same features as the data of the fit."""
        check_is_fitted(self)
        if hasattr(self, "n_features_in_"):
            validate_data(self, example_of(X), reset=False, skip_check_array=True)


def label_lazily(parts: Parts, metric: Metric, medoids: Any) -> Any:
    """Return the label of each row, the position of its nearest medoid, as a Dask array that is computed on demand."""
    return lazy_array("predict", label_rows, parts, (), np.int32, metric, medoids)


def measure_lazily(parts: Parts, metric: Metric, medoids: Any, dtype: np.dtype[Any]) -> Any:
    """Return the dissimilarity of each row to its nearest medoid as a Dask array that is computed on demand."""
    return lazy_array("distances", distances_of_rows, parts, (), dtype, metric, medoids)


class LazyAssessment(RowAssessment):
    """How well each row fits its cluster, as Dask arrays that are computed on demand."""

    def compute(self) -> RowAssessment:
        """Return the assessment in memory; one pass over the data computes all attributes."""
        return RowAssessment(*dask.compute(*(getattr(self, field.name) for field in fields(self))))

    def to_frame(self) -> Any:
        """Compute the assessment, and return it as a pandas DataFrame with a line for each row."""
        return self.compute().to_frame()

    def __repr__(self) -> str:
        return f"{type(self).__name__} of Dask arrays: compute() fetches all of them in one pass"

    def _repr_html_(self) -> str:
        return paragraph(repr(self))


def check_gatherable(data: PartitionedData, most_bytes: int) -> None:
    """Raise if all rows are too many for the memory of the driver."""
    n_bytes = data.n * data.metric.read(data.head, "X").row_size * BYTES_OF_NUMBER
    if n_bytes > most_bytes:
        raise ValueError(
            f"an exact bound gathers all rows of X on the driver, about {n_bytes / 1e9:.3g} GB, but the memory limit "
            f"is {most_bytes / 1e9:.3g} GB: expected a larger memory_limit, or confidence=0.95 for a statistical bound"
        )


def check_lazy(out: LabelsOut, name: str, labels: str) -> None:
    """Raise if the user wants labels of a Dask collection to be written, because they are computed on demand."""
    if out is not None:
        raise ValueError(
            f"{describe(out, name)}: expected None for a Dask collection, whose labels are lazy; store {labels} with "
            "dask.array.store"
        )


def check_start(init: Any) -> None:
    """Raise for a start that needs all rows at hand: BUILD, rows near given ones, and a function of the rows."""
    if (isinstance(init, str) and init != "build") or isinstance(init, np.ndarray):
        return
    shown = describe(init, "init") if isinstance(init, str) or callable(init) else "init, which holds rows,"
    raise ValueError(f"{shown} does not work with Dask: expected 'random', 'k-means++' or another name, or row indices")
