"""What sets a cluster apart: each column of a cluster is compared with the same column of all rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onebatchpam.data import TableColumn, column_names, columns_of
from onebatchpam.report.study import Study

MOST_COLUMNS = 60  # columns that are studied; of a matrix with more, those in which the clusters differ most
SMALLEST_EFFECT = 0.35  # differences below this are not named, in standard deviations of all rows
MOST_BINS, MOST_CATEGORIES = 18, 7
OTHER = "other"
NEARLY_ZERO = 1e-300  # stands in for a sum or a range of zero where numbers, all zero as well, are divided by it


@dataclass(frozen=True)
class Effect:
    """How a column of a cluster differs from all rows, in standard deviations, and in words."""

    column: str
    size: float
    words: str
    value: str
    usual: str


@dataclass(frozen=True)
class Histogram:
    """Shares of bins or categories: in all rows, and in the rows of a cluster."""

    column: str
    labels: list[str]  # the smallest and the largest number, or the categories
    is_numeric: bool
    overall: NDArray[np.float64]
    own: NDArray[np.float64]


class Feature:
    """A column of the sample."""

    def __init__(self, column: TableColumn, study: Study) -> None:
        self.name = name_of(column.name)
        self._study, self._column = study, column
        self.is_numeric = column.kind == "numeric"
        self.is_date = column.values.dtype.kind == "M"
        self.is_whole = self.is_numeric and are_whole(column.values)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers; NaN if they are missing."""
        return self._column.as_floats()

    @property
    def _weights(self) -> NDArray[np.float64]:
        return self._study.sample.weights

    @cached_property
    def _shares(self) -> list[tuple[Any, float, NDArray[np.float64]]]:
        """Each category with its share of all rows and of each cluster, the most frequent category first."""
        labels, k, weights = self._study.sample.labels, self._study.k, self._weights
        categories = self._column.distinct()
        codes = self._column.encoded({value: float(code) for code, value in enumerate(categories)})
        known = ~np.isnan(codes)
        cells = labels[known] * len(categories) + codes[known].astype(np.int64)
        table = np.bincount(cells, weights[known], minlength=k * len(categories)).reshape(k, len(categories))
        own = table / np.maximum(np.bincount(labels, weights, minlength=k), NEARLY_ZERO)[:, np.newaxis]
        overall = table.sum(axis=0) / weights.sum()
        order = np.argsort(-overall, kind="stable")
        return [(categories[i], float(overall[i]), own[:, i]) for i in order]

    @cached_property
    def _means(self) -> tuple[float, float, NDArray[np.float64]]:
        """Mean and standard deviation of all rows, and the means of the clusters."""
        known = ~np.isnan(self.numbers)
        values, weights, labels = self.numbers[known], self._weights[known], self._study.sample.labels[known]
        if not len(values):
            return 0.0, 0.0, np.full(self._study.k, np.nan)
        mean = float(np.average(values, weights=weights))
        spread = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
        sums = np.bincount(labels, weights * (values - mean), minlength=self._study.k)
        totals = np.bincount(labels, weights, minlength=self._study.k)
        own = np.divide(sums, totals, out=np.full(self._study.k, np.nan), where=totals > 0)
        return mean, spread, mean + own

    def effect(self, cluster: int) -> Effect | None:
        """Return how the cluster differs from all rows in this column; None if it does not."""
        return self._effect_of_numbers(cluster) if self.is_numeric else self._effect_of_categories(cluster)

    def _effect_of_numbers(self, cluster: int) -> Effect | None:
        mean, spread, own = self._means
        size = (own[cluster] - mean) / spread if spread > 0 else 0.0
        if not abs(size) >= SMALLEST_EFFECT:
            return None
        later = "late" if size > 0 else "early"
        word = later if self.is_date else "high" if size > 0 else "low"
        words = f"very {word}" if abs(size) > 2 else word
        return Effect(self.name, float(size), words, self.show(own[cluster]), self.show(mean))

    def _effect_of_categories(self, cluster: int) -> Effect | None:
        best: Effect | None = None
        for value, overall, own in self._shares:
            spread = np.sqrt(max(overall * (1 - overall), 1e-12))
            size = (own[cluster] - overall) / spread
            if size >= SMALLEST_EFFECT and (best is None or size > best.size):
                words = f"{'mostly' if own[cluster] > 0.5 else 'often'} {show_category(value)}"
                best = Effect(self.name, float(size), words, f"{own[cluster]:.0%}", f"{overall:.0%}")
        return best

    def histogram(self, cluster: int) -> Histogram:
        """Return the shares of bins or categories, in all rows and in the cluster."""
        is_own = self._study.sample.labels == cluster
        if not self.is_numeric:
            shown = self._shares[:MOST_CATEGORIES]
            overall = np.array([share for _, share, _ in shown])
            own = np.array([shares[cluster] for _, _, shares in shown])
            labels = [show_category(value) for value, _, _ in shown]
            if len(self._shares) > MOST_CATEGORIES:
                overall, own = np.append(overall, 1 - overall.sum()), np.append(own, 1 - own.sum())
                labels.append(OTHER)
            return Histogram(self.name, labels, False, np.clip(overall, 0, 1), np.clip(own, 0, 1))
        edges = self._edges
        shares = []
        for rows in (slice(None), is_own):
            values = np.clip(self.numbers[rows], edges[0], edges[-1])
            counts = np.histogram(values[~np.isnan(values)], edges, weights=self._weights[rows][~np.isnan(values)])[0]
            shares.append(counts / max(counts.sum(), NEARLY_ZERO))
        ends = edges[[0, -1]] + ([0.5, -0.5] if self._has_bin_for_each else 0)  # labels name the middles of such bins
        return Histogram(self.name, [self.show(end) for end in ends], True, shares[0], shares[1])

    @cached_property
    def _has_bin_for_each(self) -> bool:
        """Whether the numbers are whole, and so few that each has a bin."""
        known = self.numbers[~np.isnan(self.numbers)]
        return self.is_whole and len(known) > 0 and bool(np.ptp(known) < MOST_BINS)

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """The edges of the bins; the outermost bins take what is beyond the first and the last percent of the rows."""
        known = self.numbers[~np.isnan(self.numbers)]
        if not len(known):
            return np.array([0.0, 1.0])
        if self._has_bin_for_each:
            return np.arange(known.min() - 0.5, known.max() + 1)
        low, high = np.quantile(known, [0.01, 0.99])
        low, high = (low, high) if high > low else (known.min(), known.max())
        return np.linspace(low, high if high > low else low + 1, MOST_BINS + 1)

    def show(self, number: float) -> str:
        """Return a number of this column as text."""
        if self.is_date:
            return str(np.datetime64(round(number), "s").astype("datetime64[D]"))
        return show_number(number)


