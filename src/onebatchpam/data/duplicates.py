"""Rows that come more than once, collapsed to one each, whose weight says how often it came."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from onebatchpam import _tiles
from onebatchpam._parameters import check_sample_weight
from onebatchpam._tiles import tile_bounds
from onebatchpam.data.objects import are_objects
from onebatchpam.data.tables import columns_of, is_missing


class DistinctRows(NamedTuple):
    """The distinct rows of a data set; unpacks as ``rows, weights, inverse``.

    Attributes
    ----------
    rows : array, frame, sparse matrix or list
        The first of each set of equal rows, in the order of X and of its type.
    weights : ndarray of shape (n_distinct,)
        How often each comes, or the sum of the weights of all that are equal: the `sample_weight` of a fit.
    inverse : ndarray of shape (n,)
        For each row of X the one of `rows` that it equals, so that ``model.labels_[inverse]`` are labels for X.
    """

    rows: Any
    weights: NDArray[np.float64]
    inverse: NDArray[np.int64]


def collapse_duplicates(X: Any, sample_weight: ArrayLike | None = None) -> DistinctRows:
    """Return the distinct rows of X, with weights that make up for the others.

    To cluster them with these weights is to cluster all rows, at the price of the distinct ones.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, n_features), frame, or list of n strings or other hashable objects
        Rows are equal if all their values are, missing ones included. A precomputed matrix of dissimilarities has no
        rows in this sense.
    sample_weight : array-like of shape (n,) or float, default=None
        Weights that the rows have already, ones when None.

    Returns
    -------
    DistinctRows
        With `rows`, `weights` and `inverse`.

    Examples
    --------
    >>> from onebatchpam import FasterPAM, collapse_duplicates
    >>> rows, weights, inverse = collapse_duplicates(["tea", "coffee", "tea", "tea", "cocoa"])
    >>> rows, weights, inverse
    (['tea', 'coffee', 'cocoa'], array([3., 1., 1.]), array([0, 1, 0, 0, 2]))
    """
    first: dict[Hashable, int] = {}
    kept: list[int] = []
    inverse: list[int] = []
    try:
        for i, key in enumerate(keys_of(X)):
            place = first.setdefault(key, len(kept))
            if place == len(kept):
                kept.append(i)
            inverse.append(place)
    except TypeError as error:
        raise ValueError(
            f"X[{len(inverse)}] cannot be compared with the others ({error}): expected an array, a frame, a sparse "
            "matrix, or a list of hashable objects; for rows of numbers pass np.asarray(X)"
        ) from error
    places = np.array(inverse, dtype=np.int64)
    weights = np.bincount(places, check_sample_weight(sample_weight, len(places))).astype(np.float64)
    rows = X.tocsr()[kept] if issparse(X) else _safe_indexing(X, kept)
    return DistinctRows(rows, weights, places)


def keys_of(X: Any) -> Iterator[Hashable]:
    """Return for each row something that is equal for equal rows."""
    if issparse(X):
        return sparse_keys(X)
    if are_objects(X):
        return iter(X)
    if isinstance(X, np.ndarray) and X.dtype.char not in "Og":  # the bytes of a longdouble are not all its value
        return array_keys(X)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(f"X is of type {type(X).__name__}: expected rows, or a list of objects")
    return table_keys(X)


def array_keys(X: NDArray[Any]) -> Iterator[bytes]:
    """Return the bytes of each row."""
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: expected rows of features, or a list of objects")
    for rows in tile_bounds(len(X), _tiles.TILE_ENTRIES // max(1, X.shape[1])):
        tile = np.ascontiguousarray(X[rows])
        if X.dtype.kind == "f":
            tile = tile + X.dtype.type(0)  # zero and NaN have a sign, which does not count
            tile[np.isnan(tile)] = np.nan
        for row in tile:
            yield row.tobytes()


def sparse_keys(X: Any) -> Iterator[tuple[bytes, bytes]]:
    """Return the features and the values of each row."""
    csr = csr_array(X, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        yield csr.indices[start:stop].tobytes(), csr.data[start:stop].tobytes()


def table_keys(X: Any) -> Iterator[tuple[Hashable, ...]]:
    """Return the values of each row, None for missing ones."""
    columns = [[None if is_missing(value) else value for value in column.values.tolist()] for column in columns_of(X)]
    return zip(*columns, strict=True)
