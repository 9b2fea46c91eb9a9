"""The base class of all estimators: the shared parameters, the steps of `fit`, and the methods of a fitted model."""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from onebatchpam import _show
from onebatchpam._core import __version__
from onebatchpam._parameters import (
    NAMES,
    Names,
    Rule,
    Settings,
    accept,
    check_candidates,
    check_fixed_medoids,
    check_n_clusters,
    check_parameters,
    check_seed,
    check_sizes_fit,
    check_verbose,
    check_weights,
    integer,
    spread_weights,
)
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.algorithms.result import Clustering, Selection, describe_profile, warn_if_imperfect, warn_if_small
from onebatchpam.answers import Answers, LabelArray, LabelsOut, check_apart, check_labels_out, open_labels
from onebatchpam.bounds import LowerBound, certify
from onebatchpam.data import Rows, load_sparse
from onebatchpam.metrics import (
    Metric,
    MetricLike,
    resolve_metric,
    resolve_threads,
    restore_metric,
    store_metric,
    tags_of,
)
from onebatchpam.search import assign, call_init, check_init, check_n_init, find_nearest, nearest_tiles
from onebatchpam.space import Distances, Space, are_compared_sparse, choose_candidates, open_space

if TYPE_CHECKING:
    from typing import Self

VERSION = "_onebatchpam_version"  # the key under which a saved model holds the version that saved it
FEATURE_ATTRIBUTES = ("n_features_in_", "feature_names_in_")


