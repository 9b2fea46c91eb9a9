"""`python -m bench kernels`: how near the distances come to what the machine can do.

For each metric, type and number of features p: the rate, in 10⁹ comparisons of features per second, beside that of
NumPy's matrix product of the same rows and columns, and beside a limit. The limit is the rate of the metric's own
vector instructions on registers, without any load or store, measured by `kernel_limit.cpp`; it is left out if there is
no compiler. `--against PATH` adds another build, such as the `_core` file of an older commit. All take turns in
processes of their own (`kernel_worker.py`), and the quickest of all calls counts.

For Manhattan the limit is three instructions for each vector of differences: subtract, drop the sign, add. So it is for
Chebyshev, but AVX-512 drops the sign and takes the larger in one. Two ways to need only two instructions are not used,
because they take digits from the distances of near rows. The sum of |a - b| is twice the sum of max(a, b) less the sums
of a and of b; that last subtraction cancels. And |x| + |y| is the larger of |x + y| and |x - y|, which AVX-512 finds in
one instruction, for two differences x and y; x + y and x - y would be taken from sums and differences of features that
are rounded beforehand.

The matrix product is as fast as the kernels that NumPy's BLAS has chosen for this processor, which are named above the
table. OpenBLAS may choose kernels with narrower vectors than the processor has; `OPENBLAS_CORETYPE=SkylakeX` makes it
use AVX-512.

With `--view scan` or `sum`, something looks at the distances of one small tile after the other, as in the passes over
all rows; otherwise all distances are written out.

With `--type float16`, the time of widening the rows to float32 counts; the product is that of float32.

On a machine that others use, `--clock cpu` counts the time of the processor instead of that on the wall. It says little
about the matrix product with several threads, because those of the product wait busily.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from bench.measure.machine import count_processors, describe_machine, summarise_machine
from bench.studies.kernel_worker import CLOCKS, PRODUCT
from onebatchpam import _core

FOLDER = Path(__file__).parent
METRICS = ("cosine", "euclidean", "sqeuclidean", "manhattan", "chebyshev")
TYPES, HALF = ("float32", "float64"), "float16"
FEATURES = (16, 64, 128, 384, 768, 1536, 3072)
PASSES = ("fill", "scan", "sum")
OURS, OTHER = "ours", "other"
FEWEST_FOR_PRODUCTS = 32  # features from which float32 rows are compared by products: distances/comparison.cpp
WORK = 600_000_000  # comparisons of features in one call
MOST_ROWS = 19_200
REST = 0.1  # seconds after each turn: the threads of the matrix product wait busily for a while before they sleep

Limits = dict[str, float]
Worker = subprocess.Popen[str]


@dataclass(frozen=True)
class Case:
    """The shape and kind of one comparison of n rows with m columns."""

    metric: str
    dtype: str
    p: int
    m: int

    @property
    def n(self) -> int:
        return min(MOST_ROWS, max(384, WORK // (self.p * self.m) // 96 * 96))

    @property
    def work(self) -> int:
        return self.n * self.m * self.p

    def find_limit(self, limits: Limits) -> float | None:
        """Return the limit for the instructions that compare these rows."""
        compared = "float32" if self.dtype == HALF else self.dtype
        if self.metric in ("manhattan", "chebyshev"):
            return limits.get(f"{self.metric} {compared}")
        by_products = compared == "float32" and self.p >= FEWEST_FOR_PRODUCTS
        return limits.get("product" if by_products else f"squares {compared}")


def measure_limits() -> Limits:
    """Return the rates of the steps on registers and the clock; nothing without a compiler."""
    compiler = shutil.which("c++")
    if compiler is None:
        return {}
    core = FOLDER.parents[1] / "src" / "core"
    options = ["-O3", "-std=c++17", "-march=native", "-ffp-contract=off", "-Wno-psabi", "-DOBP_LEVEL=native"]
    with TemporaryDirectory() as folder:
        program = Path(folder) / "limit"
        source = FOLDER / "kernel_limit.cpp"
        subprocess.run([compiler, *options, f"-I{core}", str(source), "-o", str(program)], check=True)
        limits: Limits = json.loads(subprocess.run([program], check=True, capture_output=True).stdout)
    return limits


def describe_blas() -> str:
    """Return the BLAS libraries of this process, each with the kind of processor whose kernels it has chosen."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    found = {f"{library['internal_api']} {library.get('architecture', '')}".strip() for library in libraries}
    return ", ".join(sorted(found)) or "unknown BLAS"


