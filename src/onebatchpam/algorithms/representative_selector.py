"""`select_representatives` as an estimator: for pipelines of imbalanced-learn, and for the last step of others.

A transformer of scikit-learn returns as many rows as it gets, because the labels y pass it by; so an estimator that
chooses rows must not have `transform` or `fit_transform`. The interface for such estimators is `fit_resample`, which
returns rows together with their labels, and which the pipelines of imbalanced-learn call in `fit`, not in `predict`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing, check_consistent_length

from onebatchpam._memory import resolve_memory_limit
from onebatchpam._parameters import Names, Rule, accept, check_parameters, check_seed, check_verbose, integer
from onebatchpam._parameters import resolve_n_jobs as check_n_jobs
from onebatchpam.algorithms.base import FEATURE_ATTRIBUTES, read_features, set_input_tags
from onebatchpam.algorithms.onebatchpam import OneBatchPAM
from onebatchpam.algorithms.representatives import find_representatives
from onebatchpam.data import is_path
from onebatchpam.metrics import MetricLike, tags_of

if TYPE_CHECKING:
    from typing import Self


class RepresentativeSelector(BaseEstimator):  # type: ignore[misc]
    """`select_representatives` as an estimator that keeps k rows, for pipelines.

    In a pipeline of imbalanced-learn, the steps after it are fitted to the chosen rows and their labels only, while all
    rows pass it in `predict`. In a pipeline of scikit-learn it can only be the last step, because a step in between
    must return all rows. For the chosen rows alone, `select_representatives` is simpler.

    Parameters
    ----------
    n_representatives : int, default=8
        Number of representatives, k.
    metric : str or callable, default="euclidean"
        Dissimilarity between two rows: a name or a function, as in `OneBatchPAM`.
    metric_params : dict, default=None
        Keyword arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    random_state : int, RandomState or None, default=None
        Seed or generator for drawing. An int gives the same result each time.
    n_jobs : int, default=None
        Number of threads, as in `OneBatchPAM`; the result does not depend on it.
    memory_limit : int or str, default=None
        Memory for dissimilarities, in bytes or as text like ``"4GB"``; None means half of the free memory.
    verbose : int or bool, default=0
        With 1 or more, long stages show a progress bar.

    Attributes
    ----------
    indices_ : ndarray of shape (k,)
        Row indices of the representatives, the most important first.
    rows_, losses_, coverage_, counts_, n_rows_, n_fixed_, n_distances_, seconds_
        What `Representatives` describes under these names, without the underscore at the end.
    n_features_in_ : int
        Number of features. Not set for strings and other objects, which have none.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features. Set only if X has names and all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onebatchpam import RepresentativeSelector
    >>> X, y = load_digits(return_X_y=True)
    >>> X_chosen, y_chosen = RepresentativeSelector(50, random_state=0).fit_resample(X, y)
    >>> X_chosen.shape, y_chosen.shape
    ((50, 64), (50,))
    """

    __module__ = "onebatchpam"  # the public place, by which saved models find the class

    def __init__(
        self,
        n_representatives: int = 8,
        *,
        metric: MetricLike = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_representatives = n_representatives
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    _rules: ClassVar[dict[str, Rule]] = {
        "n_representatives": integer(at_least=1),
        "metric": accept,
        "metric_params": accept,
        "random_state": check_seed,
        "n_jobs": check_n_jobs,
        "memory_limit": resolve_memory_limit,
        "verbose": check_verbose,
    }

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        fixed: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
    ) -> Self:
        """Choose the representatives.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
            The rows, as in the `fit` of `OneBatchPAM`.
        y : ignored
            Present by the conventions of scikit-learn.
        sample_weight, fixed, candidates
            As in `select_representatives`.

        Returns
        -------
        self
            The fitted estimator.
        """
        check_parameters(self, self._rules)
        model = OneBatchPAM(
            self.n_representatives,
            metric=self.metric,
            metric_params=self.metric_params,
            memory_limit=self.memory_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        names = Names("n_representatives", "fixed")
        found, space = find_representatives(X, model, sample_weight, fixed, candidates, names, estimator=self)
        fitted = {f"{field.name}_": getattr(found, field.name) for field in fields(found) if field.name != "labels"}
        kept = {name: value for name, value in vars(self).items() if name not in FEATURE_ATTRIBUTES}
        # One assignment sets all of them, so that Ctrl-C never leaves an estimator with a part of them.
        self.__dict__ = {**kept, **read_features(space.rows), **fitted}
        return self

    def fit_resample(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        fixed: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
    ) -> tuple[Any, Any]:
        """Choose the representatives, and return them with their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features), list of n strings or objects, or path
            The rows, as in `fit`, but not a matrix of dissimilarities.
        y : array-like of n labels, default=None
            The labels. The choice does not depend on them.
        sample_weight, fixed, candidates
            As in `select_representatives`.

        Returns
        -------
        tuple
            The k rows in the form of X, the most important first, and their labels in the form of y; None if y is None.
        """
        if tags_of(self.metric).is_pairwise:
            raise ValueError("metric='precomputed': X has no rows to return; expected another metric, or `fit`")
        if y is not None and not is_path(X):
            check_consistent_length(X, y)
        self.fit(X, y, sample_weight, fixed=fixed, candidates=candidates)
        return self.rows_, None if y is None else _safe_indexing(y, self.indices_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        set_input_tags(tags, self.metric)
        return tags
