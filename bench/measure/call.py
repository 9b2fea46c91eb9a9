"""The call that is measured: a contestant solves a problem, for its time or for its memory."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure.memory import read_growth, read_resident_bytes, reset_peak, touch_memory
from bench.measure.process import TIMED, UNTIMED, Announce
from bench.measure.records import Record, Run
from bench.methods.contestant import Answer, Contestant, Problem


@dataclass(frozen=True)
class Trial:
    """A contestant about to be measured. It can be pickled: rows are loaded by the process that measures."""

    contestant: Contestant
    run: Run
    load_rows: Callable[[], NDArray[Any]]
    threads: int

    def warm_up(self) -> None:
        """Solve something tiny, so that the measured call does not include imports."""
        small = np.random.default_rng(0).random((300, 4), dtype=np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.contestant.solve(Problem(small, 2, self.run.metric, 0, self.threads))

    def pose(self) -> Problem:
        """Load the rows."""
        return Problem(self.load_rows(), self.run.k, self.run.metric, self.run.seed, self.threads)

    def touch_memory(self, problem: Problem, limit: int | None = None) -> None:
        """Use the memory that the call will need: on a virtual machine the first use may take longer than the call."""
        needed = self.contestant.estimate_memory(problem)
        if limit is not None:
            needed = min(needed, int(0.8 * limit) - read_resident_bytes())
        touch_memory(needed)


@dataclass(frozen=True)
class TimedCall:
    """An answer, the seconds it took on the clock and of all processors, and the warnings that came with it."""

    answer: Answer
    seconds: float
    cpu_seconds: float
    warnings: list[str]


def time_call(announce: Announce, trial: Trial, problem: Problem) -> TimedCall:
    """Let the contestant solve the problem, and nothing else, on the clock."""
    announce(TIMED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        start, cpu_start = time.perf_counter(), time.process_time()
        answer = trial.contestant.solve(problem)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    announce(UNTIMED)
    return TimedCall(answer, seconds, cpu_seconds, list(dict.fromkeys(str(warning.message) for warning in caught)))


def measure_call(announce: Announce, trial: Trial) -> tuple[Problem, TimedCall, int]:
    """Measure time and memory of the same call; return its problem, and the peak of its memory beyond the data."""
    trial.warm_up()
    problem = trial.pose()
    before = read_resident_bytes()
    reset_peak()
    call = time_call(announce, trial, problem)
    return problem, call, read_growth(before)


def measure_peak(announce: Announce, trial: Trial) -> Record:
    """Return the peak memory of a call, data included, beyond that of the process before the data were loaded.

    Beside it stand the bytes of the data and of a float32 block of the paper's batch size.
    """
    trial.warm_up()
    before = read_resident_bytes()
    problem = trial.pose()
    reset_peak()
    time_call(announce, trial, problem)
    peak = read_growth(before)
    return {"peak_bytes": peak, "needed_bytes": problem.X.nbytes + 4 * problem.n * problem.paper_batch_size()}
