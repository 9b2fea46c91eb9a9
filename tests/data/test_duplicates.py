"""collapse_duplicates: the distinct rows of X, with weights that count their copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

import reference
from onebatchpam import FasterPAM, _tiles, collapse_duplicates
from onebatchpam.data import duplicates


class TestDistinctRows:
    X = np.array([[1.0, 2], [0, 1], [1, 2], [-0.0, 1], [1, 2], [7, 7]])
    MISSING = np.array([[np.nan, 2], [0, 1], [np.nan, 2], [-0.0, 1], [np.nan, 2], [7, 7]])

    @pytest.mark.parametrize(
        "X",
        [
            X,
            X.astype(np.int8),
            X.astype(object),
            np.asfortranarray(X),
            MISSING,
            MISSING.astype(object),
            pd.DataFrame(MISSING, index=list("uvwxyz")),
            pd.DataFrame({"kind": pd.Categorical(list("ababac")), "amount": [None, 1, None, 1, None, 7]}),
            csr_array(X),
            csr_matrix(X),
            list("ababac"),
            tuple(map(tuple, X)),
            pd.Series(list("ababac")),
            np.array(list("ababac")),
        ],
        ids=lambda X: type(X).__name__,
    )
    def test_kinds(self, X):
        rows, weights, inverse = collapse_duplicates(X)
        np.testing.assert_array_equal(weights, [3, 2, 1])
        np.testing.assert_array_equal(inverse, [0, 1, 0, 1, 0, 2])
        assert type(rows) is type(X) or isinstance(X, tuple)
        again = collapse_duplicates(rows)
        np.testing.assert_array_equal(again.weights, [1, 1, 1])
        if isinstance(X, np.ndarray):
            np.testing.assert_array_equal(rows.astype(str), X[[0, 1, 5]].astype(str))
            assert rows.dtype == X.dtype

    def test_weights_add_up(self):
        np.testing.assert_array_equal(collapse_duplicates(self.X, [1, 2, 3, 4, 5, 0]).weights, [9, 6, 0])

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
    def test_signs_of_zero_and_nan_do_not_count(self, dtype):
        X = np.array([[0.0], [-0.0], [np.nan], [-np.nan]], dtype=dtype)
        np.testing.assert_array_equal(collapse_duplicates(X).inverse, [0, 0, 1, 1])

    def test_explicit_zeros_do_not_count(self):
        X = csr_array((np.array([1.0, 0, 1]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
        assert len(collapse_duplicates(X).weights) == 1
        assert X.nnz == 3

    def test_fit_of_the_distinct_rows(self):
        X = np.random.RandomState(0).randint(0, 5, (3000, 3)).astype(np.float64)
        rows, weights, inverse = collapse_duplicates(X)
        assert len(rows) == 125
        model = FasterPAM(6, metric="manhattan").fit(rows, sample_weight=weights)
        labels = model.labels_[inverse]
        medoids = np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in model.cluster_centers_])
        assert model.inertia_ == reference.inertia(X, medoids, "manhattan")
        np.testing.assert_array_equal(labels, model.predict(X))

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ([[1, 2], [1, 2]], r"X\[0\] cannot be compared.*np.asarray"),
            (np.arange(3), r"X has shape \(3,\)"),
            (5, "X is of type int"),
        ],
    )
    def test_errors(self, X, message):
        with pytest.raises(ValueError, match=message):
            collapse_duplicates(X)


def naive_inverse(X):
    """Return the number of each row among the distinct ones, by comparing every row with all that were kept."""
    kept, inverse = [], []
    for row in X:
        same = [number for number, other in enumerate(kept) if np.array_equal(row, other)]
        inverse.append(same[0] if same else len(kept))
        kept += [] if same else [row]
    return inverse


ROWS = np.random.RandomState(0).randint(0, 3, (300, 3))
DTYPES = [np.uint8, np.int16, np.int64, np.float32, np.float64, bool, complex, "U3", "S2", "datetime64[s]"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("collide", [False, True])
def test_rows_of_every_type_with_and_without_collisions_of_hashes(dtype, collide, monkeypatch):
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 100)
    if collide:
        monkeypatch.setattr(duplicates, "hash_rows", lambda rows: (rows.sum(axis=1) % 2).astype(np.uint64))
    X = ROWS.astype(dtype)
    np.testing.assert_array_equal(collapse_duplicates(X).inverse, naive_inverse(X))
    np.testing.assert_array_equal(collapse_duplicates(pd.DataFrame(ROWS).astype(object)).inverse, naive_inverse(ROWS))


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
def test_small_whole_numbers_have_different_hashes(dtype):
    grid = np.stack(np.meshgrid(*[np.arange(40)] * 3), axis=-1).reshape(-1, 3).astype(dtype)
    assert len(np.unique(duplicates.hash_rows(duplicates.bytes_of(grid)))) == 40**3


def test_objects_in_tables():
    missing = [float("nan"), None, float("nan"), pd.NA, 1, 1.0, True, "1"]
    X = np.array([[value, 0] for value in missing], dtype=object)
    np.testing.assert_array_equal(collapse_duplicates(X).inverse, [0, 0, 0, 0, 1, 1, 1, 2])
    with pytest.raises(ValueError, match=r"X\[1\] cannot be compared"):
        collapse_duplicates(pd.DataFrame({"a": [1, [2]]}))