class MedoidEstimator(Answers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
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
        "n_jobs": accept,
        "random_state": check_seed,
        "verbose": check_verbose,
    }

    # Whether the search itself draws, so that two searches from the same medoids may end with different ones.
    _draws_in_search: ClassVar[bool] = False

    _doc_link_module = "onebatchpam"

    @property
    def _doc_link_template(self) -> str:
        """The address of the page of an estimator, as scikit-learn wants it; empty if there is no such page."""
        return _show.DOCS_ADDRESS and _show.DOCS_ADDRESS + _show.PAGE_OF_ESTIMATOR

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        # scikit-learn gives each class long methods like `set_fit_request`. A subclass whose methods take no other
        # arguments inherits them instead, so that `help` shows first what is special about the subclass.
        for name in [name for name in vars(cls) if re.fullmatch("set_[a-z]+_request", name)]:
            inherited = [vars(parent)[name] for parent in cls.__mro__[1:] if name in vars(parent)]
            if inherited and inherited[0].keys == vars(cls)[name].keys:
                delattr(cls, name)

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        labels_out: LabelsOut = None,
    ) -> Self:
        """Choose the medoids and assign all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
            The rows.

            - Arrays of bytes, integers and floats, also float16 and bfloat16, are used as they are, without a
              converted copy; so are tensors of torch and jax on the CPU. If all values are whole numbers from 0 to 255,
              or such numbers divided by 255, rows are compared as bytes, which is faster and more exact.
            - Numbers on disk are read in parts, never as a whole. X is then the path of a .npy file, of a Parquet file
              or of a folder of Parquet files, a `numpy.memmap`, or an array of Zarr or h5py. The path of a .npz file
              is that of a sparse matrix, which is loaded.
            - With ``metric="precomputed"``, X is a square matrix of dissimilarities, of any real type and possibly
              memory-mapped. `OneBatchPAM` reads only the columns of the batch, and the rows of medoids and candidates.
              X may also hold the n (n - 1) / 2 distances that `scipy.spatial.distance.pdist` returns.
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
        candidates : array-like of n booleans or of row indices, or "all", default=None
            Rows that may become medoids; fixed medoids need not be among them. All other rows still count in the
            objective and get labels. None means ``"all"``, except with ``metric="gower"``: if rows lack values, medoids
            are then chosen among rows that lack no value which most rows have. If these are less than a tenth of the
            rows, or fewer than `n_clusters`, all rows are candidates, and a warning says so.
        labels_out : path or ndarray of n integers, default=None
            Where to write the labels as they are computed: the path of a new .npy file, which `labels_` then maps into
            memory, or an array, which then becomes `labels_`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, sample_weight, fixed_medoids, candidates, labels_out)

    def _fit(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None,
        fixed_medoids: ArrayLike | None,
        candidates: ArrayLike | None,
        labels_out: LabelsOut,
    ) -> Self:
        settings = self._check_settings()
        k = settings.n_clusters
        check_labels_out(labels_out, "labels_out", None, k)
        check_apart(labels_out, "labels_out", X)
        run = Run.of(settings)
        space = open_space_for_fit(X, self, settings, sample_weight, fixed_medoids, candidates, estimator=self)
        features = read_features(space.rows)
        check_labels_out(labels_out, "labels_out", space.n, k)
        present = space.present()
        if "init" in self._rules:
            settings.init = call_init(settings.init, X, k, run.rng)

        with open_labels(labels_out, space.n) as labels:
            selection = self._select(present, k, settings, run)
            is_weighted = sample_weight is not None
            self._finish(space, present, selection, labels, features, settings, run, is_weighted=is_weighted)
        return self

    def _finish(
        self,
        space: Space,
        present: Space,
        selection: Selection,
        labels: LabelArray,
        features: dict[str, Any],
        settings: Settings,
        run: Run,
        *,
        is_weighted: bool,
    ) -> None:
        """Assign all rows to the medoids that were selected among those present, and set the fitted attributes."""
        k = len(selection.medoids)
        known = selection.assignment if present is space else None
        chosen = present.given_indices(selection.medoids)
        medoids, assignment = assign(
            space, chosen, run.stages, known, labels.values, moves_empty=not selection.is_settled
        )
        space.check_scale(assignment.distances.max())
        profile = assignment.profile(k)
        warn_if_imperfect(selection.advice, k, profile.weights)
        warn_if_small(profile.weights, settings.min_cluster_size)
        clustering = Clustering(
            medoid_indices=medoids,
            cluster_centers=space.given(medoids),
            medoids=space.show(medoids),
            labels=labels.finish(),
            distances=assignment.distances,
            **describe_profile(profile, is_weighted=is_weighted),
            inertia=assignment.inertia,
            n_candidates=present.candidates.n,
            n_iter=selection.n_iter,
            n_swaps=selection.n_swaps,
            n_distances=space.tally.n_distances,
            fit_seconds=run.stages.seconds,
        )
        self._publish(clustering, selection, space.metric.with_medoids(space.rows, medoids), features)

    def _check_settings(self) -> Settings:
        """Return the checked parameters, before any data are read."""
        settings = check_parameters(self, self._rules)
        if "init" in self._rules:
            settings.init = check_init(settings.init, settings.n_clusters)
        if "n_init" in self._rules:
            settings.n_init = check_n_init(settings.n_init, settings.init, may_repeat=self._draws_in_search)
        resolve_metric(self.metric, self.metric_params)
        settings.n_jobs = resolve_threads(self.n_jobs, self.metric)
        return settings

    @abstractmethod
    def _select(self, space: Space, k: int, settings: Settings, run: Run) -> Selection:
        """Choose k medoids among the candidates of a space, whose rows all have a positive weight."""

    def _last_medoids(self, warm_start: bool, n: int, k: int) -> Indices | None:
        """Return the medoids of the last fit for a warm start; None if there is none with n rows and k medoids."""
        if not warm_start or not hasattr(self, "medoid_indices_"):
            return None
        return self.medoid_indices_ if (len(self.labels_), len(self.medoid_indices_)) == (n, k) else None

    def _publish(self, clustering: Clustering, selection: Selection, metric: Metric, features: dict[str, Any]) -> None:
        """Set all fitted attributes; those of features are left out first, because new data may not have any."""
        attributes = {name: value for name, value in vars(self).items() if name not in FEATURE_ATTRIBUTES}
        fitted = clustering.attributes(selection.own_attributes())
        # One assignment sets all of them, so that Ctrl-C or a lack of memory never leaves a model with a part of them.
        self.__dict__ = {**attributes, **features, "_metric": metric, **fitted}

    def _read(self, X: ArrayLike) -> tuple[Metric, Rows]:
        """Return the metric for new rows, and the rows, checked and encoded for it.

        It is the fitted metric; for sparse rows it is the metric of the same name that compares sparse rows, even if
        the rows of the fit were dense.
        """
        check_is_fitted(self)
        X, metric = load_sparse(X, "X"), self._metric
        if are_compared_sparse(X, self.metric):
            metric = resolve_metric(self.metric, self.metric_params, sparse=True)
        rows = metric.check(X, "X", estimator=self)
        if rows.n_features is not None:
            validate_data(self, rows.header, reset=False, skip_check_array=True)
        return metric, metric.encode(rows)

    def _reopen(self, X: ArrayLike) -> Space:
        """Return the space of the rows of the fit, in which the metric has what it learnt in the fit."""
        metric, rows = self._read(X)
        return Space(rows.as_fitted(), metric, resolve_threads(self.n_jobs, self.metric))

    def _distances_to_medoids(self, X: ArrayLike) -> Distances:
        """Return the dissimilarities of new rows to the medoids."""
        metric, rows = self._read(X)
        medoids = metric.read_medoids(self.cluster_centers_, self.medoid_indices_)
        n_jobs = resolve_threads(self.n_jobs, self.metric)
        points = metric.pack(medoids, rows, n_jobs, rows_first=False)
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
        check_is_fitted(self)
        check_labels_out(out, "out", None, len(self.medoid_indices_))
        check_apart(out, "out", X)
        distances = self._distances_to_medoids(X)
        check_labels_out(out, "out", distances.n_rows, distances.n_columns)
        with open_labels(out, distances.n_rows) as labels:
            for rows, [(nearest, _)] in nearest_tiles(distances, Stages()):
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
        weights = check_weights(sample_weight)
        distances = self._distances_to_medoids(X)
        return -find_nearest(distances, spread_weights(weights, distances.n_rows)).inertia

    def certify(
        self,
        X: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        fixed_medoids: ArrayLike | None = None,
        confidence: float | None = None,
        time_limit: float | None = None,
        memory_limit: int | str | None = None,
    ) -> LowerBound:
        """Return a lower bound on the objective of any k medoids, and so the largest possible gap of this fit.

        It takes longer than the fit, because it compares all pairs of rows, or all rows with a large sample. `n_jobs`,
        `random_state` and `verbose` are those of the estimator.

        Parameters
        ----------
        X : array-like of shape (n, n_features), or path
            The rows of the fit.
        sample_weight : array-like of shape (n,) or float, default=None
            The weights of the fit.
        fixed_medoids : array-like of row indices, default=None
            Rows that must be medoids. Without those of the fit, the bound also holds for medoids that lack them.
        confidence, time_limit, memory_limit
            As in `lower_bound`.

        Returns
        -------
        LowerBound
            With `bound`, `objective`, `gap` and `is_exact`; it prints as a sentence.

        Examples
        --------
        >>> from onebatchpam import OneBatchPAM
        >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0]]
        >>> print(OneBatchPAM(n_clusters=2).fit(X).certify(X))
        The objective 3 is optimal, up to rounding.
        """
        check_is_fitted(self)
        settings = self._check_settings()
        self._check_at_hand(X, "certify")
        return certify(
            X,
            self.medoid_indices_,
            metric=self.metric,
            metric_params=self.metric_params,
            sample_weight=sample_weight,
            fixed_medoids=fixed_medoids,
            confidence=confidence,
            time_limit=time_limit,
            memory_limit=memory_limit,
            run=Run.of(settings),
            objective=self.inertia_,
        )

    def _check_at_hand(self, X: Any, method: str, expected: str = "X in memory, or the path of a file") -> None:
        """Raise if this method does not take X, because it is not at hand but on a cluster; say what is expected."""

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__(), VERSION: __version__}
        if "_metric" in state:
            state["_metric"] = store_metric(state["_metric"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        version = state.pop(VERSION, "0.1.0")  # version 0.1.0 did not save its version
        if version != __version__:
            warn(
                f"this {type(self).__name__} was saved by onebatchpam {version} and is opened by {__version__}: it may "
                "give other results; fit it again and save it",
            )
        if "_metric" in state:
            state["_metric"] = restore_metric(state["_metric"])
        super().__setstate__({**self._defaults(), **state})  # an older version lacks the parameters that are new

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the default values of all parameters that have one."""
        parameters = inspect.signature(cls).parameters.values()
        return {each.name: each.default for each in parameters if each.default is not each.empty}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        set_input_tags(tags, self.metric)
        keeps_float64 = tags_of(self.metric).keeps_float64
        tags.transformer_tags.preserves_dtype = ["float64", "float32"] if keeps_float64 else ["float32"]
        return tags


