"""How fast this machine is: a moment of the work of a fit, on some rows of the data, timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onebatchpam import _core
from onebatchpam._run import Run
from onebatchpam.batch import MemoryScan, round_sizes
from onebatchpam.blocks import WholeBlock
from onebatchpam.search import TransposedDistances
from onebatchpam.space import Space

# Trials grow until one takes so long, or until they are as large as the data: short ones mostly measure how long it
# takes to begin, and to wake threads.
SECONDS_PER_RATE = 0.25
# The measured block has at most this many entries (128 MB), and its points have at most so many numbers.
MOST_ENTRIES, MOST_NUMBERS = 2**25, 2**24
# The search looks at at most this many random entries, for so many points.
SEARCHED_ENTRIES, SEARCHED_POINTS = 2**22, 2**12
ROWS_PER_POINT = 16


@dataclass(frozen=True)
class Rates:
    """Seconds for one dissimilarity or entry, by what is done with it."""

    kept: float  # computed, and kept in the block
    computed: float  # computed, and used at once
    confirmed: float  # computed for a candidate of the refinement, and kept
    searched: float  # looked at by the search


def measure_rates(space: Space, m: int, k: int, run: Run) -> Rates:
    """Measure on some rows of the data how fast a search for k medoids with m batch points will be."""
    widest = max(1, min(m, MOST_NUMBERS // max(1, space.rows.row_size)))
    longest = max(1, min(space.n, MOST_ENTRIES // widest))
    n_rows = n_points = 1
    while True:
        trial = Trial(space.choose(np.arange(n_rows)), n_points, k, run)
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
        repeat(trial.confirm, SECONDS_PER_RATE / 2) / trial.n_entries,
        measure_search(space.n, m, k, run.n_jobs),
    )


class Trial:
    """All rows of a space compared with so many points, in each way in which a fit does it."""

    def __init__(self, space: Space, n_points: int, k: int, run: Run) -> None:
        self.n_entries = space.n * n_points
        self._space, self._k, self._run = space, k, run.silent()
        self._points = np.resize(np.arange(space.n), n_points)

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
        """Compute a row for each point, as for the candidates of a refinement."""
        distances = TransposedDistances(self._space, np.arange(self._space.n), self._points, self._run.n_jobs)
        distances.fill(slice(0, distances.n_rows), np.empty((distances.n_rows, distances.n_columns), np.float32))


def measure_search(n: int, m: int, k: int, n_jobs: int) -> float:
    """Return the seconds per entry that the search takes to look at a block of random entries.

    The time depends on how many of them are below the second nearest of k medoids: a share of about 2 / k for medoids
    at random, and half of that for good ones, whose entries are therefore halved here.
    """
    m = min(m, SEARCHED_POINTS)
    n = max(2, min(n, SEARCHED_ENTRIES // m))
    block = WholeBlock(np.random.RandomState(0).random_sample((n, m)).astype(np.float32))
    medoids = np.arange(min(k, n))
    search = _core.SwapSearch(n, medoids, block.rows(medoids) / np.float32(2), np.ones(m), 0.0, 0)
    return repeat(lambda: block.best_swaps(search, n_jobs), SECONDS_PER_RATE) / (n * m)


def repeat(work: Callable[[], object], seconds_left: float = 0.0, *known: float) -> float:
    """Do some work again and again for so many seconds, at least once unless a duration is known; return the median."""
    durations = list(known)
    while not durations or seconds_left > 0:
        started = time.perf_counter()
        work()
        durations.append(time.perf_counter() - started)
        seconds_left -= durations[-1]
    return float(np.median(durations))
