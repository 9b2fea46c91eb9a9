"""Checks of the parameters that users pass, with errors that say the value and what was expected.

Every estimator has a table of rules, one for each of its parameters. All rules are applied before any data are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

Rule = Callable[[Any, str], Any]  # takes the value and the name of a parameter, returns the checked value


class Settings(SimpleNamespace):
    """The parameters of an estimator, checked and in the form in which the algorithm uses them."""


def check_parameters(estimator: Any, rules: Mapping[str, Rule]) -> Settings:
    """Apply the rules to the parameters of an estimator; leave out parameters that a user's subclass has added."""
    parameters = estimator.get_params(deep=False)
    return Settings(**{name: rules[name](value, name) for name, value in parameters.items() if name in rules})


def accept(value: Any, name: str) -> Any:
    """Return the value unchecked; another function checks it, together with other parameters."""
    return value


def integer(at_least: int) -> Rule:
    """Return the rule of a parameter that is an integer of at least this value."""
    return lambda value, name: check_integer(value, name, at_least=at_least)


def one_of(*choices: str) -> Rule:
    """Return the rule of a parameter that is one of these names."""
    return lambda value, name: check_choice(value, name, choices)


def check_integer(value: Any, name: str, *, at_least: int) -> int:
    """Check an integer parameter, and return it as int."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)) or value < at_least:
        raise ValueError(f"{name}={value!r}: expected an integer of at least {at_least}")
    return int(value)


def check_not_negative(value: Any, name: str) -> float:
    """Check a number that must not be negative, and return it as float."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name}={value!r}: expected a finite number that is not negative")
    return float(value)


def check_flag(value: Any, name: str) -> bool:
    """Check a parameter that is True or False, and return it as bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={value!r}: expected True or False")
    return bool(value)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Check a parameter that is one of a few names, and return it."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")
    return value


def check_n_clusters(n_clusters: Any, n: int, n_absent: int = 0) -> int:
    """Check the number of clusters of n rows, of which `n_absent` have weight zero, and return it."""
    k = check_integer(n_clusters, "n_clusters", at_least=1)
    if k > n - n_absent:
        absent = f", of which {n - n_absent} have a positive weight" if n_absent else ""
        raise ValueError(f"n_clusters={k} is larger than n_samples={n}{absent}: expected at most one medoid per row")
    return k


def check_medoids(medoids: ArrayLike, k: int, n: int | None, name: str) -> NDArray[np.int64]:
    """Check k distinct indices of n rows, or of a number of rows that is not known yet, and return them as int64."""
    indices = np.asarray(medoids)
    if indices.shape != (k,) or not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{name} has shape {indices.shape} and dtype {indices.dtype}: expected {k} integers, one row index for "
            "each medoid"
        )
    outside = indices[(indices < 0) | (indices >= (np.inf if n is None else n))]
    if len(outside):
        last = "on" if n is None else f"to {n - 1}"
        raise ValueError(f"{name} holds {outside[0]}: expected row indices from 0 {last}")
    values, counts = np.unique(indices, return_counts=True)
    if len(values) < k:
        raise ValueError(f"{name} holds {values[counts > 1][0]} more than once: expected distinct row indices")
    return indices.astype(np.int64)


def check_fixed_medoids(fixed: ArrayLike | None, k: int, n: int) -> NDArray[np.int64]:
    """Check the indices of rows that must be medoids, at most k of n rows, and return them as int64."""
    indices = np.asarray([] if fixed is None else fixed)
    if indices.size == 0:
        return np.empty(0, np.int64)
    if indices.size > k:
        raise ValueError(f"fixed_medoids has shape {indices.shape}: expected at most n_clusters={k} row indices")
    return check_medoids(indices, indices.size, n, "fixed_medoids")


def check_weights(weights: ArrayLike | None, m: int) -> NDArray[np.float64]:
    """Check the weights of m columns, and return a copy; None gives every column weight 1."""
    return _check_weights(weights, m, "weights", "column")


def check_sample_weight(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """Check the weights of n rows, and return a copy; None gives every row weight 1, and a number this weight."""
    if isinstance(weights, Real):
        weights = np.full(n, weights, dtype=np.float64)
    return _check_weights(weights, n, "sample_weight", "row")


def _check_weights(weights: ArrayLike | None, n: int, name: str, of_each: str) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n)
    try:
        array = np.array(weights, dtype=np.float64)  # a copy, because the caller may change the original
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}; expected {n} numbers, one for each {of_each}") from error
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}: expected {(n,)}, one weight for each {of_each}")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}]={array[bad[0]]}: expected finite weights that are not negative")
    if not array.any():
        raise ValueError(f"{name} is zero for every {of_each}: expected at least one positive weight")
    if array.sum() > np.finfo(np.float32).max:
        raise ValueError(f"{name} sums to {array.sum():g}: expected weights whose sum fits in float32; rescale them")
    return array


def resolve_n_jobs(n_jobs: Any, name: str = "n_jobs") -> int:
    """Check the `n_jobs` parameter, and return the number of threads by the rules of scikit-learn."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"{name}={n_jobs!r}: expected None, a positive number of threads, or -1 for all processors")
    return int(effective_n_jobs(n_jobs))
