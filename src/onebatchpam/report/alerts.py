"""Alerts: what a reader should know before believing the rest of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onebatchpam.data import collapse_duplicates, columns_of
from onebatchpam.evaluation import KSelection
from onebatchpam.metrics import describe_dominant
from onebatchpam.report.columns import Feature, name_of
from onebatchpam.report.rows import as_values, show_value
from onebatchpam.report.study import Study

CLOSE = 0.05  # rows with a smaller silhouette lie between two clusters
MANY = 0.2  # a larger share of the rows is worth an alert


@dataclass(frozen=True)
class Alert:
    """Something to know, and what to do about it."""

    text: str
    advice: str


def find_alerts(
    study: Study, features: Sequence[Feature], selection: KSelection | None, warnings: Sequence[str]
) -> list[Alert]:
    """Return the alerts of a clustering."""
    found = [
        *single_rows(study),
        *empty_clusters(study),
        *overlapping_clusters(study),
        *dominant_column(study, features),
        *incomplete_medoids(study, features),
        *equal_rows(study),
        *end_of_range(selection),
    ]
    return [*found, *(Alert(text, "") for text in warnings)]


def single_rows(study: Study) -> Iterator[Alert]:
    """Alert to clusters of one row."""
    alone = np.flatnonzero(study.sizes == 1)
    if len(alone):
        are = f"Cluster {alone[0]} holds" if len(alone) == 1 else f"{len(alone):,} clusters hold"
        yield Alert(
            f"{are} a single row.",
            "It may be an error in the data or a real exception; with fewer clusters it joins the nearest one.",
        )


def empty_clusters(study: Study) -> Iterator[Alert]:
    """Alert to clusters without a row."""
    empty = np.flatnonzero(study.sizes == 0)
    if len(empty):
        yield Alert(
            f"{len(empty):,} of {study.k:,} clusters are empty.", "There are fewer distinct rows than clusters."
        )


def overlapping_clusters(study: Study) -> Iterator[Alert]:
    """Alert to many rows that lie between two clusters."""
    if study.rows.silhouettes is None:
        return
    share = float(np.mean(study.rows.silhouettes < CLOSE))
    if share > MANY:
        yield Alert(
            f"{share:.0%} of the rows are nearly as close to a second medoid as to their own.",
            "The borders between clusters are not sharp: read the clusters as parts of a whole, or try fewer.",
        )


def dominant_column(study: Study, features: Sequence[Feature]) -> Iterator[Alert]:
    """Alert to a column whose numbers are so large that the others hardly count."""
    spreads = {feature.name: float(np.nanstd(feature.numbers)) for feature in features if feature.is_numeric}
    metric = study.model.metric
    dominant = describe_dominant(spreads, metric) if isinstance(metric, str) else None
    if dominant is not None:
        name, why = dominant
        yield Alert(
            f"The column “{name}” {why}.",
            "Scale the columns, or use a metric that counts all columns alike, such as gower or seuclidean.",
        )


def incomplete_medoids(study: Study, features: Sequence[Feature]) -> Iterator[Alert]:
    """Alert to medoids that lack values."""
    medoids, known = study.single(study.medoids), {feature.name for feature in features}
    if medoids is None or not features or not hasattr(medoids, "columns"):
        return
    lacking = [
        name_of(column.name)
        for column in columns_of(medoids)
        if name_of(column.name) in known and any(show_value(value) == "–" for value in as_values(column.values))
    ]
    if lacking:
        yield Alert(
            f"Some medoids lack values: {', '.join(f'“{name}”' for name in lacking[:5])}.",
            "They are shown as –. Pass candidates to the fit if medoids are to be complete rows.",
        )


def equal_rows(study: Study) -> Iterator[Alert]:
    """Alert to rows that are equal, to judge by the sample."""
    rows = study.sampled
    if rows is None:
        return
    try:
        n_distinct = len(collapse_duplicates(rows).weights)
    except (TypeError, ValueError):  # for objects that are not hashable
        return
    share = 1 - n_distinct / len(study.sample.indices)
    if share > MANY:
        yield Alert(
            f"{share:.0%} of the sampled rows equal another one.",
            "onebatchpam.collapse_duplicates counts equal rows; a fit with these counts as weights is faster.",
        )


def end_of_range(selection: KSelection | None) -> Iterator[Alert]:
    """Alert to a suggested k that is the largest one tried."""
    if selection is not None and len(selection.k) > 1 and selection.suggested_k == selection.k[-1]:
        yield Alert(
            f"The suggested number of clusters, {selection.suggested_k}, is the largest that was tried.",
            "Try larger ones.",
        )
