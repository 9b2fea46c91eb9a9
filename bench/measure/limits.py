"""A task in a process of its own, with a limit on the time of its essential part and on its memory.

The memory limit is the kernel's RLIMIT_DATA on the process: what it allocates privately, used or not. An allocation
beyond it fails at once, so that the machine is never short of memory and the task can say what it wanted.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

TIMED = "timed"  # a task announces this when the part begins to which the limit on time applies
UNTIMED = "untimed"  # and this when it ends
PRELOADED = ["bench.measure.runner", "onebatchpam", "sklearn.cluster"]
SECONDS_TO_END = 10  # once a process has sent its record

Announce = Callable[[str], None]
Record = dict[str, Any]


class Trace(str):
    """Where a task failed, for the eyes of who started it."""


@dataclass(frozen=True)
class Limits:
    """How much a task may take."""

    seconds: float  # for the timed part
    memory_bytes: int
    untimed_seconds: float = 3600.0  # for what is before and after it, each


def run_limited(task: Callable[..., Record], *arguments: Any, limits: Limits) -> Record:
    """Call task(announce, *arguments) in a fresh process; return its record with "status": "ok".

    If it does not come to that, the record has another status and a "reason": "timeout", "memory", "unavailable" (a
    package or a part of one is missing) or "error".
    """
    # Forked from a server that has done nothing but import, which is most of what a fresh interpreter would do.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    here, there = context.Pipe(duplex=False)
    # No daemon: joblib would give it one thread only.
    process = context.Process(target=_work, args=(there, limits.memory_bytes, task, arguments))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C while it starts comes when it has
    process.start()
    there.close()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        record = _listen(here, process, limits)
        if record["status"] != "timeout":
            process.join(SECONDS_TO_END)
        return record
    finally:  # also on Ctrl-C
        process.kill()
        process.join()
        here.close()


def _listen(here: Connection, process: Any, limits: Limits) -> Record:
    """Wait for the record, each part within its limit."""
    part = UNTIMED
    while True:
        seconds = limits.seconds if part == TIMED else limits.untimed_seconds
        if not here.poll(seconds):
            what = "the call" if part == TIMED else "loading or evaluation"
            return {"status": "timeout", "reason": f"{what} took more than {seconds:g} s"}
        try:
            message = here.recv()
        except EOFError:
            process.join()
            return {"status": "error", "reason": f"the process ended by {_cause_of_end(process.exitcode)}"}
        if isinstance(message, dict):
            return message
        if isinstance(message, Trace):
            print(message, file=sys.stderr)
        else:
            part = message


def _cause_of_end(exit_code: int) -> str:
    if exit_code >= 0:
        return f"exit code {exit_code}"
    name = signal.Signals(-exit_code).name
    return f"{name}, perhaps for lack of memory" if name in ("SIGKILL", "SIGABRT") else name


def _work(there: Connection, *job: Any) -> None:
    """Run the task; called in the fresh process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    with contextlib.suppress(BrokenPipeError):  # who started it is gone, and nobody is left to be told
        _report(there, *job)


def _report(there: Connection, memory_bytes: int, task: Callable[..., Record], arguments: tuple[Any, ...]) -> None:
    """Run the task, and send its record."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, hard))
    try:
        record = {"status": "ok", **task(there.send, *arguments)}
    except MemoryError as error:
        limit = f"limit {memory_bytes / 2**30:.3g} GiB"
        record = {"status": "memory", "reason": f"{str(error) or 'out of memory'} ({limit})"}
    except ImportError as error:
        record = {"status": "unavailable", "reason": str(error)}
    except Exception as error:
        there.send(Trace(traceback.format_exc()))
        record = {"status": "error", "reason": f"{type(error).__name__}: {error}"}
    there.send(record)
