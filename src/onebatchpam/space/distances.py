"""Dissimilarities of rows to points, a tile of rows at a time: computed, counted, checked, and named in errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.data import Rows
from onebatchpam.metrics import LARGEST, PairError, Points, are_dissimilarities, describe_bad_value, raise_for_bad_entry

Name = Callable[[int], str]  # takes the index of a row or a column, returns its name in error messages


def name_in(array: str, indices: Indices | None = None) -> Name:
    """Return a function that names rows like X[7]; `indices` are their indices in the array, None means 0, 1, 2, ..."""
    return lambda i: f"{array}[{i if indices is None else indices[i]}]"


class Tally:
    """Counts the dissimilarities that are computed, or read if they are precomputed."""

    def __init__(self) -> None:
        self.n_distances = 0


class TiledDistances(ABC):
    """A block of dissimilarities, rows x columns, whose tiles are computed only when they are needed."""

    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    n_jobs: int  # number of threads that compute
    is_cheap: bool  # whether computing an entry again takes no longer than fetching it from memory

    @abstractmethod
    def tiles(self) -> Iterator[slice]:
        """Return the ranges of rows to compute at a time, which cover all rows."""

    @abstractmethod
    def fill(self, rows: slice, out: NDArray[Any], viewer: _core.Viewer | None = None) -> None:
        """Write the dissimilarities of consecutive rows to `out`, and show them to the viewer if there is one."""

    @abstractmethod
    def mend(self, rows: slice, tile: NDArray[Any]) -> None:
        """Compute entries of a tile that are not finite again; raise if one is still not a dissimilarity."""

    def each_tile(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Compute and yield all tiles; each overwrites the one before, so that it stays in the cache."""
        buffer = TileBuffer(self.n_columns, self.dtype)
        for rows in self.tiles():
            tile = buffer.for_rows(rows)
            self.fill(rows, tile)
            yield rows, tile

    def compute(self, out: NDArray[Any] | None = None, stages: Stages | None = None) -> NDArray[Any]:
        """Return all dissimilarities, of shape (n_rows, n_columns); write them to `out` if there is one."""
        out = np.empty((self.n_rows, self.n_columns), self.dtype) if out is None else out
        with (Stages() if stages is None else stages).stage("distances", total=self.n_rows) as bar:
            for rows in self.tiles():
                self.fill(rows, out[rows])
                bar.update(rows.stop - rows.start)
        return out


class Distances(TiledDistances):
    """The dissimilarities of rows to packed points."""

    def __init__(
        self,
        rows: Rows,
        points: Points,
        *,
        name_row: Name = name_in("X"),  # noqa: B008 (the default is a function, which cannot change)
        name_column: Name = name_in("Y"),  # noqa: B008
        tally: Tally | None = None,
    ) -> None:
        self.n_rows, self.n_columns = rows.n, points.n
        self.dtype, self.n_jobs, self.is_cheap = points.dtype, points.n_jobs, points.is_cheap
        self._rows, self._points = rows, points
        self._name_row, self._name_column = name_row, name_column
        self._tally = Tally() if tally is None else tally

    def tiles(self) -> Iterator[slice]:
        return tile_bounds(self.n_rows, self._points.tile_rows)

    def fill(self, rows: slice, out: NDArray[Any], viewer: _core.Viewer | None = None) -> None:
        try:
            if viewer is None:
                self._points.fill(self._rows.tile(rows), out)
            else:
                self._points.fill_viewed(self._rows.tile(rows), out, viewer)
        except PairError as error:
            pair = self._name_pair(rows.start + error.row, error.column)
            raise ValueError(f"{pair} {error.problem}") from error.__cause__
        self._tally.n_distances += out.size

    def mend(self, rows: slice, tile: NDArray[Any]) -> None:
        self._points.mend(self._rows.tile(rows), tile)
        if not are_dissimilarities(tile).all():
            self.refuse(rows, tile)

    def refuse(self, rows: slice, tile: NDArray[Any]) -> None:
        """Raise for the first entry of a tile that is not a dissimilarity; the caller knows that there is one."""
        try:
            raise_for_bad_entry(tile)
        except PairError as error:
            pair = self._name_pair(rows.start + error.row, error.column)
            raise ValueError(f"{pair} {error.problem}") from None

    def check(self, rows: slice, columns: NDArray[Any], values: NDArray[Any]) -> None:
        """Raise unless all values are dissimilarities: one value for each row, with the index of its column."""
        bad = np.flatnonzero(~((values >= 0) & (values <= LARGEST)))
        if len(bad):
            pair = self._name_pair(rows.start + int(bad[0]), int(columns[bad[0]]))
            raise ValueError(f"{pair} {describe_bad_value(values[bad[0]])}")

    def column(self) -> NDArray[Any]:
        """Return the checked dissimilarities of all rows to the only point, of shape (n_rows,)."""
        values = self.compute()[:, 0]
        self.check(slice(0, self.n_rows), np.zeros(self.n_rows, np.int64), values)
        return values

    def _name_pair(self, row: int, column: int) -> str:
        return self._points.name_pair(self._name_row(row), self._name_column(column))
