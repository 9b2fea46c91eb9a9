"""`python -m bench run`: the runs of an experiment, with one record per run.

Successive runs on the same data share a process, which loads them once; a run that fails ends it. Time covers the call
that chooses the medoids (for our estimators the whole `fit`): packages are imported, data loaded and memory touched
before. The objective is computed here, in float64 over all rows, from the medoids that were returned. Memory is
measured in a process of its own, for the first seed: the peak during the call, data included, beyond that of the
process before the data were loaded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from bench.data.download import DownloadError, fetch
from bench.data.sets import add_options, is_available, load
from bench.measure.call import Trial, measure_peak, time_call
from bench.measure.config import Config, find_config, list_experiments, read_config
from bench.measure.machine import describe_machine
from bench.measure.memory import keep_memory
from bench.measure.objective import check_medoids, compute_objective
from bench.measure.process import Announce, Limits, TaskError, open_renewed_process, run_alone
from bench.measure.records import Record, Run, Store, add_results_option, list_stores
from bench.methods.table import CONTESTANTS

UNTIMED_SECONDS = 3600.0  # the limit for loading the data, and for computing the objective
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Setting:
    """The circumstances that all runs of an experiment share."""

    data: Path
    variant: str
    threads: int
    limits: Limits
    in_process: bool = False
    timed: bool = True

    def prepare(self, run: Run) -> Trial:
        return Trial(CONTESTANTS[run.method], run, partial(load_rows, run, self.data, self.variant), self.threads)

    def open_process(self) -> AbstractContextManager[Callable[..., Record]]:
        """Return the process that measures times, entered as call(task, *arguments)."""
        return nullcontext(run_here) if self.in_process else open_renewed_process(self.limits)


def run_here(task: Callable[..., Record], *arguments: Any) -> Record:
    """Run a task in this process, without limits."""
    return task(lambda part: None, *arguments)


def load_rows(run: Run, folder: Path, variant: str) -> NDArray[Any]:
    """Return the rows of a run: all of the data set, or as many as the run says, drawn by its seed."""
    X = load_kept(run.dataset, folder, variant)
    if run.n is None:
        return X
    if run.n > len(X):
        raise ValueError(f"n={run.n}: {run.dataset} has {len(X)} rows only")
    return X[np.random.RandomState(run.seed).permutation(len(X))[: run.n]]


@lru_cache(maxsize=1)
def load_kept(name: str, folder: Path, variant: str) -> NDArray[Any]:
    """Return a data set, and keep it for the runs that follow."""
    return load(name, folder, variant)


def measure(announce: Announce, trial: Trial, memory_limit: int | None) -> Record:
    """Time a call and judge its medoids."""
    keep_memory()
    trial.warm_up()
    problem = trial.pose()
    trial.touch_memory(problem, memory_limit)
    call = time_call(announce, trial, problem)
    medoids = check_medoids(call.answer.medoids, problem.k, problem.n)
    return {
        "seconds": call.seconds,
        "stages": call.answer.stages,
        "n_distances": call.answer.n_distances,
        "objective": compute_objective(problem.X, medoids, problem.metric),
        "n_rows": problem.n,
        "n_features": problem.X.shape[1],
        "n_distinct": len(np.unique(medoids)),
        "medoids": medoids.tolist(),
        "warnings": call.warnings,
    }


def make_run(run: Run, setting: Setting, call: Callable[..., Record]) -> Record:
    """Return what a run yields: time and objective and, for the first seed only, memory; or why there is no result.

    `call` runs a task in the process that measures times.
    """
    trial, limits = setting.prepare(run), setting.limits
    if trial.contestant.matrix_bytes and not setting.in_process:
        call = partial(run_alone, limits=limits)  # so that the memory of its matrix is free again for the next run
    try:
        outcome = {"status": "ok", **call(measure, trial, limits.memory_bytes)}
    except TaskError as error:
        return {"status": error.status, "reason": error.reason}
    if not setting.timed:
        outcome |= {"seconds": None, "stages": {}}
    if run.seed == 0 and not setting.in_process:
        try:
            outcome["peak_bytes"] = run_alone(measure_peak, trial, limits=limits)["peak_bytes"]
        except TaskError as error:
            outcome |= {"peak_bytes": None, "peak_reason": error.reason}
    return outcome


def fetch_data(names: Iterable[str], setting: Setting) -> dict[str, str]:
    """Download the data sets that are not at hand; return the reason for each that cannot be had."""
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


def execute(
    config: Config,
    setting: Setting,
    store: Store,
    *,
    again: str = "never",
    since: str = "",
    only: str = "",
    skip: Sequence[str] = (),
) -> int:
    """Make the runs that have no record yet; return how many were due.

    `again` says which runs are repeated: "never", "failed", or "all". Runs that finished before the
    date `since` are repeated as well and, if the setting is timed, runs without seconds. Only runs whose name contains
    `only`, and nothing of `skip`, are made.
    """
    known = store.read()
    runs = [run for run in config.list_runs() if only in str(run) and not any(text in str(run) for text in skip)]
    due = [run for run in runs if is_due(known.get(run), again, since, setting.timed)]
    faults = fetch_data(dict.fromkeys(run.dataset for run in due), setting)
    common = {
        "experiment": config.experiment,
        "variant": setting.variant,
        "threads": setting.threads,
        "machine": describe_machine(),
    }
    reasons = {run: CONTESTANTS[run.method].explain_absence() or faults.get(run.dataset) for run in due}
    for run, reason in reasons.items():
        if reason is not None:
            outcome = {"status": "unavailable", "reason": reason, "elapsed": 0.0, "finished": name_moment()}
            store.append({**run.as_dict(), **outcome, **common})
    possible = [run for run in due if reasons[run] is None]
    thread_limit = dict.fromkeys(THREAD_VARIABLES, str(setting.threads))  # for libraries that are not told otherwise
    with patch.dict(os.environ, thread_limit), open_bar(len(runs), len(runs) - len(possible)) as bar:
        for _, successive in groupby(possible, key=lambda run: run.dataset):
            with setting.open_process() as call:
                for run in successive:
                    left = possible[-(len(runs) - bar.n) :]
                    bar.postfix = f"{estimate_left(left, known.values())} left"
                    bar.set_description_str(str(run))
                    started = time.perf_counter()
                    outcome = make_run(run, setting, call)
                    elapsed = time.perf_counter() - started
                    known[run] = {**run.as_dict(), **outcome, "elapsed": elapsed, "finished": name_moment(), **common}
                    store.append(known[run])
                    bar.update()
    return len(due)


def name_moment() -> str:
    """Return the present moment; as text, moments are in the order of time."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def is_due(record: Record | None, again: str, since: str = "", timed: bool = False) -> bool:
    """Say whether a run is to be made, given its record; a record without a moment is older than any date."""
    if record is None or again == "all" or record.get("finished", "") < since:
        return True
    if timed and record["status"] == "ok" and record["seconds"] is None:
        return True
    return again == "failed" and record["status"] != "ok"


