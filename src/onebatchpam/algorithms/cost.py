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
from onebatchpam.algorithms.rates import measure_rates
from onebatchpam.algorithms.work import NOTHING, FitWork
from onebatchpam.answers import STORAGES
from onebatchpam.blocks import affordable_rank
from onebatchpam.bounds import is_kept
from onebatchpam.data import Rows
from onebatchpam.metrics import MetricLike, name_metric, tags_of
from onebatchpam.search import CANDIDATES_PER_MEDOID, MOST_ENTRIES_OF_GROUP
from onebatchpam.space import Space

# Speed is measured on at most so many rows, which have at most so many numbers in all.
SAMPLE_ROWS, SAMPLE_ENTRIES = 20_000, 2**24
MOST_ROWS, MOST_FEATURES = 10**15, 10**8  # a cost can be estimated up to here
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


def estimate(space: Space, n: int, metric: MetricLike, settings: Settings) -> CostEstimate:
    """Estimate the cost of a fit to n rows, of which some or all are in the space."""
    fit = FitWork(n, space.metric, settings, is_cheap=space.is_cheap)
    stages = {name: work for name, work in fit.stages().items() if work != NOTHING}
    run = Run(settings.n_jobs, settings.random_state, Stages())
    rates = measure_rates(space.choose(choose_sample(space)), fit.m, fit.k, fit.refining.n_points, run)
    n_distances = int(sum(work.n_distances for work in stages.values()))
    core_bytes = 4 * n * n if fit.has_core and fit.m < n and is_kept(n, n, settings.memory_limit) else 0
    return CostEstimate(
        n_samples=n,
        n_searched=fit.n_searched,
        n_clusters=fit.k,
        metric=name_metric(metric),
        batch_size=fit.m,
        block_storage=fit.storage,
        block_bytes=4 * fit.n_searched * fit.m,
        memory_bytes=count_bytes(fit, space.rows, settings.memory_limit) + core_bytes,
        n_distances=n_distances,
        share_of_all_pairs=n_distances / n**2,
        n_passes=fit.n_passes,
        n_refine_rounds=fit.n_rounds,
        n_jobs=settings.n_jobs,
        seconds={name: work.seconds(rates) for name, work in stages.items()},
    )


def count_bytes(fit: FitWork, rows: Rows, memory_limit: int) -> int:
    """Return the memory that a fit takes at most beyond X, by the formulas of docs/large_data.md."""
    n, m, k, n_searched = fit.n, fit.m, fit.k, fit.n_searched
    kept = {"whole": 4 * n_searched * m, "recomputed": 0}.get(fit.storage)
    if kept is None:
        rank = affordable_rank(n_searched, m, k, memory_limit)
        kept = min(memory_limit, int(6 * n_searched * m * rank / (k + 1)))
    if n_searched < n:
        kept += n_searched * rows.row_size * rows.dtype.itemsize
    points = fit.refining.n_points if fit.n_rounds else 0
    if fit.n_rounds and fit.refining.in_groups:
        entries = MOST_ENTRIES_OF_GROUP  # one group of candidates is in memory at a time
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


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Check the type of numbers, given by its name or as NumPy's type, and return it."""
    try:
        known = None if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        known = None
    if known is None or known.name not in DTYPES:
        raise ValueError(f"{describe(dtype, 'dtype')}: expected one of {', '.join(map(repr, DTYPES))}")
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
