"""`python -m bench fuzz`: random cases until a number of them or of seconds is reached.

Cases run in a child process, one after the other; a new child takes over when a case kills it or takes too long. A
case is drawn from its seed alone, so that the seed repeats it.
"""

from __future__ import annotations

import argparse
import itertools
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.fuzz.bindings import describe_binding, run_binding
from bench.fuzz.guided import fuzz_guided
from bench.fuzz.readers import describe_reader, run_reader
from bench.fuzz.trial import describe_trial, run_trial
from bench.measure.process import Limits, Record, TaskError, open_process, run_alone

TASKS = {"fits": run_trial, "bindings": run_binding, "readers": run_reader}
DESCRIPTIONS = {"fits": describe_trial, "bindings": describe_binding, "readers": describe_reader}
LIMITS = Limits(seconds=600, memory_bytes=4 * 2**30, untimed_seconds=600)  # a slow call on a busy machine is not a hang
CASES_PER_PROCESS = 2000
SECONDS_BETWEEN_COUNTS = 60
MOST_PRINTED = 5  # failures of the same check whose code is printed


def run_cases(kind: str, first_seed: int) -> Iterator[tuple[int, Record]]:
    """Yield each seed with the record of its case, without end; a case that kills its process has a record as well."""
    seeds = itertools.count(first_seed)
    while True:
        with open_process(LIMITS) as call:
            for seed in itertools.islice(seeds, CASES_PER_PROCESS):
                try:
                    record = call(TASKS[kind], seed)
                except TaskError as error:
                    yield seed, describe_crash(kind, seed, error)
                    break
                yield seed, record


def describe_crash(kind: str, seed: int, error: TaskError) -> Record:
    """Return the record of a case that has none, because its process ended or had to be ended."""
    try:
        code = run_alone(DESCRIPTIONS[kind], seed)["code"]
    except TaskError as another:
        code = f"# the case cannot even be drawn: {another}"
    return {"failures": {"crash": f"{error}\n{error.trace}"}, "counts": {}, "code": code}


def fuzz(kind: str, first_seed: int, n_cases: float, seconds: float) -> Counter[str]:
    """Run cases, print those that fail and how to repeat them, and return how many of them were what."""
    counts, began, told = Counter[str](), time.monotonic(), 0.0
    for seed, record in run_cases(kind, first_seed):
        counts.update({"cases": 1, **record["counts"], "failed": bool(record["failures"])})
        for check, failure in record["failures"].items():
            counts[check] += 1
            if counts[check] <= MOST_PRINTED:
                print(f"\nseed {seed}: {check}\n{textwrap.indent(failure, '    ')}", flush=True)
                print(f"  repeat by: python -m bench fuzz {kind} --seed {seed} --cases 1", flush=True)
                print(textwrap.indent(record["code"], "    "), flush=True)
        passed = time.monotonic() - began
        if passed - told > SECONDS_BETWEEN_COUNTS:
            told = passed
            print(f"{describe_counts(kind, counts)} up to seed {seed}", flush=True)
        if counts["cases"] >= n_cases or passed >= seconds:
            break
    return counts


def describe_counts(kind: str, counts: Counter[str]) -> str:
    """Return how many cases were what, as text."""
    return f"{kind}: " + ", ".join(f"{name} {count:,}" for name, count in counts.items())


def run(arguments: argparse.Namespace) -> None:
    """Fuzz and print the counts; raise if a case failed."""
    if arguments.guided:
        if arguments.kind != "readers":
            raise TaskError("error", f"--guided is for readers, not for {arguments.kind}")
        fuzz_guided(arguments.seconds)
    counts = fuzz(arguments.kind, arguments.seed, arguments.cases, arguments.seconds)
    print(describe_counts(arguments.kind, counts))
    if counts["failed"]:
        raise TaskError("error", f"{counts['failed']} of {counts['cases']} cases failed")


def add_command(commands: Any) -> None:
    """Add `fuzz` to the command line."""
    parser = commands.add_parser("fuzz", help="random cases, checked against what the package promises")
    parser.add_argument("kind", nargs="?", choices=TASKS, default="fits", help="what is tried (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case; each has the next (%(default)s)")
    parser.add_argument("--cases", type=float, default=float("inf"), help="stop after this many")
    parser.add_argument("--seconds", type=float, default=60, help="stop after this long (%(default)s)")
    parser.add_argument("--guided", action="store_true", help="let atheris, if installed, damage the files of readers")
    parser.set_defaults(run=run)
