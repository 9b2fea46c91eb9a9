"""Ctrl-C in the middle of a long call: it ends soon, with nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import children
from faults import make_rows
from interruptions import CASES, be_interrupted
from onebatchpam import FasterPAM, block_metric
from onebatchpam._interrupts import noting_interrupts
from onebatchpam._progress import Stages

# Ctrl-C should be answered within about a second. The seconds are those of the processor, so that other programs on the
# machine do not matter much; a slow machine may take three times as long.
MOST_SECONDS = 3.0
SECONDS_INTO_A_STAGE = 0.05


@children.needs_posix
@pytest.mark.parametrize("name", CASES)
def test_ctrl_c_is_answered(name, tmp_path):
    pytest.importorskip(CASES[name].needs)
    with children.start(be_interrupted, name, tmp_path) as child:
        child.wait_until_told(CASES[name].stage)
        time.sleep(SECONDS_INTO_A_STAGE)
        os.kill(child.process.pid, signal.SIGINT)
        assert child.result() < MOST_SECONDS


INTERRUPT_A_THREAD = """
import signal, sys, threading
from onebatchpam import OneBatchPAM

start = threading.Thread.start

def start_and_be_interrupted(thread):
    start(thread)
    threading.Thread.start = start
    signal.raise_signal(signal.SIGINT)

threading.Thread.start = start_and_be_interrupted
OneBatchPAM(2, metric=sys.argv[1], n_jobs=2).fit(sys.argv[2])
"""


@children.needs_posix
@pytest.mark.parametrize("metric", ["manhattan", "canberra"])
def test_ctrl_c_while_a_thread_starts_lets_the_interpreter_exit(metric, tmp_path):
    """The error keeps all that the fit has used: a thread that waits for more work would wait for ever."""
    np.save(tmp_path / "X.npy", make_rows(600_000, 16))  # three windows, so that one is read ahead
    command = [sys.executable, "-c", INTERRUPT_A_THREAD, metric, str(tmp_path / "X.npy")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=children.LONGEST_WAIT)
    assert "KeyboardInterrupt" in run.stderr
    assert run.returncode != 0


def lose_an_interrupt():
    """Press Ctrl-C where the interpreter drops the exception: in the callback of a weak reference."""
    thing = set()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    assert reference() is None


class Losing:
    """A metric that loses an interrupt the first time that it is called, and counts its calls."""

    def __init__(self):
        self.n_calls = 0

    def __call__(self, A, B):
        self.n_calls += 1
        if self.n_calls == 1:
            lose_an_interrupt()
        return np.abs(A[:, np.newaxis] - B).sum(axis=2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestAnInterruptThatIsLost:
    @pytest.mark.parametrize("verbose", [0, 1])
    def test_ends_the_fit(self, verbose):
        metric, X = Losing(), make_rows(100, 2)
        with pytest.raises(KeyboardInterrupt):
            FasterPAM(3, metric=block_metric(metric), verbose=verbose, n_jobs=1).fit(X)
        assert metric.n_calls == 1  # no rows were assigned
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        FasterPAM(3, metric=block_metric(metric), n_jobs=1).fit(X)  # which does not remember it

    def test_ends_a_stage_that_does_not_move_on(self):
        with pytest.raises(KeyboardInterrupt), Stages().stage("search"):
            lose_an_interrupt()

    def test_is_noted_by_the_outermost(self):
        reached = []

        def lose_between_stages():
            with noting_interrupts():
                lose_an_interrupt()
                with Stages().stage("search") as bar:
                    reached.append("search")
                    bar.update(1)
                    reached.append("beyond")

        with pytest.raises(KeyboardInterrupt):
            lose_between_stages()
        assert reached == ["search"]

    def test_leaves_other_handlers_alone(self):
        seen = []
        former = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        try:
            with Stages().stage("search") as bar:
                signal.raise_signal(signal.SIGINT)
                bar.update(1)
        finally:
            signal.signal(signal.SIGINT, former)
        assert seen == [signal.SIGINT]

    def test_other_threads_do_not_handle_signals(self):
        with ThreadPoolExecutor(1) as pool:
            model = pool.submit(FasterPAM(3).fit, make_rows(50, 2)).result()
        assert len(model.medoid_indices_) == 3
