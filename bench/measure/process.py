"""Runs in processes of their own: a run's peak memory is its own, and it leaves nothing behind."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from onebatchpam._memory import available_bytes

STATUS = Path("/proc/self/status")


# Parameters of mallopt in glibc, and values: no mappings of their own for large blocks, no trimming, one arena.
KEEP_MEMORY = {-4: 0, -1: -1, -8: 1}


def run_alone(task: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call task(*arguments) in a fresh process and return its record."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(task, *arguments).result()


@contextmanager
def processes(names: Sequence[str]) -> Iterator[Callable[..., dict[str, Any]]]:
    """Start a process for each name; yield call(name, task, *arguments), which runs a task in one of them."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        executors = {name: stack.enter_context(ProcessPoolExecutor(1, mp_context=context)) for name in names}

        def call(name: str, task: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
            return executors[name].submit(task, *arguments).result()

        yield call


def keep_memory() -> None:
    """Let this process keep what it frees, if its allocator is that of glibc.

    The first use of a page waits for the kernel and, on a virtual machine, for the host: together more than a second
    for what a fit fills in less. Allocations in memory that is kept have this behind them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    for parameter, value in KEEP_MEMORY.items():
        if mallopt is not None:
            mallopt(parameter, value)


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that start inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def touch_memory(n_bytes: int) -> None:
    """Use that much memory and free it; at most a quarter of what is available, since it may be kept."""
    np.ones(min(n_bytes, (available_bytes() or 0) // 4), dtype=np.uint8)


def resident_bytes() -> int:
    """Return the memory of this process now."""
    return _status("VmRSS")


def private_bytes() -> int:
    """Return the memory of this process now that no file stands behind."""
    return _status("RssAnon")


def reset_peak() -> None:
    """Let `peak_bytes` start anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the largest memory of this process since `reset_peak`."""
    return _status("VmHWM")


def _status(key: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024
