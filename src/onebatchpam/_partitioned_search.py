"""The swap search on a data set in partitions, and the refinement of what it found.

In each pass all rows are weighed against the same medoids, where they are; the best of them come to the driver, where
the swap search tries them one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onebatchpam._distances import Indices
from onebatchpam._partition import Assessment, BatchPoints, Sample, join
from onebatchpam._partitioned import GatheredRows, PartitionedRows, with_candidates
from onebatchpam._progress import Stages
from onebatchpam._refine import Refinement
from onebatchpam._result import Selection
from onebatchpam._swap import SwapResult, search_swaps
from onebatchpam._tiles import fill_all


@dataclass(frozen=True)
class Descent:
    """Medoids, and how they were found."""

    medoids: Sample
    selection: Selection


class PartitionedSearch:
    """The search for medoids with one batch: among the rows on the driver, then among all, then by refinement."""

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
        stages: Stages,
    ) -> None:
        self._data, self._batch, self._sample, self._fixed, self._rng = data, batch, sample, fixed, rng
        self._max_iter, self._tol, self._rounds, self._stages = max_iter, tol, rounds, stages
        self._block = data.block(batch, sample)

    def descend(self, start: Indices) -> list[Descent]:
        """Return what is reached from rows of the sample: before refinement and after."""
        first = self._search(self._block, start, self._stages)
        medoids, candidates, search = self._search_all(self._sample.take(first.medoids))
        selection = Selection.of_search(
            search,
            batch_indices=self._batch.numbers,
            batch_weights=self._batch.weights,
            batch_inertia=search.loss,
            n_refine_rounds=0,
        ).improved(medoids.numbers, first.n_swaps)
        found = Descent(medoids, selection)
        return [found] if self._rounds == 0 else [found, self._refine(found, candidates)]

    def _search(self, block: NDArray[np.float32], start: Indices, stages: Stages) -> SwapResult:
        return search_swaps(
            block,
            start,
            self._batch.weights,
            max_iter=self._max_iter,
            tol=self._tol,
            n_jobs=self._data.n_jobs,
            stages=stages,
            n_fixed=len(self._fixed),
        )

    def _search_all(self, medoids: Sample) -> tuple[Sample, Sample, SwapResult]:
        """Improve medoids until no row brings a gain; also return the rows that come next."""
        n_iter, n_swaps, converged = 0, 0, False
        with self._stages.stage("swap search", unit=" candidates") as bar:
            while not converged and n_iter < self._max_iter:
                candidates = self._data.best_swaps(self._batch, medoids, len(self._fixed))
                known = join([medoids, by_gain(candidates)])
                search = self._search(self._data.block(self._batch, known), np.arange(len(medoids)), Stages())
                medoids, converged = known.take(search.medoids), search.n_swaps == 0
                n_iter, n_swaps = n_iter + 1, n_swaps + search.n_swaps
                bar.set_postfix(passes=n_iter, swaps=n_swaps, refresh=False)
                bar.update(self._data.n)
        return medoids, candidates, SwapResult(medoids.numbers, search.loss, n_iter, n_swaps, converged)

    def _refine(self, found: Descent, candidates: Sample) -> Descent:
        """Refine medoids on the sample, among whose rows are now the medoids and the candidates."""
        data, n_sample = self._data, len(self._sample)
        known = with_candidates(self._sample, join([found.medoids, candidates]))
        space = GatheredRows(data, known, self._fixed)
        others = data.block(self._batch, known.take(np.arange(n_sample, len(known))))
        block = np.concatenate([self._block, others])
        refined = Refinement(space, block, self._batch.weights, self._rng, data.n_jobs).refine(
            space.indices_of(found.medoids.numbers, len(found.medoids), "medoids"),
            rounds=self._rounds,
            max_iter=self._max_iter,
            tol=self._tol,
            stages=self._stages,
        )
        data.n_distances += space.n_distances
        medoids = known.take(refined.medoids)
        selection = found.selection.improved(medoids.numbers, refined.n_swaps)
        attributes = {**selection.attributes, "n_refine_rounds": refined.n_rounds}
        return Descent(medoids, replace(selection, attributes=attributes))


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
