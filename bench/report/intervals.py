"""How sure the scores are: confidence intervals over seeds, and critical differences of ranks over cases.

An interval is that of Student's t for an average over the cases, each a data set and a k, of which every seed yields
one value: it says how far another choice of seeds may move the average on the same data. Ranks say what may be expected
of other data: the methods are ranked by their objective in each case, and two of them differ if their mean ranks do by
more than Nemenyi's critical difference. The cases of a data set with several k are not independent of each other, so
that this difference is rather too small than too large.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.stats

from bench.report.scores import CASE, Scores

CONFIDENCE = 0.95
LEAST_METHODS, LEAST_CASES = 3, 2


def bound_mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval of a mean; of fewer than two values nothing can be said."""
    if len(values) < 2:
        return np.nan, np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal values have an interval without width
        interval = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(CONFIDENCE)
    return float(interval.low), float(interval.high)


def half_width(values: Sequence[float]) -> float:
    """Return half of the width of the confidence interval of a mean; NaN for fewer than two values."""
    low, high = bound_mean(values)
    return (high - low) / 2


def compare(scores: Scores, measure: str, datasets: Collection[str], ks: Collection[int]) -> pd.DataFrame:
    """Return for each method the mean of a measure over all cases, its interval, and the least and largest case."""
    runs = scores.runs[scores.runs["dataset"].isin(datasets) & scores.runs["k"].isin(ks)].dropna(subset=[measure])
    rows = {}
    for method, own in runs.groupby("method"):
        cases = own.groupby(CASE)[measure].mean()
        seeds = own.pivot(index="seed", columns=CASE, values=measure).dropna().mean(axis=1)
        low, high = bound_mean(seeds.to_numpy())
        rows[method] = (cases.mean(), low, high, cases.min(), cases.max(), len(cases), len(seeds))
    columns = ["mean", "low", "high", "least", "largest", "cases", "seeds"]
    found = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return found.loc[[method for method in scores.methods if method in rows]]


@dataclass(frozen=True)
class Ranking:
    """The mean ranks of methods by their objectives, the best first, and what makes two of them differ."""

    mean_ranks: pd.Series
    n_cases: int
    p_value: float  # of Friedman's test: all methods are equally good
    critical_difference: float

    def find_groups(self) -> list[tuple[str, str]]:
        """Return the first and the last method of each group that no difference of ranks tells apart."""
        ranks = self.mean_ranks.to_numpy()
        ends = np.searchsorted(ranks, ranks + self.critical_difference, side="right") - 1
        names = list(self.mean_ranks.index)
        starts = [i for i in range(len(ranks)) if ends[i] > i and (i == 0 or ends[i] > ends[i - 1])]
        return [(names[i], names[ends[i]]) for i in starts]


def rank_methods(
    scores: Scores, datasets: Collection[str], ks: Collection[int], methods: Collection[str] | None = None
) -> Ranking | None:
    """Rank the methods, or some of them, with a result in every case; None if they are too few, or the cases are.

    The more methods, the larger their ranks have to differ: rank one of each kind rather than all variants.
    """
    objectives = scores.pick(datasets, ks)["objective"].unstack("method")
    if methods is not None:
        objectives = objectives[[method for method in objectives if method in methods]]
    objectives = objectives.dropna(axis=0, how="all").dropna(axis=1)
    n_cases, n_methods = objectives.shape
    if n_methods < LEAST_METHODS or n_cases < LEAST_CASES:
        return None
    ranks = objectives.rank(axis=1).mean().sort_values(kind="stable")
    quantile = scipy.stats.studentized_range.ppf(CONFIDENCE, n_methods, np.inf) / np.sqrt(2)
    return Ranking(
        ranks,
        n_cases,
        float(scipy.stats.friedmanchisquare(*objectives.to_numpy().T).pvalue),
        float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cases))),
    )
