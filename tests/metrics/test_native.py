"""Native distances equal the reference for every type, metric, SIMD level, size and number of threads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import reference
from onebatchpam import FasterPAM, OneBatchPAM, _core, distance_block, swap_search
from onebatchpam._tiles import as_kernels_read
from onebatchpam.metrics.native import ALIASES, NATIVE_METRICS
from onebatchpam.metrics.registry import METRICS

NATIVE_DTYPES = ("float32", "float64", "uint8")
CONVERTED_DTYPES = ("int8", "int16", "uint16", "int32", "int64", "bool", "float16", ">f4", ">f8")
N_FEATURES = (1, 7, 64, 129, 300)
N_COLUMNS = (1, 15, 16, 17, 33)

# The relative error that a float32 or float64 sum over some hundred features may have.
RTOL = {"float32": 1e-5, "float64": 1e-12}

metrics = pytest.mark.parametrize("metric", NATIVE_METRICS)
native_dtypes = pytest.mark.parametrize("dtype", NATIVE_DTYPES)


def make_rows(n, n_features, dtype, seed=0):
    """Draw rows that use the range of the type; every fourth is zero, every fifth a copy of the first."""
    rng = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        X = rng.rand(n, n_features) < 0.5
    elif dtype.kind in "iu":
        top = min(np.iinfo(dtype).max, 10_000)
        X = rng.randint(max(-top, np.iinfo(dtype).min), top + 1, size=(n, n_features))
    else:
        X = 3 * rng.randn(n, n_features)
    X[3::4] = 0
    X[4::5] = X[0]
    return X.astype(dtype)


def assert_block(actual, X, Y, metric):
    """Compare a block with the reference, as closely as its type allows."""
    expected = reference.distance_block(X, Y, metric)
    rtol = RTOL[actual.dtype.name]
    # A cosine distance has the rounding error of rows scaled to length 1, however close the rows are.
    atol = rtol / 10 if metric == "cosine" else 0
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


@metrics
@native_dtypes
@pytest.mark.parametrize("n_features", N_FEATURES)
def test_native_equals_reference_for_all_sizes(simd_level, metric, dtype, n_features):
    X, Y = make_rows(10, n_features, dtype, seed=1), make_rows(33, n_features, dtype, seed=2)
    Y[0] = X[0]
    for n, m in product(range(1, 11), N_COLUMNS):
        block = distance_block(X[:n], Y[:m], metric)
        assert block.dtype == (np.float64 if dtype == "float64" else np.float32)
        assert_block(block, X[:n], Y[:m], metric)


def test_what_is_precomputed_is_not_computed():
    with pytest.raises(ValueError, match="metric='precomputed' leaves nothing to compute"):
        distance_block(np.eye(3), np.eye(3), "precomputed")


@metrics
@pytest.mark.parametrize("dtype", CONVERTED_DTYPES)
def test_other_types_are_converted(metric, dtype):
    X, Y = make_rows(10, 7, dtype, seed=1), make_rows(17, 7, dtype, seed=2)
    block = distance_block(X, Y, metric)
    assert block.dtype == (np.float32 if np.can_cast(dtype, np.float32) else np.float64)
    assert_block(block, X, Y, metric)


@metrics
@pytest.mark.parametrize(
    ("dtype_x", "dtype_y", "result"),
    [
        ("uint8", "int8", "float32"),
        ("uint8", "bool", "float32"),
        ("uint8", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int64", "uint8", "float64"),
    ],
)
def test_mixed_types_are_compared_in_one_that_holds_both(metric, dtype_x, dtype_y, result):
    X, Y = make_rows(10, 7, dtype_x, seed=1), make_rows(17, 7, dtype_y, seed=2)
    block = distance_block(X, Y, metric)
    assert block.dtype == result
    assert_block(block, X, Y, metric)


@metrics
@native_dtypes
@pytest.mark.parametrize("n_features", [7, 129])
def test_bits_are_the_same_at_every_level_and_with_any_number_of_threads(
    metric, dtype, n_features, restored_simd_level
):
    # Some hundred rows, so that every thread has a tile of its own.
    X, Y = make_rows(500, n_features, dtype, seed=1), make_rows(33, n_features, dtype, seed=2)
    blocks = []
    for level, n_jobs in product(_core.simd_levels(), (1, 2, 3)):
        _core.force_simd_level(level)
        blocks.append(distance_block(X, Y, metric, n_jobs=n_jobs))
    assert_block(blocks[0], X, Y, metric)
    for block in blocks[1:]:
        np.testing.assert_array_equal(block, blocks[0])


@metrics
@native_dtypes
@pytest.mark.parametrize("n_features", [1, 31, 129, 784])
def test_equal_rows_are_at_distance_exactly_zero(simd_level, metric, dtype, n_features):
    X = make_rows(40, n_features, dtype)
    block = distance_block(X, X, metric)
    equal = (X[:, None] == X[None]).all(axis=2)
    assert equal.sum() > len(X)  # there are duplicates besides the diagonal
    assert not block[equal].any()


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_sums_and_maxima_of_whole_numbers_are_exact(simd_level, metric, dtype):
    X = np.random.RandomState(0).randint(0, 256, (30, 300)).astype(dtype)
    np.testing.assert_array_equal(distance_block(X, X, metric), reference.distance_block(X, X, metric))


def test_bytes_at_the_ends_of_their_range(simd_level):
    ends = np.array([[0] * 13, [255] * 13], dtype=np.uint8)
    np.testing.assert_array_equal(distance_block(ends, ends, "manhattan"), [[0, 255 * 13], [255 * 13, 0]])


@native_dtypes
def test_cosine_of_zero_rows(simd_level, dtype):
    X = np.array([[0, 0], [1, 0], [0, 3], [2, 2]], dtype=dtype)
    block = distance_block(X, X, "cosine")
    np.testing.assert_allclose(block[0], [0, 1, 1, 1], rtol=1e-6)
    np.testing.assert_allclose(block[:, 0], [0, 1, 1, 1], rtol=1e-6)


@native_dtypes
def test_cosine_ignores_lengths(dtype):
    X = make_rows(20, 9, dtype) // 4
    np.testing.assert_array_equal(distance_block(2 * X, X, "cosine"), distance_block(X, X, "cosine"))


@pytest.mark.parametrize("length", [1e-30, 1e30])
def test_cosine_of_rows_whose_squares_leave_float32(length):
    X = (make_rows(20, 9, "float32") * length).astype(np.float32)
    np.testing.assert_allclose(
        distance_block(X, X, "cosine"), reference.distance_block(X, X, "cosine"), rtol=1e-5, atol=1e-6
    )


def hard_rows(kind, n_features):
    """Return float32 rows whose distances are far smaller than their lengths."""
    rng = np.random.RandomState(0)
    X = rng.randn(60, n_features).astype(np.float32)
    if kind == "common offset":
        return X + np.float32(1e4)
    if kind == "offset in one feature":
        X[:, 0] += 1e6
        return X
    if kind == "rows ever closer":
        X[30:] = X[:30] * (1 + np.logspace(-5, 0, 30)[:, None] * rng.randn(30, n_features))
        return X
    if kind == "neighbouring floats":
        X[30:] = X[:30]
        X[30:, ::3] = np.nextafter(X[30:, ::3], np.float32(np.inf))
        return X
    X[:2] *= 1e5  # two outliers drag the mean away from all others
    return X


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("n_features", [5, 64, 784])
@pytest.mark.parametrize(
    "kind", ["common offset", "offset in one feature", "rows ever closer", "neighbouring floats", "outliers"]
)
def test_float32_distances_do_not_cancel(simd_level, metric, n_features, kind):
    X = hard_rows(kind, n_features)
    for columns in (X, X[:1], X[-3:], X[20:50]):
        actual, expected = distance_block(X, columns, metric), reference.distance_block(X, columns, metric)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=0)


@metrics
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("share_of_zeros", [0.3, 0.9, 0.999])
def test_zeros_that_are_skipped_change_nothing(simd_level, metric, dtype, share_of_zeros):
    rng = np.random.RandomState(0)
    X = rng.randint(1, 200, (150, 300)) * (rng.rand(150, 300) >= share_of_zeros)
    X = (X if dtype == "uint8" else X - 50 * (X > 0)).astype(dtype)
    block = distance_block(X, X[:40], metric)
    np.testing.assert_allclose(block, reference.distance_block(X, X[:40], metric), rtol=1e-5, atol=1e-6)
    # Which zeros are skipped depends on the neighbours of a row, but its distances must not.
    order = rng.permutation(150)
    np.testing.assert_array_equal(distance_block(X[order], X[:40], metric), block[order])


@metrics
def test_lists_are_arrays(metric):
    X, Y = [[0, 1], [2, 5]], [[1, 1]]
    np.testing.assert_allclose(distance_block(X, Y, metric), reference.distance_block(X, Y, metric))


@pytest.mark.parametrize(("alias", "metric"), ALIASES.items())
def test_alias(alias, metric):
    X = make_rows(10, 5, "float64")
    np.testing.assert_array_equal(distance_block(X, X, alias), distance_block(X, X, metric))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("metric", ["manhattan", "canberra"])
def test_out_is_filled_and_returned(dtype, metric):
    X, Y = make_rows(10, 5, "float64", seed=1), make_rows(7, 5, "float64", seed=2)
    out = np.full((10, 7), np.nan, dtype=dtype)
    assert distance_block(X, Y, metric, out=out) is out
    np.testing.assert_array_equal(out, distance_block(X, Y, metric).astype(dtype))


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "out",
    [
        np.empty((7, 10)),
        np.empty(70),
        np.empty((10, 7), dtype=np.int64),
        np.empty((10, 7), dtype=np.float16),
        np.empty((10, 7), order="F"),
        np.empty((10, 14))[:, ::2],
        read_only(np.empty((10, 7))),
    ],
    ids=["transposed", "flat", "integers", "float16", "Fortran", "strided", "read-only"],
)
def test_out_that_cannot_hold_the_block(out):
    X, Y = make_rows(10, 5, "float64"), make_rows(7, 5, "float64")
    with pytest.raises(ValueError, match="out"):
        distance_block(X, Y, out=out)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_out_wider_than_the_result(dtype):
    X = make_rows(10, 5, dtype)
    with pytest.raises(ValueError, match=r"dtype float64.*expected .* float32"):
        distance_block(X, X, out=np.empty((10, 10)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"metric": "euclid"}, "'euclid'"),
        ({"metric": "precomputed"}, "'precomputed'"),
        ({"metric": None}, "None"),
        ({"metric_params": {"p": 3}}, "euclidean.*'p': 3"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": 1.5}, "n_jobs=1.5"),
        ({"X": np.ones((3, 4))}, "4 features.*5"),
        ({"X": np.ones(5)}, "Reshape your data"),
        ({"X": np.ones((0, 5))}, "0 sample"),
        ({"X": np.full((3, 5), np.nan)}, r"X\[0, 0\] is missing \(NaN\)"),
        ({"Y": np.full((3, 5), np.inf)}, r"Y\[0, 0\] is inf: expected finite"),
        ({"X": np.ones((3, 5), dtype=complex)}, "Complex"),
        ({"X": [["a"] * 5]}, "a"),
    ],
)
def test_errors(changed, message):
    arguments = {"X": np.ones((3, 5)), "Y": np.ones((2, 5)), **changed}
    with pytest.raises(ValueError, match=message):
        distance_block(**arguments)


def test_error_names_what_is_known():
    with pytest.raises(ValueError, match="metric='L1' is not known") as error:
        distance_block([[0]], [[0]], "L1")
    assert all(repr(name) in str(error.value) for name in METRICS)


@pytest.mark.parametrize(
    ("name", "meant"), [("euclidian", "euclidean"), ("cos", "cosine"), ("Manhattan", "manhattan"), ("L2", "l2")]
)
def test_error_guesses_what_is_meant(name, meant):
    with pytest.raises(ValueError, match=rf"metric='{name}' is not known \(did you mean '{meant}'\?\)"):
        distance_block([[0]], [[0]], name)


class TestPackedColumns:
    """The native object checks its arguments itself."""

    def test_errors(self):
        points = np.ones((4, 3), dtype=np.float32)
        packed = _core.PackedColumns(points, "manhattan")
        out = np.empty((4, 4), dtype=np.float32)
        with pytest.raises(ValueError, match="no native metric 'hamming'"):
            _core.PackedColumns(points, "hamming")
        with pytest.raises(ValueError, match="empty"):
            _core.PackedColumns(points[:0], "manhattan")
        with pytest.raises(ValueError, match="type of the packed points"):
            packed.fill(points.astype(np.float64), out, 1)
        with pytest.raises(ValueError, match="3 features"):
            packed.fill(np.ones((4, 2), dtype=np.float32), out, 1)
        with pytest.raises(ValueError, match="rows x columns"):
            packed.fill(points, out[:3], 1)
        with pytest.raises(ValueError, match="n_threads"):
            packed.fill(points, out, 0)

    def test_no_rows(self):
        packed = _core.PackedColumns(np.ones((4, 3)), "euclidean")
        block = np.full((1, 4), -1.0)
        packed.fill(np.empty((0, 3)), block[:0], 2)
        assert (block == -1).all()

    def test_unknown_simd_level(self):
        with pytest.raises(ValueError, match="no SIMD level 'v9'"):
            _core.force_simd_level("v9")


def test_bytes_whose_squares_do_not_fit_in_32_bits():
    X = np.zeros((3, 66_100), dtype=np.uint8)
    X[1], X[2, 0] = 255, 7
    expected = reference.distance_block(X, X, "euclidean")
    # The rows are compared as floats instead, whose rounding errors add up over so many features.
    np.testing.assert_allclose(distance_block(X, X, "euclidean"), expected, rtol=1e-4)


def shift(array):
    """Return an array whose numbers lie at odd addresses."""
    odd = np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    assert not odd.flags.aligned
    return odd


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_and_blocks_at_odd_addresses(dtype):
    X = np.random.RandomState(0).rand(50, 3)
    block, weights = distance_block(X, X).astype(dtype), np.ones(50)
    for model in (FasterPAM(3, metric="precomputed"), OneBatchPAM(3, metric="precomputed", batch_size=20)):
        labels = model.set_params(random_state=0).fit(block, sample_weight=weights).labels_
        np.testing.assert_array_equal(model.fit(shift(block), sample_weight=shift(weights)).labels_, labels)
    expected = swap_search(block, 3, weights=weights, random_state=0)
    found = swap_search(shift(block), 3, weights=shift(weights), random_state=0)
    np.testing.assert_array_equal(found.medoids, expected.medoids)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_at_odd_addresses(dtype):
    X = np.random.RandomState(0).rand(50, 3).astype(dtype)
    odd = shift(X)
    assert as_kernels_read(odd, dtype).flags.aligned
    assert as_kernels_read(X, dtype) is X
    model, expected = (FasterPAM(3, random_state=0).fit(rows) for rows in (odd, X))
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.inertia_ == expected.inertia_


class TestLargeNumbers:
    """A distance that fits in float32 is never infinite, although the squares in it may be."""

    @pytest.mark.parametrize("n_features", [3, 40])
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
    @pytest.mark.parametrize("scale", [1e18, 1e19, 1e30, 3e36])
    def test_distances(self, metric, n_features, scale):
        X = (np.random.RandomState(0).rand(30, n_features) * scale).astype(np.float32)
        expected = reference.distance_block(X.astype(np.float64), X.astype(np.float64), metric)
        np.testing.assert_allclose(distance_block(X, X, metric), expected, rtol=1e-4)

    def test_squares_that_fit_although_their_terms_do_not(self):
        X = np.random.RandomState(0).rand(32, 40).astype(np.float32)
        value = np.sqrt(0.48 * np.finfo(np.float32).max)
        X[30, 0] = X[31, 1] = X[30:, 2] = value
        expected = reference.distance_block(X.astype(np.float64), X.astype(np.float64), "sqeuclidean")
        np.testing.assert_allclose(distance_block(X, X, "sqeuclidean")[30:, 30:], expected[30:, 30:], rtol=1e-4)

    @pytest.mark.parametrize("memory_limit", [None, 0, 30_000])
    @pytest.mark.parametrize("n_features", [3, 40])
    def test_fits(self, memory_limit, n_features):
        X = (np.random.RandomState(0).rand(900, n_features) * 1e30).astype(np.float32)
        parameters = {"batch_size": 60, "random_state": 0, "memory_limit": memory_limit}
        model = OneBatchPAM(20, **parameters).fit(X)
        small = OneBatchPAM(20, **parameters).fit(X.astype(np.float64) / 1e30)
        assert model.inertia_ == pytest.approx(1e30 * small.inertia_, rel=0.02)  # rounding leads to other swaps
        np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_a_distance_too_large_is_refused(self):
        X = np.array([[0.0], [3e38], [-3e38]], dtype=np.float32)
        with pytest.raises(ValueError, match=r"the dissimilarity of X\[\d\] and X\[\d\] is inf: .*rescale the data"):
            OneBatchPAM(2).fit(X)


class TestHalves:
    """Numbers in float16 are widened to float32 as NumPy does it."""

    def test_every_number(self, simd_level):
        halves = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(256, 256)
        wide, expected = as_kernels_read(halves, np.float32), halves.astype(np.float32)
        np.testing.assert_array_equal(wide, expected)  # NaN equals NaN
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(wide.view(np.uint32)[is_number], expected.view(np.uint32)[is_number])

    @pytest.mark.parametrize("n", [1, 7, 65_535, 65_537, 700_001])
    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_any_number_of_them(self, n, n_jobs):
        halves = np.random.RandomState(0).randn(1, n).astype(np.float16)
        np.testing.assert_array_equal(as_kernels_read(halves, np.float32, n_jobs), halves.astype(np.float32))

    @pytest.mark.parametrize(
        "view", [np.asfortranarray, lambda X: X[::2, ::3], lambda X: X.astype(">f2"), lambda X: X[:0], np.ravel]
    )
    def test_any_order_in_memory(self, view):
        halves = view(np.random.RandomState(0).randn(12, 9).astype(np.float16))
        wide = as_kernels_read(halves, np.float32)
        assert wide.dtype == np.float32
        np.testing.assert_array_equal(wide, halves.astype(np.float32))
