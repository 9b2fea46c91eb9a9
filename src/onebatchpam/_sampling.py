"""The batch: how large, and which points."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.random import sample_without_replacement

from onebatchpam._distances import Space, VectorSpace
from onebatchpam._metrics import compute_dtype
from onebatchpam._objects import has_features
from onebatchpam._progress import Stages
from onebatchpam._tiles import only_column
from onebatchpam._validation import check_distances, check_integer, check_not_negative

# The excess over FasterPAM grows like k / m: a batch of fewer points per medoid than this estimates little.
BATCH_POINTS_PER_MEDOID = 10


@dataclass(frozen=True)
class Batch:
    """Reference points, with the weights that their sampling calls for."""

    indices: NDArray[np.int64]
    weights: NDArray[np.float64]

    @classmethod
    def unweighted(cls, indices: NDArray[np.int64]) -> Batch:
        return cls(indices, np.ones(len(indices)))


def batch_size(n: int, k: int) -> int:
    """Return the batch size that ``batch_size="auto"`` chooses.

    The paper's 100 ln(k n), but no fewer than ten batch points per medoid and no more than n.

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
    return min(n, max(math.ceil(100 * math.log(k * n)), BATCH_POINTS_PER_MEDOID * k))


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


VARIANTS = ("nniw", "debias", "unif", "lwcs")


def sample_batch(space: Space, m: int, variant: str, rng: np.random.RandomState, stages: Stages) -> Batch:
    """Draw the batch as the variant says; all rows, in order, when m = n."""
    if m == space.n:
        return Batch.unweighted(np.arange(space.n))
    if variant == "lwcs":
        return sample_lightweight_coreset(space, m, rng, stages)
    return sample_uniform(space.n, m, rng)


def sample_uniform(n: int, m: int, rng: np.random.RandomState) -> Batch:
    """Draw m of n rows, each set of m equally likely."""
    drawn = np.sort(sample_without_replacement(n, m, random_state=rng))
    return Batch.unweighted(drawn.astype(np.int64))


def mean_of_rows(X: NDArray[Any], *, skip_nan: bool) -> NDArray[np.float64]:
    """Return the mean as an array of one row."""
    if not skip_nan:
        return np.mean(X, axis=0, dtype=np.float64, keepdims=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)  # a feature that no row has
        return np.nanmean(X, axis=0, dtype=np.float64, keepdims=True)


def sample_lightweight_coreset(space: Space, m: int, rng: np.random.RandomState, stages: Stages) -> Batch:
    """Draw m rows with probability q, half uniform and half by the distance to the mean; weight 1 / (m q).

    Rows are drawn with replacement, for which these weights are unbiased; a row drawn twice is kept once with
    twice the weight.
    """
    if not isinstance(space, VectorSpace):
        raise ValueError("variant='lwcs' needs the mean of the rows: it does not work with metric='precomputed'")
    if not has_features(space.X) or space.X.dtype == object:
        raise ValueError("variant='lwcs' needs the mean of the rows: strings and other objects have none")
    mean = mean_of_rows(space.X, skip_nan=space.metric.allows_nan)
    columns = space.to_rows(mean.astype(compute_dtype(space.X.dtype, np.dtype(np.float32))))
    with stages.stage("distances to the mean"):
        distances = only_column(columns).astype(np.float64)
    check_distances(distances, 0)
    far = distances / distances.sum() if distances.any() else np.full(space.n, 1 / space.n)
    q = 0.5 / space.n + 0.5 * far
    drawn, counts = np.unique(rng.choice(space.n, size=m, p=q / q.sum()), return_counts=True)
    weights = counts / (m * q[drawn])
    return Batch(drawn.astype(np.int64), weights / weights.mean())
