"""Labels that are written to a file, or to an array that the user passes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from onebatchpam import Alternate, FasterCLARA, KMeansPlusPlus, OneBatchPAM, _tiles


@pytest.fixture
def model():
    return OneBatchPAM(4, batch_size=50, random_state=0)


@pytest.mark.parametrize("estimator", [OneBatchPAM, FasterCLARA, Alternate, KMeansPlusPlus])
@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
class TestFile:
    def test_fit(self, estimator, as_path, blobs, tmp_path):
        path = tmp_path / "labels.npy"
        expected = estimator(4, random_state=0).fit(blobs)
        model = estimator(4, random_state=0).fit(blobs, labels_out=as_path(path))
        assert isinstance(model.labels_, np.memmap)
        np.testing.assert_array_equal(np.load(path), expected.labels_)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert np.load(path).dtype == np.int32
        assert (model.inertia_, model.n_distances_) == (expected.inertia_, expected.n_distances_)

    def test_predict(self, estimator, as_path, blobs, tmp_path):
        path = tmp_path / "labels.npy"
        model = estimator(4, random_state=0).fit(blobs)
        found = model.predict(blobs[:70], out=as_path(path))
        np.testing.assert_array_equal(found, model.predict(blobs[:70]))
        np.testing.assert_array_equal(np.load(path), found)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_arrays(dtype, model, blobs, tmp_path):
    expected = model.fit(blobs).labels_
    mapped = np.memmap(tmp_path / "bare", dtype=dtype, mode="w+", shape=300)
    for out in (np.empty(300, dtype), mapped, np.empty(600, dtype)[::2]):
        assert model.predict(blobs, out=out) is out
        np.testing.assert_array_equal(out, expected)
        out[:] = 99
        assert model.fit(blobs, labels_out=out).labels_ is out
        np.testing.assert_array_equal(out, expected)


def test_fit_predict(model, blobs, tmp_path):
    labels = model.fit_predict(blobs, labels_out=tmp_path / "labels.npy")
    np.testing.assert_array_equal(labels, np.load(tmp_path / "labels.npy"))


def test_duplicates_that_are_spread(tmp_path):
    # Row 77 differs from all others and is not in the batch, so a medoid moves there only after the first assignment.
    X = np.zeros((200, 2))
    X[77] = 1
    model = OneBatchPAM(2, batch_size=2, refine=0, random_state=0).fit(X, labels_out=tmp_path / "labels.npy")
    labels = np.load(tmp_path / "labels.npy")
    assert np.flatnonzero(labels != labels[0]).tolist() == [77]
    assert 77 in model.medoid_indices_


def test_prediction_into_a_file_takes_little_memory(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 10_000)
    X = rng.standard_normal((100_000, 2)).astype(np.float32)
    model = OneBatchPAM(2, batch_size=10, refine=0, random_state=0).fit(X[:1000])
    tracemalloc.start()
    try:
        model.predict(X, out=tmp_path / "labels.npy")
        assert tracemalloc.get_traced_memory()[1] < 4 * len(X)
    finally:
        tracemalloc.stop()


class TestErrors:
    @pytest.mark.parametrize(
        ("out", "error", "message"),
        [
            ("labels.txt", ValueError, r"='labels\.txt': expected the path of a new file that ends in \.npy"),
            ("a\0.npy", ValueError, r"='a.x00\.npy': expected the path of a new file"),
            ("no/where.npy", FileNotFoundError, "there is no folder 'no'"),
            ([0] * 300, ValueError, "is of type list: expected an array of integers, or the path"),
            (np.empty(299, int), ValueError, r"has shape \(299,\), .* expected a writeable array of 300 integers"),
            (np.empty(300), ValueError, "dtype float64"),
            (np.empty(300, bool), ValueError, "dtype bool"),
            (np.broadcast_to(np.int32(0), 300), ValueError, "no write access"),
        ],
    )
    def test_where_nothing_can_be_written(self, out, error, message, model, blobs):
        with pytest.raises(error, match=f"labels_out.*{message}"):
            model.fit(blobs, labels_out=out)
        assert not hasattr(model, "labels_")
        with pytest.raises(error, match=f"out.*{message}"):
            model.fit(blobs).predict(blobs, out=out)

    def test_rows_are_not_overwritten(self):
        rows = np.arange(40).reshape(20, 2)
        model, before = OneBatchPAM(2, random_state=0), rows.copy()
        with pytest.raises(ValueError, match="labels_out is a part of X: expected an array of its own"):
            model.fit(rows, labels_out=rows[:, 0])
        model.fit(rows[:, :1], labels_out=rows[:, 1].copy())
        with pytest.raises(ValueError, match="out is a part of X"):
            model.predict(rows[:, :1], out=rows[:, 0])
        np.testing.assert_array_equal(rows, before)
        assert model.predict(rows[:, :1], out=rows[:, 1]) is not None  # beside X in the same memory, but not in it

    def test_integers_too_small(self, blobs):
        model = OneBatchPAM(129, random_state=0)
        with pytest.raises(ValueError, match=r"dtype int8 .* labels up to 128"):
            model.fit(blobs, labels_out=np.empty(300, np.int8))
        OneBatchPAM(128, random_state=0).fit(blobs, labels_out=np.empty(300, np.int8))

    def test_no_file_is_overwritten(self, model, blobs, tmp_path):
        path = tmp_path / "X.npy"
        np.save(path, blobs)
        with pytest.raises(FileExistsError, match=r"labels_out='.*X\.npy': this file exists already"):
            model.fit(path, labels_out=path)
        np.testing.assert_array_equal(np.load(path), blobs)

    def test_a_fit_that_fails_leaves_no_file(self, model, blobs, tmp_path, monkeypatch):
        path = tmp_path / "labels.npy"

        def fail(*arguments):
            assert not path.exists()
            assert [file.suffix for file in tmp_path.iterdir()] == [".partial"]
            raise KeyboardInterrupt

        monkeypatch.setattr("onebatchpam.algorithms.base.warn_if_imperfect", fail)
        with pytest.raises(KeyboardInterrupt):
            model.fit(blobs, labels_out=path)
        assert not list(tmp_path.iterdir())
        assert not hasattr(model, "labels_")

    @pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space cannot be reserved on this system")
    def test_a_full_disk_is_noticed_before_the_work(self, model, blobs, tmp_path, monkeypatch):
        def no_room(*arguments):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "posix_fallocate", no_room)
        monkeypatch.setattr(OneBatchPAM, "_select", lambda *_: pytest.fail("the search began"))
        with pytest.raises(OSError, match=r"No space left on device: '.*/labels\.npy'"):
            model.fit(blobs, labels_out=tmp_path / "labels.npy")
        assert not list(tmp_path.iterdir())

    @pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="space cannot be reserved on this system")
    @pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
    def test_a_file_system_that_reserves_no_space(self, number, model, blobs, tmp_path, monkeypatch):
        def cannot(*arguments):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "posix_fallocate", cannot)
        model.fit(blobs, labels_out=tmp_path / "labels.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), model.labels_)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_permission_is_noticed_before_the_work(self, model, blobs, tmp_path, monkeypatch):
        monkeypatch.setattr(OneBatchPAM, "_select", lambda *_: pytest.fail("the search began"))
        tmp_path.chmod(0o500)
        with pytest.raises(PermissionError):
            model.fit(blobs, labels_out=tmp_path / "labels.npy")

    def test_a_file_that_appears_meanwhile_is_left_alone(self, model, blobs, tmp_path, monkeypatch):
        path, select = tmp_path / "labels.npy", OneBatchPAM._select
        monkeypatch.setattr(OneBatchPAM, "_select", lambda *rest: path.write_text("mine") and select(*rest))
        with pytest.raises(FileExistsError):
            model.fit(blobs, labels_out=path)
        assert path.read_text() == "mine"
        assert [file.name for file in tmp_path.iterdir()] == ["labels.npy"]

    @pytest.mark.skipif(os.name != "posix", reason="only administrators may make links")
    def test_a_link_to_nowhere_is_not_followed(self, model, blobs, tmp_path):
        (tmp_path / "labels.npy").symlink_to(tmp_path / "elsewhere.npy")
        with pytest.raises(FileExistsError):
            model.fit(blobs, labels_out=tmp_path / "labels.npy")

    @pytest.mark.skipif(os.name != "posix", reason="sends a signal")
    @pytest.mark.parametrize("stage", ["_select", "_publish"])
    def test_a_killed_fit_leaves_nothing_that_looks_finished(self, stage, tmp_path):
        program = f"""
import os, signal
import numpy as np
from onebatchpam import OneBatchPAM
OneBatchPAM.{stage} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
OneBatchPAM(4, batch_size=50).fit(np.random.rand(300, 2), labels_out={str(tmp_path / "labels.npy")!r})
"""
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
        left = [file.name for file in tmp_path.iterdir()]
        assert left == ["labels.npy"] if stage == "_publish" else all(name.endswith(".partial") for name in left)
