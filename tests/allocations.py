"""Calls of which one allocation after the other fails, in a process of their own.

`python allocations.py MOST NAME ...` is that process; it makes the calls of these names that `starvation.py` lists.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from starvation import CALLS, X, says_that_memory_lacks

HERE = Path(__file__).parent
HOOK = "FAILING_ALLOCATIONS"  # the environment variable that names the library
Call = Callable[[], ArrayLike]
LAST = 2**62  # no call makes so many allocations


def build_hook(folder: str | Path) -> Path:
    """Compile the library by which allocations fail; CalledProcessError or OSError where that cannot be done."""
    library = Path(folder) / "failing_allocations.so"
    source = HERE / "failing_allocations.cpp"
    command = ["c++", "-std=c++17", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


def run(library: Path, names: Iterable[str], most: int) -> Iterator[Any]:
    """Make calls with failing allocations, in a new process; yield pairs of a name and what is told of the call.

    That is first the number of its allocations, then the position of the one that fails, for each try, and at last how
    often the call ended in which way. At most so many positions are tried, evenly spaced. If the process dies, its exit
    code is the last item.
    """
    environment = os.environ | {"LD_PRELOAD": str(library), HOOK: str(library), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", __file__, str(most), *names]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        yield process.returncode


def count_allocations(hook: ctypes.CDLL, call: Call) -> int:
    """Return the number of allocations that a call makes."""
    hook.fail_allocations(LAST, LAST)
    call()
    return int(hook.stop_failing())


def try_with_failures(hook: ctypes.CDLL, call: Call, expected: ArrayLike, first: int, last: int) -> str:
    """Make a call whose allocations fail from position `first` up to `last`; return how it ended.

    It must have the right result or say that memory lacks.
    """
    hook.fail_allocations(first, last)
    try:
        found = call()
    except Exception as error:
        hook.stop_failing()
        if not says_that_memory_lacks(error):
            raise
        return type(error).__name__
    hook.stop_failing()
    np.testing.assert_array_equal(found, expected)
    return "right"


def fail_each_allocation(hook: ctypes.CDLL, call: Call, tell: Callable[[int], None], most: int) -> Counter[str]:
    """Let one allocation after the other fail, alone or with all that follow; return how often the call ended how.

    Whatever fails, the same call must have the right result afterwards.
    """
    expected = call()  # which also imports and keeps what later calls use
    n_allocations = count_allocations(hook, call)
    tell(n_allocations)
    ends: Counter[str] = Counter()
    for position in np.unique(np.linspace(0, n_allocations - 1, min(most, n_allocations), dtype=int)).tolist():
        for last in (position + 1, LAST):
            tell(position)
            ends[try_with_failures(hook, call, expected, position, last)] += 1
    np.testing.assert_array_equal(call(), expected)
    return ends


def main(most: int, names: list[str]) -> None:
    """Make the calls, and print what `run` yields, each as a line of JSON."""
    hook = ctypes.CDLL(os.environ[HOOK])
    hook.stop_failing.restype = ctypes.c_long
    hook.fail_allocations.argtypes = ctypes.c_long, ctypes.c_long
    for name in names:

        def tell(content: object, name: str = name) -> None:
            print(json.dumps([name, content]), flush=True)

        tell(fail_each_allocation(hook, partial(CALLS[name], X), tell, most))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
