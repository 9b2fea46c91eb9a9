"""Dissimilarities of few candidates to many points: computed with the points as rows, tile by tile, and transposed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core, _tiles
from onebatchpam._tiles import Indices, TileBuffer, tile_bounds
from onebatchpam.space.distances import TiledDistances
from onebatchpam.space.space import Space


class TransposedDistances(TiledDistances):
    """Dissimilarities of a few candidates to many points, computed a tile of points at a time."""

    def __init__(self, space: Space, points: Indices, candidates: Indices, n_jobs: int) -> None:
        self.n_rows, self.n_columns = len(candidates), len(points)
        self.dtype, self.n_jobs, self.is_cheap = np.dtype(np.float32), n_jobs, False
        self._space, self._candidates = space, candidates
        self._point_indices = None if len(points) == space.n else points  # None: all rows of the space

    def tiles(self) -> Iterator[slice]:
        return tile_bounds(self.n_rows, _tiles.TILE_ENTRIES // self.n_columns)

    def fill(self, rows: slice, out: NDArray[np.float32], viewer: _core.Viewer | None = None) -> None:
        distances = self._space.distances_from(self._candidates[rows], self._point_indices)
        buffer = TileBuffer(distances.n_columns)
        for points in distances.tiles():
            tile, transposer = buffer.for_rows(points), _core.RowTransposer(out[:, points], self.n_jobs)
            distances.fill(points, tile, transposer)
            if not transposer.valid:
                distances.mend(points, tile)
                out[:, points] = tile.T
        if viewer is not None:
            viewer.see(out)

    def mend(self, rows: slice, tile: NDArray[Any]) -> None:
        assert np.isfinite(tile).all()  # `fill` has checked every entry
