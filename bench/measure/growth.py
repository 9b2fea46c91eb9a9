"""A contestant with more and more rows, until a run exceeds a limit on time or memory; it gets no more rows then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from bench.measure.call import Trial
from bench.measure.machine import count_processors, describe_machine
from bench.measure.process import Limits, Record, TaskError, run_alone
from bench.measure.records import Run, Store
from bench.methods.contestant import Contestant

FAILED = "status"  # a record has this only if the run exceeded a limit or failed
EXCEEDED = ("memory", "timeout")  # what it then says if it was a limit

Load = Callable[[], NDArray[Any]]


def measure_growth(
    task: Callable[..., Record],
    contestant: Contestant,
    runs: Iterable[tuple[Run, Load]],
    store: Store,
    limits: Limits,
    *,
    again: bool = False,
) -> None:
    """Make the runs that have no record yet, which are in the order of their rows, until one fails."""
    absence, last = contestant.explain_absence(), None
    for run, load in runs:
        if absence is not None:
            print(f"{contestant.name} is left out: {absence}")
            return
        records = store.read()
        record = records.get(run)
        if record is None or again:
            print(run, flush=True)
            try:
                if contestant.kind != "ours":  # the time of this package grows more slowly than its rows
                    require_time(run, last, limits)
                require_time_with_fewer_medoids(run, records)
                record = run_alone(task, Trial(contestant, run, load, count_processors()), limits=limits)
            except TaskError as error:
                if last is None and error.status not in EXCEEDED:  # it cannot be run at all, which is not a limit
                    print(f"{contestant.name} is left out: {error.reason}")
                    return
                record = {FAILED: error.status, "reason": error.reason}
            store.append({**run.as_dict(), **record, "machine": describe_machine()})
        if FAILED in record:
            print(f"{contestant.name} gets no more rows: {record['reason']}")
            return
        last = run, record


def require_time(run: Run, last: tuple[Run, Record] | None, limits: Limits) -> None:
    """Raise if a run would exceed the limit on time even if its time grew no faster than its rows."""
    if last is None or limits.seconds is None:
        return
    fewer, record = last
    seconds = record["seconds"] * (run.n or 0) / (fewer.n or 1)
    if seconds > limits.seconds:
        reason = f"not tried: {fewer.n:,} rows took {record['seconds']:.0f} s, so that {run.n:,} take {seconds:.0f} s"
        raise TaskError("timeout", f"{reason} or more")


def require_time_with_fewer_medoids(run: Run, records: dict[Run, Record]) -> None:
    """Raise if the same run with fewer medoids exceeded the limit on time."""
    for other, record in records.items():
        if record.get(FAILED) == "timeout" and other.k < run.k and other == replace(run, k=other.k):
            raise TaskError("timeout", f"not tried: it took too long with k = {other.k}")