def name_of(name: Hashable) -> str:
    """Return the name of a column; those of arrays are numbered."""
    return f"x{name}" if isinstance(name, (int, np.integer)) else str(name)


def are_whole(values: NDArray[Any]) -> bool:
    """Tell whether all numbers that are known are whole."""
    if values.dtype.kind in "iu":
        return True
    if values.dtype.kind not in "f":
        return False
    known = values[~np.isnan(values)]
    return bool((known == np.rint(known)).all())


def show_number(number: float) -> str:
    """Return a number with about three digits, as people write it; the digits of whole numbers are all shown."""
    if not np.isfinite(number):
        return "–"
    if number == 0 or 1e-4 <= abs(number) < 1e15:
        digits = max(0, 2 - int(np.floor(np.log10(abs(number)))) if number else 0)
        text = f"{number:,.{min(digits, 7)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{number:.3g}"


def show_category(value: Any) -> str:
    """Return a category as text."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return str(value)


def find_features(study: Study) -> list[Feature]:
    """Return the columns of a study, those in which the clusters differ most if there are too many."""
    sampled = study.sampled
    if sampled is None or len(getattr(sampled, "shape", ())) != 2:
        return []
    if column_names(sampled) is None:
        return [Feature(column, study) for column in choose_of_matrix(sampled, study)]
    features = [Feature(column, study) for column in columns_of(sampled)]
    if len(features) <= MOST_COLUMNS:
        return features
    scores = [separation(feature, study.k) for feature in features]
    return [features[i] for i in np.sort(np.argsort(-np.array(scores), kind="stable")[:MOST_COLUMNS])]


def separation(feature: Feature, k: int) -> float:
    """Return how much the clusters differ in a column: the mean size of its effects."""
    effects = [feature.effect(cluster) for cluster in range(k)]
    return float(np.mean([0.0 if effect is None else abs(effect.size) for effect in effects]))


def choose_of_matrix(rows: Any, study: Study) -> Iterator[TableColumn]:
    """Yield the columns of a matrix, those in which the clusters differ most if there are too many."""
    columns = np.arange(rows.shape[1])
    if len(columns) > MOST_COLUMNS:
        labels, weights = study.sample.labels, study.sample.weights
        totals = np.maximum(np.bincount(labels, weights, minlength=study.k), NEARLY_ZERO)
        mark = csr_array((weights / totals[labels], (labels, np.arange(len(labels)))), shape=(study.k, len(labels)))
        means = mark @ rows
        means = means.toarray() if issparse(means) else np.asarray(means, np.float64)
        columns = np.sort(np.argsort(-means.std(axis=0), kind="stable")[:MOST_COLUMNS])
    chosen = rows.tocsc()[:, columns].toarray() if issparse(rows) else np.asarray(rows)[:, columns]
    for position, column in enumerate(columns_of(chosen)):
        yield replace(column, name=int(columns[position]))
