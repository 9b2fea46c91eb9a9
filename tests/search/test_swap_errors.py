"""Arguments that a swap search refuses, and the scan that finds bad entries of a block."""

from __future__ import annotations

import numpy as np
import pytest

from onebatchpam import _core, swap_search


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
        ({"max_iter": -1}, "max_iter=-1"),
        ({"max_iter": 1.5}, "max_iter=1.5"),
        ({"tol": -1e-3}, "tol=-0.001"),
        ({"tol": np.nan}, "tol=nan"),
        ({"tol": "small"}, "tol='small'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"block": block_with(-0.5)}, "row 3, column 17.*-0.5"),
        ({"block": block_with(np.nan)}, "row 3, column 17.*nan"),
        ({"block": block_with(np.inf)}, "row 3, column 17.*inf"),
        ({"block": [[0, 10**400], [1, 0]]}, "block holds an integer that is too large for float64"),
        ({"block": np.ones(5)}, r"block has shape \(5,\): expected a table"),
        ({"block": np.ones((5, 0))}, "0 feature"),
    ],
)
def test_errors(changed, message):
    arguments = {"block": np.ones((5, 20)), "n_clusters": 2, **changed}
    with pytest.raises(ValueError, match=message):
        swap_search(**arguments)


def test_values_beyond_float32():
    with pytest.raises(ValueError, match=r"row 3, column 17.*inf"):
        swap_search(block_with(1e39), 2)


class TestSwapSearch:
    """The native search checks its arguments itself."""

    medoids = np.array([0, 2])
    rows = np.ones((2, 4), dtype=np.float32)
    weights = np.ones(4)

    def test_medoids(self):
        with pytest.raises(ValueError, match="medoids has length 0: expected at least 1"):
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
            search.try_candidates(np.array([1]), self.rows)
        with pytest.raises(ValueError, match="out of range"):
            search.try_candidates(np.array([1, 5]), self.rows)
        assert not search.try_candidates(np.array([0, 1]), self.rows)
        assert search.try_candidates(np.array([1]), self.rows[:1] / 2)
        assert (search.medoids, search.n_swaps) == ([1, 2], 1)

    @pytest.mark.parametrize("first", [1, 2**63, 2**64 - 2])
    def test_candidates_beyond_the_last(self, first):
        """The sum of the first candidate and the number of rows may not fit in 64 bits."""
        search = _core.SwapSearch(3, np.array([0, 1]), np.ones((2, 4), np.float32), np.ones(4), 0.0)
        with pytest.raises(ValueError, match="beyond the last candidate"):
            search.sweep(np.ones((3, 4), np.float32), first, 1)
        with pytest.raises(ValueError, match="beyond the last candidate"):
            search.find_improving(np.ones((3, 4), np.float32), first, 0, 1)

    def test_more_candidates_than_can_be_counted(self):
        with pytest.raises(ValueError, match="n_candidates=18446744073709551613"):
            _core.SwapSearch(2**64 - 3, np.array([0]), np.ones((1, 4), np.float32), np.ones(4), 0.0)

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
