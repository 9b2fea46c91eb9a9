"""The rows at hand, gathered on the driver: the first ones, a sample that stands for all rows, and candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._tiles import Indices
from onebatchpam.dask.partition import GivenRows, join
from onebatchpam.data import Rows
from onebatchpam.metrics import Metric
from onebatchpam.space import Candidates, Space, Tally


class JoinedRows(Rows):
    """The rows that were gathered first, with the sample, followed by the other rows at hand, without a copy."""

    def __init__(self, sample: Rows, others: Rows, known: KnownRows) -> None:
        self.n, self.n_features, self.row_size = sample.n + others.n, sample.n_features, sample.row_size
        self.dtype, self.header = sample.dtype, sample.header
        self._sample, self._others, self._known = sample, others, known

    def tile(self, rows: slice) -> Any:
        chosen = self.take(np.arange(rows.start, rows.stop))
        return chosen.tile(slice(0, chosen.n))

    def take(self, indices: Indices) -> Rows:
        is_in_sample = indices < self._sample.n
        if is_in_sample.all():
            return self._sample.take(indices)
        if not is_in_sample.any():
            return self._others.take(indices - self._sample.n)
        return self._known.metric.read(self.given(indices), "X")

    def given(self, indices: Indices) -> Any:
        return self._known.given_rows(indices).rows


class KnownRows:
    """The rows at hand, each of them once; `space` holds all of them, and is made anew when rows are added.

    The weights in `space` are those by which the rows stand for all rows: first those of the rows that are given here,
    then those of the sample, if there is one. All other rows have the weight zero.
    """

    def __init__(self, sample: GivenRows, weights: NDArray[np.float64], metric: Metric, n_jobs: int, n: int) -> None:
        self.metric, self.n_sample = metric, len(sample)
        self._sample, self._weights, self._n_jobs, self._n = sample, weights, n_jobs, n
        self._sample_rows = metric.read(sample.rows, "X")
        self._others: GivenRows | None = None
        self._fixed, self._tally = np.empty(0, np.int64), Tally()
        self.space = self._open_space()

    def fix(self, fixed: Indices) -> None:
        """Set the fixed medoids, given as positions in `space`."""
        self._fixed = fixed
        self.space = self._open_space()

    def add_sample(self, rows: GivenRows, weights: NDArray[np.float64]) -> Indices:
        """Add the rows of the sample, which from now on stand for all rows; return their positions in `space`."""
        assert self._others is None  # candidates are added after the sample
        new = np.flatnonzero(~np.isin(rows.indices, self._sample.indices))
        self._sample = join([self._sample, rows.take(new)])
        self.n_sample, self._sample_rows = len(self._sample), self.metric.read(self._sample.rows, "X")
        positions = self._find(rows.indices)
        self._weights = np.zeros(self.n_sample)
        self._weights[positions] = weights
        self.space = self._open_space()
        return positions

    def add(self, rows: GivenRows) -> Indices:
        """Add rows, except those that are at hand already; return the positions of all of them in `space`."""
        new = np.flatnonzero(~np.isin(rows.indices, self._all_indices()))
        if len(new):
            added = rows.take(new)
            self._others = added if self._others is None else join([self._others, added])
            self.space = self._open_space()
        return self._find(rows.indices)

    def _find(self, indices: Indices) -> Indices:
        """Return the positions in `space` of rows at hand, given by their indices in the data."""
        every = self._all_indices()
        order = np.argsort(every)
        return order[np.searchsorted(every, indices, sorter=order)]

    def given_rows(self, indices: Indices) -> GivenRows:
        """Return rows at hand in the form in which the user gave them, with their weights in the data."""
        is_in_sample = indices < self.n_sample
        if is_in_sample.all():
            return self._sample.take(indices)
        assert self._others is not None  # some of the indices are not in the sample
        if not is_in_sample.any():
            return self._others.take(indices - self.n_sample)
        parts = [self._sample.take(indices[is_in_sample]), self._others.take(indices[~is_in_sample] - self.n_sample)]
        return join(parts).take(np.argsort(np.argsort(~is_in_sample, kind="stable")))

    def _all_indices(self) -> Indices:
        others = self._sample.indices[:0] if self._others is None else self._others.indices
        return np.concatenate([self._sample.indices, others])

    def _open_space(self) -> Space:
        rows, weights = self._sample_rows, self._weights
        if self._others is not None:
            rows = JoinedRows(rows, self.metric.read(self._others.rows, "X"), self)
            weights = np.concatenate([weights, np.zeros(len(self._others))])  # other rows do not stand for the data
        space = Space(
            rows, self.metric, self._n_jobs, weights, n_given=self._n, indices=self._all_indices(), tally=self._tally
        )
        are_candidates = self._sample.are_candidates
        if self._others is not None:
            are_candidates = np.concatenate([are_candidates, self._others.are_candidates])
        space.fixed = self._fixed
        space.candidates = Candidates(space.n, np.union1d(np.flatnonzero(are_candidates), self._fixed))
        return space
