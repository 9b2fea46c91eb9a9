"""Runs in processes of their own: a run's peak memory is its own, and it leaves nothing behind."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

STATUS = Path("/proc/self/status")


def run_alone(task: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Call task(*arguments) in a fresh process and return its record."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(task, *arguments).result()


def touch_memory(n_bytes: int) -> None:
    """Use that much memory and give it back.

    On a virtual machine the first use of a page waits for the host, far longer than for the kernel; a fit that runs
    after others does not see it.
    """
    np.ones(n_bytes, dtype=np.uint8)


def resident_bytes() -> int:
    """Return the memory of this process now."""
    return _status("VmRSS")


def reset_peak() -> None:
    """Let `peak_bytes` start anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the largest memory of this process since `reset_peak`."""
    return _status("VmHWM")


def _status(key: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024
