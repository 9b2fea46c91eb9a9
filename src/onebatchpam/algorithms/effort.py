"""Effort: how much a fit spends to come closer to the optimum."""

from __future__ import annotations

from dataclasses import dataclass

from onebatchpam._parameters import Settings
from onebatchpam.batch import most_searched

# The core is for so few rows that all of their pairs can be compared several times.
MOST_ROWS_FOR_CORE = 20_000
# The core has this many candidates for each medoid.
CORE_PER_MEDOID = 3
# A search among what the starts have found makes at most so many kicks for each start, or so many in all with a core.
KICKS_PER_START, KICKS_OF_CORE = 20, 50


@dataclass(frozen=True)
class Effort:
    """What a fit does beyond one search and its refinement."""

    n_starts: int | None  # starts, at least; None means two where one would end above FasterPAM, and one elsewhere
    uses_core: bool  # whether the candidates that the Lagrangian dual finds cheapest take the place of further starts


EFFORTS = {
    "auto": Effort(n_starts=None, uses_core=False),
    "fast": Effort(n_starts=1, uses_core=False),
    "balanced": Effort(n_starts=2, uses_core=False),
    "best": Effort(n_starts=3, uses_core=True),
}


def has_core(settings: Settings, n: int) -> bool:
    """Tell whether a fit to n rows, all of them at hand, looks for the core, which is of use only if it may swap."""
    return EFFORTS[settings.effort].uses_core and n <= MOST_ROWS_FOR_CORE and settings.max_iter > 0


def count_starts(settings: Settings, n: int, m: int, *, is_build: bool, has_core: bool, is_costly: bool) -> int:
    """Return the number of starts for n rows and m batch points.

    The effort adds none to BUILD, which draws nothing, none if there is a core, which has better candidates, and none
    if there are to be no swaps.
    """
    n_init, n_starts = int(settings.n_init), EFFORTS[settings.effort].n_starts
    if is_build or has_core or settings.max_iter == 0:
        return n_init
    return max(n_init, 1 + needs_another(settings, n, m, is_costly=is_costly) if n_starts is None else n_starts)


def needs_another(settings: Settings, n: int, m: int, *, is_costly: bool) -> bool:
    """Tell whether a second start is needed to be as good as FasterPAM, to judge by `python -m bench against`.

    A batch of all rows is FasterPAM, and a single medoid has only one optimum. With very many rows, a refinement takes
    longer than all the rest; if dissimilarities are costly, it takes nearly as many of them as the batch. Without
    refinement, or from medoids that the user has chosen, a user wants just that search.
    """
    is_drawn = isinstance(settings.init, str) and not settings.warm_start
    is_refined = settings.refine > 0 and settings.n_clusters > 1
    return is_drawn and is_refined and not is_costly and m < n <= most_searched()
