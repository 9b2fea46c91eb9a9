"""Dissimilarities that the user compiled: called through a pointer, in our threads, without the interpreter lock."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import LowLevelCallable

from onebatchpam import _core, _tiles
from onebatchpam.metrics.ordered import OrderedMetric

# As scipy writes the types of a function; the third argument is as wide as a pointer.
COUNT_TYPES = ["long long", "ssize_t", "Py_ssize_t", "npy_intp", "intptr_t", "ptrdiff_t", "int64_t", "size_t"]

if ctypes.sizeof(ctypes.c_long) == ctypes.sizeof(ctypes.c_void_p):
    COUNT_TYPES += ["long", "unsigned long"]

SIGNATURE = re.compile(
    rf"double \((const )?double \*, (const )?double \*, ({'|'.join(COUNT_TYPES)})(?P<data>, void \*)?\)"
)


class native_metric:  # noqa: N801 (reads as a function)
    """A compiled function as a metric: it runs at native speed in all threads.

    A `numba.cfunc` or a `scipy.LowLevelCallable` may be passed as a metric as it is; in this wrapping the estimator
    can also be cloned, as grid search does. Pointers cannot be pickled, wrapped or not.

    Parameters
    ----------
    function : numba.cfunc, ctypes function or scipy.LowLevelCallable
        With the signature ``double f(double *a, double *b, intptr_t n)``, where `a` is the candidate, `b` the point
        and `n` the number of features; or with a fourth argument ``void *data``, the `user_data` of the
        LowLevelCallable. It must be safe to call in several threads. Rows of other types are passed as float64.

    Examples
    --------
    >>> import ctypes
    >>> from onebatchpam import native_metric
    >>> double_pointer = ctypes.POINTER(ctypes.c_double)
    >>> signature = ctypes.CFUNCTYPE(ctypes.c_double, double_pointer, double_pointer, ctypes.c_ssize_t)
    >>> metric = native_metric(signature(lambda a, b, n: abs(a[0] - b[0])))  # Python inside: correct, not fast
    """

    def __init__(self, function: Any) -> None:
        if not isinstance(function, LowLevelCallable):
            try:
                function = LowLevelCallable(getattr(function, "ctypes", function))  # numba has it in this attribute
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{function!r} is no compiled function: expected a numba.cfunc, a ctypes function with types or a "
                    "scipy.LowLevelCallable"
                ) from error
        match = SIGNATURE.fullmatch(function.signature)
        if match is None:
            raise ValueError(
                f"the compiled function is {function.signature!r}: expected 'double (double *, double *, "
                "intptr_t)', or with a fourth argument 'void *'"
            )
        self.function = function  # keeps alive what the pointer points to
        capsule = tuple.__getitem__(function, 0)  # where scipy's own C code finds it
        self.core = _core.CustomMetric(capsule, match["data"] is not None)

    def __deepcopy__(self, memo: object) -> native_metric:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pointer to compiled code cannot be pickled: it means nothing in another process")


@dataclass(frozen=True)
class NativeFunction(OrderedMetric):
    """A metric by a compiled function."""

    function: native_metric
    allows_nan = True  # what NaN means is for the function to say

    @property
    def title(self) -> str:
        return "the compiled metric"

    def tile_entries(self) -> int:
        return _tiles.TILE_ENTRIES

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        values = np.empty((len(rows), len(points)))
        first, second = (np.ascontiguousarray(block, dtype=np.float64) for block in (rows, points))
        self.function.core.fill(first, second, rows_first, values, n_jobs)
        return values


def is_compiled(metric: object) -> bool:
    """Say whether a metric is a pointer to compiled code."""
    return isinstance(metric, (native_metric, LowLevelCallable)) or (
        hasattr(metric, "address") and hasattr(metric, "ctypes")  # numba.cfunc, without importing numba
    )


def resolve_compiled(function: Any, params: Mapping[str, Any]) -> NativeFunction:
    """Return the metric that a pointer stands for."""
    if params:
        raise ValueError(
            f"a compiled metric takes no metric_params, got {dict(params)!r}: pass data as the user_data of a "
            "scipy.LowLevelCallable"
        )
    return NativeFunction(function if isinstance(function, native_metric) else native_metric(function))
