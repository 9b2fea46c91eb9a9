"""Data that are not rows of numbers: every reader refuses them in one sentence of this package."""

from __future__ import annotations

import os

import dask.array as da
import numpy as np
import pytest
import scipy.sparse

import onebatchpam.dask
from onebatchpam import OneBatchPAM, collapse_duplicates, distance_block, medoids_of, pair_metric, swap_search

X = np.random.RandomState(0).standard_normal((60, 3))
LABELS = np.arange(60) % 2
MASKED = np.ma.masked_array(X, X > 1)
METRICS = {
    **{name: name for name in ("euclidean", "nan_euclidean", "canberra", "gower", "precomputed")},
    "function": lambda a, b: float(np.abs(a - b).sum()),
}

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


class Thing:
    """Nothing that holds numbers."""


NO_TABLES = {
    "dict": {"a": [1, 2]},
    "set": {1, 2},
    "generator": (row for row in X),
    "map": map(abs, range(4)),
    "type": Thing,
    "Thing": Thing(),
    "module": os,
    "TextIOWrapper": open(os.devnull),  # noqa: SIM115 (an open file is what must be refused)
    "NoneType": None,
    "int": 5,
    "bytes": b"rows",
    "builtin_function_or_method": len,
}


@every_metric
@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_named_by_its_type(metric, name):
    with pytest.raises(ValueError, match=rf"^X is of type {name}: expected rows of numbers, such as an array"):
        OneBatchPAM(2, metric=metric).fit(NO_TABLES[name])


@pytest.mark.parametrize("wrong", [{}, None, np.array(3.0)], ids=["dict", "None", "number"])
def test_dask_refuses_it_as_well(wrong):
    with pytest.raises(ValueError, match=r"X (is of type|has shape)"):
        onebatchpam.dask.OneBatchPAM(2).fit(wrong)


@every_metric
@pytest.mark.parametrize("wrong", [np.array(3.0), np.arange(9.0), np.zeros((3, 4, 5)), range(4)])
def test_other_dimensions_than_two(metric, wrong):
    with pytest.raises(ValueError, match=r"^X has shape \([^)]*\): expected a (table with rows|square matrix)"):
        OneBatchPAM(2, metric=metric).fit(wrong)


@every_metric
def test_complex_numbers(metric):
    with pytest.raises(ValueError, match=r"^Complex data not supported: X holds complex numbers; expected real ones$"):
        OneBatchPAM(2, metric=metric).fit(X + 1j)


def test_complex_numbers_in_other_forms():
    with pytest.raises(ValueError, match=r"X holds complex numbers; expected real ones$"):
        OneBatchPAM(2).fit(scipy.sparse.csr_array(X + 1j))
    with pytest.raises(ValueError, match=r"partition 0.*X\[0\] holds complex numbers; expected real ones$"):
        onebatchpam.dask.OneBatchPAM(2).fit(da.from_array(X + 1j, chunks=(60, 3)))


@pytest.mark.parametrize(("value", "problem"), [(np.nan, r"is missing \(NaN\)"), (np.inf, "is inf")])
def test_sparse_entries_that_are_not_finite(value, problem):
    rows = scipy.sparse.csr_array(np.eye(9))
    rows.data[4] = value
    with pytest.raises(ValueError, match=rf"^X\[4, 4\] {problem}: expected (finite )?numbers"):
        OneBatchPAM(2).fit(rows)


HUGE = [[10**400, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "gower"])
def test_integers_beyond_float64(metric):
    with pytest.raises(ValueError, match="too large"):
        OneBatchPAM(2, metric=metric).fit(HUGE)


def test_integers_beyond_float64_elsewhere():
    with pytest.raises(ValueError, match=r"^X holds an integer that is too large for float64"):
        OneBatchPAM(1, metric="precomputed").fit([[0, 10**400], [1, 0]])
    with pytest.raises(ValueError, match=r"X\[0\] holds an integer that is too large for float64"):
        onebatchpam.dask.OneBatchPAM(2).fit(da.from_array(np.array(HUGE, object), chunks=(2, 2)))
    with pytest.raises(ValueError, match=r"\(X\[0\], X\[0\]\) is inf: expected a finite number .* too large"):
        OneBatchPAM(2, metric=pair_metric(lambda a, b: 10**400)).fit(X)
    with pytest.raises(ValueError, match=r"labels\[1\]=1180591620717411303424: expected integers that fit in int64"):
        medoids_of(X[:2], [1, 2**70])


class Reader:
    """An array on disk whose reader returns masked arrays, as that of netCDF4 does."""

    shape, dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        return MASKED[rows]


PAIRS = distance_block(X, X)
HIDDEN = np.ma.masked_array(np.ones(60), LABELS > 0)
MASKS = {
    **{name: lambda metric=metric: OneBatchPAM(2, metric=metric).fit(MASKED) for name, metric in METRICS.items()},
    "matrix": lambda: OneBatchPAM(2, metric="precomputed").fit(np.ma.masked_array(PAIRS, PAIRS > 3)),
    "condensed": lambda: OneBatchPAM(2, metric="precomputed").fit(HIDDEN),
    "reader": lambda: OneBatchPAM(2).fit(Reader()),
    "new rows": lambda: OneBatchPAM(2).fit(X).predict(MASKED),
    "weights": lambda: OneBatchPAM(2).fit(X, sample_weight=HIDDEN),
    "fixed medoids": lambda: OneBatchPAM(2).fit(X, fixed_medoids=np.ma.masked_array([0, 1], [True, False])),
    "labels": lambda: medoids_of(X, np.ma.masked_array(LABELS, LABELS > 0)),
    "block": lambda: swap_search(np.ma.masked_array(PAIRS, PAIRS > 3), 2),
    "duplicates": lambda: collapse_duplicates(MASKED),
    "partitions": lambda: onebatchpam.dask.OneBatchPAM(2).fit(da.from_array(MASKED, chunks=(20, 3))),
    "weights of partitions": lambda: onebatchpam.dask.OneBatchPAM(2).fit(
        da.from_array(X, chunks=(20, 3)), sample_weight=da.from_array(HIDDEN, chunks=20)
    ),
}


@pytest.mark.parametrize("call", MASKS.values(), ids=MASKS)
def test_masked_values_are_not_read(call):
    with pytest.raises(ValueError, match=r"is a masked array, which hides \S+ of its values: expected an array with"):
        call()


def test_a_mask_that_hides_nothing_is_none():
    expected = OneBatchPAM(2, random_state=0).fit(X).inertia_
    assert OneBatchPAM(2, random_state=0).fit(np.ma.masked_array(X, np.zeros_like(X, bool))).inertia_ == expected


@pytest.mark.skipif(np.finfo(np.longdouble).max <= np.finfo(float).max, reason="longdouble is float64 here")
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_longdoubles(form):
    long = X.astype(np.longdouble)
    expected = OneBatchPAM(2, random_state=0).fit(form(X)).inertia_
    assert OneBatchPAM(2, random_state=0).fit(form(long)).inertia_ == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"^X holds a number that is too large for float64"):
        OneBatchPAM(2).fit(form(long * np.longdouble("1e4000")))
