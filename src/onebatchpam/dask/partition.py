"""One partition of a data set, and rows that are taken from it. Nothing here knows Dask."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam._parameters import refuse_masked
from onebatchpam._tiles import Indices
from onebatchpam.data import Rows
from onebatchpam.metrics import Metric, Points
from onebatchpam.space import Distances, name_in


@dataclass(frozen=True)
class GivenRows:
    """Rows in the form in which the user gave them, with their weights and their indices among all rows of the data."""

    indices: Indices
    rows: Any
    weights: NDArray[np.float64]
    are_candidates: NDArray[np.bool_]  # whether each row may become a medoid

    def __len__(self) -> int:
        return len(self.indices)

    def take(self, places: Any) -> GivenRows:
        """Return the rows at these positions, in this order."""
        rows = _safe_indexing(self.rows, places)
        return GivenRows(self.indices[places], rows, self.weights[places], self.are_candidates[places])


def join(parts: list[GivenRows]) -> GivenRows:
    """Return the rows of several parts, one part after the other."""
    return GivenRows(
        np.concatenate([part.indices for part in parts]),
        stack([part.rows for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.are_candidates for part in parts]),
    )


def stack(pieces: list[Any]) -> Any:
    """Join pieces of rows, which all are sparse matrices, frames or arrays."""
    if scipy.sparse.issparse(pieces[0]):
        return scipy.sparse.vstack(pieces, format="csr")
    if hasattr(pieces[0], "iloc"):
        import pandas

        return pandas.concat(pieces)
    return np.concatenate(pieces)


class PartitionError(ValueError):
    """An error in the rows of a partition, whose message names the partition."""


@dataclass(frozen=True)
class Layout:
    """The form that a collection declares for its rows and that every partition must have."""

    names: tuple[Hashable, ...] | None  # names of the columns of a frame; None for an array
    shape: tuple[int, ...]  # shape of one row
    dtypes: tuple[Any, ...]  # one for each column of a frame, otherwise a single one

    def check(self, given: Any) -> None:
        """Raise unless the rows of a partition have this form. Integers may stand for floats, as in Dask itself."""
        found = layout_of(given)
        if (found.names is None) != (self.names is None):
            kinds = ("an array", "a frame")
            raise ValueError(f"the rows are {kinds[found.names is not None]}: expected {kinds[self.names is not None]}")
        if len(found.shape) != len(self.shape):
            raise ValueError(f"there are {len(found.shape) + 1} dimensions: expected {len(self.shape) + 1}")
        if found.shape != self.shape and not np.isnan(self.shape).any():
            raise ValueError(f"there are {found.shape[0]} features: expected {self.shape[0]}, as X declares")
        for place, (name, expected) in enumerate(zip(found.names or (), self.names or (), strict=True)):
            if name != expected:
                raise ValueError(f"column {place} is {name!r}: expected {expected!r}, as X declares")
        for place, (dtype, expected) in enumerate(zip(found.dtypes, self.dtypes, strict=True)):
            if kind_of(dtype) != kind_of(expected):
                where = "the rows hold" if found.names is None else f"column {found.names[place]!r} holds"
                raise ValueError(f"{where} values of type {dtype}: expected {expected}, as X declares")


def layout_of(rows: Any) -> Layout:
    """Return the form of rows: an array, a sparse matrix, a frame or a series."""
    if hasattr(rows, "columns"):
        return Layout(tuple(rows.columns), rows.shape[1:], tuple(rows.dtypes))
    return Layout(None, rows.shape[1:], (rows.dtype,))


def kind_of(dtype: Any) -> str:
    """Return a letter for the kind of values: the same for all integers and floats, and for all texts and objects."""
    return {"i": "f", "u": "f", "U": "O", "T": "O"}.get(dtype.kind, dtype.kind)


@dataclass(frozen=True)
class Partition:
    """Consecutive rows of a data set."""

    given: Any
    weights: NDArray[np.float64]
    are_candidates: NDArray[np.bool_]  # whether each row may become a medoid
    number: int  # position of the partition among all partitions
    first: int | None  # index of the first row among all rows; None if the sizes of the partitions are not known

    @property
    def n(self) -> int:
        return int(self.given.shape[0])

    @property
    def indices(self) -> Indices:
        """The indices of the rows among all rows of the data."""
        assert self.first is not None  # a fit has measured the partitions
        return np.arange(self.first, self.first + self.n)

    def name_row(self, place: int) -> str:
        """Return the name of the row at this position in error messages."""
        return f"row {place} of the partition" if self.first is None else f"X[{self.first + place}]"

    def summarise(self, metric: Metric) -> Any:
        """Check the rows for a metric that is not fitted, and summarise them; an error names the first bad row."""

        def summarise(given: Any, name: str) -> Any:
            return metric.summarise(metric.check(given, name), self.weights if given is self.given else None)

        return self._checked(summarise)

    def read(self, metric: Metric) -> Rows:
        """Return the rows as a fitted metric reads them; an error names the first bad row."""
        return self._checked(metric.read)

    def _checked(self, check: Callable[[Any, str], Any]) -> Any:
        try:
            return check(self.given, "X")
        except ValueError:
            place = find_refused(self.given, check)
            if place is None:
                raise
            self._refuse(place, check)
            raise

    def _refuse(self, place: int, check: Callable[[Any, str], Any]) -> None:
        """Raise the error of a check for the single row at this position, with the name of the row."""
        name = self.name_row(place)
        try:
            check(_safe_indexing(self.given, np.arange(place, place + 1)), name)
        except ValueError as error:
            # The row is the first of those that were checked; the message is to name it as the user knows it.
            message = re.sub(rf"{re.escape(name)}\[0, (\d+)\]", rf"{name}, column \1,", str(error))
            raise ValueError(message if name in message else f"{name}: {message}") from error

    def take(self, places: Indices) -> GivenRows:
        """Return the rows at these positions in the partition."""
        rows = _safe_indexing(self.given, places)
        return GivenRows(self.indices[places], rows, self.weights[places], self.are_candidates[places])

    def find(self, indices: Indices) -> Indices:
        """Return the positions of the rows with these indices; rows of other partitions are left out."""
        assert self.first is not None  # a fit has measured the partitions
        places = indices - self.first
        return places[(places >= 0) & (places < self.n)]

    def compare(self, rows: Rows, points: Points, name_column: Callable[[int], str]) -> Distances:
        """Return the dissimilarities of all rows of the partition to packed points; errors name rows by index."""
        return Distances(rows, points, name_row=self.name_row, name_column=name_column)

    def distances_to(self, metric: Metric, points: GivenRows) -> Distances:
        """Return d(row, point) for all rows of the partition and for points of any partition."""
        rows = self.read(metric)
        packed = metric.pack(metric.read(points.rows, "X"), rows, 1)
        return self.compare(rows, packed, name_in("X", points.indices))

    def distances_from(self, metric: Metric, medoids: Any, rows: Rows | None = None) -> Distances:
        """Return d(medoid, row) for all rows of the partition; `rows` are these rows if they were read already."""
        rows = self.read(metric) if rows is None else rows
        return self.compare(rows, metric.pack(metric.read(medoids, "medoids"), rows, 1, rows_first=False), name_medoid)


def name_medoid(slot: int) -> str:
    """Return the name of a medoid in error messages."""
    return f"medoid {slot}"


def find_refused(given: Any, check: Callable[[Any, str], Any]) -> int | None:
    """Return the position of the first row that a check refuses; None if it accepts every row by itself."""

    def refuses(start: int, stop: int) -> bool:
        try:
            check(_safe_indexing(given, np.arange(start, stop)), "X")
        except ValueError:
            return True
        return False

    start, stop = 0, int(given.shape[0])
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if refuses(start, middle) else (middle, stop)
    return start if refuses(start, stop) else None


def on_partition(
    task: Callable[..., Any],
    given: Any,
    weights: Any,
    candidates: Any,
    number: int,
    first: int | None,
    size: int | None,
    layout: Layout,
    *arguments: Any,
) -> Any | None:
    """Run a task on a partition and return its result, None if the partition is empty; errors name the partition."""
    try:
        if not hasattr(given, "shape"):
            raise TypeError(
                f"the rows are of type {type(given).__name__}: expected an array, a sparse matrix or a frame"
            )
        n = int(given.shape[0])
        if size is not None and n != size:
            raise ValueError(
                f"there are {n} rows, but the chunk says {size}: correct the chunks of X, for instance by "
                "X.compute_chunk_sizes()"
            )
        if n == 0:
            return None
        layout.check(given)
        of_rows = check_part_weights(weights, n), check_part_candidates(candidates, n)
        return task(Partition(given, *of_rows, number, first), *arguments)
    except (TypeError, ValueError) as error:
        begins = "" if first is None else f", which begins with row {first}"
        raise PartitionError(f"in partition {number}{begins}: {error}") from error


def on_lazy_partition(task: Callable[..., Any], empty: NDArray[Any], *arguments: Any) -> NDArray[Any]:
    """Run a task on a partition, and return its result in the type of an empty array, or this array itself."""
    found = on_partition(task, *arguments)
    return empty if found is None else found.astype(empty.dtype, copy=False)


def check_part_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return the checked weights of the n rows of a partition; all of them may be zero."""
    if weights is None:
        return np.ones(n)
    refuse_masked(weights, "sample_weight")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"sample_weight has shape {array.shape} here: expected {(n,)}, like the partitions of X")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={array[bad[0]]} here: expected finite weights that are not negative")
    return array


def check_part_candidates(candidates: Any, n: int) -> NDArray[np.bool_]:
    """Return whether each of the n rows of a partition may become a medoid; None means that all of them may."""
    if candidates is None:
        return np.ones(n, dtype=bool)
    refuse_masked(candidates, "candidates")
    array = np.asarray(candidates)
    if array.shape != (n,) or array.dtype != bool:
        raise ValueError(
            f"candidates has shape {array.shape} and dtype {array.dtype} here: expected {(n,)} and bool, like the "
            "partitions of X"
        )
    return array
