"""The ranges and categories of a mixed table that comes in parts: each says what its columns range over."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from onebatchpam._gower import Encoding, Gower, TableColumn, check_column_weights, check_names, make_encoder


def summarise(column: TableColumn, kinds: Mapping[Hashable, Any]) -> TableColumn:
    """Return a column with the few values from which the same encoding is learnt as from all of them."""
    if column.values.dtype.kind in "iufmM" and kinds.get(column.name, "numeric") == "numeric":
        known = column.values[~np.isnat(column.values)] if column.values.dtype.kind in "mM" else column.values
        known = known[known == known]
        return replace(column, values=np.array([known.min(), known.max()]) if len(known) else known)
    values = np.empty(0, dtype=object)
    distinct = column.distinct()
    values.resize(len(distinct))
    values[:] = distinct
    return replace(column, values=values)


def merge_columns(parts: list[TableColumn]) -> TableColumn:
    """Return a column that holds what the parts of it hold; levels are those of the first part that has all of them."""
    known = [part for part in parts if len(part.values)] or parts[:1]
    levels = max((part.levels for part in known if part.levels is not None), key=len, default=None)
    return TableColumn(
        known[0].name, np.concatenate([part.values for part in known]), levels, all(part.is_ordered for part in known)
    )


def fitted_to_parts(metric: Gower, parts: list[list[TableColumn]]) -> Gower:
    """Return the metric with an encoding for the whole table, given the summaries of its parts."""
    columns = [merge_columns(list(each)) for each in zip(*parts, strict=True)]
    names = [column.name for column in columns]
    check_names(metric.kinds, names, "kinds")
    encoders = [make_encoder(column, metric.kinds.get(column.name, column.kind)) for column in columns]
    return replace(metric, encoding=Encoding(names, encoders, check_column_weights(metric.weights, names)))
