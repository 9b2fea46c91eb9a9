"""The one way to run tasks: in another process, within limits on time and memory.

The limit on time holds for the part of a task that it announces as `TIMED`. The limit on memory is the kernel's
RLIMIT_DATA on the process, which counts private allocations whether used or not: an allocation beyond it fails at once,
so that the machine never runs short of memory and the task can say how much it wanted.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

TIMED = "timed"  # a task announces this when the part begins to which the limit on time applies
UNTIMED = "untimed"  # a task announces this when that part ends
PRELOADED = ["onebatchpam", "sklearn.cluster"]  # the slow imports of nearly every task
SECONDS_TO_END = 10  # for a process that gets no more tasks

Announce = Callable[[str], None]
Record = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """How much a task may take; None stands for no limit."""

    seconds: float | None = None  # for the timed part
    memory_bytes: int | None = None
    untimed_seconds: float | None = None  # for the parts before and after the timed one, each


NO_LIMITS = Limits()


class TaskError(Exception):
    """A task that returned no record.

    The status is "timeout", "memory", "unavailable" (a package, or a part of one, is missing) or "error".
    """

    def __init__(self, status: str, reason: str, trace: str = "") -> None:
        super().__init__(status, reason, trace)  # as they are, so that a failure can be pickled
        self.status, self.reason, self.trace = status, reason, trace

    def __str__(self) -> str:
        return self.reason


def run_alone(task: Callable[..., Record], *arguments: Any, limits: Limits = NO_LIMITS) -> Record:
    """Return the record of task(announce, *arguments), run in a new process; raise TaskError if it has none."""
    with open_process(limits) as call:
        return call(task, *arguments)


@contextmanager
def open_process(limits: Limits = NO_LIMITS) -> Iterator[Callable[..., Record]]:
    """Start a process; yield call(task, *arguments), which runs one task after the other in it."""
    # The process is forked from a server that has only imported packages: that saves most of a new interpreter's time.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    here, there = context.Pipe()
    # Not a daemon, which joblib would allow one thread only.
    process = context.Process(target=_serve, args=(there, limits.memory_bytes))
    try:
        with _hold_interrupts():
            process.start()
            there.close()
        yield partial(_call, here, process, limits)
    finally:
        here.close()  # a process without a task reads the end of the pipe and returns
        if process.pid is not None:
            process.join(SECONDS_TO_END)
            process.kill()
            process.join()


@contextmanager
def open_renewed_process(limits: Limits = NO_LIMITS) -> Iterator[Callable[..., Record]]:
    """Yield call(task, *arguments) as `open_process` does; after a task that failed, the next one has a new process."""
    with contextlib.ExitStack() as stack:
        call = stack.enter_context(open_process(limits))

        def call_and_renew(task: Callable[..., Record], *arguments: Any) -> Record:
            nonlocal call
            try:
                return call(task, *arguments)
            except TaskError:
                stack.close()
                call = stack.enter_context(open_process(limits))
                raise

        yield call_and_renew


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait until the end; a signal mask would not do, because other threads would catch the signal."""
    held: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            signal.raise_signal(signal.SIGINT)


def _call(here: Connection, process: Any, limits: Limits, task: Callable[..., Record], *arguments: Any) -> Record:
    """Run a task in the process and return its record."""
    try:
        here.send((task, arguments))
        message = _wait(here, limits)
    except (EOFError, ConnectionError):
        process.join()
        raise TaskError("error", f"the process ended by {_name_exit(process.exitcode)}") from None
    except BaseException:  # after a timeout or Ctrl-C the process would go on with its task
        process.kill()
        raise
    if isinstance(message, TaskError):
        print(message.trace, end="", file=sys.stderr)
        raise message
    return message


def _wait(here: Connection, limits: Limits) -> Record | TaskError:
    """Return what the process sends at the end of a task; raise if a part of the task exceeds its limit."""
    part = UNTIMED
    while True:
        seconds = limits.seconds if part == TIMED else limits.untimed_seconds
        if not here.poll(seconds):
            what = "the call" if part == TIMED else "loading or evaluation"
            raise TaskError("timeout", f"{what} took more than {seconds:g} s")
        message = here.recv()
        if message not in (TIMED, UNTIMED):
            return message
        part = message


def _name_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}, perhaps for lack of memory" if name in ("SIGKILL", "SIGABRT") else name


def _serve(there: Connection, memory_bytes: int | None) -> None:
    """Run the tasks that arrive until the pipe ends; this is the main function of the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    if memory_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, hard))
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has closed the pipe, or is gone
        while True:
            task, arguments = there.recv()
            there.send(_attempt(there.send, memory_bytes, task, arguments))


def _attempt(
    announce: Announce, memory_bytes: int | None, task: Callable[..., Record], arguments: tuple[Any, ...]
) -> Record | TaskError:
    """Return the record of a task, or its failure."""
    try:
        return task(announce, *arguments)
    except MemoryError as error:
        limit = "no limit" if memory_bytes is None else f"limit {memory_bytes / 2**30:.3g} GiB"
        return TaskError("memory", f"{str(error) or 'out of memory'} ({limit})")
    except ImportError as error:
        return TaskError("unavailable", str(error))
    except Exception as error:
        return TaskError("error", f"{type(error).__name__}: {error}", traceback.format_exc())
