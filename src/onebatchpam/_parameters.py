"""Checks of the parameters that users pass, with errors that say the value and what was expected.

Every estimator has a table of rules, one for each of its parameters. All rules are applied before any data are read.
A parameter that must fit the data, such as weights, is checked twice: first everything that does not depend on the
data, and once they are open the rest, such as the number of weights.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

# More threads than this only take memory and time to start.
MOST_THREADS_PER_PROCESSOR = 4

Rule = Callable[[Any, str], Any]  # takes the value and the name of a parameter, returns the checked value
Weights = NDArray[np.float64] | float | None  # checked: one weight for each row, one for all rows, or None for 1

# Sums of weights that differ by no more than this fraction are equal, because adding them up rounds them.
WEIGHT_ROUNDING = 1e-9
SMALLEST_TOTAL = float(np.finfo(np.float64).tiny)  # smaller numbers have few digits, and their inverse is infinite
LONGEST_REPR = 100  # a value whose representation has more characters than this is described by its type


@dataclass(frozen=True)
class Names:
    """The names by which errors speak of the number of medoids, and of the rows that must be medoids."""

    k: str = "n_clusters"
    fixed: str = "fixed_medoids"


NAMES = Names()  # most estimators have parameters of these names


class Settings(SimpleNamespace):
    """The parameters of an estimator, checked and in the form in which the algorithm uses them."""

    # An estimator that has no such parameter sets no limit.
    min_cluster_size: float | None = None
    min_clusters: int | None = None


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> Settings:
    """Apply the rules to the parameters of an estimator; a user's subclass may have more parameters."""
    return Settings(**{name: rule(getattr(estimator, name), name) for name, rule in rules.items()})


def accept(value: Any, name: str) -> Any:
    """Return the value unchecked; another function checks it, together with other parameters."""
    return value


def integer(at_least: int, at_most: int | None = None) -> Rule:
    """Return the rule of a parameter that is an integer in this range."""
    return lambda value, name: check_integer(value, name, at_least=at_least, at_most=at_most)


def integer_or_auto(at_least: int, also: str = "") -> Rule:
    """Return the rule of a parameter that is an integer of at least this value, or "auto", which becomes None.

    `also` is what else the caller takes, for the error.
    """
    others = f"'auto', {also}," if also else "'auto'"
    expected = f"{others} or an integer of at least {at_least}"

    def check(value: Any, name: str) -> int | None:
        if isinstance(value, str) and value == "auto":
            return None
        if not is_integer(value) or value < at_least:
            raise ValueError(f"{describe(value, name)}: expected {expected}")
        return int(value)

    return check


def one_of(*choices: str) -> Rule:
    """Return the rule of a parameter that is one of these names."""
    return lambda value, name: check_choice(value, name, choices)


def describe(value: Any, name: str) -> str:
    """Return the subject of an error: a parameter with its value, or with its type if the value is long."""
    shown = repr(value)
    if len(shown) <= LONGEST_REPR and "\n" not in shown:
        return f"{name}={shown}"
    if isinstance(value, str):
        return f"{name}={shown[:LONGEST_REPR]}..."
    shape = getattr(value, "shape", None)
    return f"{name} is of type {type(value).__name__}{'' if shape is None else f' and shape {shape}'}"


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number; booleans and durations do not count as numbers, although they are Real."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def is_integer(value: Any) -> bool:
    """Tell whether a value is a number of an integer type."""
    return isinstance(value, Integral) and is_number(value)


def check_integer(value: Any, name: str, *, at_least: int, at_most: int | None = None) -> int:
    """Check an integer parameter, and return it as int."""
    if not is_integer(value) or not at_least <= value <= (value if at_most is None else at_most):
        in_range = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise ValueError(f"{describe(value, name)}: expected an integer {in_range}")
    return int(value)


def check_verbose(value: Any, name: str) -> int:
    """Check how much a fit tells, an integer or a truth value, and return it as int."""
    return int(value) if isinstance(value, (bool, np.bool_)) else check_integer(value, name, at_least=0)


def check_not_negative(value: Any, name: str) -> float:
    """Check a number that must not be negative, and return it as float."""
    try:
        number = float(value) if is_number(value) else np.nan
    except OverflowError:  # integers can be beyond the largest float
        number = np.inf
    if not 0 <= number < np.inf:
        raise ValueError(f"{describe(value, name)}: expected a finite number that is not negative")
    return number


