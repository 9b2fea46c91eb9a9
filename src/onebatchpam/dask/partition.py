"""One partition of a data set, and the rows that leave it. Nothing here knows Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam._tiles import Indices
from onebatchpam.blocks import check_tile
from onebatchpam.metrics import Metric, PairError, Rows, each_tile


@dataclass(frozen=True)
class Sample:
    """Some rows of the data, in the form in which they were given, with their numbers among all rows."""

    numbers: Indices
    rows: Any
    weights: NDArray[np.float64]
    keys: NDArray[np.float64]  # by which rows are chosen: the smallest
    slots: NDArray[np.int32]  # the medoid whose place each might take

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, places: Any) -> Sample:
        """Return these of the rows, in this order."""
        return Sample(
            self.numbers[places],
            _safe_indexing(self.rows, places),
            self.weights[places],
            self.keys[places],
            self.slots[places],
        )


def join(samples: list[Sample]) -> Sample:
    """Return the rows of several samples, one after the other."""
    return Sample(
        np.concatenate([each.numbers for each in samples]),
        stack([each.rows for each in samples]),
        np.concatenate([each.weights for each in samples]),
        np.concatenate([each.keys for each in samples]),
        np.concatenate([each.slots for each in samples]),
    )


def stack(pieces: list[Any]) -> Any:
    """Return rows that were given in pieces in one piece of the same form."""
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
    number: int  # among the partitions
    first: int  # number of its first row among all rows

    @property
    def n(self) -> int:
        return int(self.given.shape[0])

    @property
    def numbers(self) -> Indices:
        return np.arange(self.first, self.first + self.n)

    def rows(self, metric: Metric) -> Rows:
        return metric.check(self.given, "X")

    def take(self, places: Indices, keys: NDArray[Any] | None = None, slots: NDArray[np.int32] | None = None) -> Sample:
        """Return some of the rows; keys and slots are of all of them."""
        return Sample(
            self.first + places,
            _safe_indexing(self.given, places),
            self.weights[places],
            np.zeros(len(places)) if keys is None else keys[places].astype(np.float64),
            np.zeros(len(places), np.int32) if slots is None else slots[places],
        )

    def places_of(self, numbers: Indices) -> Indices:
        """Return where those of these rows are that are here."""
        places = numbers - self.first
        return places[(places >= 0) & (places < self.n)]


def on_partition(
    task: Callable[..., Any], given: Any, weights: Any, number: int, first: int, *arguments: Any
) -> Any | None:
    """Run a task on a partition; None if that is empty."""
    n = int(given.shape[0])
    if n == 0:
        return None
    try:
        return task(Partition(given, check_part_weights(weights, n), number, first), *arguments)
    except ValueError as error:
        raise ValueError(f"in partition {number}, which begins with row {first}: {error}") from error


def check_part_weights(weights: Any, n: int) -> NDArray[np.float64]:
    """Return the weights of n rows, which may all be zero."""
    if weights is None:
        return np.ones(n)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"sample_weight has shape {array.shape} here: expected {(n,)}, the partitions of X")
    bad = np.flatnonzero(~np.isfinite(array) | (array < 0))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}]={array[bad[0]]} here: expected finite weights that are not negative")
    return array


@contextmanager
def pairs_named(row: Callable[[int], str], column: Callable[[int], str]) -> Iterator[None]:
    """Let errors in a comparison name the row and the column as the user knows them."""
    try:
        yield
    except PairError as error:
        raise ValueError(error.describe(row(error.row), column(error.column))) from error.__cause__


def name_in(numbers: Indices) -> Callable[[int], str]:
    """Return what names rows that have these numbers among all rows."""
    return lambda row: f"X[{numbers[row]}]"


@dataclass(frozen=True)
class BatchPoints:
    """The batch points: all that it takes to compute rows of the block."""

    metric: Metric
    numbers: Indices
    rows: Any  # as given
    weights: NDArray[np.float64]
    own_distances: NDArray[np.float64]  # of each from itself, NaN where the metric says it

    def tiles(self, rows: Rows, numbers: Indices, n_jobs: int, first_point: int = 0) -> Iterator[tuple[slice, Any]]:
        """Return the dissimilarities of these rows to the batch points from this one on, each tile until the next."""
        points = self.metric.check(_safe_indexing(self.rows, np.arange(first_point, len(self.numbers))), "X")
        columns = self.metric.to(points, rows, n_jobs)
        with pairs_named(name_in(numbers), name_in(self.numbers[first_point:])):
            for some, tile in each_tile(columns):
                if first_point == 0:
                    self._debias(tile, numbers[some])
                yield some, tile

    def _debias(self, tile: NDArray[np.float32], numbers: Indices) -> None:
        _, i, j = np.intersect1d(numbers, self.numbers, assume_unique=True, return_indices=True)
        moved = ~np.isnan(self.own_distances[j])
        tile[i[moved], j[moved]] = self.own_distances[j[moved]]

    def block(self, sample: Sample, n_jobs: int) -> NDArray[np.float32]:
        """Return the rows of the block of a sample."""
        block = np.empty((len(sample), len(self.numbers)), np.float32)
        if len(sample) == 0:
            return block
        for some, tile in self.tiles(self.metric.check(sample.rows, "X"), sample.numbers, n_jobs):
            check_tile(tile, some.start)
            block[some] = tile
        return block