def open_bar(total: int, done: int) -> tqdm:
    """Return a progress bar without tqdm's estimate of the time left, which takes all runs for equally long."""
    return tqdm(total=total, initial=done, bar_format="{n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}: {desc}")


def estimate_left(runs: Sequence[Run], records: Iterable[Record]) -> str:
    """Return the time that runs will take, as text, from the same runs with other seeds.

    A run that has no such record counts as the mean of all kinds of runs.
    """

    def identify(run: Run) -> tuple[Any, ...]:
        return (run.dataset, run.n, run.k, run.method)

    elapsed = defaultdict(list)
    for record in records:
        if record["status"] != "unavailable":
            elapsed[identify(Run.from_record(record))].append(record["elapsed"])
    if not elapsed:
        return "unknown time"
    means = {kind: statistics.mean(seconds) for kind, seconds in elapsed.items()}
    typical = statistics.mean(means.values())
    return str(timedelta(seconds=round(sum(means.get(identify(run), typical) for run in runs))))


def name_store(config: Config, variant: str, threads: int | None) -> str:
    """Return the name of the records: an experiment in another setting has records of its own."""
    parts = [config.name, variant if variant != "paper" else None, None if threads is None else f"{threads}-threads"]
    return "-".join(part for part in parts if part is not None)


def run_experiment(arguments: argparse.Namespace) -> None:
    """Run an experiment, or go on with it."""
    config = read_config(find_config(arguments.experiment))
    if arguments.as_published:
        config = config.add_as_published()
    memory = arguments.memory_limit or config.memory_limit
    limits = Limits(arguments.time_limit or config.time_limit, int(memory * 2**30), UNTIMED_SECONDS)
    threads = arguments.threads or config.threads
    setting = Setting(arguments.data, arguments.variant, threads, limits, arguments.in_process)
    store = Store(arguments.results, name_store(config, arguments.variant, arguments.threads))
    again = "all" if arguments.again else "failed" if arguments.retry else "never"
    n_made = execute(
        config, setting, store, again=again, since=arguments.since, only=arguments.only, skip=arguments.skip
    )
    records = store.read()
    failed = sum(record["status"] != "ok" for record in records.values())
    print(f"{n_made} runs made; {store.plain} has {len(records)} runs, {failed} of them without a result")


def pack_records(arguments: argparse.Namespace) -> None:
    """Compress all records of a folder."""
    for store in list_stores(arguments.results):
        store.pack()
        print(store.packed)


def add_command(commands: Any) -> None:
    """Add `run` and `pack` to the command line."""
    parser = commands.add_parser("run", help="the runs of an experiment")
    parser.add_argument("experiment", help=f"one of {', '.join(list_experiments())}; or the path of a file like theirs")
    parser.add_argument("--only", default="", metavar="TEXT", help="only runs whose name contains this text")
    parser.add_argument(
        "--skip",
        default=[],
        action="append",
        metavar="TEXT",
        help="no runs whose name contains this text; may be repeated",
    )
    parser.add_argument("--retry", action="store_true", help="repeat the runs that have no result")
    parser.add_argument("--again", action="store_true", help="repeat all runs")
    parser.add_argument(
        "--since", default="", metavar="DATE", help="repeat runs recorded before this day or moment (UTC), 2026-01-31"
    )
    parser.add_argument("--as-published", action="store_true", help="add LWCS with the weights of its authors' code")
    parser.add_argument(
        "--in-process", action="store_true", help="all runs in this process: quicker, without limits and peak memory"
    )
    parser.add_argument("--threads", type=int, help="threads of each method (those of the experiment)")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds for a call, instead of the experiment's")
    parser.add_argument("--memory-limit", type=float, metavar="GIB", help="for a process, instead of the experiment's")
    add_options(parser)
    add_results_option(parser)
    parser.set_defaults(run=run_experiment)
    parser = commands.add_parser("pack", help="compress records")
    add_results_option(parser)
    parser.set_defaults(run=pack_records)
