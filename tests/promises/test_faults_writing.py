"""Files that cannot be written, and processes that are killed while they write."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

import children
from faults import (
    assert_same_fit,
    call_at_stages,
    fit_telling_stages,
    make_rows,
    write_folder,
    write_page,
    write_prediction,
)
from onebatchpam import OneBatchPAM, RandomMedoids
from onebatchpam.cli import main

X = make_rows(100_000, 2)  # the labels take 400 kB


@pytest.fixture
def full_file_system(tmp_path):
    """Return a folder on a file system with room for 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def limited_files(tmp_path):
    """Return a folder while no file of this process may become larger than 200 kB."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(params=[(full_file_system, errno.ENOSPC), (limited_files, errno.EFBIG)], ids=["disk", "limit"])
def full(request):
    """Return a folder that has no room for all labels, and the number of the error that says so."""
    fixture, number = request.param
    return request.getfixturevalue(fixture.__name__), number


class TestNoRoom:
    def test_for_the_labels_of_a_fit(self, full, monkeypatch):
        folder, number = full
        monkeypatch.setattr(OneBatchPAM, "_select", lambda *_: pytest.fail("the search began"))
        model = OneBatchPAM(2)
        before = dict(vars(model))
        with pytest.raises(OSError, match=r"\S") as caught:
            model.fit(X, labels_out=folder / "labels.npy")
        assert caught.value.errno == number
        assert vars(model) == before
        assert not list(folder.iterdir())

    def test_for_the_labels_of_a_prediction(self, full):
        folder, number = full
        model = RandomMedoids(2, random_state=0).fit(X)
        with pytest.raises(OSError, match=r"\S") as caught:
            model.predict(X, out=folder / "labels.npy")
        assert caught.value.errno == number
        assert not list(folder.iterdir())
        small = model.predict(X[:1000], out=folder / "labels.npy")
        np.testing.assert_array_equal(small, model.labels_[:1000])

    def test_for_the_folder_of_a_command(self, full_file_system, capsys):
        (full_file_system / "other").write_bytes(bytes(200 * 1024))
        assert main(["demo", "digits", "-o", str(full_file_system / "digits")]) == 1
        assert "No space left" in capsys.readouterr().err
        assert [path.name for path in full_file_system.iterdir()] == ["other"]

    def test_any_more_after_the_search_began(self, full_file_system, monkeypatch):
        """The space of the labels is reserved, so that others can fill only the rest of the disk."""

        def fill(stage):
            if stage == "assignment":
                with pytest.raises(OSError, match="No space left"):
                    (full_file_system / "other").write_bytes(bytes(200_000))

        call_at_stages(monkeypatch, fill)
        model = OneBatchPAM(2, batch_size=20, random_state=0).fit(X[:30_000], labels_out=full_file_system / "l.npy")
        monkeypatch.undo()
        expected = OneBatchPAM(2, batch_size=20, random_state=0).fit(X[:30_000])
        assert_same_fit(model, expected)


@pytest.fixture
def folder():
    """Return a folder that every user can look into; the folders of pytest are for one user only."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def no_privileges():
    """Let the test run as a user who may not do everything."""
    if not hasattr(os, "geteuid"):
        pytest.skip("the system has no such users")
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


