"""The batch: how large, and which points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._draws import Batch, sample_by_odds, sample_by_weight
from onebatchpam._parameters import check_integer, check_not_negative
from onebatchpam._progress import Stages
from onebatchpam.metrics import check_distances
from onebatchpam.space import Space

# The excess over FasterPAM grows like k / m: a batch of fewer points per medoid than this estimates little.
BATCH_POINTS_PER_MEDOID = 10

ALL_ROWS_BELOW = 4

# Half of a progressive batch is drawn uniformly, the other half in this many rounds.
PROGRESSIVE_ROUNDS = 4


def batch_size(n: int, k: int) -> int:
    """Return the batch size that ``batch_size="auto"`` chooses.

    The paper's 100 ln(k n), but no fewer than ten batch points per medoid; and all n rows if that is less than four
    times as many, because then refinement would cost as much as FasterPAM itself, which a batch of all rows is.

    Parameters
    ----------
    n : int
        Number of rows.
    k : int
        Number of medoids.

    Examples
    --------
    >>> from onebatchpam import batch_size
    >>> batch_size(60_000, 100)
    1561
    """
    n, k = check_integer(n, "n", at_least=1), check_integer(k, "k", at_least=1)
    m = max(math.ceil(100 * math.log(k * n)), BATCH_POINTS_PER_MEDOID * k)
    return n if n < ALL_ROWS_BELOW * m else m


def resolve_batch_size(size: Any, n: int, k: int) -> int:
    """Return the number of batch points for the `batch_size` parameter of an estimator."""
    if isinstance(size, str) and size == "auto":
        return batch_size(n, k)
    if isinstance(size, str):
        raise ValueError(f"batch_size={size!r}: expected 'auto' or an integer")
    m = min(n, check_integer(size, "batch_size", at_least=1))
    if m < k:
        raise ValueError(f"batch_size={m} is smaller than n_clusters={k}: expected at least one batch point per medoid")
    return m


def required_batch_size(n: int, *, diameter: float, gap: float, n_swaps: int, delta: float = 0.05) -> int:
    r"""Return the batch size with which OneBatchPAM provably returns FasterPAM's medoids.

    Theorem 1 of the paper: with a uniform batch of

    .. math:: m \ge \frac{4 D^2}{\Delta^2} \ln \frac{2 T n}{\delta}

    points all swaps are those of FasterPAM with probability at least 1 - delta. The bound is a worst case: two close
    candidates make the gap tiny and m larger than n, although choosing the wrong one of them costs next to nothing.
    For practice see `batch_size`.

    Parameters
    ----------
    n : int
        Number of rows.
    diameter : float
        D, the largest dissimilarity between two rows.
    gap : float
        Delta, the smallest difference between the mean objectives of two medoid sets that FasterPAM compares; in
        the unit of `diameter`.
    n_swaps : int
        T, the number of swaps; a few times the number of medoids.
    delta : float, default=0.05
        Accepted probability of another result.

    Examples
    --------
    >>> from onebatchpam import required_batch_size
    >>> required_batch_size(60_000, diameter=1.0, gap=0.1, n_swaps=100)
    7719
    """
    n, n_swaps = check_integer(n, "n", at_least=1), check_integer(n_swaps, "n_swaps", at_least=1)
    diameter, gap = check_not_negative(diameter, "diameter"), check_not_negative(gap, "gap")
    if gap == 0:
        raise ValueError("gap=0: no batch size suffices; expected a positive difference of objectives")
    if not 0 < check_not_negative(delta, "delta") <= 1:
        raise ValueError(f"delta={delta!r}: expected a probability in (0, 1]")
    return math.ceil(4 * (diameter / gap) ** 2 * math.log(2 * n_swaps * n / delta))


VARIANTS = ("progressive", "nniw", "debias", "unif", "lwcs")


def round_sizes(variant: str, m: int, n: int) -> list[int]:
    """Return how many batch points to draw at once: all of them unless the batch is progressive."""
    if variant != "progressive" or m == n:
        return [m]
    first = m - m // 2
    cuts = first + np.arange(PROGRESSIVE_ROUNDS + 1) * (m - first) // PROGRESSIVE_ROUNDS
    return [first, *(size for size in np.diff(cuts).tolist() if size)]


def sample_batch(space: Space, m: int, variant: str, rng: np.random.RandomState, stages: Stages) -> Batch:
    """Draw the batch, or the first points of a progressive one, as the variant says; all rows, in order, when m = n."""
    if variant == "lwcs" and m < space.n:
        return sample_lightweight_coreset(space, m, rng, stages)
    return sample_by_weight(space.weights, m, rng)


def extend_batch(
    batch: Batch,
    size: int,
    distances: NDArray[np.float32],
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
) -> Batch:
    """Add rows drawn with probability proportional to weight times distance to the batch so far.

    Far small groups, which a uniform batch passes over, are drawn sooner or later.
    """
    odds = distances * weights
    odds[batch.indices] = 0
    drawn = sample_by_odds(odds, size, rng, exclude=batch.indices)
    return Batch.unweighted(np.concatenate([batch.indices, drawn]))


def sample_lightweight_coreset(space: Space, m: int, rng: np.random.RandomState, stages: Stages) -> Batch:
    """Draw m rows with probability q, half by weight and half by weight times distance to the mean.

    Rows are drawn with replacement, for which their weight divided by m q is unbiased; a row drawn twice is kept once
    with twice the weight.
    """
    with stages.stage("distances to the mean"):
        distances = space.distances_to_mean().astype(np.float64)
    check_distances(distances, 0)
    shares = space.weights / space.weights.sum()
    far = distances * shares if distances.any() else shares
    q = 0.5 * shares + 0.5 * far / far.sum()
    drawn, counts = np.unique(rng.choice(space.n, size=m, p=q / q.sum()), return_counts=True)
    weights = counts * shares[drawn] / q[drawn]
    return Batch(drawn.astype(np.int64), weights * (space.weights.mean() / weights.mean()))
