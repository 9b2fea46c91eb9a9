"""How fast this machine is: a moment of the work of a fit, on some rows of the data, timed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onebatchpam import _core
from onebatchpam._run import Run
from onebatchpam.batch import MemoryScan, round_sizes
from onebatchpam.blocks import WholeBlock
from onebatchpam.space import Space, TransposedDistances

# Trials grow until one takes so long, or until they are as large as the data: short ones mostly measure how long it
# takes to begin, and to wake threads.
SECONDS_PER_RATE = 0.25
# The measured block has at most this many entries (128 MB), and its points have at most so many numbers.
MOST_ENTRIES, MOST_NUMBERS = 2**25, 2**24
# A search is timed on at most this many random entries and so many points; that of a refinement on so many entries.
SEARCHED_ENTRIES, SEARCHED_POINTS, TRIED_ENTRIES = 2**22, 2**12, 2**23
ROWS_PER_POINT = 16


@dataclass(frozen=True)
class Rates:
    """Seconds for one dissimilarity or entry, by what is done with it."""

    kept: float  # a dissimilarity is computed, and kept in the block
    computed: float  # it is computed, and used at once
    confirmed: float  # it is computed for a candidate of the refinement, and kept
    searched: float  # the search looks at an entry of the block of the batch
    screened: float  # it looks at an entry of rows that are gathered from the block
    tried: float  # it looks at an entry of the block of candidates of a refinement
    begun: float  # a search begins, and reads an entry of a medoid
    swapped: float  # a medoid is replaced, and the nearest medoids of a point are updated


def measure_rates(space: Space, m: int, k: int, n_confirming: int, run: Run) -> Rates:
    """Measure on some rows how fast a fit of k medoids is, with m batch points and so many points that confirm."""
    widest = max(1, min(m, MOST_NUMBERS // max(1, space.rows.row_size)))
    longest = max(1, min(space.n, MOST_ENTRIES // widest))
    n_rows = n_points = 1
    while True:
        trial = Trial(space.choose(np.arange(n_rows)), n_points, n_confirming, k, run)
        kept = repeat(trial.keep)
        if kept > SECONDS_PER_RATE:
            kept = (kept + repeat(trial.keep)) / 2  # a busy machine may have interrupted a short trial
        if kept > SECONDS_PER_RATE or (n_rows, n_points) == (longest, widest):
            break
        # The first trials are tiny, because a function of two rows may be slow. Later ones have many rows for each
        # point, as a fit has, because points take time of their own.
        growth = 4 if n_rows < ROWS_PER_POINT * n_points else 2
        n_rows, n_points = min(longest, growth * n_rows), min(widest, 2 * n_points)
    return Rates(
        repeat(trial.keep, SECONDS_PER_RATE - 2 * kept, kept) / trial.n_entries,
        repeat(trial.compute, SECONDS_PER_RATE / 2) / trial.n_entries,
        repeat(trial.confirm, SECONDS_PER_RATE / 2) / trial.n_confirmed,
        *measure_search(space.n, m, k, n_confirming, run.n_jobs),
    )


class Trial:
    """All rows of a space compared with so many points, in each way in which a fit does it."""

    def __init__(self, space: Space, n_points: int, n_confirming: int, k: int, run: Run) -> None:
        self.n_entries, self._n_confirming = space.n * n_points, min(n_confirming, space.n * n_points)
        self._space, self._k, self._run = space, k, run.silent()
        self._points = np.resize(np.arange(space.n), n_points)

    @property
    def n_confirmed(self) -> int:
        """The number of dissimilarities that `confirm` computes."""
        return self.n_entries // self._n_confirming * self._n_confirming

    def keep(self) -> None:
        """Compute a block, and keep it in new memory, which the system takes time to provide."""
        self._scan(memory_limit=4 * self.n_entries)

    def compute(self) -> None:
        """Compute a block, but do not keep it."""
        self._scan(memory_limit=0)

    def _scan(self, memory_limit: int) -> None:
        m, first = len(self._points), 0
        scan = MemoryScan(self._space, m, self._k, memory_limit, self._run)
        for size in round_sizes("progressive", m, m + 1):
            scan.add(self._points[first : first + size])
            first += size

    def confirm(self) -> None:
        """Compute rows for candidates of a refinement, of which each has very many points."""
        points = np.resize(np.arange(self._space.n), self._n_confirming)
        candidates = np.resize(points, self.n_entries // len(points))
        distances = TransposedDistances(self._space, points, candidates, self._run.n_jobs)
        distances.fill(slice(0, distances.n_rows), np.empty((distances.n_rows, distances.n_columns), np.float32))


def measure_search(n: int, m: int, k: int, n_confirming: int, n_jobs: int) -> tuple[float, ...]:
    """Return the seconds per entry to search a block, to search rows gathered from it, and to try, begin and swap.

    The last three are for the points of a refinement, which are so many that what is known of them exceeds the caches.
    """
    m = min(m, SEARCHED_POINTS)
    block = SearchedBlock(max(2, min(n, SEARCHED_ENTRIES // m)), m, k)
    n_points = max(1, min(n_confirming, TRIED_ENTRIES // 2))
    few = SearchedBlock(max(2, TRIED_ENTRIES // n_points), n_points, k)
    return (block.time_search(n_jobs), block.time_gathered(n_jobs), few.time_search(n_jobs), *few.time_swaps())


class SearchedBlock:
    """A block of random entries with a search for k medoids, or for as many as there are rows.

    The time of a search depends on how many of the entries are below the second nearest of k medoids: a share of about
    2 / k for medoids at random, and half of that for good ones, whose entries are therefore halved here.
    """

    def __init__(self, n: int, m: int, k: int) -> None:
        self._block = WholeBlock(np.random.default_rng(0).random((n, m), np.float32))
        self._medoids, self._n_entries = np.arange(min(k, n - 1)), n * m
        self._search = self._begin()

    def _begin(self) -> _core.SwapSearch:
        block, medoids = self._block, self._medoids
        rows = block.rows(medoids)
        rows /= 2
        return _core.SwapSearch(block.n, medoids, rows, np.ones(block.m), 0.0, 0)

    def time_search(self, n_jobs: int) -> float:
        """Return the seconds to look at an entry."""
        return repeat(lambda: self._block.best_swaps(self._search, n_jobs), SECONDS_PER_RATE / 2) / self._n_entries

    def time_gathered(self, n_jobs: int) -> float:
        """Return the seconds to look at an entry of rows that are gathered from the block."""
        rows = self._block.subset(np.arange(self._block.n))
        return repeat(lambda: rows.best_swaps(self._search, n_jobs), SECONDS_PER_RATE / 2) / self._n_entries

    def time_swaps(self) -> tuple[float, float]:
        """Return the seconds to read an entry of a medoid when a search begins, and for a point when one is swapped."""
        k, m, search = len(self._medoids), self._block.m, self._begin()
        rows, swaps = self._block.rows(self._medoids) / 2, itertools.count()

        def swap() -> None:  # one medoid after the other, for a row that is a little nearer to all points
            number = next(swaps)
            rows[number % k] *= np.float32(0.999)
            search.try_candidates(np.array([(number - 1) % (k + 1)]), rows[number % k][np.newaxis])

        return repeat(self._begin, SECONDS_PER_RATE / 2) / (k * m), repeat(swap, SECONDS_PER_RATE / 4) / m


def repeat(work: Callable[[], object], seconds_left: float = 0.0, *known: float) -> float:
    """Do some work again and again for so many seconds, at least once unless a duration is known; return the median."""
    durations = list(known)
    while not durations or seconds_left > 0:
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
        seconds_left -= durations[-1]
    return float(np.median(durations))