class TestNoPermission:
    def test_to_write_labels(self, folder, no_privileges, monkeypatch):
        monkeypatch.setattr(OneBatchPAM, "_select", lambda *_: pytest.fail("the search began"))
        if os.stat(folder).st_uid == os.geteuid():
            folder.chmod(0o555)
        with pytest.raises(PermissionError):
            OneBatchPAM(2).fit(X, labels_out=folder / "labels.npy")
        fitted = RandomMedoids(2).fit(X)
        with pytest.raises(PermissionError):
            fitted.predict(X, out=folder / "labels.npy")
        assert not list(folder.iterdir())

    def test_to_read_rows(self, folder, request):
        np.save(folder / "X.npy", X)
        (folder / "X.npy").chmod(0)
        request.getfixturevalue("no_privileges")
        with pytest.raises(PermissionError, match=r"X\.npy"):
            OneBatchPAM(2).fit(folder / "X.npy")

    def test_of_a_command(self, folder, request, capsys):
        np.save(folder / "rows.npy", X[:100])
        np.save(folder / "secret.npy", X[:100])
        (folder / "secret.npy").chmod(0)
        request.getfixturevalue("no_privileges")
        if os.stat(folder).st_uid == os.geteuid():
            folder.chmod(0o555)
        assert main(["cluster", str(folder / "rows.npy"), "-k", "2", "-o", str(folder / "out")]) == 1
        assert capsys.readouterr().err.endswith(f"error: {folder}: Permission denied\n")
        assert main(["cluster", str(folder / "secret.npy"), "-k", "2"]) == 1
        assert capsys.readouterr().err.endswith(f"error: {folder / 'secret.npy'}: Permission denied\n")
        assert sorted(path.name for path in folder.iterdir()) == ["rows.npy", "secret.npy"]


def test_a_file_that_cannot_be_removed_does_not_hide_the_error(tmp_path, monkeypatch):
    def vanish(stage):
        shutil.rmtree(tmp_path / "gone")
        (tmp_path / "gone").write_text("not a folder any more")
        raise RuntimeError("what the user must see")

    (tmp_path / "gone").mkdir()
    call_at_stages(monkeypatch, vanish)
    with pytest.raises(RuntimeError, match="what the user must see"):
        OneBatchPAM(2).fit(X, labels_out=tmp_path / "gone" / "labels.npy")


@children.needs_posix
@pytest.mark.parametrize("stage", ["initial medoids", "distances", "swap search", "refinement", "assignment"])
def test_killed_at_any_moment_nothing_looks_finished(stage, tmp_path):
    """A file of the final name may exist only if the fit was over before it was killed, and is complete then."""
    model, path = OneBatchPAM(8, init="k-means++", batch_size=200, random_state=0), tmp_path / "labels.npy"
    partial = set()  # the unfinished labels that killed fits have left
    for _ in range(2):
        with children.start(fit_telling_stages, model, X.shape, path) as child:
            child.wait_until_told(stage)
            time.sleep(random.uniform(0, 0.02))
            os.kill(child.process.pid, signal.SIGKILL)
            assert child.end() in (-signal.SIGKILL, 0)
        is_finished = path.exists()
        if is_finished:
            np.testing.assert_array_equal(np.load(path), model.fit(X).labels_)
            path.unlink()
        names = {file.name for file in tmp_path.iterdir()}
        assert all(name.endswith(".partial") for name in names)
        # A finished file may still have its first name as well, because it gets the second before it loses the first.
        assert len(names - partial) in ((0, 1) if is_finished else (1,)), "a killed fit leaves its labels, nothing else"
        partial = names
    model.fit(X[:500], labels_out=path)
    np.testing.assert_array_equal(np.load(path), model.labels_)


def read_finished(folder):
    """Return the files that look finished: all labels and tables, and how those end that tell times as well."""
    finished = {}
    for path in folder.rglob("*"):
        if path.is_file() and ".partial" not in str(path):
            content = path.read_bytes()
            finished[path.relative_to(folder)] = content if path.suffix in (".npy", ".csv") else content[-2:]
    return finished


@children.needs_posix
@pytest.mark.parametrize("task", [write_prediction, write_page, write_folder], ids=lambda task: task.__name__)
def test_killed_while_it_writes_nothing_looks_finished(task, tmp_path):
    def run(name, longest=None):
        folder = tmp_path / name / "out"
        folder.mkdir(parents=True)
        with children.start(task, folder) as child:
            child.wait_until_told("ready")
            began = time.perf_counter()
            if longest is None:
                child.result()
            else:
                time.sleep(random.uniform(0, longest))
                child.process.kill()
                assert child.end() in (-signal.SIGKILL, 0)
        return read_finished(folder), time.perf_counter() - began

    whole, seconds = run("whole")
    assert whole
    for number in range(3):
        left, _ = run(str(number), seconds)
        assert left in ({}, whole)
