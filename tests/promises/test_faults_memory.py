"""Processes that lack memory: a call succeeds or raises an error that says so, however little is left."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import allocations
import children
from onebatchpam import OneBatchPAM, _memory, block_metric, pair_metric
from starvation import CALLS, MEGABYTES, call_with_little_memory

MOST_POSITIONS = 3  # of failing allocations in a call; `python -m bench allocations` lets all fail


@pytest.mark.skipif(_memory.resource is None, reason="the system has no such limit")
@pytest.mark.parametrize("name", CALLS)
def test_a_lack_of_memory_is_an_error_and_no_crash(name):
    with children.start(call_with_little_memory, name) as child:
        kind, content = child.receive()
        while kind == "told":
            amount = content
            try:
                kind, content = child.receive()
            except EOFError:
                pytest.fail(f"the process died with {amount} MB left, by exit code {child.end()}")
    assert MEGABYTES[-1] not in content
    if name == "FasterPAM":
        assert MEGABYTES[0] in content, "the limit has no effect"


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is replaced as Linux allows it")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer has replaced the allocator")
def test_an_allocation_that_fails_is_an_error_and_no_crash(tmp_path):
    try:
        library = allocations.build_hook(tmp_path)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"there is no compiler for the allocator: {error}")
    told = []
    for item in allocations.run(library, CALLS, MOST_POSITIONS):
        assert not isinstance(item, int), f"the process died after {told[-1:]}, by exit code {item}"
        told.append(item)
    ends = {name: content for name, content in told if isinstance(content, dict)}
    assert ends.keys() == CALLS.keys()
    assert all(ends[name].get("MemoryError") for name in CALLS), "no allocation has failed"


def lack_memory(*_, **__):
    raise MemoryError("8 TB")


@pytest.mark.parametrize("make", [pair_metric, block_metric, lambda function: function])
def test_a_function_that_lacks_memory_is_not_blamed_on_its_rows(make):
    with pytest.raises(MemoryError, match="8 TB"):
        OneBatchPAM(2, metric=make(lack_memory)).fit(np.eye(9))


def test_a_reader_that_lacks_memory_is_not_blamed_on_its_file(monkeypatch, tmp_path):
    scipy.sparse.save_npz(tmp_path / "rows.npz", scipy.sparse.eye(9, format="csr"))
    monkeypatch.setattr("scipy.sparse.load_npz", lack_memory)
    with pytest.raises(MemoryError, match="8 TB"):
        OneBatchPAM(2).fit(tmp_path / "rows.npz")
