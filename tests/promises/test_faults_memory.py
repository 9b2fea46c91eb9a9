"""Processes that lack memory: a call succeeds or raises an error that says so, however little is left."""

from __future__ import annotations

import pytest

import children
from onebatchpam import _memory
from starvation import CALLS, MEGABYTES, call_with_little_memory


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
