"""Faults of a metric function are reported with the pair of rows, and leave no half-fitted estimator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from onebatchpam import OneBatchPAM, block_metric, distance_block, pair_metric

ROWS = np.random.RandomState(0).rand(10, 3)


def manhattan(a, b):
    return np.abs(a - b).sum()


def manhattan_block(A, B):
    return np.abs(A[:, None] - B[None]).sum(axis=-1)


def divide(A, B):
    return 1 / 0


def assert_refused(message, function, X=ROWS, **parameters):
    model = OneBatchPAM(2, metric=function, batch_size=5, random_state=0, **{"variant": "nniw", **parameters})
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(X)
    assert vars(model) == before
    return caught.value


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf, -np.inf])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_value(value, n_jobs):
    bad = ROWS[7]

    def distance(a, b):
        return value if a is not b and (a == bad).all() else manhattan(a, b)

    error = assert_refused(rf"distance\(X\[7\], X\[\d\]\) is {value}: expected a finite", distance)
    assert "not negative" in str(error)
    if n_jobs == 2:
        assert_refused(r"distance\(X\[7\], X\[\d\]\)", distance, n_jobs=2)


def test_the_pair_is_the_pair():
    matrix = np.ones((10, 10))
    matrix[3, 8] = np.nan
    X = [(i,) for i in range(10)]

    def look_up(a, b):
        return matrix[a[0], b[0]]

    model = OneBatchPAM(2, metric=pair_metric(look_up), batch_size=10, random_state=0)
    with pytest.raises(ValueError, match=r"look_up\(X\[3\], X\[8\]\) is nan"):
        model.fit(X)
    block = block_metric(lambda A, B: np.array([[look_up(a, b) for b in B] for a in A]))
    with pytest.raises(ValueError, match=r"<lambda>\(X\[3\], X\[8\]\) is nan"):
        model.set_params(metric=block).fit(X)
    with pytest.raises(ValueError, match=r"look_up\(X\[3\], Y\[1\]\) is nan"):
        distance_block(X, X[7:9], pair_metric(look_up))
    matrix[:] = 1 - np.eye(10)
    model.set_params(metric=pair_metric(look_up), init=[3, 4]).fit(X)
    matrix[model.medoid_indices_[1], 5] = -1
    with pytest.raises(ValueError, match=r"look_up\(medoid 1, X\[2\]\) is -1"):
        model.predict([(3,), (4,), (5,)])


def test_rounding_gets_advice():
    assert_refused("clip it at 0", lambda a, b: manhattan(a, b) or -1e-17)


def test_exception():
    def distance(a, b):
        if (a == ROWS[4]).all():
            raise KeyError("four")
        return manhattan(a, b)

    error = assert_refused(r"distance\(X\[4\], X\[\d\]\) raised KeyError\('four'\)", distance)
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], r"is an array of shape \(2,\): expected a number"),
        (np.ones(1), r"is an array of shape \(1,\)"),
        (None, "is None of type NoneType: expected a number"),
        ("near", "is 'near' of type str"),
        (1j, "is 1j of type complex"),
    ],
)
def test_no_number(value, message):
    assert_refused(message, lambda a, b: value)


def test_number_of_any_type():
    for value in (1, True, np.float32(1), np.array(1.0), Fraction(1)):
        assert distance_block(ROWS, ROWS, pair_metric(lambda a, b, value=value: value)).max() == 1


def test_numbers_of_several_types_in_a_row():
    kinds = [float, int, np.float32, np.int64, np.array, Fraction, bool]
    column = np.arange(7.0)[:, None]
    row = distance_block(column[:1], column, pair_metric(lambda a, b: kinds[int(b[0])](1)))
    assert (row == 1).all()


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([1.0, 2.0, None, 0.0], r"Y\[2\]\) is None"),
        ([1.0, 2.0, KeyError("two"), 0.0], r"Y\[2\]\) raised KeyError\('two'\)"),
        ([1.0, None, KeyError("two"), 0.0], r"Y\[1\]\) is None"),
        ([1.0, StopIteration("end"), 0.0, 0.0], r"Y\[1\]\) raised StopIteration"),
    ],
)
def test_the_first_fault_of_a_row_is_reported(results, message):
    def distance(a, b):
        result = results[int(b[0])] if a[0] == 3 else 1.0
        if isinstance(result, Exception):
            raise result
        return result

    column = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match=rf"distance\(X\[3\], {message}"):
        distance_block(column, column, pair_metric(distance))


def test_a_lack_of_memory_is_no_fault_of_a_pair():
    def distance(a, b):
        raise MemoryError

    with pytest.raises(MemoryError):
        distance_block(ROWS, ROWS, pair_metric(distance))


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (lambda A, B: np.ones((len(B), len(A))), r"shape \(5, 10\) .* expected numbers in shape \(10, 5\)"),
        (lambda A, B: np.ones(len(A)), r"returned an array of shape \(10,\)"),
        (lambda A, B: 1.0, r"returned an array of shape \(\)"),
        (lambda A, B: np.full((len(A), len(B)), "x"), "type <U1"),
    ],
)
def test_shape_of_a_block(block, message):
    assert_refused(message, block_metric(block))


def test_exception_for_a_block():
    error = assert_refused("raised ZeroDivisionError.* for blocks of 10 and 5 rows", block_metric(divide))
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_block_function_that_fails_the_trial():
    assert_refused("tried on two blocks it raised ZeroDivisionError", divide)


def test_lists_for_a_function_of_arrays():
    assert_refused("for rows of numbers pass a two-dimensional array", manhattan, X=ROWS.tolist())


def test_keyboard_interrupt_is_not_caught():
    def interrupted(a, b):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        OneBatchPAM(2, metric=pair_metric(interrupted)).fit(ROWS)


def test_objects_have_no_mean():
    assert_refused("needs the mean", lambda a, b: 1.0, X=list("abcdefgh"), variant="lwcs")


def test_rows_have_one(blobs):
    models = [
        OneBatchPAM(2, metric=each, batch_size=50, variant="lwcs", random_state=0)
        for each in (manhattan_block, "manhattan")
    ]
    found, expected = (model.fit(blobs) for model in models)
    np.testing.assert_array_equal(found.batch_indices_, expected.batch_indices_)
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)


def test_no_metric_at_all():
    assert_refused("metric=3: expected a function", 3)


def subtract_in_place(a, b):
    a -= b
    return float(np.abs(a).sum())


def compare_blocks_in_place(A, B):
    B += 1
    return np.abs(A[:, np.newaxis] - B).sum(axis=2)


@pytest.mark.parametrize(
    "metric",
    [
        subtract_in_place,
        pair_metric(subtract_in_place),
        pair_metric(subtract_in_place, symmetric=True),
        compare_blocks_in_place,
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_function_that_writes_to_its_arguments(metric, n_jobs):
    rows = np.random.RandomState(0).rand(50, 3)
    before = rows.copy()
    with pytest.raises(ValueError, match="in_place writes to its arguments: expected a function that leaves rows"):
        OneBatchPAM(3, metric=metric, n_jobs=n_jobs).fit(rows)
    np.testing.assert_array_equal(rows, before)


def test_a_compiled_function_whose_arguments_must_be_writeable():
    numba = pytest.importorskip("numba")

    @numba.njit("f8(f8[::1], f8[::1])")
    def manhattan(a, b):
        return np.abs(a - b).sum()

    rows = np.random.RandomState(0).rand(50, 3)
    rows.flags.writeable = False
    expected = OneBatchPAM(3, metric="manhattan", random_state=0).fit(rows).medoid_indices_
    assert OneBatchPAM(3, metric=manhattan, random_state=0).fit(rows).medoid_indices_.tolist() == expected.tolist()
