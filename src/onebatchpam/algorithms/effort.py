"""Effort: how much a fit spends to come closer to the optimum."""

from __future__ import annotations

from dataclasses import dataclass

from onebatchpam._parameters import Settings

# The core is for so few rows that all of their pairs can be compared several times.
MOST_ROWS_FOR_CORE = 20_000
# Candidates in the core, for each medoid.
CORE_PER_MEDOID = 3
# Kicks, at most, in a search among what the starts have found, for each start; and in one that has the core as well.
KICKS_PER_START, KICKS_OF_CORE = 20, 100


@dataclass(frozen=True)
class Effort:
    """What a fit does beyond one search and its refinement."""

    n_starts: int  # starts, at least
    uses_core: bool  # whether the candidates that the Lagrangian dual finds cheapest are searched as well


EFFORTS = {
    "fast": Effort(n_starts=1, uses_core=False),
    "balanced": Effort(n_starts=2, uses_core=False),
    "best": Effort(n_starts=3, uses_core=True),
}


def count_starts(settings: Settings, *, is_build: bool) -> int:
    """Return the number of starts; BUILD draws nothing, so that the effort adds none to it."""
    n_init = int(settings.n_init)
    return n_init if is_build else max(n_init, EFFORTS[settings.effort].n_starts)
