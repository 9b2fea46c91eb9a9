"""What a fit of OneBatchPAM will cost: how many dissimilarities, how much memory, about how many seconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onebatchpam._parameters import Settings, check_integer, describe, is_integer
from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam._show import Items, Listing, show_bytes, show_count, show_seconds, show_share
from onebatchpam.algorithms.effort import EFFORTS, KICKS_PER_START, MOST_ROWS_FOR_CORE, count_starts
from onebatchpam.algorithms.rates import Rates, measure_rates
from onebatchpam.answers import STORAGES
from onebatchpam.batch import count_screened, resolve_batch_size, sample_size
from onebatchpam.blocks import affordable_rank, choose_storage, count_mirrored
from onebatchpam.bounds import is_kept
from onebatchpam.data import Rows
from onebatchpam.metrics import MetricLike, tags_of
from onebatchpam.search import (
    CANDIDATES_PER_MEDOID,
    GROUP_SIZE,
    GROUPS_OF_POINT,
    JUDGES_PER_CLUSTER,
    MOST_ENTRIES_OF_GROUP,
    count_confirming,
    count_refining,
    share_judged,
    starts_by_build,
)
from onebatchpam.space import Space

# How often a search passes over the candidates, and how many rounds its refinement takes, depends on the data; these
# are usual numbers. If a sample of points confirms swaps, the points alone propose candidates in most rounds, and all
# rows in the last ones.
USUAL_PASSES = 3
USUAL_ROUNDS, USUAL_ROUNDS_OF_ALL = 3, 2
# The Lagrangian dual passes so many times over all pairs of rows, which it keeps in memory if they fit.
PASSES_OF_CORE = 6
# The swap search passes over the candidates of a round so many times.
PASSES_OF_ROUND = 3
SAMPLE_ROWS = 20_000  # at most so many rows are used to measure speed
SAMPLE_ENTRIES = 2**24  # and so many numbers in all
MOST_ROWS, MOST_FEATURES = 10**15, 10**8  # for which a cost can be estimated
DTYPES = ("float64", "float32", "uint8")
BYTES_OF_ROW, BYTES_OF_TILES = 48, 40_000_000  # see "Peak memory" in docs/large_data.md


@dataclass(frozen=True, repr=False)
class CostEstimate(Listing):
    """What a fit will cost, the result of `estimate_cost`; it prints as a list.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    n_searched : int
        Number of rows that the batch search runs on: all rows, or a sample of them.
    n_clusters : int
        Number of medoids.
    metric : str
        Dissimilarity; the name of the function if it is one.
    batch_size : int
        Number of batch points, m.
    block_storage : {"whole", "reduced", "recomputed"}
        How much of the block of n x m dissimilarities will be kept, with the memory that is free now or `memory_limit`.
    block_bytes : int
        Size of the whole block.
    memory_bytes : int
        Memory that the fit takes at most beyond X.
    n_distances : int
        About how many dissimilarities will be computed.
    share_of_all_pairs : float
        These as a fraction of the n² that PAM computes.
    n_passes : int
        Number of passes of the search over all candidates that was assumed.
    n_refine_rounds : int
        Number of rounds of refinement that was assumed.
    n_jobs : int
        Number of threads.
    seconds : dict
        Seconds of each stage, from a short measurement on this machine.
    """

    n_samples: int
    n_searched: int
    n_clusters: int
    metric: str
    batch_size: int
    block_storage: str
    block_bytes: int
    memory_bytes: int
    n_distances: int
    share_of_all_pairs: float
    n_passes: int
    n_refine_rounds: int
    n_jobs: int
    seconds: dict[str, float]

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of numbers and texts, ready for JSON."""
        return {**asdict(self), "total_seconds": self.total_seconds}

    def _items(self) -> Items:
        n, m, share = self.n_samples, self.batch_size, show_share(self.share_of_all_pairs)
        return [
            ("rows n, medoids k", f"{n:,}, {self.n_clusters:,}; metric {self.metric}"),
            ("batch points m", f"{m:,}{' (all rows)' if m == n else ''}"),
            ("rows searched", f"{self.n_searched:,}{' (all rows)' if self.n_searched == n else ' (a sample)'}"),
            ("block", f"{show_bytes(self.block_bytes)}, {STORAGES[self.block_storage]}"),
            ("memory beyond X", f"at most {show_bytes(self.memory_bytes)}"),
            ("distances", f"about {show_count(self.n_distances)}, {share} of the n² of PAM"),
            ("seconds", f"about {show_seconds(self.total_seconds)} with {self.n_jobs} threads"),
            *((f"  {name}", show_seconds(seconds)) for name, seconds in self.seconds.items()),
        ]

    def _note(self) -> str:
        rounds = f" and {self.n_refine_rounds} rounds of refinement" if self.n_refine_rounds else ""
        return (
            f"Measured just now on this machine, for {self.n_passes} passes of the search{rounds}; "
            "how many a fit takes depends on the data."
        )


