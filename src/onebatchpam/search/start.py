"""Where a search starts: at the medoids of the last fit, at medoids that the user passed, at drawn ones, or by BUILD.

BUILD draws nothing, and needs the block that the search uses; see `build.py`. A user passes medoids as row indices, or
as rows of numbers, whose nearest rows of X are then the medoids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onebatchpam._parameters import as_array, check_choice, check_integer, check_medoids
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.data import load_sparse
from onebatchpam.search.build import Build
from onebatchpam.search.first_medoids import draw_by_weight, kmc2, kmeans_plus_plus, lab, ls_kmeans_plus_plus
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
    "lab": lab,
}
INITS = tuple(METHODS)
NAMES = ("auto", "build", *INITS)


@dataclass(frozen=True)
class StartRows:
    """A start that the user passed as rows, such as the centres of k-means: the nearest rows of X are the medoids."""

    given: Any

    def find(self, space: Space, k: int) -> Indices:
        """Return the row nearest to each given one; a row that is taken already leaves its place to the next one."""
        points = space.metric.read(load_sparse(self.given, "init"), "init").in_memory()
        if points.n_features != space.rows.n_features:
            raise ValueError(
                f"init has {points.n_features} features and X has {space.rows.n_features}: expected the same number"
            )
        is_free, medoids = space.candidates.marked(), np.empty(k, np.int64)
        for slot in range(k):
            distances = space.distances_to_other(points.take(np.array([slot])), "init", slot)
            medoids[slot] = np.argmin(np.where(is_free, distances, np.inf))
            is_free[medoids[slot]] = False
        return medoids


Init = str | Indices | StartRows | Callable[..., Any]


def check_init(init: Any, k: int) -> Init:
    """Check the `init` parameter of an estimator, and return it: a name, k row indices, k rows or a function."""
    if isinstance(init, str):
        return check_choice(init, "init", NAMES)
    if callable(init):
        return init
    if len(getattr(init, "shape", ())) == 2:  # an array, a frame or a sparse matrix
        return check_start_rows(init, init.shape, k)
    expected = f"one of {', '.join(map(repr, NAMES))}, {k} row indices, {k} rows, or a function"
    array = as_array(init, "init", expected)
    return check_start_rows(array, array.shape, k) if array.ndim == 2 else check_medoids(array, k, None, "init")


def check_start_rows(rows: Any, shape: tuple[int, ...], k: int) -> StartRows:
    """Check that there is a row for each medoid, and return the rows."""
    if shape[0] != k:
        raise ValueError(f"init has shape {shape}: expected {k} rows, or {k} row indices in one dimension")
    return StartRows(rows)


def call_init(init: Init, X: Any, k: int, rng: np.random.RandomState) -> Init:
    """Return `init`, or what it returns if it is a function of the data, the number of medoids and the generator."""
    if isinstance(init, str) or not callable(init):
        return init
    found = init(X, k, rng)
    if isinstance(found, str) or callable(found):
        raise ValueError(f"the function init returned {found!r}: expected {k} row indices, or {k} rows")
    return check_init(found, k)


def is_drawn(init: Init) -> bool:
    """Tell whether `init` names a method that draws, at least from the second start on."""
    return isinstance(init, str) and init != "build"


def check_n_init(n_init: Any, init: Init, *, may_repeat: bool) -> int:
    """Check the `n_init` parameter of an estimator, the number of starts, and return it."""
    n_starts = check_integer(n_init, "n_init", at_least=1)
    if n_starts > 1 and not is_drawn(init) and not may_repeat:
        method = "BUILD, which draws nothing" if isinstance(init, str) else "a function, which is called once"
        why = f"is {method}" if isinstance(init, str) or callable(init) else "holds medoids"
        raise ValueError(
            f"n_init={n_starts} would repeat the same start, because init {why}: expected n_init=1, or the "
            "name of a method like init='random'"
        )
    return n_starts


def choose_start(init: Init, last_medoids: Indices | None, space: Space, k: int, m: int | None, run: Run) -> Start:
    """Return the start of a search; medoids of the last fit take precedence over `init`.

    The batch has m of the rows of the space; None means that it is drawn from more rows than the space has.
    """
    if last_medoids is not None:
        name = "medoid_indices_ of the last fit (warm_start=True)"
        return check_start(space, space.find(last_medoids, k, name), name)
    if isinstance(init, str) and starts_by_build(init, m, space.n):
        init = "build"
    return draw_medoids(init, space, k, run)


def further_starts(init: Init, n_init: int, space: Space, k: int, run: Run) -> Iterator[Start]:
    """Draw the starts after the first one; those after BUILD, which is the same each time, are random."""
    for _ in range(n_init - 1):
        yield draw_medoids(init, space, k, run)


def starts_by_build(init: str, m: int | None, n: int) -> bool:
    """Tell whether a search with a batch of m of the n rows starts by BUILD; None is never all of them."""
    return init == "build" or (init == "auto" and m == n <= MOST_ROWS_TO_BUILD)


def draw_medoids(init: Init, space: Space, k: int, run: Run) -> Start:
    """Return k distinct rows: drawn by the method that `init` names, or those that the user passed; BUILD as it is."""
    if isinstance(init, str):
        if init == "build":
            return Build(k, space.candidates.places(space.fixed))
        return METHODS["random" if init == "auto" else init](space, k, run)
    if isinstance(init, StartRows):
        return check_start(space, init.find(space, k), "init")
    assert not callable(init)  # `call_init` has called it
    return check_start(space, space.find(init, k, "init"), "init")


def check_start(space: Space, medoids: Indices, name: str) -> Indices:
    """Return medoids with the fixed ones in front; raise if a fixed one is missing, or if one is not a candidate."""
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
