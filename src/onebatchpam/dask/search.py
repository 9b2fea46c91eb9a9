"""The swap search on a data set in partitions, and the refinement of what it found.

In each pass all rows are weighed against the same medoids, where they are; the best of them come to the driver, where
the swap search tries them one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from onebatchpam import _core
from onebatchpam._progress import Stages
from onebatchpam._tiles import Indices
from onebatchpam.algorithms import Selection
from onebatchpam.blocks import WholeBlock, check_tile
from onebatchpam.dask.driver import GatheredRows, PartitionedRows, with_candidates
from onebatchpam.dask.partition import BatchPoints, Sample, join
from onebatchpam.dask.tasks import Assessment, ClusterPoints
from onebatchpam.metrics import fill_all
from onebatchpam.search import (
    LEAST_PROGRESS,
    MANY_CANDIDATES,
    POINTS_PER_CLUSTER,
    PROGRESS_OF_PASS,
    Refined,
    Refinement,
    SwapResult,
    search_swaps,
    smallest_of_each,
)


@dataclass(frozen=True)
class Descent:
    """Medoids, and how they were found."""

    medoids: Sample
    selection: Selection


class PartitionedSearch:
    """The search for medoids with one batch: among the rows on the driver, then among all; refinement likewise."""

    def __init__(
        self,
        data: PartitionedRows,
        batch: BatchPoints,
        sample: Sample,
        fixed: Indices,
        rng: np.random.RandomState,
        *,
        max_iter: int,
        tol: float,
        rounds: int,
        memory_limit: int,
        stages: Stages,
    ) -> None:
        self._data, self._batch, self._sample, self._fixed, self._rng = data, batch, sample, fixed, rng
        self._max_iter, self._tol, self._rounds, self._stages = max_iter, tol, rounds, stages
        self._memory_limit = memory_limit
        self._block = data.block(batch, sample)

    def descend(self, start: Indices) -> list[Descent]:
        """Return what is reached from rows of the sample: before refinement and after."""
        first = self._search(self._block, start, self._stages)
        medoids, candidates, search = self._search_all(self._sample.take(first.medoids), first.loss)
        selection = Selection.of_search(
            search,
            batch_indices=self._batch.numbers,
            batch_weights=self._batch.weights,
            batch_inertia=search.loss,
            n_refine_rounds=0,
            block_storage="recomputed",
        ).improved(medoids.numbers, first.n_swaps)
        found = Descent(medoids, selection)
        return [found] if self._rounds == 0 else [found, self._refine(found, candidates)]

    def _search(self, block: NDArray[np.float32], start: Indices, stages: Stages) -> SwapResult:
        return search_swaps(
            WholeBlock(block),
            start,
            self._batch.weights,
            max_iter=self._max_iter,
            tol=self._tol,
            n_jobs=self._data.n_jobs,
            stages=stages,
            n_fixed=len(self._fixed),
        )

    def _search_all(self, medoids: Sample, loss: float) -> tuple[Sample, Sample, SwapResult]:
        """Improve medoids of this loss until no row brings a gain, or until a search in memory would end, too.

        Also return the rows that come next.
        """
        n_iter, n_swaps, converged = 0, 0, False
        least_progress = PROGRESS_OF_PASS if self._rounds > 0 and self._data.n_present > MANY_CANDIDATES else 0.0
        with self._stages.stage("swap search", unit=" candidates") as bar:
            while not converged and n_iter < self._max_iter:
                candidates = self._data.best_swaps(self._batch, medoids, len(self._fixed))
                known = join([medoids, by_gain(candidates)])
                search = self._search(self._data.block(self._batch, known), np.arange(len(medoids)), Stages())
                converged = search.n_swaps == 0 or search.loss > loss * (1 - least_progress)
                medoids, loss = known.take(search.medoids), search.loss
                n_iter, n_swaps = n_iter + 1, n_swaps + search.n_swaps
                bar.set_postfix(passes=n_iter, swaps=n_swaps, refresh=False)
                bar.update(self._data.n)
        return medoids, candidates, SwapResult(medoids.numbers, loss, n_iter, n_swaps, converged)

    def _refine(self, found: Descent, candidates: Sample) -> Descent:
        """Refine medoids on the sample, among whose rows are now the medoids and the candidates."""
        data, n_sample = self._data, len(self._sample)
        known = with_candidates(self._sample, join([found.medoids, candidates]))
        space = GatheredRows(data, known, self._fixed)
        others = data.block(self._batch, known.take(np.arange(n_sample, len(known))))
        block = WholeBlock(np.concatenate([self._block, others]))
        refined = Refinement(space, block, self._batch.weights, self._memory_limit, self._rng, data.n_jobs).refine(
            space.indices_of(found.medoids.numbers, len(found.medoids), "medoids"),
            rounds=self._rounds,
            max_iter=self._max_iter,
            tol=self._tol,
            stages=self._stages,
        )
        medoids, n_swaps = self._refine_among_all(known.take(refined.medoids), space)
        data.n_distances += space.n_distances
        improved = Refined(medoids.numbers, refined.n_rounds, refined.n_swaps + n_swaps)
        return Descent(medoids, found.selection.refined(improved))

    def _refine_among_all(self, medoids: Sample, space: GatheredRows) -> tuple[Sample, int]:
        """Improve medoids by members of their clusters from all partitions, as long as the sample says that it pays."""
        k, n_swaps = len(medoids), 0
        if k == len(self._fixed):
            return medoids, 0
        with self._stages.stage("refinement", unit=" rounds") as bar:
            for _ in range(self._rounds):
                rows = self._to_sample(medoids, space)
                state = _core.SwapSearch(k, np.arange(k), rows, space.weights, self._tol, len(self._fixed))
                points = self._points_of_clusters(state, space)
                candidates = self._data.best_members(medoids, points, len(self._fixed))
                if len(candidates) == 0:
                    break
                block = np.concatenate([rows, self._to_sample(candidates, space)])
                search = search_swaps(
                    WholeBlock(block),
                    np.arange(k),
                    space.weights,
                    max_iter=self._max_iter,
                    tol=self._tol,
                    n_jobs=self._data.n_jobs,
                    stages=Stages(),
                    n_fixed=len(self._fixed),
                )
                medoids, n_swaps = join([medoids, candidates]).take(search.medoids), n_swaps + search.n_swaps
                bar.update()
                if search.loss > state.loss * (1 - LEAST_PROGRESS):
                    break
        return medoids, n_swaps

    def _to_sample(self, candidates: Sample, space: GatheredRows) -> NDArray[np.float32]:
        """Return d(candidate, row of the sample), a row for each candidate."""
        rows = space.metric.check(candidates.rows, "X")
        columns = space.metric.to_medoids(rows, space.X, self._data.n_jobs)
        block = np.empty((columns.n_rows, columns.n_columns), np.float32)
        check_tile(fill_all(columns, block, Stages(), "refinement"))
        self._data.n_distances += block.size
        return np.ascontiguousarray(block.T)

    def _points_of_clusters(self, state: _core.SwapSearch, space: GatheredRows) -> ClusterPoints:
        """Draw some rows of the sample from each cluster."""
        order = self._rng.permutation(np.flatnonzero(space.weights))
        drawn = order[
            smallest_of_each(state.nearest[order], np.arange(len(order), dtype=np.float64), POINTS_PER_CLUSTER)
        ]
        rows = _safe_indexing(space.sample.rows, drawn)
        return ClusterPoints(
            rows, space.numbers(drawn), state.nearest[drawn], space.weights[drawn], state.second_distances[drawn]
        )


def by_gain(candidates: Sample) -> Sample:
    """Return candidates in the order in which they are tried: the largest gain first, of equal ones the first row."""
    return candidates.take(np.lexsort((candidates.numbers, candidates.keys)))


def spread_duplicates(
    data: PartitionedRows, medoids: Sample, assessment: Assessment, n_fixed: int
) -> tuple[Sample, Assessment]:
    """Move every medoid that is a duplicate of another, and not fixed, to the row farthest from all medoids."""
    for slot in range(n_fixed, len(medoids)):
        if not is_duplicate(data, medoids, slot):
            continue
        if assessment.farthest.keys[0] == 0:
            break  # there are fewer distinct rows than medoids
        places = np.arange(len(medoids))
        places[slot] = len(medoids)
        medoids = join([medoids, assessment.farthest]).take(places)
        assessment = data.assess([medoids])[0]
    return medoids, assessment


def is_duplicate(data: PartitionedRows, medoids: Sample, slot: int) -> bool:
    """Say whether a medoid is at distance zero of an earlier one."""
    rows = data.metric.check(medoids.rows, "X")
    columns = data.metric.to_medoids(rows, rows[np.array([slot])], 1)
    distances = fill_all(columns, np.empty((1, columns.n_columns), columns.dtype), Stages(), "distances")[0]
    nearest = int(np.argmin(distances))
    return nearest != slot and distances[nearest] == 0
