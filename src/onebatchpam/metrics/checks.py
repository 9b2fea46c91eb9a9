"""Checks of dissimilarities, and errors that name the pair of rows at fault."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray


class PairError(ValueError):
    """What is wrong with one dissimilarity: of this row and this column, in the order in which they are compared."""

    def __init__(self, metric: str, problem: str, row: int, column: int, rows_first: bool = True) -> None:
        super().__init__(metric, problem, row, column, rows_first)
        self.metric, self.problem, self.rows_first = metric, problem, rows_first
        self.row, self.column = row, column

    def moved(self, rows: int, columns: int = 0, rows_first: bool | None = None) -> PairError:
        """Return the same error in a block that begins that many rows and columns earlier."""
        order = self.rows_first if rows_first is None else rows_first
        return PairError(self.metric, self.problem, self.row + rows, self.column + columns, order)

    def describe(self, row: str, column: str) -> str:
        """Say it with the names under which the user knows the row and the column."""
        pair = (row, column) if self.rows_first else (column, row)
        return f"{self.metric}({', '.join(pair)}) {self.problem}"

    def __str__(self) -> str:
        return self.describe(f"X[{self.row}]", f"Y[{self.column}]" if self.rows_first else f"medoid {self.column}")


def raise_for_bad_entry(tile: NDArray[np.float32], first_row: int, first_column: int) -> NoReturn:
    """Name the first entry that is no dissimilarity."""
    i, j = np.unravel_index(np.argmin((tile >= 0) & (tile < np.inf)), tile.shape)
    raise ValueError(
        f"the dissimilarity in row {first_row + i}, column {first_column + j} of the block is {tile[i, j]}: expected "
        "finite values that are not negative and fit in float32; rescale the data if they are very large"
    )


def check_distances(distances: NDArray[Any], first_row: int = 0, *, rows: NDArray[np.int64] | None = None) -> None:
    """Check the dissimilarities of consecutive rows, or of these rows, each to its nearest medoid."""
    bad = np.flatnonzero(~((distances >= 0) & (distances <= np.finfo(np.float32).max)))
    if len(bad):
        row = first_row + bad[0] if rows is None else rows[bad[0]]
        raise ValueError(
            f"a dissimilarity of row {row} is {distances[bad[0]]}: expected finite values that are not "
            "negative and fit in float32; rescale the data if they are very large"
        )
