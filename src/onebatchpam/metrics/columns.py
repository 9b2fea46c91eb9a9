"""Columns of a table that are likely to spoil a clustering: ids, constants, dates as text, numbers of a large scale."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from onebatchpam.metrics.native import ALIASES

# Smaller tables get no advice: with so few rows, all values of a good column may differ.
FEWEST_ROWS = 20
# Numbers of this many rows are looked at, the first of each part of the data.
ROWS_TO_JUDGE = 10_000
# A column of categories looks like an id if the number of categories is at least this share of the number of values.
SHARE_OF_DISTINCT = 0.9
# Whole numbers between 0 and R would be expected to coincide in n^2 / 2R pairs of n rows. They look like ids if none
# coincide although at least this many pairs should.
EXPECTED_COINCIDENCES = 4

# A column that makes up more than this share of the distances dominates them.
DOMINANT_SHARE = 0.8
# The sums over the columns by which metrics compare numbers as they are, and the power of the differences in them.
SUMS = {
    "manhattan": ("manhattan distances", 1),
    "euclidean": ("squared euclidean distances", 2),
    "sqeuclidean": ("squared euclidean distances", 2),
    "chebyshev": ("squared chebyshev distances", 2),
    "minkowski": ("squared minkowski distances", 2),
}

LIKE_IDS, CONSTANT, DATES_AS_TEXT = "like ids", "constant", "dates as text"  # why a column may spoil a clustering

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")


def are_numbers_like_ids(numbers: NDArray[np.float64]) -> bool | None:
    """Tell whether numbers, of which NaN are missing, look like ids; None if there are too few to tell.

    The values alone decide, whatever the column is called: ids are whole numbers that all differ, although by chance
    some should be equal, or that ascend or descend.
    """
    known = numbers[:ROWS_TO_JUDGE]
    known = known[~np.isnan(known)]
    if len(known) < FEWEST_ROWS:
        return None
    if (known != np.rint(known)).any() or len(np.unique(known)) < len(known):
        return False
    steps, extent = np.diff(known), known.max() - known.min() + 1
    return bool((steps > 0).all() or (steps < 0).all() or len(known) ** 2 >= 2 * EXPECTED_COINCIDENCES * extent)


def nearly_all_differ(n_distinct: int, n: int) -> bool:
    """Tell whether nearly all of n categories or texts of a column differ, as those of an id do."""
    return n >= FEWEST_ROWS and n_distinct >= SHARE_OF_DISTINCT * n


def are_dates_as_text(values: Sequence[object]) -> bool:
    """Tell whether all values are strings that begin with a date as ISO 8601 writes it, such as 2018-05-20."""
    return len(values) > 0 and all(isinstance(value, str) and ISO_DATE.fullmatch(value) for value in values)


def describe_dominant(spreads: Mapping[str, float], metric: str) -> tuple[str, str] | None:
    """Return the column that counts for nearly all of the distances, and how much; None if there is no such column.

    `spreads` has the standard deviation of each column of numbers.
    """
    what, power = SUMS.get(ALIASES.get(metric, metric), ("", 0))
    shares = {name: spread**power for name, spread in spreads.items()}
    total = sum(shares.values())
    if power == 0 or len(shares) < 2 or not total > 0:
        return None
    name = max(shares, key=lambda each: shares[each])
    share = shares[name] / total
    if share <= DOMINANT_SHARE:
        return None
    return name, f"makes up {share:.0%} of the {what}, because its numbers are the largest"


def advise_on_columns(oddities: Mapping[Hashable, str | None]) -> str | None:
    """Return a warning that names the odd columns, given the oddity of each column; None if no column is odd."""
    odd = {
        oddity: [repr(name) for name, each in oddities.items() if each == oddity]
        for oddity in (LIKE_IDS, CONSTANT, DATES_AS_TEXT)
    }
    found = [f"{oddity}: {', '.join(names)}" for oddity, names in odd.items() if names]
    if not found:
        return None
    name = next(names[0] for names in odd.values() if names)
    return (
        f"metric='gower' counts all columns alike, and some of X may only blur the clusters ({'; '.join(found)}): drop "
        f"them or pass metric_params={{'weights': {{{name}: 0}}}}, and parse dates with pandas.to_datetime; a column "
        f"that is meant as it is can be named in metric_params={{'kinds': {{{name}: ...}}}}"
    )
