"""Metrics by Python functions: of two rows or objects, or of two blocks of them.

The first argument is the candidate for a medoid, or a block of candidates; the second is the point, or a block of
points.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from onebatchpam import _tiles
from onebatchpam._parameters import check_callable, check_flag
from onebatchpam.data import (
    ArrayRows,
    Rows,
    are_objects,
    check_objects,
    check_quietly,
    check_rows,
    is_bfloat16,
    is_stored,
)
from onebatchpam.metrics.base import Metric
from onebatchpam.metrics.checks import PairError, describe_bad_value
from onebatchpam.metrics.ordered import OrderedMetric, check_symmetry

Function = Callable[..., Any]
# NumPy writes these into an array of floats without help.
PLAIN_NUMBERS = frozenset({float, int, bool, np.float32, np.float64, np.int32, np.int64})


@dataclass(frozen=True)
class pair_metric:  # noqa: N801 (reads as a function)
    """Use a function of two rows or objects as a metric: ``f(a, b)`` returns a number.

    A function may also be passed as `metric` without `pair_metric` or `block_metric`. It is then tried on two small
    blocks to find out which of the two it is. A function that can compare both must be wrapped in one of them.

    Parameters
    ----------
    function : callable
        A function of a candidate and a point, with the `metric_params` as keyword arguments. It returns a number that
        is finite and not negative, and does not write to its arguments.
    symmetric : bool, default=False
        Whether the dissimilarity of two rows is the same in both orders. Where rows are compared with each other, as in
        `FasterPAM` and for data so small that all rows are the batch, the function is then called for only one of the
        two orders. A fit tries some pairs in both orders and raises an error if they differ.

    Examples
    --------
    >>> from onebatchpam import OneBatchPAM, pair_metric
    >>> model = OneBatchPAM(2, metric=pair_metric(lambda a, b: abs(len(a) - len(b))), random_state=0)
    >>> model.fit(["a", "bb", "cc", "dddddd", "eeeeee", "fffffff"]).inertia_
    2.0
    """

    __module__ = "onebatchpam"  # the public place, by which saved models find the class

    function: Function
    symmetric: bool = False

    def __post_init__(self) -> None:
        check_callable(self.function, "function")
        check_flag(self.symmetric, "symmetric")

    def __call__(self, a: Any, b: Any, **params: Any) -> Any:
        return self.function(a, b, **params)


@dataclass(frozen=True)
class block_metric:  # noqa: N801 (reads as a function)
    """Use a function of two blocks as a metric: ``F(A, B)`` returns an array of shape ``(len(A), len(B))``.

    A function may also be passed as `metric` without `pair_metric` or `block_metric`. It is then tried on two small
    blocks to find out which of the two it is. A function that can compare both must be wrapped in one of them.

    Parameters
    ----------
    function : callable
        A function of a block of candidates and a block of points, with the `metric_params` as keyword arguments. It
        returns numbers that are finite and not negative, and does not write to its arguments.
    symmetric : bool, default=False
        Whether the dissimilarity of two rows is the same in both orders. Where rows are compared with each other, as in
        `FasterPAM` and for data so small that all rows are the batch, the function is then called for only one of the
        two orders. A fit tries some pairs in both orders and raises an error if they differ.

    Examples
    --------
    >>> import numpy as np
    >>> from onebatchpam import OneBatchPAM, block_metric
    >>> from sklearn.metrics.pairwise import manhattan_distances
    >>> model = OneBatchPAM(2, metric=block_metric(manhattan_distances), random_state=0)
    >>> model.fit(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])).inertia_
    4.0
    """

    __module__ = "onebatchpam"  # the public place, by which saved models find the class

    function: Function
    symmetric: bool = False

    def __post_init__(self) -> None:
        check_callable(self.function, "function")
        check_flag(self.symmetric, "symmetric")

    def __call__(self, A: Any, B: Any, **params: Any) -> Any:
        return self.function(A, B, **params)


@dataclass(frozen=True)
class FunctionMetric(OrderedMetric):
    """A metric by a Python function, which compares rows if X is a table and objects if X is a list."""

    function: Function
    params: Mapping[str, Any] = field(default_factory=dict)
    compares_objects: bool | None = None  # None until the metric is fitted
    symmetric: bool = False
    allows_nan = True  # the function decides what NaN means

    @property
    def is_mirrored(self) -> bool:  # type: ignore[override]
        return self.symmetric

    @property
    def title(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def compare_safely(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        # The function gets copies, and not arrays that are marked as read-only: those are refused by compiled functions
        # that do not write to them either, such as those of Cython and of numba with a signature.
        lent = rows.copy(order="K"), points.copy(order="K")
        values = self.compare(*lent, rows_first, n_jobs)
        if any(copy.tobytes() != given.tobytes() for copy, given in zip(lent, (rows, points), strict=True)):
            raise ValueError(
                f"{self.title} writes to its arguments: expected a function that leaves rows as they are, with a - b "
                "instead of a -= b"
            )
        return values

    def check(self, X: ArrayLike, name: str, estimator: object = None) -> Rows:
        if self.compares_objects or (self.compares_objects is None and are_objects(X)):
            return ArrayRows(check_objects(X, name))
        if are_objects(X):
            raise ValueError(f"{name} is a list of objects: expected a table of rows, as in the fit")
        if is_stored(X) or is_bfloat16(X):
            return check_rows(X, name, allow_nan=True)
        # The values keep their type, because a table may hold anything that the function can compare.
        values = check_quietly(X, dtype=None, ensure_all_finite="allow-nan", input_name=name, estimator=estimator)
        return ArrayRows(values, header=X)

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        if self.symmetric:
            check_symmetry(self, rows)
        return replace(self, compares_objects=rows.n_features is None)


@dataclass(frozen=True)
class UnknownFunction(FunctionMetric):
    """A function of pairs or of blocks: `fit` finds out which, by a trial on the data."""

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        try:
            is_block = looks_like_a_block_function(self.function, rows, self.params)
        except MemoryError:  # tells nothing about the function
            raise
        except Exception as error:
            # The function compares pairs; or it compares blocks and failed, and then it also fails for the first pair.
            trial = f"; tried on two blocks it raised {error!r}"
            return PairFunction(self.function, self.params, trial=trial).fit(rows)
        return (BlockFunction if is_block else PairFunction)(self.function, self.params).fit(rows)

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        raise NotImplementedError("the metric must be fitted before it compares rows")


@dataclass(frozen=True)
class PairFunction(FunctionMetric):
    """A function f(candidate, point) that returns a number."""

    trial: str = ""  # the error of the trial on blocks, if there was one, for later errors

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        if n_jobs == 1:
            return self.compare_pairs(0, rows, points, rows_first)
        bounds = np.linspace(0, len(rows), min(n_jobs, len(rows)) + 1, dtype=int)
        # Threads help if the function releases the interpreter lock; a joblib context may choose processes instead.
        parts = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(self.compare_pairs)(first, rows[first:last], points, rows_first)
            for first, last in itertools.pairwise(bounds)
        )
        return np.concatenate(parts)

    def compare_pairs(
        self, first: int, rows: NDArray[Any], points: NDArray[Any], rows_first: bool
    ) -> NDArray[np.float64]:
        """Compare consecutive rows with the points; errors count the rows from `first`."""
        compare = partial(self.function, **self.params)
        values = np.empty((len(rows), len(points)))
        columns = list(points)  # a list, because each element of an array is a new view, which takes long to make
        for i, row in enumerate(rows):
            found: list[Any] = []
            try:
                for point in columns:
                    found.append(compare(row, point) if rows_first else compare(point, row))
            except MemoryError:  # no fault of these two rows
                raise
            except Exception as error:
                as_numbers(found, first + i)  # raises if one is not a number: it was returned before the error
                raise PairError(f"raised {error!r}{advise_on(row)}{self.trial}", first + i, len(found)) from error
            values[i] = as_numbers(found, first + i)
        return values


def as_numbers(found: list[Any], row: int) -> NDArray[np.float64]:
    """Return the values of a row as floats; raise a PairError if one is not a number."""
    if PLAIN_NUMBERS.issuperset(map(type, found)):
        with suppress(OverflowError):  # an integer is too large for float64: `as_number` names its pair
            return np.array(found, dtype=np.float64)
    return np.array([as_number(value, row, column) for column, value in enumerate(found)])


def as_number(value: Any, row: int, column: int) -> float:
    """Return a number of an unusual type as a float; raise a PairError if the value is not a number."""
    try:
        if np.ndim(value) == 0:
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    if isinstance(value, int):
        raise PairError(describe_bad_value(np.inf), row, column)  # it is too large for float64
    shape = np.shape(value)
    what = f"an array of shape {shape}" if shape else f"{value!r} of type {type(value).__name__}"
    raise PairError(f"is {what}: expected a number", row, column)


def advise_on(argument: Any) -> str:
    """Return advice, to follow an error, for a function that was given lists but may expect arrays."""
    if not isinstance(argument, (list, tuple)):
        return ""
    return (
        f"; the function gets the elements of a list as they are, here of type {type(argument).__name__}: for rows of "
        "numbers pass a two-dimensional array"
    )


@dataclass(frozen=True)
class BlockFunction(FunctionMetric):
    """A function F(candidates, points) that returns a block."""

    def rows_per_call(self, points: NDArray[Any]) -> int:
        # This number must be the same in all calls of a fit, because the last digits of matrix products depend on it.
        return max(1, _tiles.BLOCK_FUNCTION_ENTRIES // points.size)

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        first, second = (rows, points) if rows_first else (points, rows)
        blocks = f"blocks of {len(first)} and {len(second)} rows"
        try:
            values = np.asarray(self.function(first, second, **self.params))
        except MemoryError:  # no fault of these blocks
            raise
        except Exception as error:
            raise ValueError(f"{self.title} raised {error!r} for {blocks}") from error
        if values.shape != (len(first), len(second)) or values.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.title} returned an array of shape {values.shape} and type {values.dtype} for {blocks}: "
                f"expected numbers in shape {(len(first), len(second))}"
            )
        return values if rows_first else values.T


def looks_like_a_block_function(function: Function, rows: Rows, params: Mapping[str, Any]) -> bool:
    """Tell whether a function compares blocks, by a trial on blocks of two and three rows.

    A function of blocks returns an array of shape (2, 3). A function of two rows raises an error or returns something
    else, unless it can compare blocks as well.
    """
    first, second = (rows.take(np.arange(size) % rows.n).tile(slice(0, size)) for size in (2, 3))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.shape(function(first, second, **params)) == (2, 3)


def resolve_function(function: Function, params: Mapping[str, Any]) -> Metric:
    """Return the metric for a Python function."""
    if isinstance(function, pair_metric):
        return PairFunction(function.function, params, symmetric=function.symmetric)
    if isinstance(function, block_metric):
        return BlockFunction(function.function, params, symmetric=function.symmetric)
    return UnknownFunction(function, params)