def check_positive(value: Any, name: str) -> float:
    """Check a positive number, which may be infinite, and return it as float."""
    if not is_number(value) or not value > 0:
        raise ValueError(f"{describe(value, name)}: expected a positive number")
    try:
        return float(value)
    except OverflowError:  # integers can be beyond the largest float
        return np.inf


def check_flag(value: Any, name: str) -> bool:
    """Check a parameter that is True or False, and return it as bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{describe(value, name)}: expected True or False")
    return bool(value)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Check a parameter that is one of a few names, and return it."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{describe(value, name)}: expected one of {', '.join(map(repr, choices))}")
    return value


def check_min_cluster_size(value: Any, name: str) -> float | None:
    """Check the least weight of a cluster, a positive number; None sets no limit."""
    if value is None:
        return None
    number = check_not_negative(value, name) if is_number(value) else 0.0
    if number == 0:
        raise ValueError(f"{describe(value, name)}: expected None or a positive number, the weight of a cluster")
    return int(value) if is_integer(value) else number


def check_sizes_fit(min_cluster_size: float | None, k: int, total_weight: float) -> None:
    """Raise if k clusters of this weight would have more weight than all rows."""
    if min_cluster_size is not None and k * min_cluster_size > total_weight * (1 + WEIGHT_ROUNDING):
        raise ValueError(
            f"min_cluster_size={min_cluster_size!r} is too large for n_clusters={k}: all rows together have the weight "
            f"{total_weight:g}; expected at most {total_weight / k:g}, or fewer clusters"
        )


def check_callable(value: Any, name: str) -> Callable[..., Any]:
    """Check a parameter that is a function, and return it."""
    if not callable(value):
        raise ValueError(f"{describe(value, name)}: expected a function")
    return value


def check_seed(value: Any, name: str) -> np.random.RandomState:
    """Check the `random_state` parameter, and return the generator that it stands for."""
    try:
        if isinstance(value, Real):
            check_integer(value, name, at_least=0, at_most=2**32 - 1)
        return check_random_state(value)
    except ValueError:
        raise ValueError(
            f"{describe(value, name)}: expected None, an integer from 0 to {2**32 - 1}, or a numpy.random.RandomState"
        ) from None


def check_n_clusters(n_clusters: Any, n: int, n_absent: int = 0, names: Names = NAMES) -> int:
    """Check the number of clusters of n rows, of which `n_absent` have weight zero, and return it."""
    k = check_integer(n_clusters, names.k, at_least=1)
    if k > n - n_absent:
        absent = f", of which {n - n_absent} have a positive weight" if n_absent else ""
        raise ValueError(f"{names.k}={k} is larger than n_samples={n}{absent}: expected at most one medoid per row")
    return k


def check_medoids(medoids: ArrayLike, k: int, n: int | None, name: str) -> NDArray[np.int64]:
    """Check k distinct indices of n rows, or of a number of rows that is not known yet, and return them as int64."""
    indices = as_array(medoids, name, f"{k} integers, one row index for each medoid")
    if indices.shape != (k,) or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {indices.shape} and dtype {indices.dtype}: expected {k} integers, one row index for "
            "each medoid"
        )
    outside = indices[(indices < 0) | (indices > (np.iinfo(np.int64).max if n is None else n - 1))]
    if len(outside):
        last = "on" if n is None else f"to {n - 1}"
        raise ValueError(f"{name} holds {outside[0]}: expected row indices from 0 {last}")
    values, counts = np.unique(indices, return_counts=True)
    if len(values) < k:
        raise ValueError(f"{name} holds {values[counts > 1][0]} more than once: expected distinct row indices")
    return indices.astype(np.int64)


def check_fixed_medoids(fixed: ArrayLike | None, k: int, n: int | None, names: Names = NAMES) -> NDArray[np.int64]:
    """Check the indices of rows that must be medoids, at most k of n rows, and return them as int64.

    n is None as long as the number of rows is not known.
    """
    expected = f"at most {names.k}={k} row indices"
    indices = as_array([] if fixed is None else fixed, names.fixed, expected)
    if indices.size == 0:
        return np.empty(0, np.int64)
    if indices.size > k or indices.ndim != 1:
        raise ValueError(
            f"{names.fixed} has shape {indices.shape}: expected {expected}; to fix points that are not rows, put them "
            "before the rows of X (the how-to Depots shows it)"
        )
    return check_medoids(indices, indices.size, n, names.fixed)


def check_candidates(candidates: Any, n: int | None) -> NDArray[np.int64] | None:
    """Check which of n rows may become medoids, and return their indices in ascending order; None for "all".

    n is None as long as the number of rows is not known.
    """
    if isinstance(candidates, str):
        check_choice(candidates, "candidates", ("all",))
        return None
    array = as_array(candidates, "candidates", "row indices, or True or False for each row")
    if array.dtype == bool and (array.ndim != 1 or n not in (None, len(array))):
        expected = "one dimension" if n is None else (n,)
        raise ValueError(f"candidates has shape {array.shape}: expected {expected}, True or False for each row")
    indices = np.flatnonzero(array) if array.dtype == bool else array
    if indices.size == 0:
        raise ValueError("candidates holds no row: expected at least one candidate for each medoid")
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"candidates has shape {indices.shape} and dtype {indices.dtype}: expected row indices, or True or False "
            "for each row"
        )
    return np.sort(check_medoids(indices, indices.size, n, "candidates"))


def refuse_masked(values: Any, name: str) -> None:
    """Raise if values are an array some of whose entries are masked: the numbers under a mask mean nothing."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = int(np.count_nonzero(np.ma.getmaskarray(values)))
        raise ValueError(
            f"{name} is a masked array, which hides {n_masked:,} of its values: expected an array without a mask; fill "
            "them in, or for a metric that takes missing values pass array.filled(numpy.nan)"
        )


