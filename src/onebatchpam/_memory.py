"""How much memory is available, and how much of it dissimilarities may take."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from onebatchpam._parameters import check_integer

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def resolve_memory_limit(limit: Any, name: str = "memory_limit") -> int:
    """Check the `memory_limit` parameter, and return it in bytes; None means half of the available memory."""
    if limit is None:
        available = available_bytes()
        return sys.maxsize if available is None else available // 2
    if not isinstance(limit, str):
        return check_integer(limit, name, at_least=0)
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", limit, re.IGNORECASE)
    if parts is None or parts[2].upper() not in UNITS:
        raise ValueError(f"{name}={limit!r}: expected a number of bytes, or text like '500MB' or '4GB'")
    return int(float(parts[1]) * UNITS[parts[2].upper()])


def available_bytes() -> int | None:
    """Return the bytes of memory that are available without swapping; None if the system does not tell."""
    known = [free for free in (_free_in_system(), _free_in_container()) if free is not None]
    return min(known, default=None)


def _free_in_container(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that the limit of a container leaves; cached files do not count as used."""
    try:
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        lines = (folder / "memory.stat").read_text().splitlines()
        cached = sum(int(line.split()[1]) for line in lines if line.split()[0] in ("active_file", "inactive_file"))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return None
    return max(0, limit - used + cached)


def _free_in_system() -> int | None:
    """Return the bytes that are available in the system, or all of its memory if it tells only that."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
