"""How large the batch is: the rule, and the paper's Theorem 1 as a calculator."""

from __future__ import annotations

import math
from typing import Any

from onebatchpam._parameters import check_integer, check_not_negative

# The excess over FasterPAM grows like k / m: with fewer batch points per medoid than this, gains are estimated badly.
BATCH_POINTS_PER_MEDOID = 10
# All rows are the batch if they are fewer than this many times the batch points.
ALL_ROWS_BELOW = 4


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


def check_batch_size(size: Any, name: str) -> int | None:
    """Return the `batch_size` parameter of an estimator; None for "auto"."""
    if isinstance(size, str) and size == "auto":
        return None
    if isinstance(size, str):
        raise ValueError(f"{name}={size!r}: expected 'auto' or an integer")
    return check_integer(size, name, at_least=1)


def resolve_batch_size(size: int | None, n: int, k: int) -> int:
    """Return the number of batch points for n rows and k medoids."""
    if size is None:
        return batch_size(n, k)
    m = min(n, size)
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
