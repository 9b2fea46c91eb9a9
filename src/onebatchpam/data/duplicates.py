"""Duplicate rows, collapsed to one row each, with the number of copies as its weight."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import _safe_indexing

from onebatchpam import _tiles
from onebatchpam._parameters import check_weights, refuse_masked, spread_weights
from onebatchpam._tiles import Indices, tile_bounds
from onebatchpam.data.npz import check_structure
from onebatchpam.data.objects import are_objects
from onebatchpam.data.tables import TableColumn, columns_of


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
    places = number_distinct(X)
    kept = first_of_each(places)
    weights = np.bincount(places, spread_weights(given_weights, len(places))).astype(np.float64)
    rows = X.tocsr()[kept] if issparse(X) else _safe_indexing(X, kept)
    return DistinctRows(rows, weights, places)


def number_distinct(X: Any) -> Indices:
    """Return a number for each row; equal rows have equal numbers, which count from 0 in the order of X."""
    refuse_masked(X, "X")
    if issparse(X):
        return number_objects(list(sparse_keys(X)))
    if are_objects(X):
        return number_objects(X)
    # Objects and longdoubles are compared by value, because equal ones may differ in their bytes.
    if isinstance(X, np.ndarray) and X.dtype.char not in "Og":
        if X.ndim != 2:
            raise ValueError(f"X has shape {X.shape}: expected rows and features, or a list of objects")
        return number_rows(X)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            f"X is of type {type(X).__name__}: expected an array, a frame, a sparse matrix, or a list of hashable "
            "objects"
        )
    columns = [number_values(column) for column in columns_of(X)]
    return number_rows(np.stack(columns, axis=1) if columns else np.empty((len(X), 0)))


def first_of_each(places: Indices) -> Indices:
    """Return the first row of each number."""
    kept = np.empty(places.max(initial=-1) + 1, np.int64)
    kept[places[::-1]] = np.arange(len(places))[::-1]  # the last assignment stays: that of the first row
    return kept


def number_objects(objects: Collection[Hashable]) -> Indices:
    """Return the number of each object among the distinct ones."""
    try:
        numbers = {distinct: number for number, distinct in enumerate(dict.fromkeys(objects))}
    except TypeError:
        refuse_unhashable(objects)
    return np.fromiter(map(numbers.__getitem__, objects), np.int64, len(objects))


def number_values(column: TableColumn) -> Indices:
    """Return a number for each value of a column, the same for equal ones and for all that are missing."""
    if column.values.dtype != object:
        return np.unique(column.values, return_inverse=True)[1].astype(np.int64).ravel()
    try:
        return column.coding.positions.astype(np.int64)
    except TypeError:
        refuse_unhashable(column.values)


def refuse_unhashable(objects: Collection[Any]) -> NoReturn:
    """Raise the error for the first object that has no hash; the caller knows that there is one."""
    for i, each in enumerate(objects):
        try:
            hash(each)
        except TypeError as error:
            raise ValueError(
                f"X[{i}] cannot be compared with the others ({error}): expected an array, a frame, a sparse matrix, or "
                "a list of hashable objects; for rows of numbers pass np.asarray(X)"
            ) from error
    raise AssertionError("all objects have a hash")


def number_rows(X: NDArray[Any]) -> Indices:
    """Return the number of each row of a table among the distinct ones; rows are compared by their bytes.

    Rows are sorted by a hash, and then compared with the first row of the same hash. It is next to impossible that
    unequal rows have the same hash; if it happens, all rows are looked up in a dictionary.
    """
    hashes = np.empty(len(X), np.uint64)
    tiles = list(tile_bounds(len(X), _tiles.TILE_ENTRIES // max(1, X.shape[1])))
    for rows in tiles:
        hashes[rows] = hash_rows(bytes_of(X[rows]))
    _, first, found = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first)  # the distinct hashes, in the order of X
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    places = numbers[found.ravel()]
    originals = first[order][places]
    for rows in tiles:
        copies = rows.start + np.flatnonzero(originals[rows] != np.arange(rows.start, rows.stop))
        if not np.array_equal(bytes_of(X[copies]), bytes_of(X[originals[copies]])):
            return number_objects([row.tobytes() for tile in tiles for row in bytes_of(X[tile])])
    return places


def bytes_of(rows: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of rows, which are equal if the rows are."""
    if rows.dtype.kind == "f":
        rows = rows + rows.dtype.type(0)  # a copy, in which -0.0 has become 0.0
        rows[np.isnan(rows)] = np.nan  # all NaN have the same bytes
    rows = np.ascontiguousarray(rows)
    return rows.view(np.uint8).reshape(len(rows), -1) if rows.size else np.empty((len(rows), 0), np.uint8)


def hash_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each row of bytes."""
    words = np.zeros((len(rows), -(-rows.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : rows.shape[1]] = rows
    factors = np.random.RandomState(0).randint(0, 2**63, words.shape[1], dtype=np.uint64) | np.uint64(1)
    # The high bits are mixed into the low ones, because a product passes differences on to higher bits only; the low
    # bits of most floats are all zero.
    words ^= words >> np.uint64(32)
    words *= factors
    words ^= words >> np.uint64(29)
    return words.sum(axis=1, dtype=np.uint64)


def sparse_keys(X: Any) -> Iterator[tuple[bytes, bytes]]:
    """Return the bytes of the features and of the values that are not zero, for each row."""
    check_structure(X, "X")
    csr = csr_array(X, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    for start, stop in itertools.pairwise(csr.indptr.tolist()):
        yield csr.indices[start:stop].tobytes(), csr.data[start:stop].tobytes()
