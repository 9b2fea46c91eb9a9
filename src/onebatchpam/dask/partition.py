"""One partition of a data set, and rows that are taken from it. Nothing here knows Dask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

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

    def __len__(self) -> int:
        return len(self.indices)

    def take(self, places: Any) -> GivenRows:
        """Return the rows at these positions, in this order."""
        return GivenRows(self.indices[places], _safe_indexing(self.rows, places), self.weights[places])


def join(parts: list[GivenRows]) -> GivenRows:
    """Return the rows of several parts, one part after the other."""
    return GivenRows(
        np.concatenate([part.indices for part in parts]),
        stack([part.rows for part in parts]),
        np.concatenate([part.weights for part in parts]),
    )


def stack(pieces: list[Any]) -> Any:
    """Join pieces of rows, which all are sparse matrices, frames or arrays."""
    if scipy.sparse.issparse(pieces[0]):
        return scipy.sparse.vstack(pieces, format="csr")
    if hasattr(pieces[0], "iloc"):
        import pandas

        return pandas.concat(pieces)
    return np.concatenate(pieces)


@dataclass(frozen=True)
class Partition:
    """Consecutive rows of a data set."""

    given: Any
    weights: NDArray[np.float64]
    number: int  # position of the partition among all partitions
    first: int  # index of the first row among all rows

    @property
    def n(self) -> int:
        return int(self.given.shape[0])

    @property
    def indices(self) -> Indices:
        """The indices of the rows among all rows of the data."""
        return np.arange(self.first, self.first + self.n)

    def take(self, places: Indices) -> GivenRows:
        """Return the rows at these positions in the partition."""
        return GivenRows(self.first + places, _safe_indexing(self.given, places), self.weights[places])

    def find(self, indices: Indices) -> Indices:
        """Return the positions of the rows with these indices; rows of other partitions are left out."""
        places = indices - self.first
        return places[(places >= 0) & (places < self.n)]

    def compare(self, rows: Rows, points: Points, name_column: Callable[[int], str]) -> Distances:
        """Return the dissimilarities of all rows of the partition to packed points; errors name rows by index."""
        return Distances(rows, points, name_row=name_in("X", self.indices), name_column=name_column)

    def distances_to(self, metric: Metric, points: GivenRows) -> Distances:
        """Return d(row, point) for all rows of the partition and for points of any partition."""
        rows = metric.read(self.given, "X")
        packed = metric.pack(metric.read(points.rows, "X"), rows, 1)
        return self.compare(rows, packed, name_in("X", points.indices))

    def distances_from(self, metric: Metric, medoids: Any, rows: Rows | None = None) -> Distances:
        """Return d(medoid, row) for all rows of the partition; `rows` are these rows if they were read already."""
        rows = metric.read(self.given, "X") if rows is None else rows
        return self.compare(rows, metric.pack(metric.read(medoids, "medoids"), rows, 1, rows_first=False), name_medoid)


def name_medoid(slot: int) -> str:
    """Return the name of a medoid in error messages."""
    return f"medoid {slot}"


def on_partition(
    task: Callable[..., Any], given: Any, weights: Any, number: int, first: int, size: int, *arguments: Any
) -> Any | None:
    """Run a task on a partition and return its result, None if the partition is empty; errors name the partition."""
    n = int(given.shape[0])
    if n != size:
        raise ValueError(
            f"partition {number} has {n} rows, but its chunk says {size}: correct the chunks of X, for instance by "
            "X.compute_chunk_sizes()"
        )
    if n == 0:
        return None
    try:
        return task(Partition(given, check_part_weights(weights, n), number, first), *arguments)
    except ValueError as error:
        raise ValueError(f"in partition {number}, which begins with row {first}: {error}") from error


def check_part_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return the checked weights of the n rows of a partition; all of them may be zero."""
    if weights is None:
        return np.ones(n)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"sample_weight has shape {array.shape} here: expected {(n,)}, like the partitions of X")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={array[bad[0]]} here: expected finite weights that are not negative")
    return array
