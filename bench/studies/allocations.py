"""`python -m bench allocations`: each allocation of a fit fails in turn, alone or with all that follow.

Counted are the allocations of the native code and those of large arrays. The call must end with a MemoryError or with
the right result, the process must live on, and the same call must then find the same to the last bit.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from typing import Any

import allocations
from starvation import CALLS

EVERY = 2**31  # more than any call makes


def run_allocations(arguments: argparse.Namespace) -> None:
    """Let allocations fail, and print how often each call ended in which way."""
    print("| call | allocations | MemoryError | other words for it | right result |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        library = allocations.build_hook(folder)
        for name in CALLS:
            if re.search(arguments.only, name):
                print(format_line(name, list(allocations.run(library, [name], arguments.most))), flush=True)


def format_line(name: str, told: list[Any]) -> str:
    """Return a line of the table, given all that the process has told."""
    if not isinstance(told[-1], list):
        at = told[-2][1] if len(told) > 1 else "its start"
        return f"| {name} | DIED by exit code {told[-1]} after position {at} | | | |"
    ends = told[-1][1]
    n_right, n_memory = ends.pop("right", 0), ends.pop("MemoryError", 0)
    return f"| {name} | {told[0][1]:,} | {n_memory:,} | {sum(ends.values()):,} | {n_right:,} |"


def add_command(commands: Any) -> None:
    """Add `allocations` to the command line."""
    parser = commands.add_parser("allocations", help="fits of which every allocation fails in turn (Linux)")
    parser.add_argument("--most", type=int, default=EVERY, help="so many allocations of a call, evenly spaced (all)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only calls whose name has this in it")
    parser.set_defaults(run=run_allocations)
