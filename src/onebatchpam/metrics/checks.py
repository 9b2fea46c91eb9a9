"""Checks of dissimilarities, with errors that name the pair of rows and tell the user what to do."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

LARGEST = np.finfo(np.float32).max


class PairError(ValueError):
    """A problem with one entry of a tile. Its row and column are counted from the beginning of the tile."""

    def __init__(self, problem: str, row: int, column: int) -> None:
        super().__init__(problem, row, column)
        self.problem, self.row, self.column = problem, row, column

    def moved(self, rows: int, columns: int) -> PairError:
        """Return the same error for a tile that begins this many rows and columns earlier."""
        return PairError(self.problem, self.row + rows, self.column + columns)


def are_dissimilarities(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values can be dissimilarities: those that are finite and not negative."""
    return (values >= 0) & (values < np.inf)


def describe_bad_value(value: Any) -> str:
    """Return the text of an error about a value that is not a dissimilarity, to follow the name of the pair."""
    if -1e-6 < value < 0:
        advice = "clip it at 0 if this is a rounding error"
    elif value > LARGEST:
        advice = "rescale the data, whose values are too large"
    else:
        advice = "check the data and the metric"
    return f"is {value}: expected a finite number that is not negative and fits in float32; {advice}"


def check_entries(entries: NDArray[Any]) -> None:
    """Raise a PairError for the first entry of a tile that is not a dissimilarity."""
    valid = are_dissimilarities(entries)
    if not valid.all():
        raise_for_bad_entry(entries)


def raise_for_bad_entry(entries: NDArray[Any]) -> NoReturn:
    """Raise a PairError for the first entry of a tile that is not a dissimilarity; the tile must have one."""
    row, column = (int(i) for i in np.unravel_index(np.argmin(are_dissimilarities(entries)), entries.shape))
    raise PairError(describe_bad_value(entries[row, column]), row, column)