def as_array(values: Any, name: str, expected: str) -> NDArray[Any]:
    """Return a parameter that is a list or an array of at least one dimension as an array."""
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # lists in it can have different lengths
        array = np.empty(())
    if array.ndim == 0:
        raise ValueError(f"{describe(values, name)}: expected {expected}")
    return array


def check_weights(weights: Any, name: str = "sample_weight", of_each: str = "row") -> Weights:
    """Check weights, as long as the number of rows is not known; an array is copied, because the caller may change it.

    `spread_weights` makes them the weights of n rows.
    """
    if weights is None:
        return None
    if is_number(weights):
        weight = check_not_negative(weights, name)
        if weight == 0:
            raise ValueError(f"{name}={weights!r}: expected a positive weight")
        return weight
    array = as_array(weights, name, f"one weight for each {of_each}")
    if array.ndim > 1 or array.dtype.kind not in "biufO":
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}: expected one number for each {of_each}"
        )
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}; expected one number for each {of_each}") from error
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}]={array[bad[0]]}: expected finite weights that are not negative")
    if not array.any():
        raise ValueError(f"{name} is zero for every {of_each}: expected at least one positive weight")
    with np.errstate(over="ignore"):  # an infinite sum is refused
        _check_total(float(array.sum()), name)
    return array


def spread_weights(weights: Weights, n: int, name: str = "sample_weight", of_each: str = "row") -> NDArray[np.float64]:
    """Return the weight of each of n rows, given the result of `check_weights`."""
    if not isinstance(weights, np.ndarray):
        weight = 1.0 if weights is None else weights
        _check_total(weight * n, name)
        return np.full(n, weight)
    if weights.shape != (n,):
        raise ValueError(f"{name} has shape {weights.shape}: expected {(n,)}, one weight for each {of_each}")
    return weights


def _check_total(total: float, name: str) -> None:
    if total > float(np.finfo(np.float32).max):
        raise ValueError(f"{name} sums to {total:g}: expected weights whose sum fits in float32; rescale them")
    if total < SMALLEST_TOTAL:
        raise ValueError(f"{name} sums to {total:g}: expected a sum of at least {SMALLEST_TOTAL:g}; rescale them")


def resolve_n_jobs(n_jobs: Any, name: str = "n_jobs") -> int:
    """Check the `n_jobs` parameter, and return the number of threads."""
    if n_jobs is None:
        return threads_by_default()
    if not is_integer(n_jobs) or n_jobs == 0:
        expected = "None, a positive number of threads, or -1 for all processors"
        raise ValueError(f"{describe(n_jobs, name)}: expected {expected}")
    n_processors = cpu_count()
    if n_jobs < 0:
        return int(max(1, n_processors + 1 + n_jobs))  # -2 means all processors but one, as in scikit-learn
    return int(min(n_jobs, MOST_THREADS_PER_PROCESSOR * n_processors))


def threads_by_default() -> int:
    """Return the number of threads for ``n_jobs=None``: all processors, unless joblib shares them out already."""
    backend, n_jobs = get_active_backend()
    if n_jobs is not None:
        return resolve_n_jobs(n_jobs)  # the number of a `joblib.parallel_config` context
    # joblib sets this variable in its worker processes, and users set it to restrict the threads of all libraries.
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if allowed.isdecimal() and int(allowed) > 0:
        return min(int(allowed), cpu_count())
    return 1 if backend.nesting_level else cpu_count()
