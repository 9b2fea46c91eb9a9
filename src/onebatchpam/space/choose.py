"""Which rows may become medoids: those that the user names, or else complete rows if enough are, or else all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from onebatchpam._parameters import NAMES, Names, check_candidates
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.space.candidates import Candidates
from onebatchpam.space.space import Space

# Medoids are chosen among complete rows if these are at least this share of all rows, and as many as medoids.
LEAST_SHARE = 0.1


def choose_candidates(given: Any, space: Space, k: int, names: Names = NAMES) -> Candidates:
    """Return the candidates for k medoids, given the `candidates` that a user passed; fixed medoids join them."""
    indices = find_complete(space, k, names) if given is None else check_candidates(given, space.n)
    if indices is None:
        return Candidates(space.n)
    candidates = Candidates(space.n, np.union1d(indices, space.fixed))
    check_number_of_candidates(int(np.count_nonzero(candidates.of(space.weights))), k, len(space.fixed), names)
    return candidates


def find_complete(space: Space, k: int, names: Names) -> Indices | None:
    """Return the rows that lack no value; None, which stands for all rows, if the metric finds none or too few."""
    if not space.metric.lacks_values:
        return None
    is_complete, is_present = space.metric.are_complete(space.rows), space.weights > 0
    n_complete = int(np.count_nonzero(is_complete & is_present))
    n_present = int(np.count_nonzero(is_present))
    return np.flatnonzero(is_complete) if are_enough(n_complete, n_present, k, names) else None


def are_enough(n_complete: int, n: int, k: int, names: Names = NAMES) -> bool:
    """Tell whether k medoids can be chosen among the complete ones of n rows; warn if they cannot."""
    enough = n_complete >= max(LEAST_SHARE * n, k)
    if not enough:
        warn(
            f"only {n_complete:,} of {n:,} rows lack no value, too few to choose {names.k}={k} medoids among them: "
            "medoids may be incomplete rows; pass candidates= to name the rows that may become medoids, or "
            "candidates='all' if every row may",
        )
    return enough


def check_number_of_candidates(n: int, k: int, n_fixed: int, names: Names = NAMES) -> None:
    """Raise if there are fewer candidates of positive weight, fixed medoids included, than medoids."""
    if k > n:
        counted = f"candidates and {names.fixed}" if n_fixed else "candidates"
        raise ValueError(
            f"{names.k}={k} is larger than the number of {counted} of positive weight, {n}: expected at most one "
            "medoid per candidate"
        )
