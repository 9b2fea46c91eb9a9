"""The result of `lower_bound`: the bound, the gap of a solution to it, and how both were found."""

from __future__ import annotations

import math
from dataclasses import dataclass

from onebatchpam._show import paragraph

# A gap below this is no more than the rounding of float32 that the bound allows for.
ROUNDING_GAP = 1e-6


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the objective of the best k medoids; it prints as a sentence.

    Attributes
    ----------
    bound : float
        No k rows have a smaller objective: certainly if `is_exact`, otherwise with probability `confidence`.
    objective : float
        Objective of the medoids that were judged: the weighted sum over all rows of the dissimilarity to the nearest
        one.
    is_exact : bool
        Whether the bound is proven. Otherwise it is statistical: it comes from a random sample of the rows.
    confidence : float or None
        Probability with which a statistical bound is true; None if the bound is exact.
    n_points : int
        Number of rows over which the bound was computed: all rows if the bound is exact, otherwise the distinct rows in
        the sample.
    n_rounds : int
        Number of passes over all candidates.
    n_iter : int
        Number of steps of the dual ascent between these passes.
    seconds : float
        Seconds taken.
    stopped_by : {"time_limit", "Ctrl-C"} or None
        Why the computation ended before it converged. The bound is valid all the same, but more time would raise it.
    """

    bound: float
    objective: float
    is_exact: bool
    confidence: float | None
    n_points: int
    n_rounds: int
    n_iter: int
    seconds: float
    stopped_by: str | None = None

    @property
    def gap(self) -> float:
        """The largest possible excess of the objective over the optimum, as a fraction of the bound."""
        if self.objective <= self.bound:
            return 0.0
        return self.objective / self.bound - 1 if self.bound > 0 else math.inf

    def __str__(self) -> str:
        if self.gap < ROUNDING_GAP:
            claim = "is optimal, up to rounding"
        elif math.isinf(self.gap):
            claim = "may be any distance above the optimum, because the bound is 0"
        else:
            claim = f"is at most {round_up(100 * self.gap)} % above the optimum"
        subject = "The" if self.confidence is None else f"With {100 * self.confidence:g} % confidence, the"
        stopped = "" if self.stopped_by is None else f" (stopped by {self.stopped_by})"
        return f"{subject} objective {self.objective:.6g} {claim}{stopped}."

    def _repr_html_(self) -> str:
        return paragraph(str(self))


def round_up(value: float) -> str:
    """Return a positive number with three significant digits, rounded up, because it stands after "at most"."""
    decimals = max(0, 2 - math.floor(math.log10(value)))
    return f"{math.ceil(value * 10**decimals) / 10**decimals:.{decimals}f}"
