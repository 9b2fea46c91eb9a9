"""The work of a fit of OneBatchPAM: how many dissimilarities and entries each stage computes or looks at.

The counts follow the code of the stages. How often a search passes over the candidates, and how many rounds its
refinement takes, depends on the data; the constants here are usual numbers, as `python -m bench estimate` finds them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from onebatchpam._parameters import Settings
from onebatchpam.algorithms.effort import CORE_PER_MEDOID, KICKS_OF_CORE, KICKS_PER_START, count_starts, has_core
from onebatchpam.algorithms.rates import Rates
from onebatchpam.batch import count_screened, resolve_batch_size, sample_size
from onebatchpam.blocks import choose_storage, count_mirrored
from onebatchpam.bounds import is_kept
from onebatchpam.metrics import Metric
from onebatchpam.search import (
    CANDIDATES_PER_MEDOID,
    GROUP_SIZE,
    GROUPS_OF_POINT,
    JUDGES_PER_CLUSTER,
    Confirming,
    count_confirming,
    count_drafted,
    count_kicked,
    count_refining,
    share_judged,
    starts_by_build,
)

# Passes over the candidates: of the search on the batch, of a round of refinement, and after a kick of a pool search.
USUAL_PASSES, PASSES_OF_ROUND, PASSES_OF_KICK = 3, 3, 2
# Swaps for each medoid, in the search on the batch and in a round of refinement; and for each medoid that is kicked.
SWAPS_OF_SEARCH, SWAPS_OF_ROUND, SWAPS_OF_KICK = 7, 0.4, 2
# Rounds of refinement in which all rows propose candidates. If a sample of points confirms swaps, there are rounds
# before in which only the points do so.
USUAL_ROUNDS, USUAL_ROUNDS_OF_POINTS = 2, 2
# The share of all candidates of a round that were not tried before, and of a refinement that is left to do after a
# pool search, which changes only some medoids.
SHARE_UNTRIED, SHARE_REFINED_AGAIN = 0.75, 1 / 3
# The share of the pool that is left when rows found by several starts count once, and of the kicks that are made
# before the search ends.
SHARE_OF_POOL, SHARE_OF_KICKS = 0.6, 2 / 3
# The Lagrangian dual passes so many times over all pairs of rows, which it keeps in memory if they fit.
PASSES_OF_CORE = 6


@dataclass(frozen=True)
class Work:
    """How many dissimilarities or entries of each kind of `Rates`."""

    kept: float = 0
    computed: float = 0
    confirmed: float = 0
    searched: float = 0
    screened: float = 0
    tried: float = 0
    begun: float = 0
    swapped: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Work)))

    def __mul__(self, times: float) -> Work:
        return Work(*(times * count for count in asdict(self).values()))

    @property
    def n_distances(self) -> float:
        return self.kept + self.computed + self.confirmed

    def seconds(self, rates: Rates) -> float:
        """Return how long the work takes at these rates."""
        return sum(count * getattr(rates, name) for name, count in asdict(self).items())


NOTHING = Work()


class FitWork:
    """The sizes of a fit to n rows, from which the work of each of its stages follows."""

    def __init__(self, n: int, metric: Metric, settings: Settings, *, is_cheap: bool) -> None:
        self.n, self.k, self._settings = n, settings.n_clusters, settings
        self._is_mirrored, self._is_cheap = metric.is_mirrored, is_cheap
        self.m = resolve_batch_size(settings.batch_size, n, self.k, metric, refined=settings.refine > 0)
        # All rows are searched unless they are very many.
        self.n_searched = sample_size(n, self.m, self.k, settings.refine)
        self.storage = self._choose_storage(self.n_searched, self.m, settings.memory_limit)
        self.n_passes = 1 if self.k == 1 else min(settings.max_iter, USUAL_PASSES)
        self.refining = count_refining(n, self.m, self.k)
        self.n_rounds = self._count_rounds(self.refining)
        is_build = isinstance(settings.init, str) and starts_by_build(settings.init, self.m, n)
        self.has_core = has_core(settings, n)
        self.n_starts = count_starts(
            settings, n, self.m, is_build=is_build, has_core=self.has_core, is_costly=metric.is_costly
        )

    def stages(self) -> dict[str, Work]:
        """Return the work of each stage; some of them may have nothing to do."""
        n, k = self.n, self.k
        is_assigned = (self.n_rounds > 0 and self.refining.n_points < n) or self.has_core
        n_assigned = self.n_starts if self.n_passes == 0 else 1  # all rows judge starts that no search has improved
        return {
            "sample": Work(computed=n * k) if self.n_searched < n else NOTHING,
            "distances": self._fill_block(),
            "swap search": self._search_batch() * self.n_starts,
            "refinement": self._refine_all(),
            "pool search": self._search_pool(),
            "core": self._find_core() if self.has_core else NOTHING,
            "assignment": NOTHING if is_assigned else Work(computed=n * k) * n_assigned,
        }

    def _choose_storage(self, n: int, m: int, memory_limit: int) -> str:
        return choose_storage(n, m, self.k, memory_limit, is_cheap=self._is_cheap)

    def _count_rounds(self, refining: Confirming) -> int:
        """Return the usual number of rounds of a refinement; a batch of all rows needs none."""
        usual = USUAL_ROUNDS + (0 if refining.n_points == self.n else USUAL_ROUNDS_OF_POINTS)
        return 0 if self.m == self.n else min(self._settings.refine, usual)

    def _refine_all(self) -> Work:
        """Return the work of all refinements: of each start, and of what a pool search or the core has led to."""
        whole = self._refine(self.refining)
        if self.has_core:
            return whole * (self.n_starts + 1)
        if self.n_starts == 1:
            return whole
        draft = count_refining(self.n, self.m, self.k, is_draft=True)
        again = SHARE_REFINED_AGAIN if draft == self.refining else 1
        return self._refine(draft) * self.n_starts + whole * again

    def _fill_block(self) -> Work:
        if self.storage != "whole":
            return Work(computed=self.n_searched * self.m)
        # Only half of a symmetric square block is computed.
        is_mirrored = self.m == self.n_searched and self._is_mirrored
        return Work(kept=count_mirrored(self.m) if is_mirrored else self.n_searched * self.m)

    def _search_batch(self) -> Work:
        entries = self.n_searched * self.m
        computed = {"whole": 0, "reduced": entries, "recomputed": self.n_passes * entries}[self.storage]
        swapped = SWAPS_OF_SEARCH * self.k * self.m
        return Work(computed=computed, searched=self.n_passes * entries, begun=self.k * self.m, swapped=swapped)

    def _refine(self, refining: Confirming) -> Work:
        """Return the work of one refinement."""
        n_rounds = self._count_rounds(refining)
        if n_rounds == 0:
            return NOTHING
        n, k, points = self.n, self.k, refining.n_points
        n_of_all = min(n_rounds, USUAL_ROUNDS)
        judged = n_of_all * n * share_judged(n) * min(JUDGES_PER_CLUSTER, points / k)
        # All rows are compared with the medoids to know the members of clusters, and the objectives before and after.
        labelled = 0 if points == n else n * k * (n_of_all + 2)
        contenders = int((1 + SHARE_UNTRIED * CANDIDATES_PER_MEDOID) * k)
        search = self._confirm(refining, contenders, 1, PASSES_OF_ROUND, SWAPS_OF_ROUND * k)
        state = Work(begun=k * points)  # each round finds the nearest medoids of all points
        compared = Work(confirmed=k * points)
        return (search + state + self._screen(points)) * n_rounds + compared + Work(computed=judged + labelled)

    def _screen(self, points: int) -> Work:
        """Return the work of the batch in a round of refinement, which looks for candidates among many rows."""
        n_screened = min(points, count_screened(self.n, self.n_searched))
        entries = n_screened * self.m
        if n_screened == self.n_searched == self.n and self.storage == "whole":
            return Work(searched=entries)
        is_kept = self.storage == "whole" and self.n_searched == self.n
        return Work(computed=0 if is_kept else entries, screened=entries)

    def _confirm(self, confirming: Confirming, contenders: int, n_searches: int, n_passes: int, n_swaps: float) -> Work:
        """Return the work to compare contenders, k medoids among them, with the points, and to search them.

        The numbers of passes and swaps are those of each search.
        """
        k, points = self.k, confirming.n_points
        if confirming.in_groups:  # a point is compared with the contenders of its groups, and with all medoids
            share = GROUP_SIZE * GROUPS_OF_POINT / k
            entries, begun, storage = share * contenders * points, share * k * points, "whole"
            filled = k * points + entries
        else:
            entries, begun, storage = contenders * points, k * points, self._storage_of_contenders(contenders, points)
            filled = (contenders - k) * points
        search = Work(tried=n_passes * entries, begun=begun, swapped=n_swaps * points)
        if storage == "whole":
            return Work(confirmed=filled) + search * n_searches
        n_computed = {"reduced": 1, "recomputed": n_passes}[storage] * entries + begun
        return (search + Work(confirmed=n_computed)) * n_searches

    def _storage_of_contenders(self, contenders: int, points: int) -> str:
        """Return how contenders x points are stored, with the memory that the block of the search has left."""
        block = {"whole": 4 * self.n_searched * self.m, "recomputed": 0}
        limit = self._settings.memory_limit
        return self._choose_storage(contenders, points, limit - block.get(self.storage, limit // 2))

    def _search_pool(self) -> Work:
        """Return the work of the search that combines what all starts have found, and the core."""
        n, k = self.n, self.k
        if k == 1 or self.n_passes == 0 or (self.n_starts == 1 and not self.has_core):
            return NOTHING
        found = k * self.n_starts * (1 if self.n_rounds == 0 else 2)  # medoids, and as many that came close
        found += CORE_PER_MEDOID * k * self.has_core
        n_kicks = KICKS_OF_CORE if self.has_core else self.n_starts * KICKS_PER_START
        pool = max(k + 1, int(SHARE_OF_POOL * found))
        most = count_drafted(k) if self._settings.refine else n
        confirming = count_confirming(n, self.m, k, pool, min(n, most))
        # All rows are compared with the medoids to know the objectives.
        labelled = n * k * (self.n_starts + (0 if confirming.n_points == n else 2))
        n_searches = 1 + int(SHARE_OF_KICKS * n_kicks)
        n_swaps = SWAPS_OF_KICK * count_kicked(k)
        searched = self._confirm(confirming, pool, n_searches, PASSES_OF_KICK, n_swaps)
        return searched + Work(computed=labelled, confirmed=k * confirming.n_points)

    def _find_core(self) -> Work:
        """Return the work of the Lagrangian dual; all pairs are known if all rows are the batch."""
        pairs = self.n**2
        if self.m == self.n and self.storage == "whole":
            return Work(tried=PASSES_OF_CORE * pairs)
        if is_kept(self.n, self.n, self._settings.memory_limit):
            return Work(kept=pairs, tried=(PASSES_OF_CORE - 1) * pairs)
        return Work(computed=PASSES_OF_CORE * pairs)
