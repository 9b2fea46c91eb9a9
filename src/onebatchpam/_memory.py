"""How much memory is available, and how much of it dissimilarities may take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil

from onebatchpam._parameters import describe, is_integer

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

# For both versions of control groups: the files with the limit and the use, and the kinds of memory that are caches.
GROUP_FILES = {
    "": ("memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
}
BYTES_PER_ROW = 12  # the weight and the label of a row
BYTES_ALWAYS_TRIED = 2**28  # rows that take less are tried in any case, because a busy system may free memory for them
UNITS = {"": 1, "B": 1}
for power, letter in enumerate("KMGT", 1):
    UNITS |= {letter: 1000**power, f"{letter}B": 1000**power, f"{letter}IB": 1024**power}


def resolve_memory_limit(limit: Any, name: str = "memory_limit") -> int:
    """Check the `memory_limit` parameter, and return it in bytes; None means half of the available memory."""
    if limit is None:
        return available_bytes() // 2
    if is_integer(limit) and limit >= 0:
        return int(limit)
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", limit if isinstance(limit, str) else "", re.IGNORECASE)
    if parts is None or parts[2].upper() not in UNITS:
        raise ValueError(f"{describe(limit, name)}: expected a number of bytes, or text like '500MB' or '4GB'")
    return int(Fraction(parts[1]) * UNITS[parts[2].upper()])


def available_bytes() -> int:
    """Return the bytes of memory that this process can still use without swapping, and within every limit on it."""
    memory = psutil.virtual_memory()
    limits = [_left_by_rlimit(), *_left_by_groups(memory.total)]
    return max(0, min([memory.available, *(left for left in limits if left is not None)]))


def check_n_rows(n: int, name: str) -> None:
    """Raise if so many rows do not fit in memory, whatever their width; a damaged file may claim any number of rows."""
    needed = n * BYTES_PER_ROW
    if needed <= BYTES_ALWAYS_TRIED:  # asking for the available memory would take a good part of a small fit
        return
    available = available_bytes()
    if needed > available:
        raise ValueError(
            f"{name} has {n:,} rows, which take at least {needed / 1e9:,.1f} GB of memory: expected at most the "
            f"{available / 1e9:,.1f} GB that are available"
        )


def _left_by_rlimit() -> int | None:
    """Return the bytes that the limit of the address space leaves (`ulimit -v`); None if there is none."""
    if resource is None:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else int(limit - psutil.Process().memory_info().vms)


def _left_by_groups(
    total: int, groups: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Return the bytes that control groups leave, as containers use them: those of this process and all above it.

    `total` is the memory of the machine; limits above it leave all of it.
    """
    try:
        lines = groups.read_text().splitlines()
    except OSError:  # the system has no control groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            names = GROUP_FILES[controllers]
            top = root / controllers
            group = top / path.lstrip("/")
            for folder in (group, *group.parents):
                left = _left_by_group(folder, total, *names)
                if left is not None:
                    yield left
                if folder == top:
                    break


def _left_by_group(
    folder: Path, total: int, limit_name: str, used_name: str, cached_names: tuple[str, ...]
) -> int | None:
    """Return the bytes that one control group leaves, in which cached files do not count; None if it has no limit."""
    try:
        limit = int((folder / limit_name).read_text())
        if limit >= total:
            return None
        used = int((folder / used_name).read_text())
        words = (folder / "memory.stat").read_text().split()
    except (OSError, ValueError):  # there is no such group, or its limit is "max"
        return None
    stat = dict(zip(words[::2], words[1::2], strict=True))
    return limit - used + sum(int(stat.get(name, 0)) for name in cached_names)
