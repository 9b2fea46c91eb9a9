"""Which errors a case may raise: those that the documentation names, for a reason that the case has."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from bench.fuzz.case import Case

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = 1e-12  # dissimilarities below it may be too small for float32, or for squares in float32


def _has_bad_distances(case: Case) -> bool:
    """Tell whether a dissimilarity is negative, not a number, or near or above the largest float32."""
    distances = case.distances
    return not bool(np.all((distances >= 0) & (distances < LARGEST / 2)))


def _may_be_singular(case: Case) -> bool:
    """Tell whether the covariance of the rows is learnt, and hardly has an inverse."""
    if case.drawn.name != "mahalanobis" or case.drawn.params:
        return False
    present = np.asarray(case.data.plain, np.float64)[case.weights > 0]
    return bool(np.linalg.cond(np.atleast_2d(np.cov(present.T))) > 1e12)


def _has_infinite_squares(case: Case) -> bool:
    """Tell whether the metric squares rows, of which some are too large for that even where they are close."""
    if case.drawn.name != "nan_euclidean":
        return False
    return float(np.nanmax(np.abs(case.data.plain), initial=0)) > np.sqrt(np.finfo(np.float64).max)


def _has_small_distances(case: Case) -> bool:
    return bool(case.distances.max() < SMALLEST)


def _draws_coreset(case: Case) -> bool:
    return case.parameters.get("variant") == "lwcs"


# Words of an error, and a question that must be answered yes for a case that raises it.
DOCUMENTED: dict[str, Callable[[Case], bool]] = {
    r"expected a finite number that is not negative": lambda case: (
        _has_bad_distances(case) or _may_be_singular(case) or _has_infinite_squares(case)
    ),
    r"expected dissimilarities that are not NaN": _has_bad_distances,
    r"too small for float(32|64)|becomes 0 in float32": _has_small_distances,
    r"probability distributions|divides each row by its sum": lambda case: case.drawn.name == "jensenshannon",
    r"needs the mean of the rows, and .* none": _draws_coreset,
    r"divides by the variance of each feature": lambda case: case.drawn.name == "seuclidean",
    r"has no inverse, which metric='mahalanobis' needs": lambda case: case.drawn.name == "mahalanobis",
    r"from the squares of X, which do not fit": lambda case: case.drawn.name in ("seuclidean", "mahalanobis"),
    r"which is not one of the candidates": lambda case: case.drawn.name == "gower",
    r"a latitude is .*: expected at most pi / 2": lambda case: case.drawn.name == "haversine",
    r"the weights of X sum to": lambda case: case.drawn.name in ("seuclidean", "mahalanobis"),
}


def check_refusal(case: Case, error: Exception) -> None:
    """Raise an AssertionError unless the case may raise this error."""
    assert type(error) in (ValueError, TypeError), f"{type(error).__name__} is not a documented error"
    assert len(str(error)) > 20, f"the error says only {str(error)!r}"
    if case.flaw is None:
        reasons = [may for words, may in DOCUMENTED.items() if re.search(words, str(error))]
        assert any(may(case) for may in reasons), "sound arguments were refused"
