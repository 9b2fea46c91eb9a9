"""Refinement: the batch screens candidates, all points confirm them.

A batch finds promising candidates, but does not tell exactly which of them is best. So each round takes a few
candidates of every cluster, computes their dissimilarities to all points, and runs the same swap search on that
transposed block (candidates x all points). Its loss is the objective itself, so that a round never makes the objective
worse. If all points would take too many dissimilarities, a fresh sample of points confirms the candidates; the refined
medoids are then kept only if the objective over all points is not worse. Very many medoids are searched in groups of
neighbours, see `groups.py`, so that the sample has enough points for each of them.

The rows may be in memory or in partitions: see `Refinable`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam import _core
from onebatchpam._draws import Batch
from onebatchpam._parameters import integer_or_auto
from onebatchpam._progress import Progress
from onebatchpam._run import Run
from onebatchpam._tiles import Indices, TileBuffer, mark
from onebatchpam.blocks import Block
from onebatchpam.search.candidates import (
    CANDIDATES_PER_MEDOID,
    Judges,
    Labelled,
    Nearest,
    best_by_batch,
    best_by_cluster,
    draw_judges,
    share_judged,
)
from onebatchpam.search.confirmation import Confirmation
from onebatchpam.search.groups import GROUP_SIZE, GroupedConfirmation
from onebatchpam.search.pool import PoolSearch
from onebatchpam.search.refinable import Refinable
from onebatchpam.search.swaps import SwapOptions

MAX_AUTOMATIC_ROUNDS = 10
# Refinement ends with a round that lowers the loss by less than this fraction of it. If a sample of points confirms
# swaps, all rows are asked for candidates after a round that lowers the loss by less than the second fraction.
LEAST_PROGRESS = 2e-4
PROGRESS_WITHOUT_ALL = 2e-3
# The number of confirming points is chosen such that a round takes at most this many dissimilarities of candidates and
# medoids to points. It is bounded also where there are few medoids: the error of a sample is about k / n_points, so
# that more points bring next to nothing. There are at least as many points as in the batch, however.
MOST_ENTRIES = 2**26
MOST_POINTS = 100_000
# With so many medoids that each would have fewer points than this, each has this many, and the medoids are confirmed in
# groups: a point is then compared with far fewer candidates.
POINTS_PER_MEDOID = 200
# If a pool search follows, each start is refined on a draft of the points: as many for each medoid, but not fewer than
# this share of the most entries allows. So is the pool search, and only its result is refined on all points.
SHARE_DRAFTED = 1 / 3

AnyConfirmation = Confirmation | GroupedConfirmation


def check_rounds(refine: Any, name: str) -> int:
    """Check the `refine` parameter of an estimator, and return the largest number of rounds."""
    rounds: int | None = integer_or_auto(at_least=0)(refine, name)
    return MAX_AUTOMATIC_ROUNDS if rounds is None else rounds


@dataclass(frozen=True)
class Confirming:
    """How the swaps among k medoids and some candidates are confirmed: on how many points, and whether in groups."""

    n_points: int
    in_groups: bool


def count_confirming(n: int, m: int, k: int, n_contenders: int, most: int) -> Confirming:
    """Return how many of n points confirm swaps, at most so many, unless the batch of m points would tell more."""
    by_entries = MOST_ENTRIES // n_contenders
    in_groups = k > GROUP_SIZE and by_entries < min(n, k * POINTS_PER_MEDOID)
    n_points = k * POINTS_PER_MEDOID if in_groups else max(m, min(most, by_entries, MOST_POINTS))
    return Confirming(min(n_points, n), in_groups)


def count_refining(n: int, m: int, k: int, *, is_draft: bool = False) -> Confirming:
    """Return how many points confirm a round of refinement, which takes no more dissimilarities than the block."""
    most = n * m // (k * CANDIDATES_PER_MEDOID)
    return count_confirming(n, m, k, (1 + CANDIDATES_PER_MEDOID) * k, min(most, count_drafted(k)) if is_draft else most)


def count_drafted(k: int) -> int:
    """Return how many points confirm swaps at most as long as a refinement on all points is still to come."""
    return max(int(SHARE_DRAFTED * MOST_ENTRIES) // ((1 + CANDIDATES_PER_MEDOID) * k), k * POINTS_PER_MEDOID)


@dataclass(frozen=True)
class Refined:
    """The medoids after refinement, its rounds and swaps, and the candidates of the last round that came close."""

    medoids: Indices
    n_rounds: int = 0
    n_swaps: int = 0
    runners_up: Indices = field(default_factory=lambda: np.empty(0, np.int64))


class Refinement:
    """Refines the medoids that searches on one block found, one set of medoids after the other."""

    def __init__(
        self,
        population: Refinable,
        block: Block,
        weights: NDArray[np.float64],
        options: SwapOptions,
        rounds: int,
        memory_limit: int,
        most_screened: int,
        run: Run,
    ) -> None:
        self._population, self._block, self._weights = population, block, weights
        self._options, self._most_screened = options, most_screened
        self._rounds, self._memory_limit, self._run = rounds, memory_limit, run
        self._buffer: TileBuffer | None = None  # holds the block of candidates, for all calls of `refine`

    def has_drafts(self, k: int) -> bool:
        """Tell whether k medoids are refined on fewer points for a pool search than after it."""
        n, m = self._population.n, self._block.m
        return count_refining(n, m, k, is_draft=True) != count_refining(n, m, k)

    def refine(self, medoids: Indices, is_open: NDArray[np.bool_] | None = None, *, for_pool: bool = False) -> Refined:
        """Improve medoids by swaps that the points confirm; only those that are open get candidates, or all if None.

        For a pool search, which is followed by another refinement, a draft of the points confirms, and runners-up are
        found.
        """
        k = len(medoids)
        is_open = np.arange(k) >= self._options.n_fixed if is_open is None else is_open
        if self._rounds == 0 or self._block.m == self._population.n or not is_open.any():
            return Refined(medoids)  # a batch of all rows has confirmed every swap, and fixed medoids allow no swap
        with self._run.stages.stage("refinement", total=self._rounds, unit=" rounds") as bar:
            confirming = count_refining(self._population.n, self._block.m, k, is_draft=for_pool)
            points = self._population.draw_points(confirming.n_points)
            proposals = Proposals(
                self._population,
                self._block,
                self._weights,
                points,
                is_open,
                self._options.n_fixed,
                self._most_screened,
                self._run,
            )
            confirmation = self._begin_confirmation(
                medoids, points, confirming.in_groups, proposals, finds_runners_up=for_pool
            )
            refined = self._run_rounds(confirmation, points, proposals, bar, finds_runners_up=for_pool)
            bar.finish()
            return self._check(medoids, points, refined)

    def search_pool(self, medoids: Indices, pool: Indices, n_kicks: int) -> Refined:
        """Improve medoids by a search in a pool of candidates, which the points confirm."""
        k, pool = len(medoids), np.setdiff1d(pool, medoids)
        if self._options.n_fixed == k or len(pool) == 0:
            return Refined(medoids)
        with self._run.stages.stage("pool search", total=n_kicks * len(pool), unit=" candidates") as bar:
            n = self._population.n
            most = count_drafted(k) if self._rounds else n
            confirming = count_confirming(n, self._block.m, k, k + len(pool), min(n, most))
            points = self._population.draw_points(confirming.n_points)
            confirmation = self._begin_confirmation(medoids, points, confirming.in_groups)
            confirmation.begin_round()
            found = confirmation.confirm(pool, PoolSearch(n_kicks, bar))
            bar.finish()
            return self._check(medoids, points, Refined(confirmation.medoids, 0, found.n_swaps))

    def _begin_confirmation(
        self,
        medoids: Indices,
        points: Batch,
        in_groups: bool,
        proposals: Proposals | None = None,
        *,
        finds_runners_up: bool = False,
    ) -> AnyConfirmation:
        confirmation: AnyConfirmation
        # All rows are read in order, once in a round, but the points of each group by themselves.
        is_held = in_groups or len(points.indices) < self._population.n
        held = points.indices if is_held else points.indices[:0]
        held_bytes = self._population.hold(held, self._spare_bytes(proposals))
        if in_groups:
            confirmation = GroupedConfirmation(
                self._population, medoids, points, self._options, self._run, finds_runners_up=finds_runners_up
            )
        else:
            if self._buffer is None or self._buffer.n_columns != len(points.indices):
                self._buffer = TileBuffer(len(points.indices))
            confirmation = Confirmation(
                self._population,
                medoids,
                points,
                self._buffer,
                lambda: self._spare_bytes(proposals) - held_bytes,
                self._options,
                self._run,
            )
        if len(points.indices) == self._population.n:  # the rows farthest from all medoids are known
            confirmation.spread_medoids()
        return confirmation

    def _spare_bytes(self, proposals: Proposals | None) -> int:
        """Return how much of the memory limit the block, and the screen of the proposals, leave at present."""
        screen_bytes = 0 if proposals is None else proposals.screen_bytes
        return self._memory_limit - self._block.n_bytes - screen_bytes

    def _run_rounds(
        self,
        confirmation: AnyConfirmation,
        points: Batch,
        proposals: Proposals,
        bar: Progress,
        *,
        finds_runners_up: bool,
    ) -> Refined:
        refined = Refined(confirmation.medoids)
        scale = self._population.total_weight / points.weights.sum()  # from the loss over a sample to the objective
        while refined.n_rounds < self._rounds:
            if refined.n_rounds == self._rounds - 1:
                proposals.asks_all = True
            confirmation.begin_round()
            state = confirmation.state()
            self._tell(bar, refined, scale * state.loss, "choosing candidates")
            proposed = proposals.propose(refined.medoids, state)
            self._tell(bar, refined, scale * state.loss, "trying candidates")
            search = confirmation.confirm(proposed)
            n_rounds, n_swaps = refined.n_rounds + 1, refined.n_swaps + search.n_swaps
            refined = Refined(confirmation.medoids, n_rounds, n_swaps)
            self._tell(bar, refined, scale * search.loss)
            bar.update()
            least_progress = LEAST_PROGRESS if proposals.asks_all else PROGRESS_WITHOUT_ALL
            if search.loss < state.loss * (1 - least_progress):
                continue
            if proposals.asks_all:
                break
            proposals.asks_all = True
        return replace(refined, runners_up=search.find_runners_up()) if finds_runners_up else refined

    def _tell(self, bar: Progress, refined: Refined, objective: float, step: str | None = None) -> None:
        """Tell by the bar which step of a round has begun, and about what the objective over all rows is."""
        begun = {} if step is None else {"step": step}
        bar.set_postfix(begun, swaps=refined.n_swaps, objective=f"{objective:,.6g}", refresh=False)
        bar.update(0)

    def _check(self, medoids: Indices, points: Batch, refined: Refined) -> Refined:
        """Return the refined medoids, or the former ones if these are better over all rows, which a sample may miss."""
        if len(points.indices) < self._population.n:
            before, after = self._population.objectives([medoids, refined.medoids])
            if after > before:
                return Refined(medoids, runners_up=refined.runners_up)
        return refined


class Proposals:
    """Proposes candidates: a few rows for each open medoid, none of them twice.

    Fixed medoids are never open. If a sample of points confirms swaps, these points alone propose members of clusters
    at first, which takes no pass over all rows. All rows do so, if `asks_all` is set, when the points have little more
    to offer, or in the last round.
    """

    def __init__(
        self,
        population: Refinable,
        block: Block,
        weights: NDArray[np.float64],
        points: Batch,
        is_open: NDArray[np.bool_],
        n_fixed: int,
        most_screened: int,
        run: Run,
    ) -> None:
        self._population, self._block, self._weights, self._points = population, block, weights, points
        self._is_open, self._n_fixed, self._run = is_open, n_fixed, run
        self._are_all_points = len(points.indices) == population.n
        self.asks_all = self._are_all_points
        # If there are more candidates than points, the batch screens only candidates among the points, which spares a
        # pass over the whole block in each round.
        candidates = population.space.candidates
        are_few = candidates.n <= len(points.indices)
        self._screened = candidates.rows() if are_few else candidates.among(points.indices)
        if len(self._screened) > most_screened:
            self._screened = candidates.among(population.draw_points(most_screened).indices)
        is_whole = len(self._screened) == population.n
        self._screen = block if is_whole else block.subset(self._screened)
        self._tried = np.empty(0, np.int64)

    @property
    def screen_bytes(self) -> int:
        """The number of bytes that the screen keeps in addition to the block."""
        return 0 if self._screen is self._block else self._screen.n_bytes

    def propose(self, medoids: Indices, state: Nearest | _core.SwapSearch) -> Indices:
        """Return untried rows for the open medoids; `state` knows the nearest medoids of the confirming points."""
        k, run = len(medoids), self._run
        self._tried = np.union1d(self._tried, medoids)
        search = _core.SwapSearch(k, np.arange(k), self._block.rows(medoids), self._weights, 0.0, self._n_fixed)
        tried = mark(self._tried, self._population.space.n)[self._screened]
        by_batch = self._screened[best_by_batch(self._screen, search, self._is_open, tried, run.n_jobs)]
        self._tried = np.union1d(self._tried, by_batch)
        judges = draw_judges(self._points, state, self._is_open, run.rng, share_judged(self._population.n))
        by_cluster = self._best_members(medoids, judges, state)
        self._tried = np.union1d(self._tried, by_cluster)
        return np.concatenate([by_batch, by_cluster])

    def _best_members(self, medoids: Indices, judges: dict[int, Judges], state: Nearest | _core.SwapSearch) -> Indices:
        """Return the best untried members of each judged cluster: among the points, or among all rows."""
        if self.asks_all and not self._are_all_points:
            return self._population.best_members(medoids, judges, self._tried)
        space = self._population.space
        among = np.flatnonzero(space.candidates.marked()[self._points.indices])
        part = Labelled(
            self._points.indices[among], np.asarray(state.nearest)[among], np.asarray(state.nearest_distances)[among]
        )
        return best_by_cluster(space, judges, [part], mark(self._tried, space.n), self._run.n_jobs)