@contextmanager
def open_worker(path: str) -> Iterator[Worker]:
    """Start a process that times the build at a path, or the matrix product."""
    command = [sys.executable, "-P", str(FOLDER / "kernel_worker.py"), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        yield worker


def ask(worker: Worker, request: dict[str, Any]) -> float:
    """Return the seconds of a case."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    print(json.dumps(request), file=worker.stdin, flush=True)
    answer = worker.stdout.readline()
    if not answer:
        raise ImportError("a build could not be timed; the message of its process is above")
    time.sleep(REST)
    return float(answer)


def measure_case(
    workers: dict[str, Worker], case: Case, threads: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """Return the rate of each worker, which take turns."""
    request = {**asdict(case), "n": case.n, "threads": threads, "pass": arguments.view, "clock": arguments.clock}
    request["repeats"] = arguments.repeats
    seconds = [{name: ask(worker, request) for name, worker in workers.items()} for _ in range(arguments.rounds)]
    return {name: case.work / 1e9 / min(turn[name] for turn in seconds) for name in workers}


def make_header(threads: int, has_other: bool) -> str:
    """Return the first two lines of the table."""
    names = ["metric", "type", "p", OURS, "product", "limit", "ours / product", "ours / limit"]
    if threads > 1:
        names += [
            f"ours, {threads} threads / 1",
            f"product, {threads} threads / 1",
            f"ours / product, {threads} threads",
        ]
    if has_other:
        names += ["other build", "ours / other"]
    return f"| {' | '.join(names)} |\n|{'---|' * len(names)}"


def make_line(case: Case, one: dict[str, float], many: dict[str, float] | None, limits: Limits) -> str:
    """Return a line of the table, from the rates with one thread and with many."""
    limit = case.find_limit(limits)
    cells = [case.metric, case.dtype, f"{case.p}", f"{one[OURS]:.1f}", f"{one[PRODUCT]:.1f}"]
    cells += [f"{limit:.1f}" if limit else "", f"{one[OURS] / one[PRODUCT]:.2f}"]
    cells += [f"{one[OURS] / limit:.2f}" if limit else ""]
    if many is not None:
        cells += [f"{many[name] / one[name]:.2f}" for name in (OURS, PRODUCT)] + [f"{many[OURS] / many[PRODUCT]:.2f}"]
    if OTHER in one:
        cells += [f"{one[OTHER]:.1f}", f"{one[OURS] / one[OTHER]:.2f}"]
    return f"| {' | '.join(cells)} |"


def run_all(arguments: argparse.Namespace) -> None:
    """Describe the machine, then measure all cases and print a table."""
    if arguments.against is not None and not arguments.against.is_file():
        raise FileNotFoundError(
            f"--against {arguments.against}: expected the file of a native module, such as _core.so"
        )
    limits = measure_limits()
    print(summarise_machine(describe_machine(), arguments.threads))
    print(f"matrix product: {describe_blas()}")
    if limits:
        print(f"clock {limits['clock']:.2f} GHz")
    print(f"rates in 10⁹ per second, {arguments.clock} clock, m = {arguments.columns}")
    print(f"\n{make_header(arguments.threads, arguments.against is not None)}", flush=True)
    paths = {PRODUCT: PRODUCT, OURS: str(_core.__file__)}
    if arguments.against is not None:
        paths[OTHER] = str(arguments.against)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(open_worker(path)) for name, path in paths.items()}
        for metric, dtype, p in product(arguments.metric or METRICS, arguments.type or TYPES, arguments.p or FEATURES):
            case = Case(metric, dtype, p, arguments.columns)
            one = measure_case(workers, case, 1, arguments)
            many = measure_case(workers, case, arguments.threads, arguments) if arguments.threads > 1 else None
            print(make_line(case, one, many, limits), flush=True)


def add_command(commands: Any) -> None:
    """Add `kernels` to the command line."""
    parser = commands.add_parser(
        "kernels", help="rates of all metrics, beside a matrix product and the machine's limit"
    )
    parser.add_argument("--metric", action="append", choices=METRICS, help="only this metric; may be repeated (all)")
    parser.add_argument(
        "--type", action="append", choices=(*TYPES, HALF), help="only this type; may be repeated (float32 and float64)"
    )
    parser.add_argument("-p", action="append", type=int, help="only this number of features; may be repeated (all)")
    parser.add_argument(
        "--view", choices=PASSES, default="fill", help="what looks at the distances (%(default)s: nothing)"
    )
    parser.add_argument("--columns", type=int, default=1000, metavar="M", help="number of columns (%(default)s)")
    threads = count_processors()
    parser.add_argument("--threads", type=int, default=threads, help="threads beside one (%(default)s)")
    parser.add_argument("--against", type=Path, metavar="PATH", help="another build: the file of its native module")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="the time that counts (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each (%(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="calls in a turn (%(default)s)")
    parser.set_defaults(run=run_all)
