"""Effort: how much a fit spends to come closer to the optimum."""

from __future__ import annotations

from dataclasses import dataclass

# The core is for so few rows that all of their pairs can be compared several times.
MOST_ROWS_FOR_CORE = 20_000
# Candidates in the core, for each medoid.
CORE_PER_MEDOID = 3
# Kicks, at most, in a search among the medoids of several starts, and in one that has the core as well.
KICKS_OF_STARTS, KICKS_OF_CORE = 60, 100


@dataclass(frozen=True)
class Effort:
    """What a fit does beyond one search and its refinement."""

    n_starts: int  # starts, at least; the medoids of all form the pool of a last search
    uses_core: bool  # whether the candidates that the Lagrangian dual finds cheapest are searched as well


EFFORTS = {
    "fast": Effort(n_starts=1, uses_core=False),
    "balanced": Effort(n_starts=3, uses_core=False),
    "best": Effort(n_starts=3, uses_core=True),
}
