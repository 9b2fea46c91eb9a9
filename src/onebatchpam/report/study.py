"""The numbers of a report: one pass over the data, and then only a sample of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from onebatchpam._parameters import Weights, describe, spread_weights
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import MedoidEstimator
from onebatchpam.answers import RowAssessment, assess
from onebatchpam.data import column_names, take_rows
from onebatchpam.search import split_by_label
from onebatchpam.space import Space

SAMPLED_ROWS = 12_000  # rows from which the page is made, apart from those that are shown one by one
FEWEST_OF_A_CLUSTER = 40  # rows of each cluster in the sample, or all of its rows if it has fewer
MOST_CLUSTERS = 40  # clusters that are shown one by one, the largest
N_NEAREST, N_FARTHEST = 6, 4  # rows that are shown of each of these clusters


@dataclass(frozen=True)
class PageSample:
    """Rows from all clusters, and how many rows each of them stands for."""

    indices: Indices
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]


class Study:
    """A clustering, its rows as the page needs them, and their numbers."""

    def __init__(
        self, model: MedoidEstimator, X: ArrayLike, names: Sequence[Any] | None = None, weights: Weights = None
    ) -> None:
        self.model = model
        self.medoids: Indices = model.medoid_indices_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has warned of the same data
            self.space: Space = model._reopen(X)
        self.n, self.k = self.space.n, len(self.medoids)
        self._check_rows()
        self._names = check_row_names(names, self.n)
        self._weights = spread_weights(weights, self.n)
        self.rows: RowAssessment = assess(self.space.distances_from(self.medoids), Stages())
        found = dict(split_by_label(self.rows.labels))
        self.members = [found.get(cluster, np.empty(0, np.int64)) for cluster in range(self.k)]
        self.sizes = np.array([len(members) for members in self.members])
        self.by_size = np.argsort(-self.sizes, kind="stable")
        self.shown_clusters = self.by_size[:MOST_CLUSTERS]
        self.sample = self._draw_sample()

    def _check_rows(self) -> None:
        """Raise if the rows are not those of the fit."""
        n_fitted = len(getattr(self.model, "labels_", range(self.n)))
        if self.n != n_fitted or self.medoids.max() >= self.n:
            raise ValueError(f"X has {self.n:,} rows: expected the {n_fitted:,} rows of the fit")

    def name(self, row: int) -> str:
        """Return the name of a row, or its number if it has none."""
        return f"{row:,}" if self._names is None else str(self._names[row])

    @property
    def have_names(self) -> bool:
        """Whether the rows have names."""
        return self._names is not None

    def mean(self, values: NDArray[Any], members: Indices | None = None) -> float:
        """Return the mean of a number over all rows or over some, by their weights; NaN if these are all zero."""
        chosen = slice(None) if members is None else members
        weights = self._weights[chosen]
        return float(np.average(values[chosen], weights=weights)) if weights.any() else np.nan

    def distances_in(self, cluster: int) -> NDArray[Any]:
        """Return the distances of the rows of a cluster to its medoid."""
        return self.rows.distances[self.members[cluster]]

    def nearest(self, cluster: int) -> Indices:
        """Return the rows of a cluster that are nearest to its medoid but not equal to it."""
        distances = self.distances_in(cluster)
        chosen = find_smallest(np.where(distances > 0, distances, np.inf), N_NEAREST)
        return self.members[cluster][chosen][distances[chosen] > 0]

    def farthest(self, cluster: int) -> Indices:
        """Return the rows of a cluster that are farthest from its medoid, the farthest first."""
        distances = self.distances_in(cluster)
        chosen = find_smallest(-distances, N_FARTHEST)
        return self.members[cluster][chosen][distances[chosen] > 0]

    @cached_property
    def single_rows(self) -> Indices:
        """The rows that are shown one by one: all medoids, and some rows of the clusters that are shown."""
        parts = [self.medoids]
        for cluster in self.shown_clusters:
            parts += [self.nearest(cluster), self.farthest(cluster)]
        return np.unique(np.concatenate(parts))

    @cached_property
    def content(self) -> Any:
        """The rows of `single_rows`, then those of the sample, in the columns that are compared; None for a matrix.

        They are a frame if the columns have names. A file may have further columns, which `show` returns as well.
        """
        indices = np.concatenate([self.single_rows, self.sample.indices])
        names = column_names(self.space.rows.header)
        if names is None:
            return self.space.given(indices)
        return nw.from_native(self.space.show(indices), eager_only=True).select(names).to_native()

    def place(self, rows: Indices) -> Indices:
        """Return the places of single rows in `content`."""
        return np.searchsorted(self.single_rows, rows)

    @property
    def sampled(self) -> Any:
        """The rows of the sample as the user knows them."""
        places = len(self.single_rows) + np.arange(len(self.sample.indices))
        return take(self.content, places)

    def single(self, rows: Indices) -> Any:
        """Return single rows as the user knows them."""
        return take(self.content, self.place(rows))

    def _draw_sample(self) -> PageSample:
        """Draw rows from each cluster, in proportion to its size but never too few."""
        rng = np.random.RandomState(0)
        fewest = min(FEWEST_OF_A_CLUSTER, max(1, SAMPLED_ROWS // self.k))
        indices, labels, weights = [], [], []
        for cluster, members in enumerate(self.members):
            wanted = max(fewest, round(SAMPLED_ROWS * len(members) / self.n))
            chosen = members if wanted >= len(members) else rng.choice(members, wanted, replace=False)
            indices.append(np.sort(chosen))
            labels.append(np.full(len(chosen), cluster))
            weights.append(np.full(len(chosen), len(members) / max(1, len(chosen))))
        return PageSample(np.concatenate(indices), np.concatenate(labels), np.concatenate(weights))


def take(rows: Any, places: Indices) -> Any:
    """Return some of the rows, which are a frame, an array, a sparse matrix or nothing."""
    if rows is None:
        return None
    return rows[places] if issparse(rows) or column_names(rows) is None else take_rows(rows, places)


def find_smallest(values: NDArray[Any], count: int) -> Indices:
    """Return the places of the smallest values, the smallest first; of equal ones the first."""
    if len(values) > count:
        limit = np.partition(values, count - 1)[count - 1]
        places = np.flatnonzero(values <= limit)
    else:
        places = np.arange(len(values))
    return places[np.argsort(values[places], kind="stable")][:count]


def check_row_names(names: Any, n: int | None) -> Any:
    """Check the names of n rows, or of a number of rows that is not known yet, and return them, or None."""
    if names is None:
        return None
    is_sequence = hasattr(names, "__len__") and hasattr(names, "__getitem__") and not isinstance(names, Mapping)
    if isinstance(names, (str, bytes, np.generic)) or not is_sequence:
        raise ValueError(f"{describe(names, 'row_names')}: expected a name for each row, or None")
    if n is not None and len(names) != n:
        raise ValueError(f"row_names has {len(names):,} elements: expected {n:,}, one for each row")
    return names.iloc if hasattr(names, "iloc") else names  # the index of a series may be anything
