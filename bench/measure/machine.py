"""What a measurement was made with: processor, versions, commit."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from onebatchpam import _core

PACKAGES = ("onebatchpam", "numpy", "scipy", "scikit-learn", "kmedoids", "onebatch", "banditpam")


def describe_machine() -> dict[str, Any]:
    """Return the processor, the versions and the commit, as records keep them."""
    return {
        "cpu": read_cpu_model(),
        "processors": count_processors(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "simd": _core.simd_level(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := find_version(name)) is not None},
        "commit": find_commit(),
    }


def name_instructions(simd: str) -> str:
    """Return the usual name of a SIMD level of the package."""
    return {"v4": "AVX-512", "v3": "AVX2"}.get(simd, simd)


def summarise_machine(machine: dict[str, Any], threads: int) -> str:
    """Return such a description as one line."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['cpu']}, {machine['processors']} processors, {threads} threads, SIMD level {machine['simd']}, "
        f"Python {machine['python']}, {packages}, commit {machine['commit']}"
    )


def name_processors(machine: dict[str, Any]) -> str:
    """Return the number and the name of the processors, and the memory."""
    return f"{machine['processors']} processors, {machine['cpu']}, {machine['memory_bytes'] / 1e9:.0f} GB"


def count_processors() -> int:
    return os.cpu_count() or 1


def read_cpu_model() -> str:
    """Return the processor's name."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def find_version(package: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def find_commit() -> str | None:
    """Return the commit of this repository, with a plus if files differ from it; None outside of git."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
