"""What a swap search cannot work with, and how it says so."""

from __future__ import annotations

import numpy as np
import pytest

from onebatchpam import _core, swap_search
from onebatchpam.blocks.scan import TileScan
from spaces import make_space


def block_with(value):
    block = np.ones((5, 20))
    block[3, 17] = value
    return block


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_clusters": 6}, "n_clusters=6.*n_samples=5"),
        ({"n_clusters": 0}, "n_clusters=0.*at least 1"),
        ({"n_clusters": 2.0}, "n_clusters=2.0.*integer"),
        ({"n_clusters": True}, "n_clusters=True"),
        ({"n_clusters": None}, "n_clusters=None"),
        ({"init": [0]}, r"init has shape \(1,\).*2 integers"),
        ({"init": [[0, 1]]}, r"init has shape \(1, 2\)"),
        ({"init": [0.0, 1.0]}, "dtype float64"),
        ({"init": [0, 5]}, "init holds 5.*0 to 4"),
        ({"init": [0, -1]}, "init holds -1"),
        ({"init": [3, 3]}, "init holds 3 more than once"),
        ({"init": "random"}, "init"),
        ({"weights": np.ones(19)}, r"weights has shape \(19,\).*\(20,\)"),
        ({"weights": np.ones((20, 1))}, "weights has shape"),
        ({"weights": [1.0] * 19 + [-1]}, r"weights\[19\]=-1.0.*not negative"),
        ({"weights": [np.nan] + [1.0] * 19}, r"weights\[0\]=nan"),
        ({"weights": [1.0, np.inf] + [1.0] * 18}, r"weights\[1\]=inf"),
        ({"weights": np.zeros(20)}, "weights is zero for every column"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": 1.5}, "max_iter=1.5"),
        ({"tol": -1e-3}, "tol=-0.001"),
        ({"tol": np.nan}, "tol=nan"),
        ({"tol": "small"}, "tol='small'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"block": block_with(-0.5)}, "row 3, column 17.*-0.5"),
        ({"block": block_with(np.nan)}, "block contains NaN"),
        ({"block": block_with(np.inf)}, "block contains infinity"),
        ({"block": np.ones(5)}, "1D array"),
        ({"block": np.ones((5, 0))}, "0 feature"),
    ],
)
def test_errors(changed, message):
    arguments = {"block": np.ones((5, 20)), "n_clusters": 2, **changed}
    with pytest.raises(ValueError, match=message):
        swap_search(**arguments)


def test_values_beyond_float32():
    with pytest.raises(ValueError, match=r"float32|infinity"):
        swap_search(block_with(1e39), 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-30])
@pytest.mark.parametrize("m", [1, 3, 8, 15, 16, 17, 40])
def test_scan_sees_a_bad_entry_wherever_it_is(simd_level, m, value):
    for column in range(m):
        block = np.ones((3, m), dtype=np.float32)
        block[1, column] = value
        found = TileScan(3, 1)
        found.viewer.see(block)
        assert not found.viewer.valid


