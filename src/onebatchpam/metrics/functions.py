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
from onebatchpam.data import are_objects, check_objects, check_rows, has_features, is_stored
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
    """A Python function, of rows if X is a table and of objects if it is a list."""

    function: Function
    params: Mapping[str, Any] = field(default_factory=dict)
    of_rows: bool | None = None  # as it was in the fit
    allows_nan = True  # what NaN means is for the function to say

    @property
    def title(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> NDArray[Any]:
        if self.of_rows is False or (self.of_rows is None and are_objects(X)):
            return check_objects(X, name)
        if are_objects(X) and self.of_rows:
            raise ValueError(f"{name} is a list of objects: expected a table of rows, as in the fit")
        if is_stored(X):
            return check_rows(X, name, allow_nan=True)
        # In the type it has: a table may hold anything that the function can compare.
        return check_array(X, dtype=None, ensure_all_finite="allow-nan", input_name=name, estimator=estimator)

    def fitted(self, X: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Metric:
        return replace(self, of_rows=has_features(X))


@dataclass(frozen=True)
class UnknownFunction(FunctionMetric):
    """A function of which the data will show whether it compares pairs or blocks."""

    def fitted(self, X: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Metric:
        try:
            is_block = looks_like_a_block_function(self.function, X, self.params)
        except Exception as error:  # a function of two rows; or one of blocks, and then the first pair raises as well
            return PairFunction(
                self.function, self.params, has_features(X), f"; tried on two blocks it raised {error!r}"
            )
        return (BlockFunction if is_block else PairFunction)(self.function, self.params).fitted(X)

    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        raise NotImplementedError("fitted() says what it is")


@dataclass(frozen=True)
class PairFunction(FunctionMetric):
    """A function f(candidate, point) that returns a number."""

    trial: str = ""  # what happened when it was tried on blocks

    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        if n_jobs == 1:
            return self.compare_pairs(0, rows, columns, rows_first)
        bounds = np.linspace(0, len(rows), min(n_jobs, len(rows)) + 1, dtype=int)
        # Threads, which help a function that lets go of the interpreter lock; a joblib context may say otherwise.
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(self.compare_pairs)(first, rows[first:last], columns, rows_first)
            for first, last in itertools.pairwise(bounds)
        )
        return np.concatenate(parts)

    def compare_pairs(
        self, first: int, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool
    ) -> NDArray[np.float64]:
        """Compare some of the rows, of which `first` is the number of the first."""
        found = np.empty((len(rows), len(columns)))
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                try:
                    value = self.function(*((row, column) if rows_first else (column, row)), **self.params)
                except Exception as error:
                    raise PairError(
                        self.title, f"raised {error!r}{advice_on(row)}{self.trial}", first + i, j
                    ) from error
                if not isinstance(value, (float, int, np.floating, np.integer)):
                    value = self.as_number(value, first + i, j)
                found[i, j] = value
        return found

    def as_number(self, value: Any, row: int, column: int) -> float:
        """Return a number of an unusual type."""
        try:
            if np.ndim(value) == 0:
                return float(value)
        except (TypeError, ValueError):
            pass
        shape = np.shape(value)
        what = f"an array of shape {shape}" if shape else f"{value!r} of type {type(value).__name__}"
        raise PairError(self.title, f"is {what}: expected a number", row, column)


def advice_on(argument: Any) -> str:
    """Say what to do if a function of arrays was given lists."""
    if not isinstance(argument, (list, tuple)):
        return ""
    return (
        f"; the elements of a list are compared as they are, here each a {type(argument).__name__}: for rows of "
        "numbers pass a two-dimensional array"
    )


@dataclass(frozen=True)
class BlockFunction(FunctionMetric):
    """A function F(candidates, points) that returns a block."""

    def rows_at_once(self, columns: NDArray[Any]) -> int:
        # Such functions like to subtract all rows from all columns: leave room for that. The same number for every
        # call of a fit, because the last digits of matrix products depend on it.
        return max(1, _tiles.BLOCK_FUNCTION_ENTRIES // columns.size)

    def compare(self, rows: NDArray[Any], columns: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        first, second = (rows, columns) if rows_first else (columns, rows)
        blocks = f"blocks of {len(first)} and {len(second)} rows"
        try:
            found = np.asarray(self.function(first, second, **self.params))
        except Exception as error:
            raise ValueError(f"{self.title} raised {error!r} for {blocks}") from error
        if found.shape != (len(first), len(second)) or found.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.title} returned an array of shape {found.shape} and type {found.dtype} for {blocks}: expected "
                f"numbers in shape {(len(first), len(second))}"
            )
        return found if rows_first else found.T


def looks_like_a_block_function(function: Function, X: NDArray[Any], params: Mapping[str, Any]) -> bool:
    """Try the function on blocks of two and three rows: a block function returns two rows and three columns.

    A function of two rows cannot, short of being a block function as well: it raises, or returns something else.
    """
    first, second = X[np.arange(2) % len(X)], X[np.arange(3) % len(X)]
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
