"""Candidates: the rows of a space that may become medoids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices, mark


class Candidates:
    """The rows that may become medoids, fixed medoids included: all n rows of a space, or some of them.

    Every candidate has an index in the space, called its row, and a position among the candidates, called its place.
    """

    def __init__(self, n_rows: int, indices: Indices | None = None) -> None:
        """Name the candidates by their indices, in ascending order; None means all rows."""
        self.n_rows = n_rows
        self.indices = None if indices is None or len(indices) == n_rows else indices

    @property
    def n(self) -> int:
        """The number of candidates."""
        return self.n_rows if self.indices is None else len(self.indices)

    def rows(self, places: Indices | None = None) -> Indices:
        """Return the rows of the candidates at these places; None means all candidates."""
        places = np.arange(self.n) if places is None else places
        return places if self.indices is None else self.indices[places]

    def places(self, rows: Indices) -> Indices:
        """Return the places of these rows, all of which are candidates."""
        return rows if self.indices is None else np.searchsorted(self.indices, rows)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the candidates, given those of all rows."""
        return values if self.indices is None else values[self.indices]

    def marked(self) -> NDArray[np.bool_]:
        """Return whether each row of the space is a candidate."""
        return np.ones(self.n_rows, dtype=bool) if self.indices is None else mark(self.indices, self.n_rows)

    def among(self, rows: Indices) -> Indices:
        """Return those of the rows that are candidates."""
        return rows if self.indices is None else rows[self.marked()[rows]]
