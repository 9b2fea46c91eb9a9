"""A space: rows, the dissimilarity between them, their weights, and the rows that must or may be medoids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._parameters import NAMES, Names, check_medoids
from onebatchpam._tiles import Indices
from onebatchpam._warn import warn
from onebatchpam.data import Rows
from onebatchpam.metrics import Metric
from onebatchpam.space.candidates import Candidates
from onebatchpam.space.distances import Distances, Tally, name_in

# If no dissimilarity is larger than this, they may be too small for float32, or for squares in float32.
SMALLEST_SCALE = 1e-12


def scale_factor(largest: float) -> float:
    """Return a factor that makes a small number about 1, or as large as a factor in float64 can make it."""
    return float(1 / max(largest, np.finfo(np.float64).tiny))


def refuse_lost_differences(rows: Any) -> None:
    """Raise if rows, in an array or a sparse matrix, differ although all their dissimilarities are zero in float64."""
    spread = float((rows.max(axis=0) - rows.min(axis=0)).max())
    if spread > 0:
        raise ValueError(
            f"the dissimilarities are too small for float64: rows differ by {spread:.3g}, and their dissimilarity "
            f"becomes 0; multiply the data by a constant, such as {scale_factor(spread):.0e}"
        )


class Space:
    """Rows with a fitted metric, the weights of the rows in every sum, the medoids that are fixed, and the candidates.

    Candidates are the rows that may become medoids. Fixed medoids are candidates, and come before all other medoids. A
    space may hold only some of the user's rows; `given_indices` returns their indices in the user's data, by which
    error messages name them.
    """

    def __init__(
        self,
        rows: Rows,
        metric: Metric,
        n_jobs: int,
        weights: NDArray[np.float64] | None = None,
        *,
        n_given: int | None = None,
        indices: Indices | None = None,
        tally: Tally | None = None,
    ) -> None:
        self.n = rows.n
        self.rows, self.metric = rows, metric
        self.weights = np.ones(rows.n) if weights is None else weights
        self.fixed, self.candidates = np.empty(0, np.int64), Candidates(rows.n)
        self.n_given = rows.n if n_given is None else n_given
        self.tally = Tally() if tally is None else tally
        self._n_jobs, self._indices = n_jobs, indices

    def distances_to(self, points: Indices, candidates: Indices | None = None) -> Distances:
        """Return d(candidate, point), a row for each candidate; None makes all rows candidates."""
        return self._compare(candidates, points, rows_first=True)

    def distances_from(self, medoids: Indices, points: Indices | None = None) -> Distances:
        """Return d(medoid, point), a row for each point; None makes all rows points."""
        return self._compare(points, medoids, rows_first=False)

    def _compare(self, rows: Indices | None, columns: Indices, *, rows_first: bool) -> Distances:
        chosen = self.rows if rows is None else self.rows.choose(rows)
        return Distances(
            chosen,
            self.metric.pack(self.rows.take(columns), chosen, self._n_jobs, rows_first=rows_first),
            name_row=name_in("X", self._indices if rows is None else self.given_indices(rows)),
            name_column=name_in("X", self.given_indices(columns)),
            tally=self.tally,
        )

    def distances_to_other(self, point: Rows, name: str, place: int) -> NDArray[Any]:
        """Return d(row, point) for all rows and a point that is not one of them, which errors call name[place]."""
        distances = Distances(
            self.rows,
            self.metric.pack(point, self.rows, self._n_jobs),
            name_row=name_in("X", self._indices),
            name_column=lambda _: f"{name}[{place}]",
            tally=self.tally,
        )
        return distances.column()

    def distances_to_mean(self) -> NDArray[np.float64]:
        """Return d(row, mean) for all rows."""
        mean = self.metric.mean(self.rows, self.weights)
        distances = Distances(
            self.rows,
            self.metric.pack(mean, self.rows, self._n_jobs),
            name_row=name_in("X", self._indices),
            name_column=lambda _: "the mean",
            tally=self.tally,
        )
        return distances.column().astype(np.float64)

    def check_scale(self, largest: float) -> None:
        """Raise if dissimilarities, of which `largest` is the largest, are so small that float32 loses them.

        Some rows are compared exactly to find out, because all rows may as well be equal. If only some dissimilarities
        are lost, because others are large, this warns. The kernels cannot keep both: squares in float32 reach from
        about 1e-38 to 1e38, and computing small ones again would cost every pair of equal rows another pass.
        """
        if largest >= SMALLEST_SCALE:
            return
        chosen = self.rows.take(np.unique(np.linspace(0, self.n - 1, 16).astype(np.int64)))
        points = self.metric.pack_exactly(chosen)
        if points.dtype != np.float64 or not self.metric.has_scale_of_data:
            return  # the metric has a scale of its own, whatever that of the data is
        exact = Distances(chosen, points).compute(np.empty((chosen.n, chosen.n)))
        rounded = Distances(chosen, self.metric.pack(chosen, chosen, 1)).compute(
            np.empty((chosen.n, chosen.n), np.float32)
        )
        if not exact.any() and self.metric.separates_rows and chosen.dtype == np.float64:
            refuse_lost_differences(chosen.given(np.arange(chosen.n)))
        is_lost = rounded < 0.99 * exact
        if not is_lost.any():
            return  # `largest` is tiny only because every row is a medoid or equals one
        lost = np.where(is_lost, exact, 0).max()
        pair = f"that of two rows is {lost:.3g}, and becomes {rounded[exact == lost][0]:.3g}"
        if exact.max() < SMALLEST_SCALE:
            raise ValueError(
                f"the dissimilarities are too small for float32: {pair}; multiply the data by a constant, such as "
                f"{scale_factor(lost):.0e}"
            )
        warn(
            f"some dissimilarities are too small for float32 beside others, which are up to {exact.max():.3g}: {pair}; "
            "leave out the rows that are far from all others, or multiply the data by a constant"
        )

    def whole_block(self) -> NDArray[np.float32] | None:
        """Return the dissimilarities of all pairs of rows if they are in memory already."""
        return self.metric.whole_block(self.rows)

    def given(self, indices: Indices) -> Any:
        """Return rows in the form in which the user passed them; None if the data are precomputed dissimilarities."""
        return self.rows.given(indices)

    def show(self, indices: Indices) -> Any:
        """Return rows as the user knows them: a frame if the data are a frame or a table in files."""
        return self.rows.show(indices)

    def given_indices(self, indices: Indices) -> Indices:
        """Return the indices that these rows have in the user's data."""
        return indices if self._indices is None else self._indices[indices]

    def find(self, given: ArrayLike, k: int, name: str) -> Indices:
        """Check k distinct row indices in the user's data, and return the indices of these rows in this space."""
        rows = check_medoids(given, k, self.n_given, name)
        if self._indices is None:
            return rows
        order = np.argsort(self._indices)
        places = order[np.minimum(np.searchsorted(self._indices, rows, sorter=order), self.n - 1)]
        absent = rows[self._indices[places] != rows]
        if len(absent):
            raise ValueError(f"{name} holds row {absent[0]}, whose weight is zero: expected rows of positive weight")
        return places

    def in_memory(self) -> Space:
        """Return the space with all its rows in memory, for algorithms that fetch rows again and again."""
        return self._with(self.rows.in_memory())

    def hold(self, indices: Indices, memory_limit: int) -> Space:
        """Return the space with these rows held in memory, if they fit, because they are compared again and again."""
        n_bytes = len(indices) * self.rows.row_size * self.rows.dtype.itemsize
        return self._with(self.rows.hold(indices)) if n_bytes <= memory_limit else self

    def _with(self, rows: Rows) -> Space:
        """Return the space with the same rows in another form."""
        if rows is self.rows:
            return self
        loaded = Space(
            rows,
            self.metric,
            self._n_jobs,
            self.weights,
            n_given=self.n_given,
            indices=self._indices,
            tally=self.tally,
        )
        loaded.fixed, loaded.candidates = self.fixed, self.candidates
        return loaded

    def choose(self, indices: Indices) -> Space:
        """Return the space of these rows, all of which may become medoids."""
        return Space(
            self.rows.choose(indices),
            self.metric,
            self._n_jobs,
            self.weights[indices],
            n_given=self.n_given,
            indices=self.given_indices(indices),
            tally=self.tally,
        )

    def part(self, indices: Indices, weights: NDArray[np.float64]) -> Space:
        """Return the space of some rows, in ascending order, with other weights; all fixed medoids are among them."""
        part = self.choose(indices)
        part.weights, part.fixed = weights, np.searchsorted(indices, self.fixed)
        part.candidates = Candidates(part.n, np.flatnonzero(self.candidates.marked()[indices]))
        return part

    def present(self, names: Names = NAMES) -> Space:
        """Return the space without the rows of weight zero, which count as absent."""
        if self.weights.all():
            return self
        indices = np.flatnonzero(self.weights)
        present = self.choose(indices)
        present.fixed = present.find(self.fixed, len(self.fixed), names.fixed)
        present.candidates = Candidates(present.n, np.flatnonzero(self.candidates.marked()[indices]))
        return present
