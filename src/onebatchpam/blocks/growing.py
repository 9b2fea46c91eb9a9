"""A block that grows: its columns are references in a fixed order, and a row has entries only for the first of them.

A bandit search needs few references to see that most rows are not the best, and more for the others. An entry is
computed when it is first needed, and kept for later searches as far as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from onebatchpam._tiles import Indices, TileBuffer
from onebatchpam.blocks.block import Entries
from onebatchpam.blocks.scan import fill_checked
from onebatchpam.space import Space

# The first sample has this many references, and each further sample twice as many as the one before.
FIRST_SAMPLE = 100
# Sampling pays only if there are more rows than this. The first sample of so few rows holds all of them.
FEW_ROWS = 4 * FIRST_SAMPLE
# The most bytes of entries that are kept if computing an entry again takes no longer than fetching it from memory.
KEPT_OF_CHEAP = 2**26
# References whose columns are computed together. They are so few that entries need little memory if they are not kept.
WIDEST_PART = 4096


class GrowingBlock:
    """Dissimilarities of all n rows, as candidates, to the same rows as references, in the order of the references.

    The columns of the first references are kept, as many as fit in `memory_limit` bytes. The others are computed each
    time. This does not change any entry.
    """

    def __init__(self, space: Space, references: Indices, memory_limit: int) -> None:
        self.sample_sizes = choose_sample_sizes(space.n)
        self.largest = 0.0  # the largest dissimilarity so far
        n_kept = (min(memory_limit, KEPT_OF_CHEAP) if space.is_cheap else memory_limit) // (4 * space.n)
        self._parts = [
            (columns, (_KeptPart if columns.stop <= n_kept else _Part)(space, references[columns]))
            for first, last in pairwise([0, *self.sample_sizes])
            for columns in cut_columns(first, last)
        ]

    def widest_part(self, first: int, last: int) -> int:
        """Return the largest number of columns in a part of these references."""
        return max(columns.stop - columns.start for columns, _ in self._between(first, last))

    def parts(self, first: int, last: int, candidates: Indices) -> Iterator[tuple[slice, Entries, Indices]]:
        """Yield the entries of candidates for references from `first` to before `last`, which are sample sizes or 0.

        Each part is a range of references, an array with a column for each of them, and the rows of the candidates in
        this array. A later call may overwrite the array.
        """
        for columns, part in self._between(first, last):
            entries, rows = part.entries_of(candidates)
            self.largest = max(self.largest, part.largest)
            yield columns, entries, rows

    def _between(self, first: int, last: int) -> list[tuple[slice, _Part]]:
        return [(columns, part) for columns, part in self._parts if first <= columns.start and columns.stop <= last]


def choose_sample_sizes(n: int) -> list[int]:
    """Return the numbers of references on which candidates among n rows are compared; the last one is n."""
    sizes, size = [], FIRST_SAMPLE
    while n > FEW_ROWS and size < n:
        sizes.append(size)
        size *= 2
    return [*sizes, n]


def cut_columns(first: int, last: int) -> Iterator[slice]:
    """Cut a range of columns into parts."""
    return (slice(start, min(start + WIDEST_PART, last)) for start in range(first, last, WIDEST_PART))


class _Part:
    """Some columns of the block, which are computed each time."""

    def __init__(self, space: Space, references: Indices) -> None:
        self.largest = 0.0
        self._space, self._references = space, references
        self._buffer = TileBuffer(len(references))

    def entries_of(self, candidates: Indices) -> tuple[Entries, Indices]:
        """Return an array with the entries of candidates, and their rows in it."""
        tile = self._buffer.for_rows(slice(0, len(candidates)))
        self._compute(candidates, tile)
        return tile, np.arange(len(candidates))

    def _compute(self, candidates: Indices, out: Entries) -> None:
        distances = self._space.distances_to(self._references, candidates)
        for rows in distances.tiles():
            self.largest = max(self.largest, fill_checked(distances, rows, out[rows]).viewer.largest)


class _KeptPart(_Part):
    """Some columns of the block, whose rows are kept in the order in which they are computed."""

    def __init__(self, space: Space, references: Indices) -> None:
        super().__init__(space, references)
        self._n_known = 0

    @cached_property
    def _entries(self) -> Entries:
        # The system provides memory only for rows that have been written.
        return np.empty((self._space.n, len(self._references)), np.float32)

    @cached_property
    def _places(self) -> Indices:
        """The row of each candidate in the array of entries; -1 if it is not known."""
        return np.full(self._space.n, -1, np.int64)

    def entries_of(self, candidates: Indices) -> tuple[Entries, Indices]:
        new = candidates[self._places[candidates] < 0]
        if len(new):
            end = self._n_known + len(new)
            self._compute(new, self._entries[self._n_known : end])
            self._places[new] = np.arange(self._n_known, end)
            self._n_known = end
        return self._entries, self._places[candidates]