@dataclass(frozen=True)
class Stage:
    """The work of a stage: how many dissimilarities or entries of each kind of `Rates`."""

    kept: float = 0
    computed: float = 0
    confirmed: float = 0
    searched: float = 0

    @property
    def n_distances(self) -> float:
        return self.kept + self.computed + self.confirmed

    def seconds(self, rates: Rates) -> float:
        """Return how long the work takes at these rates."""
        return sum(count * getattr(rates, name) for name, count in asdict(self).items())


def estimate(space: Space, n: int, metric: MetricLike, settings: Settings) -> CostEstimate:
    """Estimate the cost of a fit to n rows, of which some or all are in the space."""
    k = settings.n_clusters
    m = resolve_batch_size(settings.batch_size, n, k, space.metric, refined=settings.refine > 0)
    first = np.zeros(1, np.int64)
    is_cheap = space.distances_to(first, first).is_cheap
    n_searched = sample_size(n, m, k, settings.refine)  # rows, of which all are searched unless they are very many
    storage = choose_storage(n_searched, m, k, settings.memory_limit, is_cheap=is_cheap)
    n_passes, n_rounds = count_passes(settings), count_rounds(n, m, settings)
    is_build = isinstance(settings.init, str) and starts_by_build(settings.init, m, n)
    n_starts = count_starts(settings, n, m, is_build=is_build)
    has_core = EFFORTS[settings.effort].uses_core and n <= MOST_ROWS_FOR_CORE
    of_block = count_of_block(space, n_searched, m)
    stages = {
        "sample": Stage(computed=n * k) if n_searched < n else Stage(),
        "distances": Stage(kept=of_block) if storage == "whole" else Stage(computed=n_searched * m),
        "swap search": search_work(n_searched, m, n_passes, storage, n_starts),
        "refinement": refinement_work(n, m, k, n_searched, n_rounds, storage, n_starts),
        "pool search": pool_work(n, m, k, n_starts, n_rounds),
        "core": core_work(n, settings.memory_limit) if has_core else Stage(),
        "assignment": Stage() if is_assigned(n, m, k, n_rounds) or has_core else Stage(computed=n * k),
    }
    run = Run(settings.n_jobs, settings.random_state, Stages())
    rates = measure_rates(space.choose(choose_sample(space)), m, k, run)
    n_distances = int(sum(stage.n_distances for stage in stages.values()))
    return CostEstimate(
        n_samples=n,
        n_searched=n_searched,
        n_clusters=k,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "function"),
        batch_size=m,
        block_storage=storage,
        block_bytes=4 * n_searched * m,
        memory_bytes=count_bytes(n, m, k, n_searched, space.rows, storage, settings.memory_limit, n_rounds)
        + (4 * n * n if has_core and is_kept(n, n, settings.memory_limit) else 0),
        n_distances=n_distances,
        share_of_all_pairs=n_distances / n**2,
        n_passes=n_passes,
        n_refine_rounds=n_rounds,
        n_jobs=settings.n_jobs,
        seconds={name: stage.seconds(rates) for name, stage in stages.items() if stage != Stage()},
    )


def count_of_block(space: Space, n: int, m: int) -> int:
    """Return how many dissimilarities of a whole block are computed; of a symmetric square one, about half."""
    return count_mirrored(n) if m == n and space.metric.is_mirrored else n * m


def count_passes(settings: Settings) -> int:
    """Return the usual number of passes of the search; the best single medoid is found in one."""
    return 1 if settings.n_clusters == 1 else min(settings.max_iter, USUAL_PASSES)


def count_rounds(n: int, m: int, settings: Settings) -> int:
    """Return the usual number of rounds of refinement; a batch of all rows needs none."""
    return 0 if m == n else min(settings.refine, USUAL_ROUNDS)


def is_assigned(n: int, m: int, k: int, n_rounds: int) -> bool:
    """Tell whether refinement has assigned all rows already, to compare objectives."""
    return n_rounds > 0 and count_refining(n, m, k).n_points < n


def search_work(n: int, m: int, n_passes: int, storage: str, n_starts: int) -> Stage:
    """Return the work of the swap search among n candidates."""
    swept = m * n * n_passes
    computed = {"whole": 0, "reduced": n * m, "recomputed": swept}[storage]
    return Stage(computed=computed * n_starts, searched=swept * n_starts)


def refinement_work(n: int, m: int, k: int, n_searched: int, n_rounds: int, storage: str, n_starts: int) -> Stage:
    """Return the work of refinement; with several starts, what is new in the best result is refined once more."""
    if n_rounds == 0:
        return Stage()
    confirming = count_refining(n, m, k)
    points = confirming.n_points
    # A point is compared with the candidates of all medoids, or with those of its groups.
    compared = GROUP_SIZE * GROUPS_OF_POINT if confirming.in_groups else k
    candidates = n_rounds * CANDIDATES_PER_MEDOID * compared
    n_of_all = n_rounds if points == n else min(n_rounds, USUAL_ROUNDS_OF_ALL)
    judged = n_of_all * n * share_judged(n) * min(JUDGES_PER_CLUSTER, points / k)
    labelled = 0 if points == n else n * k * (n_of_all + 2)  # for members, and for the objectives before and after
    screened = n_rounds * min(points, count_screened(n, n_searched)) * m
    confirmed = (k + candidates) * points
    computed = judged + labelled + (screened if storage == "recomputed" or n_searched < n else 0)
    searched = screened + PASSES_OF_ROUND * confirmed
    n_times = n_starts + (n_starts > 1) / 2  # what a pool search has found is refined once more
    return Stage(computed=computed * n_times, confirmed=confirmed * n_times, searched=searched * n_times)


