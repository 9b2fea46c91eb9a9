"""Where a search starts: at the medoids of the last fit, at medoids that the user passed, at drawn ones, or by BUILD.

BUILD is for small data, and draws nothing; see `build.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onebatchpam._parameters import as_array, check_choice, check_integer, check_medoids
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.search.build import Build
from onebatchpam.search.first_medoids import draw_by_weight, kmc2, kmeans_plus_plus, ls_kmeans_plus_plus
from onebatchpam.space import Space

# BUILD reads the whole block once for each medoid. With more rows than this, a search from random medoids is as good,
# and faster.
MOST_ROWS_TO_BUILD = 200

Start = Indices | Build

METHODS: dict[str, Callable[[Space, int, Run], Indices]] = {
    "random": lambda space, k, run: draw_by_weight(space, k, run.rng),
    "k-means++": kmeans_plus_plus,
    "ls-k-means++": lambda space, k, run: ls_kmeans_plus_plus(space, k, run)[0],
    "kmc2": kmc2,
}
INITS = tuple(METHODS)


def check_init(init: Any, k: int) -> str | Indices:
    """Check the `init` parameter of an estimator, and return it: the name of a method, or k row indices."""
    if isinstance(init, str):
        return check_choice(init, "init", ("auto", *INITS))
    expected = f"one of {', '.join(map(repr, ('auto', *INITS)))}, or {k} row indices"
    return check_medoids(as_array(init, "init", expected), k, None, "init")


def check_n_init(n_init: Any, init: Any) -> int:
    """Check the `n_init` parameter of an estimator, the number of starts, and return it."""
    n_starts = check_integer(n_init, "n_init", at_least=1)
    if n_starts > 1 and not isinstance(init, str):
        raise ValueError(
            f"n_init={n_starts} would repeat the same start, because init holds medoids: expected n_init=1, or the "
            "name of a method like init='random'"
        )
    return n_starts


def choose_start(init: str | Indices, last_medoids: Indices | None, space: Space, k: int, m: int, run: Run) -> Start:
    """Return the start of a search with a batch of m rows; medoids of the last fit take precedence over `init`."""
    if last_medoids is not None:
        name = "medoid_indices_ of the last fit (warm_start=True)"
        return check_start(space, space.find(last_medoids, k, name), name)
    if isinstance(init, str) and starts_by_build(init, m, space.n):
        return Build(k, space.candidates.places(space.fixed))
    return draw_medoids(init, space, k, run)


def starts_by_build(init: str, m: int, n: int) -> bool:
    """Tell whether a search with a batch of m of the n rows starts by BUILD."""
    return init == "auto" and m == n <= MOST_ROWS_TO_BUILD


def draw_medoids(init: str | Indices, space: Space, k: int, run: Run) -> Indices:
    """Return k distinct rows: drawn by the method that `init` names, or the rows that the user passed as `init`."""
    if isinstance(init, str):
        return METHODS["random" if init == "auto" else init](space, k, run)
    return check_start(space, space.find(init, k, "init"), "init")


def check_start(space: Space, medoids: Indices, name: str) -> Indices:
    """Return medoids with the fixed ones moved to the front; raise if a fixed one is missing, or for other rows."""
    others = medoids[~space.candidates.marked()[medoids]]
    if len(others):
        row = space.given_indices(others)[0]
        raise ValueError(
            f"{name} holds row {row}, which is not one of the candidates (if fit is given none, these are the rows "
            "that lack no value): expected candidates, or fit(..., candidates='all')"
        )
    missing = np.setdiff1d(space.fixed, medoids)
    if len(missing):
        row = space.given_indices(missing)[0]
        raise ValueError(f"{name} lacks row {row}, which is one of fixed_medoids: expected all of these in it")
    return np.concatenate([space.fixed, medoids[~np.isin(medoids, space.fixed)]])
