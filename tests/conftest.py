"""Fixtures that several test files use."""

from __future__ import annotations

import os
import signal

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it at import; without it scikit-learn skips a check

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from onebatchpam import _core, _tiles
from onebatchpam.algorithms import rates
from onebatchpam.data import parquet, sources

# A shell starts background jobs with SIGINT ignored, and many tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def restored_simd_level():
    """Restore the SIMD level after the test."""
    level = _core.simd_level()
    yield
    _core.force_simd_level(level)


@pytest.fixture(params=_core.simd_levels())
def simd_level(request, restored_simd_level):
    """Run the test at every SIMD level of this machine."""
    _core.force_simd_level(request.param)
    return request.param


@pytest.fixture
def smallest_tiles(monkeypatch):
    """Cut all rows into the smallest possible tiles: one chunk of the swap search each."""
    for name in ("NATIVE_TILE_WORK", "SCIPY_TILE_WORK", "TILE_ENTRIES", "COMPARED_TILE_ENTRIES"):
        monkeypatch.setattr(_tiles, name, 1)


@pytest.fixture
def short_measurements(monkeypatch):
    """Let `estimate_cost` measure the machine in a moment, and not well."""
    monkeypatch.setattr(rates, "SECONDS_PER_RATE", 0.01)
    monkeypatch.setattr(rates, "SEARCHED_ENTRIES", 2**16)


@pytest.fixture(scope="session")
def blobs():
    """Return 300 rows in five groups, float64."""
    X, _ = make_blobs(300, 4, centers=5, random_state=0)
    X.flags.writeable = False
    return X


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def small_windows(monkeypatch):
    """Read files in windows of a few dozen rows, and keep only a few windows."""
    for name, value in {"READ_BYTES": 2000, "NEIGHBOUR_BYTES": 100, "KEPT_BYTES": 6000}.items():
        for module in (sources, parquet):
            monkeypatch.setattr(module, name, value, raising=False)


@pytest.fixture(name="X")
def two_groups(rng):
    """Return 700 rows in two groups, float64."""
    return np.concatenate([rng.standard_normal((350, 6)) + centre for centre in (0, 5)])
