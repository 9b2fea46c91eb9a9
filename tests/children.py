"""Processes of their own, for tests that kill, interrupt or starve a call.

A task is a function of one of the helper modules in `tests`, because the new process must be able to import it. Its
first argument is a function by which it tells the test something.
"""

from __future__ import annotations

import multiprocessing
import signal
from contextlib import contextmanager

import pytest

LONGEST_WAIT = 600  # seconds; only a process that hangs takes so long, even on a busy machine

# What tasks import, and what takes most of the time to start them. The server does not find the modules in `tests`.
IMPORTED_ONCE = ["pandas", "pytest", "scipy.sparse", "sklearn.datasets", "onebatchpam.evaluation"]

needs_posix = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signals")


class Child:
    """A process that runs a task; a message is a pair of its kind, "told" or "returned", and its content."""

    def __init__(self, process, pipe):
        self.process, self._pipe = process, pipe

    def receive(self):
        """Return the next message; fail if there is none in time. The end of the process raises EOFError."""
        if not self._pipe.poll(LONGEST_WAIT):
            pytest.fail(f"the process said nothing for {LONGEST_WAIT} s")
        return self._pipe.recv()

    def wait_until_told(self, told):
        """Wait until the task has told this; fail if it has returned without telling it."""
        message = self.receive()
        while message != ("told", told):
            assert message[0] == "told", f"the task returned {message[1]!r} and never told {told!r}"
            message = self.receive()

    def result(self):
        """Return the result of the task, whatever it has told before."""
        kind, content = self.receive()
        while kind != "returned":
            kind, content = self.receive()
        return content

    def end(self):
        """Wait for the end of the process, and return its exit code: minus the number of the signal that killed it."""
        self.process.join(LONGEST_WAIT)
        return self.process.exitcode


@contextmanager
def start(task, *arguments):
    """Start a process that runs task(tell, *arguments), and end it when the test is over."""
    # The process is forked from a server that has made the imports, which saves most of the time to start it.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_ONCE)
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, task, arguments))  # not a daemon, which joblib restricts
    process.start()
    there.close()
    try:
        yield Child(process, here)
    finally:
        here.close()
        process.join(1)  # a process that ends by itself removes what it shares with others
        process.kill()
        process.join()


def run(task, *arguments):
    """Return the result of a task that is run in a process of its own; EOFError if that process dies."""
    with start(task, *arguments) as child:
        return child.result()


def _serve(pipe, task, arguments):
    result = task(lambda told: pipe.send(("told", told)), *arguments)
    pipe.send(("returned", result))
