"""Rows are converted a tile at a time, never as a whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from onebatchpam import OneBatchPAM, _tiles
from onebatchpam.batch import sample
from onebatchpam.search import refine

N_ROWS, N_FEATURES, BATCH_SIZE = 20_000, 64, 20
BLOCK_BYTES = 4 * N_ROWS * BATCH_SIZE
FLOAT_COPY_BYTES = 4 * N_ROWS * N_FEATURES


@pytest.fixture
def tiles_of_few_entries(monkeypatch):
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 50_000)


def peak_bytes(work):
    """Return the largest number of bytes that were allocated at one time while `work` ran."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def make_rows(kind):
    rows = np.random.RandomState(0).randint(0, 100, (N_ROWS, N_FEATURES), dtype=np.uint8)
    return {
        "bytes": lambda: rows,
        "integers": lambda: rows.astype(np.int16),
        "Fortran order": lambda: np.asfortranarray(rows, dtype=np.float32),
    }[kind]()


@pytest.mark.parametrize("kind", ["bytes", "integers", "Fortran order"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"metric": "manhattan"},
        {"metric": "manhattan", "init": "k-means++"},
        {"metric": "manhattan", "variant": "lwcs"},
        {"metric": "euclidean"},
        {"metric": "canberra"},
    ],
    ids=str,
)
def test_fit_and_predict(kind, parameters, tiles_of_few_entries):
    X = make_rows(kind)
    model = OneBatchPAM(3, batch_size=BATCH_SIZE, random_state=0, **parameters)
    # The fit may hold the block, at most as much again for refinement, the rows of the medoids, and a few numbers for
    # each row, but not a converted copy of the data, not even while k-means++ draws the second start.
    assert peak_bytes(lambda: model.fit(X)) < 2.2 * BLOCK_BYTES + 80 * N_ROWS + 0.9 * FLOAT_COPY_BYTES
    assert peak_bytes(lambda: model.predict(X)) < FLOAT_COPY_BYTES / 2


@pytest.mark.parametrize("variant", ["progressive", "nniw"])
def test_without_the_block_some_numbers_for_each_row_are_all(variant, tiles_of_few_entries, monkeypatch):
    monkeypatch.setattr(refine, "MOST_ENTRIES", 2**18)
    n = 400_000
    X = np.random.RandomState(0).rand(n, 2).astype(np.float32)
    model = OneBatchPAM(5, metric="manhattan", batch_size=60, variant=variant, memory_limit=0, random_state=0)
    # The fit keeps 24 bytes for each row: its weight, the odds of being drawn, and its label with the distance. For a
    # moment it needs 24 bytes more: the clock of each row, and the order in which the clocks ring. A row of the sample
    # takes some 50 bytes.
    assert peak_bytes(lambda: model.fit(X)) < (24 + 24) * n + 50 * sample.LEAST_ROWS + 4_000_000
    assert model.block_storage_ == "recomputed"
