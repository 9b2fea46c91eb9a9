"""Scans and viewers: what is noticed of a block while it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from onebatchpam import _core
from onebatchpam.blocks.scan import TileScan
from spaces import make_space


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, -1e-30])
@pytest.mark.parametrize("m", [1, 3, 8, 15, 16, 17, 40, 64, 100, 131])
def test_scan_sees_a_bad_entry_wherever_it_is(simd_level, m, value):
    for column in range(m):
        block = np.ones((3, m), dtype=np.float32)
        block[1, column] = value
        found = TileScan(3, 1)
        found.viewer.see(block)
        assert not found.viewer.valid


def assert_scan_is_right(block):
    """Compare what a scan finds with what NumPy finds."""
    found = TileScan(len(block), 2)
    found.viewer.see(block)
    assert (found.viewer.largest, found.viewer.valid) == (block.max(), True)
    np.testing.assert_array_equal(found.nearest, block.argmin(axis=1))
    np.testing.assert_array_equal(found.distances, block.min(axis=1))


@pytest.mark.parametrize("widths", [range(1, 65), range(65, 201), [1000]], ids=["narrow", "middle", "wide"])
def test_scan_finds_the_first_smallest_and_the_largest(simd_level, widths):
    for m in widths:
        rng = np.random.RandomState(m)
        block = rng.randint(0, 5, (100, m)).astype(np.float32)  # with many ties
        assert_scan_is_right(block)
        block[(block == 0) & (rng.rand(*block.shape) < 0.5)] = -0.0
        assert_scan_is_right(block)


@pytest.mark.parametrize("m", [1, 5, 16, 63, 64, 65, 100, 130])
def test_scan_finds_an_extreme_wherever_it_is(simd_level, m):
    tiny, huge = np.float32(1e-45), np.finfo(np.float32).max
    for value in (0.0, -0.0, tiny, huge):
        block = np.full((m, m), 2.0, np.float32)
        np.fill_diagonal(block, value)
        assert_scan_is_right(block)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_is_seen_while_it_is_computed_is_what_is_there(dtype, n_jobs):
    rng = np.random.RandomState(0)
    # A viewer sees many rows at a time, few rows, and rows whose columns alone do not fit in the cache.
    for n_features, n_columns in ((3, 40), (16, 700), (100, 900)):
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
        # A sweep that is passed the gains makes the same swaps as a sweep that computes them.
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