def set_input_tags(tags: Tags, metric: MetricLike) -> None:
    """Tell scikit-learn which data an estimator with this metric takes."""
    own = tags_of(metric)
    tags.input_tags.pairwise = own.is_pairwise
    tags.input_tags.positive_only = own.is_pairwise
    tags.input_tags.allow_nan = own.allows_nan
    tags.input_tags.categorical = own.takes_categories
    tags.input_tags.sparse = own.takes_sparse
    tags.input_tags.string = own.takes_only_text
    tags.input_tags.two_d_array = not own.takes_only_text


def open_space_for_fit(
    X: ArrayLike,
    model: MedoidEstimator,
    settings: Settings,
    sample_weight: ArrayLike | None,
    fixed_medoids: ArrayLike | None,
    candidates: ArrayLike | None,
    names: Names = NAMES,
    estimator: object = None,
) -> Space:
    """Open the rows of a fit, with their weights, fixed medoids and candidates, which are checked before X is read.

    `names` and `estimator` are those by which errors speak of the parameters and of the caller.
    """
    weights = check_weights(sample_weight)
    check_fixed_medoids(fixed_medoids, settings.n_clusters, None, names)
    if candidates is not None:
        check_candidates(candidates, None)
    space = open_space(X, model.metric, model.metric_params, settings.n_jobs, estimator, weights)
    k = check_n_clusters(settings.n_clusters, space.n, int(np.sum(space.weights == 0)), names)
    check_sizes_fit(settings.min_cluster_size, k, float(space.weights.sum()))
    space.fixed = check_fixed_medoids(fixed_medoids, k, space.n, names)
    space.candidates = choose_candidates(candidates, space, k, names)
    return space


def read_features(rows: Rows) -> dict[str, Any]:
    """Return scikit-learn's attributes for the number and the names of the features; objects have neither."""
    if rows.n_features is None:
        return {}
    estimator = BaseEstimator()
    validate_data(estimator, rows.header, skip_check_array=True)
    return vars(estimator)