@pytest.mark.parametrize("m", [1, 3, 8, 15, 16, 17, 40])
def test_scan_finds_the_first_smallest_and_the_largest(simd_level, m):
    block = np.random.RandomState(m).randint(0, 5, (200, m)).astype(np.float32)
    found = TileScan(200, 2)
    found.viewer.see(block)
    assert (found.viewer.largest, found.viewer.valid) == (block.max(), True)
    np.testing.assert_array_equal(found.nearest, block.argmin(axis=1))
    np.testing.assert_array_equal(found.distances, block.min(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_is_seen_while_it_is_computed_is_what_is_there(dtype, n_jobs):
    rng = np.random.RandomState(0)
    for n_features, n_columns in (
        (3, 40),
        (16, 700),
        (100, 900),
    ):  # many rows at once, few, and more than the cache holds
        X = rng.randint(0, 256, (1100, n_features)).astype(dtype)
        distances = make_space(X, "manhattan", n_jobs).distances_to(np.arange(n_columns))
        expected = distances.compute(np.empty((1100, n_columns), np.float32))
        found, tile = TileScan(1100, n_jobs), np.empty_like(expected)
        distances.fill(slice(0, 1100), tile, found.viewer)
        np.testing.assert_array_equal(tile, expected)
        np.testing.assert_array_equal(found.nearest, expected.argmin(axis=1))
        assert found.viewer.largest == expected.max()
        search = _core.SwapSearch(1100, np.arange(9), expected[:9], np.ones(n_columns), 0.0)
        seen, shown = ((np.empty(1100), np.empty(1100, np.int32)) for _ in range(2))
        distances.fill(slice(0, 1100), tile, _core.SwapEvaluator(search, *seen, n_jobs))
        _core.SwapEvaluator(search, *shown, 1).see(expected)
        np.testing.assert_array_equal(seen, shown)
        # A sweep that is told the gains makes the same swaps.
        other = _core.SwapSearch(1100, np.arange(9), expected[:9], np.ones(n_columns), 0.0)
        search.sweep(expected, 0, n_jobs, seen[0])
        other.sweep(expected, 0, n_jobs)
        assert (search.medoids, search.n_swaps) == (other.medoids, other.n_swaps)
        assert search.n_swaps > 0


def test_a_viewer_is_shown_what_it_expects():
    block = np.ones((5, 4), np.float32)
    with pytest.raises(ValueError, match="not what the viewer expects"):
        TileScan(6, 1).viewer.see(block)
    search = _core.SwapSearch(5, np.arange(2), block[:2], np.ones(4), 0.0)
    evaluator = _core.SwapEvaluator(search, np.empty(5), np.empty(5, np.int32), 1)
    with pytest.raises(ValueError, match="not what the viewer expects"):
        evaluator.see(block[:, :3])
    with pytest.raises(ValueError, match="not what the viewer expects"):
        _core.PackedColumns(block, "manhattan").fill(block, np.empty((5, 5), np.float32), evaluator)
    with pytest.raises(ValueError, match="an entry for each row"):
        search.sweep(block, 0, 1, np.zeros(4))


class TestSwapSearch:
    """The native object checks what reaches it, whoever calls."""

    medoids = np.array([0, 2])
    rows = np.ones((2, 4), dtype=np.float32)
    weights = np.ones(4)

    def test_medoids(self):
        with pytest.raises(ValueError, match="needs a medoid"):
            _core.SwapSearch(5, self.medoids[:0], self.rows[:0], self.weights, 0.0)
        with pytest.raises(ValueError, match="out of range"):
            _core.SwapSearch(2, self.medoids, self.rows, self.weights, 0.0)
        with pytest.raises(ValueError, match="medoids x batch points"):
            _core.SwapSearch(5, self.medoids, self.rows, self.weights[:3], 0.0)

    def test_halves_of_a_sweep(self):
        search = _core.SwapSearch(5, self.medoids, self.rows, self.weights, 0.0)
        with pytest.raises(ValueError, match="4 columns"):
            search.find_improving(np.ones((5, 3), dtype=np.float32), 0, 0, 1)
        with pytest.raises(ValueError, match="beyond the last candidate"):
            search.find_improving(np.ones((5, 4), dtype=np.float32), 1, 0, 1)
        with pytest.raises(ValueError, match="a row for each candidate"):
            search.try_candidates([1], self.rows)
        with pytest.raises(ValueError, match="out of range"):
            search.try_candidates([1, 5], self.rows)
        assert not search.try_candidates([0, 1], self.rows)
        assert search.try_candidates([1], self.rows[:1] / 2)
        assert (search.medoids, search.n_swaps) == ([1, 2], 1)

    def test_sweep(self):
        search = _core.SwapSearch(5, self.medoids, self.rows, self.weights, 0.0)
        with pytest.raises(ValueError, match="4 columns"):
            search.sweep(np.ones((5, 3), dtype=np.float32), 0, 1)
        with pytest.raises(ValueError, match="beyond the last candidate"):
            search.sweep(np.ones((5, 4), dtype=np.float32), 1, 1)
        with pytest.raises(ValueError, match="n_threads"):
            search.sweep(np.ones((5, 4), dtype=np.float32), 0, 0)
        with pytest.raises(TypeError):
            search.sweep(np.ones((5, 4)), 0, 1)
