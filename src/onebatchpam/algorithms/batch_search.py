"""The batch search: a batch of points with its block, on which OneBatchPAM searches and refines from several starts.

With very many rows, the batch is drawn from a sample of the rows, and only this sample is searched; the medoids that
are found are rows of the whole population.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onebatchpam._parameters import Settings
from onebatchpam._run import Run
from onebatchpam._tiles import Indices
from onebatchpam.algorithms.effort import CORE_PER_MEDOID, count_starts, has_core
from onebatchpam.algorithms.population import InMemory, SearchSample
from onebatchpam.algorithms.result import Selection, advise_more_passes
from onebatchpam.batch import count_screened, draw_batch
from onebatchpam.bounds import find_core
from onebatchpam.search import (
    Build,
    DrawnContests,
    Enlarged,
    Measurable,
    Refined,
    Refinement,
    Start,
    SwapOptions,
    SwapResult,
    WholeContest,
    draw_by_weight,
    draw_medoids,
    enlarge_clusters,
)


class Population(Measurable, Protocol):
    """All rows with a positive weight: in memory (`population.py`), or in the partitions of a Dask collection."""

    holds_all_rows: bool  # whether the space has all rows, in memory or in files

    def count_searched(self, m: int, k: int, rounds: int) -> int: ...
    def sample(self, first: Indices, include: Indices, size: int) -> SearchSample: ...


@dataclass(frozen=True)
class BatchSelection(Selection):
    """The result of OneBatchPAM: a selection with the fitted attributes that only OneBatchPAM has."""

    batch_indices: Indices | None = None
    batch_weights: NDArray[np.float64] | None = None
    batch_inertia: float = 0.0
    n_refine_rounds: int = 0
    block_storage: str = ""

    def refined(self, refined: Refined) -> BatchSelection:
        """Return this selection with the refined medoids, and the swaps and rounds of the refinement added."""
        return replace(
            self,
            medoids=refined.medoids,
            n_swaps=self.n_swaps + refined.n_swaps,
            n_refine_rounds=self.n_refine_rounds + refined.n_rounds,
        )

    def enlarged(self, enlarged: Enlarged) -> BatchSelection:
        """Return this selection with the medoids of larger clusters, and the swaps that led to them added."""
        return replace(self, medoids=enlarged.medoids, n_swaps=self.n_swaps + enlarged.n_swaps)


class BatchSearch:
    """A batch of m points with its block, on which medoids are searched for and refined from several starts.

    With very many rows, the batch is drawn from a sample of the rows, and only this sample is searched. It includes the
    starts that are known already; the last of these has the most medoids.
    """

    def __init__(self, population: Population, m: int, settings: Settings, run: Run, starts: list[Start]) -> None:
        self._population, self._settings, self._run = population, settings, run
        self.may_swap = settings.max_iter > 0
        self.runners_up: list[Indices] = []  # for each refinement, candidates that came close to replacing a medoid
        self.has_core = population.holds_all_rows and has_core(settings, population.n)
        k = settings.n_clusters
        size = population.count_searched(m, k, settings.refine)
        self._sample = sample_rows(population, starts, size, k, run)
        searched = self._sample.population
        self._batch, self._searched_block = draw_batch(searched, m, settings.variant)
        self._options = SwapOptions(settings.max_iter, settings.tol, len(population.space.fixed))
        self._block, limit = self._searched_block, settings.memory_limit
        if searched is not population:
            limit -= self._searched_block.n_bytes
            self._block = self._sample.widen(self._searched_block, self._batch.indices, population, k, limit)
        most_screened, options = count_screened(population.n, size), self._options
        self._refinement = Refinement(
            population, self._block, self._batch.weights, options, settings.refine, limit, most_screened, run
        )

    def count_starts(self, *, is_build: bool) -> int:
        """Return the number of starts that the user wants."""
        n, m, is_costly = self._population.n, self._block.m, self._population.space.metric.is_costly
        return count_starts(self._settings, n, m, is_build=is_build, has_core=self.has_core, is_costly=is_costly)

    def draw_start(self, k: int) -> Start:
        """Draw the k medoids of one more start, among the rows of the sample."""
        method = self._settings.init if isinstance(self._settings.init, str) else "auto"
        start = draw_medoids(method, self._sample.population.space, k, self._run)
        return start if isinstance(start, Build) else self._sample.indices[start]

    def search(self, start: Start) -> BatchSelection:
        """Search for medoids from a start."""
        found = self._find(start)
        return BatchSelection(
            found.medoids,
            found.n_iter,
            found.n_swaps,
            advise_more_passes(found.n_iter, found.converged),
            batch_indices=self._sample.population.space.given_indices(self._batch.indices),
            batch_weights=self._batch.weights,
            batch_inertia=found.loss,
            block_storage=self._searched_block.storage,
        )

    def _find(self, start: Start) -> SwapResult:
        """Search the block of the sample; medoids are rows of the population."""
        searched = self._sample.population.space
        places = (
            replace(start, fixed=searched.candidates.places(searched.fixed))
            if isinstance(start, Build)
            else self._sample.places(start)
        )
        found = self._sample.population.search(self._searched_block, places, self._batch.weights, self._options)
        return replace(found, medoids=self._sample.indices[found.medoids])

    def refine(self, selection: BatchSelection, *, for_pool: bool = False) -> BatchSelection:
        """Refine the medoids of a search; for a pool search, on fewer points."""
        refined = self._refinement.refine(selection.medoids, for_pool=for_pool)
        self.runners_up.append(refined.runners_up)
        return selection.refined(refined)

    def find_core(self, medoids: Indices) -> Indices:
        """Return the candidates that the Lagrangian dual finds cheapest; the block serves it, if it holds all pairs."""
        space, block, limit = self._population.space, self._block, self._settings.memory_limit
        holds_all = block.storage == "whole" and block.m == space.n == space.candidates.n
        with self._run.stages.stage("core"):
            return find_core(
                space,
                medoids,
                CORE_PER_MEDOID * len(medoids),
                limit if holds_all else limit - block.n_bytes,
                self._run.silent(),
                block if holds_all else None,
            )

    def combine(self, best: BatchSelection, pool: Indices, n_kicks: int, *, is_refined: bool = True) -> BatchSelection:
        """Improve a selection by the medoids of others, and refine it.

        If all points have refined it before, only medoids that are new in it get candidates.
        """
        improved = self._refinement.search_pool(best.medoids, pool, n_kicks)
        if self._block.m == self._population.n and improved.n_swaps:
            found = self._find(improved.medoids)
            improved = Refined(found.medoids, 0, improved.n_swaps + found.n_swaps)
        is_refined = is_refined and not self._refinement.has_drafts(len(best.medoids))
        is_open = improved.medoids != best.medoids if is_refined else None
        return best.refined(improved).refined(self._refinement.refine(improved.medoids, is_open))

    def choose_best(self, selections: list[BatchSelection]) -> BatchSelection:
        """Return the selection with the smallest objective over all rows; the first of equal ones."""
        if len(selections) == 1:
            return selections[0]
        objectives = self._population.objectives([selection.medoids for selection in selections])
        return selections[int(np.argmin(objectives))]

    def enlarge(self, selection: BatchSelection) -> BatchSelection:
        """Replace medoids until no cluster is smaller than the user allows."""
        population, block, least = self._population, self._block, self._settings.min_cluster_size
        is_whole = block.m == population.n and block.storage == "whole"
        most_entries = min(population.n * block.m, self._settings.memory_limit // 4)
        contests = WholeContest(block, self._batch.weights) if is_whole else DrawnContests(most_entries)
        return selection.enlarged(
            enlarge_clusters(population, selection.medoids, least, self._options, self._run, contests)
        )


def sample_rows(population: Population, starts: list[Start], size: int, k: int, run: Run) -> SearchSample:
    """Return the rows that the search runs on: a sample of this size, or all rows if they are no more."""
    if size == population.n:
        assert isinstance(population, InMemory)  # few rows of a Dask collection are gathered before a fit
        return SearchSample(population, np.arange(size))
    rows = [start for start in starts if not isinstance(start, Build)]
    if not rows:  # BUILD has no medoids before there is a sample, so random rows tell which rows are far
        rows = [draw_by_weight(population.space, k, run.rng)]
    return population.sample(rows[-1], np.concatenate(rows), size)
