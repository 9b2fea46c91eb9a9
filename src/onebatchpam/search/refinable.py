"""What refinement asks of the rows that it refines medoids for, whether they are in memory or in partitions."""

from __future__ import annotations

from typing import Protocol

from onebatchpam._draws import Batch
from onebatchpam._tiles import Indices
from onebatchpam.search.candidates import Judges
from onebatchpam.space import Space


class Refinable(Protocol):
    """All n rows of a data set that have a positive weight. `space` holds the rows at hand, and indices refer to it.

    `hold` reads rows that will be compared again and again into memory, instead of those that it read before, and
    returns how many bytes they take; none if they exceed the limit, or are in memory anyway. `draw_points` draws points
    that stand for all rows. `best_members` returns, for each judged cluster, the untried rows with the smallest mean
    loss over its judges. `objectives` sums over all rows, once for each set of medoids.
    """

    n: int
    total_weight: float

    @property
    def space(self) -> Space: ...
    def hold(self, indices: Indices, memory_limit: int) -> int: ...
    def draw_points(self, size: int) -> Batch: ...
    def best_members(self, medoids: Indices, judges: dict[int, Judges], tried: Indices) -> Indices: ...
    def objectives(self, medoid_sets: list[Indices]) -> list[float]: ...
