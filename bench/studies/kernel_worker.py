"""Times the kernels of one build, or the matrix product of NumPy: the other side of `kernels.py`.

`python kernel_worker.py PATH` loads the native module at PATH. It imports nothing of this repository, because a process
cannot hold two builds of the module. Each line of the input is a case in JSON, each line of the output its seconds.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

PRODUCT = "sgemm"  # stands for the matrix product, in place of a path
TILE_ENTRIES = 2_000_000  # as in onebatchpam/_tiles.py, which is not imported here
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def load_core(path: str) -> Any:
    """Return the native module in a file."""
    spec = importlib.util.spec_from_file_location("_core", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a native module: expected a file such as _core.abi3.so")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_call(core: Any, case: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that compares all rows with all columns of a case, on memory that exists."""
    generator = np.random.default_rng(0)
    is_half = case["dtype"] == "float16"
    dtype = "float32" if is_half else case["dtype"]  # in which rows are compared
    rows = generator.standard_normal((case["n"], case["p"])).astype(dtype)
    columns = generator.standard_normal((case["m"], case["p"])).astype(dtype)
    if core is None:
        product = np.empty((case["n"], case["m"]), dtype)
        return lambda: np.matmul(rows, columns.T, out=product)
    compare = make_comparison(core, case, rows, columns)
    if not is_half:
        return compare
    halves = rows.astype(np.float16)

    def widen_and_compare() -> None:
        if hasattr(core, "widen_halves"):
            core.widen_halves(halves.view(np.uint16), rows, case["threads"])
        else:  # an older build leaves it to NumPy
            np.copyto(rows, halves)
        compare()

    return widen_and_compare


def make_comparison(core: Any, case: dict[str, Any], rows: NDArray[Any], columns: NDArray[Any]) -> Callable[[], Any]:
    """Return a function that compares rows with columns, and shows the distances to what looks at them.

    If nothing looks at the distances, all are written out. A pass that looks at them fills one small tile again and
    again, as the passes of the package do: the memory of all distances would cost more time than the distances.
    """
    n, m = case["n"], case["m"]
    packed = core.PackedColumns(columns, case["metric"], 0.0)
    if case["pass"] == "fill":
        block = np.empty((n, m), np.float32)
        return lambda: packed.fill(rows, block, case["threads"])
    per_tile = min(n, max(1, TILE_ENTRIES // m))
    tile = np.empty((per_tile, m), np.float32)
    parts = [rows[start : start + per_tile] for start in range(0, n, per_tile)]
    viewers = {size: make_viewer(core, case, size) for size in {len(part) for part in parts}}

    def fill_tiles() -> None:
        for part in parts:
            packed.fill(part, tile[: len(part)], viewers[len(part)])

    return fill_tiles


def make_viewer(core: Any, case: dict[str, Any], n_rows: int) -> Any:
    """Return what looks at the distances of a tile."""
    if case["pass"] == "scan":
        return core.RowScanner(np.empty(n_rows, np.int32), np.empty(n_rows, np.float32), case["threads"])
    return core.RowSummer(np.ones(case["m"]), np.empty(n_rows), case["threads"])


def measure(core: Any, case: dict[str, Any]) -> float:
    """Return the seconds of the quickest of several calls; the clock of the processor counts all threads."""
    read_clock, call, best = CLOCKS[case["clock"]], make_call(core, case), float("inf")
    with threadpool_limits(case["threads"]):
        call()
        for _ in range(case["repeats"]):
            start = read_clock()
            call()
            best = min(best, read_clock() - start)
    return best / (case["threads"] if case["clock"] == "cpu" else 1)


def main(path: str) -> None:
    core = None if path == PRODUCT else load_core(path)
    for line in sys.stdin:
        print(measure(core, json.loads(line)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
