"""`python -m bench run`: an experiment, each run in a process of its own, one record per run.

Time covers the call that chooses the medoids (for our estimators the whole `fit`), with packages imported and data
loaded before, and on memory that the process has used before. The objective is computed here, in float64 over all rows,
from the medoids that were returned. Memory is measured in another process, for the first seed: the peak during the
call, data included, beyond that of the process before the data were loaded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from bench.data.download import DownloadError, fetch
from bench.data.sets import add_options, is_available, load
from bench.measure import machine
from bench.measure.config import Config, find_config, read_config
from bench.measure.memory import keep_memory, read_peak_bytes, read_resident_bytes, reset_peak, touch_memory
from bench.measure.objective import objective
from bench.measure.process import TIMED, UNTIMED, Announce, Limits, TaskError, run_alone
from bench.measure.records import Record, Run, Store, add_results_option, stores
from bench.methods.contestant import CONTESTANTS, Contestant, Problem

UNTIMED_SECONDS = 3600.0  # for loading, and for the objective
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Setting:
    """What all runs of an experiment have in common."""

    data: Path
    variant: str
    threads: int
    limits: Limits
    in_process: bool = False


def measure(announce: Announce, run: Run, setting: Setting) -> Record:
    """Let one contestant solve one problem; called in a fresh process."""
    contestant = CONTESTANTS[run.method]
    keep_memory()
    _warm_up(contestant, run, setting.threads)
    problem = pose(run, setting)
    _touch(contestant, problem, setting.limits.memory_bytes)
    announce(TIMED)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        start = time.perf_counter()
        answer = contestant.solve(problem)
        seconds = time.perf_counter() - start
    announce(UNTIMED)
    medoids = check_medoids(answer.medoids, run.k, len(problem.X))
    return {
        "seconds": seconds,
        "stages": answer.stages,
        "n_distances": answer.n_distances,
        "objective": objective(problem.X, medoids, run.metric),
        "n_rows": len(problem.X),
        "n_features": problem.X.shape[1],
        "n_distinct": len(np.unique(medoids)),
        "medoids": medoids.tolist(),
        "warnings": list(dict.fromkeys(str(warning.message) for warning in warned)),
    }


def measure_peak(announce: Announce, run: Run, setting: Setting) -> Record:
    """Do the same for the memory it takes; called in a fresh process."""
    contestant = CONTESTANTS[run.method]
    _warm_up(contestant, run, setting.threads)
    before = read_resident_bytes()
    problem = pose(run, setting)
    reset_peak()
    announce(TIMED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contestant.solve(problem)
    return {"peak_bytes": read_peak_bytes() - before}


def pose(run: Run, setting: Setting) -> Problem:
    """Load the data."""
    X = choose_rows(load(run.dataset, setting.data, variant=setting.variant), run)
    return Problem(X, run.k, run.metric, run.seed, setting.threads)


def run_both(run: Run, setting: Setting) -> Record:
    """Measure time and, once for all seeds, memory."""
    if setting.in_process:
        return {"status": "ok", **measure(lambda part: None, run, setting)}
    try:
        outcome = {"status": "ok", **run_alone(measure, run, setting, limits=setting.limits)}
    except TaskError as error:
        return {"status": error.status, "reason": error.reason}
    if run.seed == 0:
        try:
            outcome |= run_alone(measure_peak, run, setting, limits=setting.limits)
        except TaskError as error:
            outcome |= {"peak_bytes": None, "peak_reason": error.reason}
    return outcome


def _warm_up(contestant: Contestant, run: Run, threads: int) -> None:
    """Solve something tiny: imports are no part of the measured call."""
    small = np.random.default_rng(0).random((60, 4), dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contestant.solve(Problem(small, 2, run.metric, 0, threads))


def _touch(contestant: Contestant, problem: Problem, memory_limit: int | None) -> None:
    """Use the memory that the call will need: on a virtual machine the first use would be most of its time."""
    needed = contestant.memory_needed(problem)
    if memory_limit is not None:
        needed = min(needed, int(0.8 * memory_limit) - read_resident_bytes())
    touch_memory(needed)


def choose_rows(X: NDArray[Any], run: Run) -> NDArray[Any]:
    """Return all rows, or as many as the run says, drawn by its seed."""
    if run.n is None:
        return X
    if run.n > len(X):
        raise ValueError(f"n={run.n}: {run.dataset} has {len(X)} rows only")
    return X[np.random.RandomState(run.seed).permutation(len(X))[: run.n]]


def check_medoids(medoids: Any, k: int, n: int) -> NDArray[np.int64]:
    """Raise unless these are k rows."""
    medoids = np.asarray(medoids, dtype=np.int64)
    if medoids.shape != (k,) or medoids.min() < 0 or medoids.max() >= n:
        raise ValueError(f"the method returned {medoids!r}: expected {k} row indices below {n}")
    return medoids


def fetch_data(names: Sequence[str], setting: Setting) -> dict[str, str]:
    """Download what is not at hand; return for each data set that cannot be had the reason."""
    faults: dict[str, str] = {}
    for name in names:
        if is_available(name, setting.data, setting.variant):
            continue
        try:
            fetch(name, setting.variant)
        except (DownloadError, ImportError) as error:
            print(error, flush=True)
            cause = type(error.__cause__ or error).__name__
            faults[name] = f"no data: {name} is not in the folder, and its download failed ({cause})"
    return faults


def execute(config: Config, setting: Setting, store: Store, *, again: str = "never", only: str = "") -> int:
    """Make the runs that have no record yet; return how many were made.

    `again` says which are repeated: "never", "failed", or "all".
    """
    known = store.read()
    runs = [run for run in config.runs() if only in str(run)]
    due = [run for run in runs if is_due(known.get(run), again)]
    faults = fetch_data(list(dict.fromkeys(run.dataset for run in due)), setting)
    common = {"variant": setting.variant, "threads": setting.threads, "machine": machine.describe()}
    possible = []
    for run in due:
        reason = CONTESTANTS[run.method].why_unavailable() or faults.get(run.dataset)
        if reason is None:
            possible.append(run)
        else:
            store.append({**run.as_dict(), "status": "unavailable", "reason": reason, "elapsed": 0.0, **common})

    durations = Durations(known.values())
    thread_limit = dict.fromkeys(THREAD_VARIABLES, str(setting.threads))  # for libraries; ours are told how many
    with patch.dict(os.environ, thread_limit), progress_bar(len(runs), len(runs) - len(possible)) as bar:
        for position, run in enumerate(possible):
            bar.postfix = f"{durations.left(possible[position:])} left"
            bar.set_description_str(str(run))
            started = time.perf_counter()
            outcome = run_both(run, setting)
            elapsed = time.perf_counter() - started
            finished = datetime.now(timezone.utc).isoformat(timespec="seconds")
            record = {**run.as_dict(), **outcome, "elapsed": elapsed, "finished": finished, **common}
            store.append(record)
            durations.add(record)
            bar.update()
    return len(due)


def progress_bar(total: int, done: int) -> tqdm:
    """Return a bar that leaves the time left to us: tqdm takes all runs for alike."""
    layout = "{n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}: {desc}"
    return tqdm(total=total, initial=done, bar_format=layout)


def is_due(record: Record | None, again: str) -> bool:
    """Say whether a run is to be made, given its record."""
    return record is None or again == "all" or (again == "failed" and record["status"] != "ok")


class Durations:
    """How long runs take, by what is known of the same run with other seeds."""

    def __init__(self, records: Any) -> None:
        self._known: dict[tuple[Any, ...], list[float]] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        if record["status"] == "unavailable":
            return
        self._known.setdefault(self._kind(Run.of(record)), []).append(record["elapsed"])

    def left(self, runs: Sequence[Run]) -> str:
        """Return the time that these runs will take, as text; of an unknown kind of run the mean of all kinds."""
        if not self._known:
            return "unknown time"
        means = {kind: statistics.mean(seconds) for kind, seconds in self._known.items()}
        typical = statistics.mean(means.values())
        seconds = sum(means.get(self._kind(run), typical) for run in runs)
        return str(timedelta(seconds=round(seconds)))

    @staticmethod
    def _kind(run: Run) -> tuple[Any, ...]:
        return (run.dataset, run.n, run.k, run.method)


def store_name(config: Config, variant: str, threads: int | None) -> str:
    """Return the name of the records: experiments in other settings have records of their own."""
    parts = [config.name, variant if variant != "paper" else None, None if threads is None else f"{threads}-threads"]
    return "-".join(part for part in parts if part is not None)


def run(arguments: argparse.Namespace) -> None:
    """Run an experiment, or go on with it."""
    path = find_config(arguments.experiment)
    config = read_config(path)
    if arguments.as_published:
        config = config.with_as_published()
    memory = arguments.memory_limit or config.memory_limit
    limits = Limits(arguments.time_limit or config.time_limit, int(memory * 2**30), UNTIMED_SECONDS)
    threads = arguments.threads or os.cpu_count() or 1
    setting = Setting(arguments.data, arguments.variant, threads, limits, arguments.in_process)
    store = Store(arguments.results, store_name(config, arguments.variant, arguments.threads))
    store.keep_config(path.read_text())
    again = "all" if arguments.again else "failed" if arguments.retry else "never"
    n_made = execute(config, setting, store, again=again, only=arguments.only)
    records = store.read()
    failed = sum(record["status"] != "ok" for record in records.values())
    print(f"{n_made} runs made; {store.plain} has {len(records)} runs, {failed} of them without a result")


def pack(arguments: argparse.Namespace) -> None:
    """Compress records."""
    for store in stores(arguments.results):
        store.pack()
        print(store.packed)


def add_command(commands: Any) -> None:
    """Add `run` and `pack` to the command line."""
    parser = commands.add_parser("run", help="an experiment of the paper: small, large, figure1, euclidean or smoke")
    parser.add_argument("experiment", help="the name of a file in bench/configs, or a path")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose name contains this text")
    parser.add_argument("--retry", action="store_true", help="repeat the runs that have no result")
    parser.add_argument("--again", action="store_true", help="repeat all runs")
    parser.add_argument("--as-published", action="store_true", help="add LWCS with the weights of its authors' code")
    parser.add_argument(
        "--in-process", action="store_true", help="all runs in this process: quicker, without limits and peak memory"
    )
    parser.add_argument("--threads", type=int, help="threads of each method (all processors)")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds for a call, instead of the experiment's")
    parser.add_argument("--memory-limit", type=float, metavar="GIB", help="for a process, instead of the experiment's")
    add_options(parser)
    add_results_option(parser)
    parser.set_defaults(run=run)
    parser = commands.add_parser("pack", help="compress records")
    add_results_option(parser)
    parser.set_defaults(run=pack)
