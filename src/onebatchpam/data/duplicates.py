"""Duplicate rows, collapsed to one row each, with the number of copies as its weight."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from onebatchpam import _tiles
from onebatchpam._parameters import check_weights, spread_weights
from onebatchpam._tiles import tile_bounds
from onebatchpam.data.npz import check_structure
from onebatchpam.data.objects import are_objects
from onebatchpam.data.tables import columns_of, is_missing


class DistinctRows(NamedTuple):
    """The distinct rows of a data set; unpacks as ``rows, weights, inverse``.

    Attributes
    ----------
    rows : array, frame, sparse matrix or list
        The first row of each set of equal rows, in the order of X and of the same type; but a list if X is a tuple, and
        a CSR matrix if X is sparse.
    weights : ndarray of shape (n_distinct,)
        For each of `rows`, the number of rows of X that are equal to it, or the sum of their weights. Pass them as the
        `sample_weight` of a fit.
    inverse : ndarray of shape (n,)
        For each row of X, the index in `rows` of the row that is equal to it. So ``model.labels_[inverse]`` are the
        labels of all rows of X.
    """

    rows: Any
    weights: NDArray[np.float64]
    inverse: NDArray[np.int64]


def collapse_duplicates(X: Any, sample_weight: ArrayLike | None = None) -> DistinctRows:
    """Return the distinct rows of X, each with a weight that counts its copies.

    Clustering the distinct rows with these weights minimises the same objective as clustering all rows of X, but costs
    only as much as the distinct rows do.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features), frame, or list of n strings or other hashable objects
        The rows to compare. Two rows are equal if all their values are equal; missing values are equal to each other.
        X must not be a precomputed matrix of dissimilarities, because its columns are not collapsed.
    sample_weight : array-like of shape (n,) or float, default=None
        Weights of the rows of X. None means a weight of 1 for each row.

    Returns
    -------
    DistinctRows
        The distinct `rows`, their `weights`, and the `inverse`, which maps each row of X to its distinct row.

    Examples
    --------
    >>> from onebatchpam import FasterPAM, collapse_duplicates
    >>> rows, weights, inverse = collapse_duplicates(["tea", "coffee", "tea", "tea", "cocoa"])
    >>> rows, weights, inverse
    (['tea', 'coffee', 'cocoa'], array([3., 1., 1.]), array([0, 1, 0, 0, 2]))
    >>> model = FasterPAM(2, metric=lambda a, b: abs(len(a) - len(b))).fit(rows, sample_weight=weights)
    >>> model.labels_[inverse].tolist()
    [0, 1, 0, 0, 1]
    """
    given_weights = check_weights(sample_weight)
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
    weights = np.bincount(places, spread_weights(given_weights, len(places))).astype(np.float64)
    rows = X.tocsr()[kept] if issparse(X) else _safe_indexing(X, kept)
    return DistinctRows(rows, weights, places)


def keys_of(X: Any) -> Iterator[Hashable]:
    """Return a hashable key for each row; equal rows have equal keys."""
    if issparse(X):
        return sparse_keys(X)
    if are_objects(X):
        return iter(X)
    # Objects and longdoubles are compared by value, because equal ones may differ in their bytes.
    if isinstance(X, np.ndarray) and X.dtype.char not in "Og":
        return array_keys(X)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            f"X is of type {type(X).__name__}: expected an array, a frame, a sparse matrix, or a list of hashable "
            "objects"
        )
    return table_keys(X)


def array_keys(X: NDArray[Any]) -> Iterator[bytes]:
    """Return the bytes of each row."""
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: expected rows and features, or a list of objects")
    for rows in tile_bounds(len(X), _tiles.TILE_ENTRIES // max(1, X.shape[1])):
        tile = np.ascontiguousarray(X[rows])
        if X.dtype.kind == "f":
            # Equal rows must have equal bytes: adding 0 turns -0.0 into 0.0, and every NaN becomes the same one.
            tile = tile + X.dtype.type(0)
            tile[np.isnan(tile)] = np.nan
        for row in tile:
            yield row.tobytes()


def sparse_keys(X: Any) -> Iterator[tuple[bytes, bytes]]:
    """Return the bytes of the features and of the values that are not zero, for each row."""
    check_structure(X, "X")
    csr = csr_array(X, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    for start, stop in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        yield csr.indices[start:stop].tobytes(), csr.data[start:stop].tobytes()


def table_keys(X: Any) -> Iterator[tuple[Hashable, ...]]:
    """Return a tuple of the values of each row, with None for missing values."""
    columns = [[None if is_missing(value) else value for value in column.values.tolist()] for column in columns_of(X)]
    return zip(*columns, strict=True)
