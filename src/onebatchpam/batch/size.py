"""How many points the batch has: the rule of "auto", and the paper's Theorem 1 as a calculator."""

from __future__ import annotations

import math

from onebatchpam._parameters import check_flag, check_integer, check_not_negative
from onebatchpam.metrics import Metric

# The excess of the objective over FasterPAM's grows like k / m, so a batch has at least this many points per medoid.
BATCH_POINTS_PER_MEDOID = 10
# If there are fewer rows than this many times the batch points, all rows are the batch.
ALL_ROWS_BELOW = 4
# Refinement compares every row with about this many other rows for each medoid, and with some judges of its cluster.
REFINED_PER_MEDOID, REFINED_PER_ROW = 15, 100
# All rows are also the batch if n < 5 (m + 15 k), because comparing all pairs is then quicker than two refined starts;
# but only up to this many pairs, which take a gigabyte.
PAIRS_PER_REFINED, MOST_PAIRS = 5, 2**28


def batch_size(n: int, k: int, *, costly: bool = False, symmetric: bool = False, refined: bool = True) -> int:
    """Return the batch size that ``batch_size="auto"`` chooses.

    It is the paper's 100 ln(k n), but at least ten batch points per medoid. If n is less than four times this number,
    the batch size is n: the search is then that of FasterPAM. So it is if refinement would take longer than FasterPAM,
    which it does with n < 5 (m + 15 k), as long as all pairs of rows take at most a gigabyte (n <= 16,384).
    If dissimilarities are costly, only their number counts: the batch size is n if comparing all rows with each other
    takes no more of them than a batch and its refinement, about n (m + 15 k + 100).

    Parameters
    ----------
    n : int
        Number of rows.
    k : int
        Number of medoids.
    costly : bool, default=False
        Whether the dissimilarities take most of the time, as those of text and of functions of your own do.
    symmetric : bool, default=False
        Whether costly dissimilarities are computed in only one order where rows are compared with each other, as those
        of text are.
    refined : bool, default=True
        Whether the medoids are refined, which takes more time than the batch. If not, a batch is worth while earlier,
        and no dissimilarities count as costly.

    Returns
    -------
    int
        Number of batch points, m.

    Examples
    --------
    >>> from onebatchpam import batch_size
    >>> batch_size(60_000, 100)
    1561
    >>> batch_size(3000, 10), batch_size(3000, 10, costly=True)
    (3000, 1031)
    """
    n, k = check_integer(n, "n", at_least=1), check_integer(k, "k", at_least=1)
    costly, symmetric = check_flag(costly, "costly"), check_flag(symmetric, "symmetric")
    m = max(math.ceil(100 * math.log(k * n)), BATCH_POINTS_PER_MEDOID * k)
    if not check_flag(refined, "refined"):
        return n if n < ALL_ROWS_BELOW * m else m
    if costly:
        compared = n / 2 if symmetric else n  # how many rows a row is compared with if all are the batch
        return n if compared <= m + REFINED_PER_MEDOID * k + REFINED_PER_ROW else m
    is_slower = n < PAIRS_PER_REFINED * (m + REFINED_PER_MEDOID * k) and n * n <= MOST_PAIRS
    return n if n < ALL_ROWS_BELOW * m or is_slower else m


def check_batch_size(size: int | None, k: int) -> None:
    """Raise unless a batch of this size has a point for each of k medoids; None stands for "auto"."""
    if size is not None and size < k:
        raise ValueError(f"batch_size={size} is smaller than n_clusters={k}: expected 'auto' or at least {k}")


def resolve_batch_size(size: int | None, n: int, k: int, metric: Metric | None, *, refined: bool) -> int:
    """Return the number of batch points for n rows and k medoids; None stands for "auto".

    Without a metric, dissimilarities are not taken as costly.
    """
    if size is not None:
        return min(n, size)
    if metric is None:
        return batch_size(n, k, refined=refined)
    return batch_size(n, k, costly=metric.is_costly, symmetric=metric.is_mirrored, refined=refined)


def required_batch_size(n: int, *, diameter: float, gap: float, n_swaps: int, delta: float = 0.05) -> int:
    """Return the batch size with which OneBatchPAM provably returns FasterPAM's medoids.

    Theorem 1 of the paper: with a uniform batch of

    ::

        m >= 4 (D / Δ)² ln(2 T n / δ)

    points, all swaps are those of FasterPAM with probability at least 1 - delta. The bound is a worst case: two close
    candidates make the gap tiny and m larger than n, although choosing the wrong one of them costs next to nothing.
    See `batch_size` for a size that works in practice.

    Parameters
    ----------
    n : int
        Number of rows.
    diameter : float
        D, the largest dissimilarity between two rows.
    gap : float
        Delta, the smallest difference between the mean objectives of two sets of medoids that FasterPAM compares; in
        the unit of `diameter`.
    n_swaps : int
        T, the number of swaps that FasterPAM makes; usually a few times the number of medoids.
    delta : float, default=0.05
        Accepted probability that the medoids are not those of FasterPAM; at most 1.

    Returns
    -------
    int
        Number of batch points, m; possibly more than n.

    Examples
    --------
    >>> from onebatchpam import required_batch_size
    >>> required_batch_size(60_000, diameter=1.0, gap=0.1, n_swaps=100)
    7719
    """
    n, n_swaps = check_integer(n, "n", at_least=1), check_integer(n_swaps, "n_swaps", at_least=1)
    if check_not_negative(gap, "gap") == 0:
        raise ValueError(f"gap={gap!r}: expected a positive number, because no batch size suffices for gap 0")
    if not 0 < check_not_negative(delta, "delta") <= 1:
        raise ValueError(f"delta={delta!r}: expected a probability greater than 0 and at most 1")
    ratio = check_not_negative(diameter, "diameter") / float(gap)
    try:
        return math.ceil(4 * ratio**2 * (math.log(2 * n_swaps * n) - math.log(delta)))
    except OverflowError:
        raise ValueError(
            f"diameter={diameter!r} and gap={gap!r}: expected a larger gap, because no float holds this batch size"
        ) from None
