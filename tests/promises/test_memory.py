"""The memory that is available, within every limit on the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from onebatchpam import _memory


@pytest.fixture
def groups(tmp_path):
    """Return a function that writes a control group with a limit, and one that reads what all groups leave."""
    (tmp_path / "root").mkdir()

    def write(folder, limit, *, version=2):
        path = tmp_path / "root" / folder
        path.mkdir(parents=True, exist_ok=True)
        names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
        prefix = "" if version == 2 else "total_"
        (path / names[0]).write_text(f"{limit}\n")
        (path / names[1]).write_text("900\n")
        (path / "memory.stat").write_text(f"anon 500\n{prefix}inactive_file 250\n{prefix}active_file 50\n")

    def read(text):
        (tmp_path / "cgroup").write_text(text)
        return list(_memory._left_by_groups(2**50, tmp_path / "cgroup", tmp_path / "root"))

    return write, read


def test_control_groups_of_version_2(groups):
    write, read = groups
    assert read("0::/a/b\n") == []
    write("a/b", "max")
    assert read("0::/a/b\n") == []
    write("a/b", 1000)
    assert read("0::/a/b\n") == [400]  # cached files do not count
    write("a", 800)
    write(".", 5000)
    assert read("0::/a/b\n") == [400, 200, 4400]


def test_control_groups_of_version_1(groups):
    write, read = groups
    write("memory/docker/x", 1000, version=1)
    write("memory", 2**62, version=1)
    assert read("5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n1:name=systemd:/\n") == [400]  # the other is no limit


def test_a_system_without_control_groups(tmp_path):
    assert list(_memory._left_by_groups(2**50, tmp_path / "none")) == []


def test_the_smallest_limit_holds(monkeypatch):
    free = _memory.available_bytes()
    assert 10**6 < free < 10**15
    monkeypatch.setattr(_memory, "_left_by_groups", lambda total: [2**60, 400])
    assert _memory.available_bytes() == 400
    monkeypatch.setattr(_memory, "_left_by_groups", lambda total: [-7])
    assert _memory.available_bytes() == 0


def test_more_rows_than_memory(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: 0)
    _memory.check_n_rows(10**6, "X")
    with pytest.raises(
        ValueError, match=r"^X has 1,000,000,000 rows, which take at least 12\.0 GB of memory: expected at"
    ):
        _memory.check_n_rows(10**9, "X")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit, or do not keep it")
def test_the_limit_of_the_address_space():
    program = """
import resource, numpy as np, psutil
from onebatchpam import OneBatchPAM, _memory
X = np.random.default_rng(0).random((40_000, 20), dtype=np.float32)
resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 2**27,) * 2)
assert _memory.available_bytes() <= 2**27
model = OneBatchPAM(20, metric="manhattan", random_state=0, refine=0).fit(X)
assert model.block_storage_ != "whole", model.block_storage_
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
