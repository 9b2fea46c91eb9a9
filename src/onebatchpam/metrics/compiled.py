"""Metrics by compiled functions: called through a pointer, in native threads, without the interpreter lock."""

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
from onebatchpam._parameters import check_flag, describe
from onebatchpam._tiles import as_kernels_read
from onebatchpam.data import Rows
from onebatchpam.metrics.base import Metric
from onebatchpam.metrics.ordered import OrderedMetric, check_symmetry

# The names in scipy of the type of the third argument, an integer that is as wide as a pointer.
COUNT_TYPES = ["long long", "ssize_t", "Py_ssize_t", "npy_intp", "intptr_t", "ptrdiff_t", "int64_t", "size_t"]

if ctypes.sizeof(ctypes.c_long) == ctypes.sizeof(ctypes.c_void_p):
    COUNT_TYPES += ["long", "unsigned long"]

SIGNATURE = re.compile(
    rf"double \((const )?double \*, (const )?double \*, ({'|'.join(COUNT_TYPES)})(?P<data>, void \*)?\)"
)


class native_metric:  # noqa: N801 (reads as a function)
    """Use a compiled function as a metric, which runs at native speed in all threads.

    A `numba.cfunc` or a `scipy.LowLevelCallable` may also be passed as `metric` without `native_metric`, but then the
    estimator cannot be cloned, as grid search does. An estimator with a compiled metric can never be pickled.

    Parameters
    ----------
    function : numba.cfunc, ctypes function or scipy.LowLevelCallable
        A function with the signature ``double f(double *a, double *b, intptr_t n)``: `a` is the candidate, `b` the
        point, and `n` the number of features. A fourth argument ``void *data`` is the `user_data` of the
        LowLevelCallable. The function must be safe to call in several threads at the same time. It always gets float64:
        rows of other types are converted.
    symmetric : bool, default=False
        Whether the dissimilarity of two rows is the same in both orders, as in `pair_metric`.

    Examples
    --------
    >>> import ctypes
    >>> from onebatchpam import native_metric
    >>> double_pointer = ctypes.POINTER(ctypes.c_double)
    >>> signature = ctypes.CFUNCTYPE(ctypes.c_double, double_pointer, double_pointer, ctypes.c_ssize_t)
    >>> metric = native_metric(signature(lambda a, b, n: abs(a[0] - b[0])))  # slow, because it calls Python
    """

    def __init__(self, function: Any, symmetric: bool = False) -> None:
        self.symmetric = check_flag(symmetric, "symmetric")
        if not isinstance(function, LowLevelCallable):
            try:
                function = LowLevelCallable(getattr(function, "ctypes", function))  # numba.cfunc has `ctypes`
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"{describe(function, 'function')}: expected a compiled function, which is a numba.cfunc, a "
                    "scipy.LowLevelCallable, or a ctypes function with restype and argtypes"
                ) from error
        match = SIGNATURE.fullmatch(function.signature)
        if match is None:
            raise ValueError(
                f"the signature of the compiled function is {function.signature!r}: expected 'double (double *, "
                "double *, intptr_t)', or the same with a fourth argument 'void *'"
            )
        self.function = function  # keeps the code alive to which the pointer points
        capsule = tuple.__getitem__(function, 0)  # the pointer, where the C code of scipy finds it as well
        self.core = _core.CustomMetric(capsule, match["data"] is not None)

    def __deepcopy__(self, memo: object) -> native_metric:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a compiled metric cannot be pickled, because its pointer means nothing in another process: use threads, "
            "or a Python function as the metric"
        )


@dataclass(frozen=True)
class NativeFunction(OrderedMetric):
    """A metric by a compiled function."""

    function: native_metric
    allows_nan = True  # the function decides what NaN means

    @property
    def is_mirrored(self) -> bool:  # type: ignore[override]
        return self.function.symmetric

    def fit(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> Metric:
        if self.function.symmetric:
            check_symmetry(self, rows)
        return self

    @property
    def title(self) -> str:
        return "the compiled metric"

    def tile_entries(self) -> int:
        return _tiles.TILE_ENTRIES

    def compare(self, rows: NDArray[Any], points: NDArray[Any], rows_first: bool, n_jobs: int) -> NDArray[Any]:
        values = np.empty((len(rows), len(points)))
        first, second = (as_kernels_read(block, np.float64) for block in (rows, points))
        self.function.core.fill(first, second, rows_first, values, n_jobs)
        return values


def is_compiled(metric: object) -> bool:
    """Tell whether a metric is a compiled function, with or without `native_metric`."""
    return isinstance(metric, (native_metric, LowLevelCallable)) or (
        hasattr(metric, "address") and hasattr(metric, "ctypes")  # a numba.cfunc, found without importing numba
    )


def resolve_compiled(function: Any, params: Mapping[str, Any]) -> NativeFunction:
    """Return the metric for a compiled function."""
    if params:
        raise ValueError(
            f"a compiled metric takes no metric_params, got {dict(params)!r}: pass data as the user_data of a "
            "scipy.LowLevelCallable"
        )
    return NativeFunction(function if isinstance(function, native_metric) else native_metric(function))
