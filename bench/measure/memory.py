"""The memory of this process, as Linux tells it, and how to have memory at hand before a call is timed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from onebatchpam._memory import available_bytes

STATUS = Path("/proc/self/status")
SECONDS_BETWEEN_LOOKS = 0.02
# Parameters of glibc's mallopt with values that make it keep freed memory: large blocks get no mapping of their own,
# the heap is not trimmed, and all threads share one arena.
KEEP_MEMORY = {-4: 0, -1: -1, -8: 1}


def keep_memory() -> None:
    """Make this process keep the memory that it frees, if its allocator is glibc's.

    The first use of a page waits for the kernel and, on a virtual machine, for the host. Together these waits can
    exceed a second where the fit itself takes less; an allocation in memory that was used before has none of them.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in KEEP_MEMORY.items():
            mallopt(parameter, value)


def touch_memory(n_bytes: int) -> None:
    """Use this much memory and free it; at most a quarter of the available memory, because the process may keep it."""
    np.ones(max(0, min(n_bytes, available_bytes() // 4)), dtype=np.uint8)


def give_back_memory() -> None:
    """Give freed memory back to the system, if the allocator is glibc's, so that using it again counts as growth."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def read_resident_bytes() -> int:
    """Return the memory of this process, pages of mapped files included."""
    return _read_status("VmRSS")


def read_private_bytes() -> int:
    """Return the memory of this process without the pages of mapped files, which the system can drop at any time."""
    return _read_status("RssAnon")


def reset_peak() -> None:
    """Make `read_peak_bytes` count from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def read_peak_bytes() -> int:
    """Return the largest resident memory of this process since `reset_peak`."""
    return _read_status("VmHWM")


def read_growth(before: int) -> int:
    """Return by how much the peak exceeds the memory before; nothing, if more was given back than was taken."""
    return max(0, read_peak_bytes() - before)


def _read_status(key: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


@contextmanager
def watch_private_peak() -> Iterator[dict[str, int]]:
    """Look at the private memory of this process fifty times a second; "peak" is its largest growth so far."""
    before, over = read_private_bytes(), threading.Event()
    growth = {"peak": 0}

    def watch() -> None:
        while not over.wait(SECONDS_BETWEEN_LOOKS):
            growth["peak"] = max(growth["peak"], read_private_bytes() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield growth
    finally:
        over.set()
        watcher.join()
