"""Reads of data on disk: each row once in a pass, a window at a time, and rows by index in the order of the file."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebatchpam import OneBatchPAM, _tiles
from onebatchpam.data import sources
from onebatchpam.data.stored import open_stored_rows
from stored import Recorded, as_memmap

pytestmark = pytest.mark.usefixtures("small_windows")


class TestWhatIsRead:
    def test_never_much_at_once_and_on_one_thread_unless_more_are_known_to_be_safe(self, X, monkeypatch):
        stored = Recorded(X)
        OneBatchPAM(4, batch_size=60, random_state=0).fit(stored)
        assert len(stored.threads) == 1
        monkeypatch.setattr(sources, "is_safe_in_threads", lambda array: True)
        OneBatchPAM(4, batch_size=60, random_state=0).fit(stored)
        window = 2000 // X[0].nbytes + 2
        assert max(stop - start for start, stop in stored.reads) <= window
        assert len(stored.threads) == 2

    def test_one_pass_for_one_round(self, X):
        stored = Recorded(X)
        rows = open_stored_rows(stored, "X")
        for start in range(0, len(X), 10):
            np.testing.assert_array_equal(rows.tile(slice(start, start + 10)), X[start : start + 10])
        starts, stops = zip(*stored.reads, strict=True)
        assert starts == (0, *stops[:-1])
        assert stops[-1] == len(X)

    def test_a_fit_reads_as_often_as_it_has_rounds(self, X, monkeypatch):
        monkeypatch.setattr(sources, "KEPT_BYTES", 0)
        stored = Recorded(X)
        OneBatchPAM(4, variant="nniw", refine=0, batch_size=20, random_state=0).fit(stored)
        n_read = sum(stop - start for start, stop in stored.reads)
        assert n_read < 3 * len(X)  # a pass for the block, a pass for the assignment, and some rows by index

    def test_what_had_to_be_decoded_is_kept_while_there_is_room(self, X, monkeypatch):
        monkeypatch.setattr(sources, "KEPT_BYTES", 2 * X.nbytes)
        stored = Recorded(X)
        rows = open_stored_rows(stored, "X")
        for _ in range(3):
            assert np.array_equal(rows.in_memory().values, X)
        assert sum(stop - start for start, stop in stored.reads) == len(X)

    def test_a_few_rows_are_read_alone_and_in_order(self, X):
        stored = Recorded(X)
        rows, indices = open_stored_rows(stored, "X"), np.array([600, 3, 300, 601, 3])
        np.testing.assert_array_equal(rows.take(indices).values, X[indices])
        assert stored.reads == [(3, 4), (300, 301), (600, 602)]

    def test_evenly_spaced_rows_are_read_in_one_pass(self, X, monkeypatch):
        monkeypatch.setattr(sources, "KEPT_BYTES", 0)
        stored = Recorded(X)
        stored.chunks = (350, 6)
        rows, indices = open_stored_rows(stored, "X"), np.arange(0, len(X), 2)
        for some in np.split(indices, range(20, len(indices), 20)):
            np.testing.assert_array_equal(rows.take(some).values, X[some])
        assert stored.reads == [(0, 350), (350, 700)]

    def test_rows_that_had_to_be_decoded_are_kept(self, X):
        stored = Recorded(X)
        rows, indices = open_stored_rows(stored, "X"), np.arange(0, len(X), 40)
        for chosen in (indices, indices[::-2], indices[3:8], np.append(indices, 5)):
            np.testing.assert_array_equal(rows.take(chosen).values, X[chosen])
        assert stored.reads == [*((row, row + 1) for row in indices), (5, 6)]

    def test_peak_memory(self, rng, tmp_path, monkeypatch):
        for name, value in {"READ_BYTES": 2**16, "NEIGHBOUR_BYTES": 2**12}.items():
            monkeypatch.setattr(sources, name, value)
        monkeypatch.setattr(_tiles, "TILE_ENTRIES", 20_000)
        X = rng.standard_normal((20_000, 50)).astype(np.float32)
        stored = as_memmap(X, tmp_path)
        tracemalloc.start()
        try:
            OneBatchPAM(2, batch_size=10, refine=0, random_state=0).fit(stored).predict(stored)
            assert tracemalloc.get_traced_memory()[1] < X.nbytes / 2  # the block alone takes X.nbytes / 5
        finally:
            tracemalloc.stop()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_by_slice_and_by_index(data):
    n = data.draw(st.integers(1, 60))
    X = np.arange(3 * n, dtype=np.float64).reshape(n, 3)
    stored = Recorded(X)
    if data.draw(st.booleans()):
        stored.chunks = (data.draw(st.integers(1, 70)), 2)
    constants = {"READ_BYTES": 200, "NEIGHBOUR_BYTES": 60, "KEPT_BYTES": data.draw(st.sampled_from([0, 500, 9000]))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(sources, name, value)
        rows = open_stored_rows(stored, "X")
        for _ in range(data.draw(st.integers(1, 6))):
            if data.draw(st.booleans()):
                start = data.draw(st.integers(0, n - 1))
                chosen = slice(start, data.draw(st.integers(start + 1, n)))
                np.testing.assert_array_equal(rows.tile(chosen), X[chosen])
            else:
                chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=40)), dtype=np.int64)
                np.testing.assert_array_equal(rows.take(chosen).values, X[chosen])


def test_chunks_too_large_for_memory_are_read_in_parts(X, monkeypatch):
    monkeypatch.setattr(sources, "LARGEST_READ_BYTES", 3000)
    stored = Recorded(X)
    stored.chunks = (len(X), 1)
    np.testing.assert_array_equal(open_stored_rows(stored, "X").in_memory().values, X)
    assert max(stop - start for start, stop in stored.reads) < 100


class TestNpyFiles:
    @pytest.fixture
    def path(self, X, tmp_path):
        np.save(tmp_path / "X.npy", X)
        return tmp_path / "X.npy"

    def test_a_file_that_is_replaced_is_read_as_it_was(self, X, path, tmp_path, small_windows):
        rows = open_stored_rows(path, "X")
        np.save(tmp_path / "other.npy", X + 1)
        (tmp_path / "other.npy").replace(path)
        np.testing.assert_array_equal(rows.in_memory().values, X)

    @pytest.mark.parametrize("dtype", [np.float64, ">f4", np.uint8])
    def test_fortran_order(self, dtype, X, tmp_path, small_windows):
        X = (9 * X).astype(dtype)
        np.save(tmp_path / "F.npy", np.asfortranarray(X))
        rows = open_stored_rows(tmp_path / "F.npy", "X")
        np.testing.assert_array_equal(rows.in_memory().values, X)
        np.testing.assert_array_equal(rows.take(np.array([699, 3, 400])).values, X[[699, 3, 400]])

    def test_a_broken_file_is_named(self, tmp_path):
        (tmp_path / "X.npy").write_bytes(b"no array")
        with pytest.raises(ValueError, match=r"X is the file '.*X\.npy', which cannot be read as \.npy"):
            open_stored_rows(tmp_path / "X.npy", "X")
        np.savez(tmp_path / "two", a=np.ones(3), b=np.ones(3))
        (tmp_path / "two.npz").rename(tmp_path / "two.npy")
        with pytest.raises(ValueError, match=r"two\.npy'.*expected one array"):
            open_stored_rows(tmp_path / "two.npy", "X")
