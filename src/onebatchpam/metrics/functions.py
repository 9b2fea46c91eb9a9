"""Dissimilarities that the user wrote in Python: a function of two rows or objects, or of two blocks of them.

Whichever it is, its first argument is the candidate for a medoid and its second the point.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from onebatchpam import _tiles
from onebatchpam.data import ArrayRows, Rows, are_objects, check_objects, check_rows, is_stored
from onebatchpam.metrics.base import Metric
from onebatchpam.metrics.checks import PairError
from onebatchpam.metrics.ordered import OrderedMetric

Function = Callable[..., Any]


@dataclass(frozen=True)
class pair_metric:  # noqa: N801 (reads as a function)
    """Say that a function compares two rows or objects: ``f(a, b)`` returns a number.

    A function that is passed as a metric without `pair_metric` or `block_metric` is tried on two small blocks, which
    tells the two kinds apart unless it answers to both.

    Parameters
    ----------
    function : callable
        Takes a candidate and a point, and the `metric_params` as keyword arguments.

    Examples
    --------
    >>> from onebatchpam import OneBatchPAM, pair_metric
    >>> model = OneBatchPAM(2, metric=pair_metric(lambda a, b: abs(len(a) - len(b))), random_state=0)
    >>> model.fit(["a", "bb", "cc", "dddddd", "eeeeee", "fffffff"]).inertia_
    2.0
    """

    function: Function

    def __call__(self, a: Any, b: Any, **params: Any) -> Any:
        return self.function(a, b, **params)


@dataclass(frozen=True)
class block_metric:  # noqa: N801 (reads as a function)
    """Say that a function compares two blocks: ``F(A, B)`` returns an array of shape ``(len(A), len(B))``.

    A function that is passed as a metric without `pair_metric` or `block_metric` is tried on two small blocks, which
    tells the two kinds apart unless it answers to both.

    Parameters
    ----------
    function : callable
        Takes a block of candidates and a block of points, and the `metric_params` as keyword arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from onebatchpam import OneBatchPAM, block_metric
    >>> from sklearn.metrics.pairwise import manhattan_distances
    >>> model = OneBatchPAM(2, metric=block_metric(manhattan_distances), random_state=0)
    >>> model.fit(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])).inertia_
    4.0
    """

    function: Function

    def __call__(self, A: Any, B: Any, **params: Any) -> Any:
        return self.function(A, B, **params)


@dataclass(frozen=True)
class FunctionMetric(OrderedMetric):
    """A Python function: of two rows if X is a table, of two objects if X is a list."""

    function: Function
    params: Mapping[str, Any] = field(default_factory=dict)
    compares_objects: bool | None = None  # known once the metric is fitted
    allows_nan = True  # what NaN means is for the function to say

    @property
    def title(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        if self.compares_objects or (self.compares_objects is None and are_objects(X)):
            return ArrayRows(check_objects(X, name))
        if are_objects(X):
            raise ValueError(f"{name} is a list of objects: expected a table of rows, as in the fit")
        if is_stored(X):
            return check_rows(X, name, allow_nan=True)
        # The values keep their type, because a table may hold anything that the function can compare.
        values = check_array(X, dtype=None, ensure_all_finite="allow-nan", input_name=name, estimator=estimator)
        return ArrayRows(values, header=X)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        return replace(self, compares_objects=rows.n_features is None)


@dataclass(frozen=True)
class UnknownFunction(FunctionMetric):
    """A function of which the data will show whether it compares pairs or blocks."""

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        try:
            is_block = looks_like_a_block_function(self.function, rows, self.params)
        except Exception as error:
            # It is a function of two rows, or one of blocks that fails: then the first pair will raise as well.
            trial = f"; tried on two blocks it raised {error!r}"
            return PairFunction(self.function, self.params, trial=trial).fit(rows)
        return (BlockFunction if is_block else PairFunction)(self.function, self.params).fit(rows)

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        raise NotImplementedError("fit() decides what the function compares")


@dataclass(frozen=True)
class PairFunction(FunctionMetric):
    """A function f(candidate, point) that returns a number."""

    trial: str = ""  # what happened when the function was tried on blocks

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        if n_jobs == 1:
            return self.compare_pairs(0, rows, points, rows_first)
        bounds = np.linspace(0, len(rows), min(n_jobs, len(rows)) + 1, dtype=int)
        # Threads help a function that lets go of the interpreter lock; a joblib context may choose processes.
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(self.compare_pairs)(first, rows[first:last], points, rows_first)
            for first, last in itertools.pairwise(bounds)
        )
        return np.concatenate(parts)

    def compare_pairs(
        self, first: int, rows: NDArray[Any], points: NDArray[Any], rows_first: bool
    ) -> NDArray[np.float64]:
        """Compare consecutive rows, of which `first` is the index of the first, with the points."""
        values = np.empty((len(rows), len(points)))
        for i, row in enumerate(rows):
            for j, point in enumerate(points):
                try:
                    value = self.function(*((row, point) if rows_first else (point, row)), **self.params)
                except Exception as error:
                    raise PairError(f"raised {error!r}{advise_on(row)}{self.trial}", first + i, j) from error
                if not isinstance(value, (float, int, np.floating, np.integer)):
                    value = as_number(value, first + i, j)
                values[i, j] = value
        return values


def as_number(value: Any, row: int, column: int) -> float:
    """Return a number of an unusual type as float, or raise a PairError for this pair."""
    try:
        if np.ndim(value) == 0:
            return float(value)
    except (TypeError, ValueError):
        pass
    shape = np.shape(value)
    what = f"an array of shape {shape}" if shape else f"{value!r} of type {type(value).__name__}"
    raise PairError(f"is {what}: expected a number", row, column)


def advise_on(argument: Any) -> str:
    """Say what to do if a function that expects arrays was given lists."""
    if not isinstance(argument, (list, tuple)):
        return ""
    return (
        f"; the elements of a list are compared as they are, here each a {type(argument).__name__}: for rows of "
        "numbers pass a two-dimensional array"
    )


@dataclass(frozen=True)
class BlockFunction(FunctionMetric):
    """A function F(candidates, points) that returns a block."""

    def rows_per_call(self, points: NDArray[Any]) -> int:
        # The number is the same in every call of a fit, because the last digits of matrix products depend on it.
        return max(1, _tiles.BLOCK_FUNCTION_ENTRIES // points.size)

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        first, second = (rows, points) if rows_first else (points, rows)
        blocks = f"blocks of {len(first)} and {len(second)} rows"
        try:
            values = np.asarray(self.function(first, second, **self.params))
        except Exception as error:
            raise ValueError(f"{self.title} raised {error!r} for {blocks}") from error
        if values.shape != (len(first), len(second)) or values.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.title} returned an array of shape {values.shape} and type {values.dtype} for {blocks}: "
                f"expected numbers in shape {(len(first), len(second))}"
            )
        return values if rows_first else values.T


def looks_like_a_block_function(function: Function, rows: Rows, params: Mapping[str, Any]) -> bool:
    """Try the function on blocks of two and three rows: a block function returns two rows and three columns.

    A function of two rows cannot, short of being a block function as well: it raises, or returns something else.
    """
    first, second = (rows.take(np.arange(size) % rows.n).tile(slice(0, size)) for size in (2, 3))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.shape(function(first, second, **params)) == (2, 3)


def resolve_function(function: Function, params: Mapping[str, Any]) -> Metric:
    """Return the metric that a Python function stands for."""
    if isinstance(function, pair_metric):
        return PairFunction(function.function, params)
    if isinstance(function, block_metric):
        return BlockFunction(function.function, params)
    return UnknownFunction(function, params)