def pool_work(n: int, m: int, k: int, n_starts: int, n_rounds: int) -> Stage:
    """Return the work of the search that combines what all starts have found."""
    if n_starts == 1 or k == 1:
        return Stage()
    pool = k * n_starts * (1 if n_rounds == 0 else 2)  # the medoids, and as many that came close in a refinement
    points = count_confirming(n, m, k, pool, n).n_points
    labelled = n * k * (n_starts + (0 if points == n else 2))  # the objectives of all starts, and of the result
    return Stage(computed=labelled, confirmed=pool * points, searched=n_starts * KICKS_PER_START * pool * points)


def core_work(n: int, memory_limit: int) -> Stage:
    """Return the work of the Lagrangian dual."""
    if is_kept(n, n, memory_limit):
        return Stage(kept=n * n, searched=(PASSES_OF_CORE - 1) * n * n)
    return Stage(computed=PASSES_OF_CORE * n * n)


def count_bytes(
    n: int, m: int, k: int, n_searched: int, rows: Rows, storage: str, memory_limit: int, n_rounds: int
) -> int:
    """Return the memory that a fit takes at most beyond X, by the formulas of docs/large_data.md."""
    kept = {"whole": 4 * n_searched * m, "recomputed": 0}.get(storage)
    if kept is None:
        rank = affordable_rank(n_searched, m, k, memory_limit)
        kept = min(memory_limit, int(6 * n_searched * m * rank / (k + 1)))
    if n_searched < n:
        kept += n_searched * rows.row_size * rows.dtype.itemsize
    points = count_refining(n, m, k).n_points if n_rounds else 0
    if n_rounds and count_refining(n, m, k).in_groups:
        entries = MOST_ENTRIES_OF_GROUP  # the candidates of one group at a time
    else:
        entries = (1 + CANDIDATES_PER_MEDOID) * k * points
    candidates = min(4 * entries, max(memory_limit - kept, 1024 * points))
    return BYTES_OF_ROW * n + m * (4 * k + 8 * rows.row_size) + BYTES_OF_TILES + kept + 16 * k * points + candidates


def choose_sample(space: Space) -> NDArray[np.int64]:
    """Return the indices of some rows of a space, spread over all of them."""
    size = max(1, min(space.n, SAMPLE_ROWS, SAMPLE_ENTRIES // max(1, space.rows.row_size)))
    return np.linspace(0, space.n - 1, size).astype(np.int64)


def is_shape(X: Any) -> bool:
    """Tell whether X is not a data set, but its numbers of rows and features."""
    return isinstance(X, tuple) and len(X) == 2 and all(map(is_integer, X))


def check_shape(n: Any, n_features: Any, *, is_needed: bool) -> tuple[int, int]:
    """Check the numbers of rows and of features, and return them; that of features may be None if it is not needed."""
    n = check_integer(n, "n_samples", at_least=1, at_most=MOST_ROWS)
    if n_features is None and not is_needed:
        return n, 1
    return n, check_integer(n_features, "n_features", at_least=1, at_most=MOST_FEATURES)


def check_dtype(dtype: Any, name: str = "dtype") -> np.dtype[Any]:
    """Check the type of numbers, given by its name or as NumPy's type, and return it."""
    try:
        known = None if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        known = None
    if known is None or known.name not in DTYPES:
        raise ValueError(f"{describe(dtype, name)}: expected one of {', '.join(map(repr, DTYPES))}")
    return known


def make_rows(n: int, n_features: int, dtype: np.dtype[Any], metric: MetricLike) -> ArrayLike:
    """Return random rows to measure the speed of a metric, or random dissimilarities if they are precomputed."""
    tags, rng = tags_of(metric), np.random.RandomState(0)
    if tags.takes_only_text or not isinstance(metric, str):
        raise ValueError(
            f"how long {describe(metric, 'metric')} takes depends on the rows: expected some of them, as in "
            "estimate_cost(..., sample=rows) or model.estimate_cost(X)"
        )
    size = max(2, min(n, SAMPLE_ROWS, SAMPLE_ENTRIES // n_features))
    if tags.is_pairwise:
        size = max(2, min(n, int(SAMPLE_ENTRIES**0.5)))
        matrix = rng.random_sample((size, size)).astype(np.float32 if dtype == np.uint8 else dtype)
        matrix += matrix.T
        np.fill_diagonal(matrix, 0)
        return matrix
    if dtype == np.uint8:
        return rng.randint(0, 256, (size, n_features), dtype)
    return rng.random_sample((size, n_features)).astype(dtype)
