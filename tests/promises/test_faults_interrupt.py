"""Ctrl-C in the middle of a long call: it ends soon, with nothing half done."""

from __future__ import annotations

import os
import signal
import time

import pytest

import children
from interruptions import CASES, be_interrupted

# Ctrl-C should be answered within about a second. The seconds are those of the processor, so that other programs on the
# machine do not matter much; a slow machine may take three times as long.
MOST_SECONDS = 3.0
SECONDS_INTO_A_STAGE = 0.2


@children.needs_posix
@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_is_answered(name, tmp_path):
    pytest.importorskip(CASES[name].needs)
    with children.start(be_interrupted, name, tmp_path) as child:
        child.wait_until_told(CASES[name].stage)
        time.sleep(SECONDS_INTO_A_STAGE)
        os.kill(child.process.pid, signal.SIGINT)
        assert child.result() < MOST_SECONDS
