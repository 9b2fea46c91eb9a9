"""How Dask tasks run: on one scheduler, with a wait that ends, and with nothing left behind.

A fit finds its scheduler when it begins and keeps it. If this is a cluster, the driver waits for results only as long
as the cluster works. Futures are released when their results are no longer needed, also after an error, whose traceback
might still refer to them. Errors of the cluster become one error that says what to do.
"""

from __future__ import annotations

import asyncio
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

import dask
from dask.base import get_scheduler
from dask.delayed import Delayed
from dask.utils import parse_timedelta

from onebatchpam.dask.partition import PartitionError

# How long the driver waits while no worker works, unless the setting "distributed.scheduler.no-workers-timeout" of Dask
# says otherwise. By default, the scheduler gives up a silent worker after the same time.
NO_WORKERS_TIMEOUT = "5 minutes"
LONGEST_PAUSE = 10.0  # seconds between two looks at the workers while the driver waits


class ClusterError(Exception):
    """A cluster that does not work, although Dask itself would go on waiting for it."""


class TaskError(Exception):
    """A task that raised its `__cause__`, with the position of the task among those that ran together."""

    def __init__(self, place: int) -> None:
        super().__init__(f"task {place}")
        self.place = place


class Runner:
    """Runs Dask tasks on the scheduler that is the current one when the runner is made."""

    def __init__(self) -> None:
        self._scheduler = get_scheduler()
        self._client = client_of(self._scheduler)
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()  # started, and still referred to

    def compute(self, tasks: list[Delayed]) -> list[Any]:
        """Run tasks and return their results; an error of a task becomes a TaskError, unless it names a partition."""
        if self._client is None:
            return self._run_here(dask.compute, tasks)
        futures: list[Any] = []
        try:
            futures = self._client.compute(tasks)
            with lent_thread():
                return self._client.sync(gather, self._client, futures)
        except PartitionError:
            raise
        except Exception as error:
            failed = [place for place, future in enumerate(futures) if future.status == "error"]
            if failed and not isinstance(error, errors_of_lost_workers()):
                raise TaskError(failed[0]) from error
            self._raise_if_cluster_failed(error)
            raise
        finally:
            release(futures)

    def start(self, tasks: list[Delayed]) -> list[Delayed]:
        """Start tasks; on a cluster, their results stay on the workers as long as something refers to them."""
        if self._client is None:
            return self._run_here(dask.persist, tasks)
        try:
            started = self._client.persist(tasks)
        except Exception as error:
            self._raise_if_cluster_failed(error)
            raise
        self._futures.update(sys.modules["distributed"].futures_of(started))
        return started

    def close(self) -> None:
        """Release everything that was started, also if an error or a debugger still refers to it."""
        release(self._futures)

    def _run_here(self, run: Callable[..., Any], tasks: list[Delayed]) -> list[Any]:
        """Run tasks without a cluster. Dask does not tell which task failed, so they run again, one by one."""
        try:
            return list(run(*tasks, scheduler=self._scheduler))
        except PartitionError:
            raise
        except Exception as error:
            for place, task in enumerate(tasks):
                try:
                    dask.compute(task, scheduler=self._scheduler)
                except Exception as same:
                    raise TaskError(place) from same
            raise error

    def _raise_if_cluster_failed(self, error: Exception) -> None:
        """Raise an error that says how the cluster failed and what to do, unless the error has another reason."""
        status = getattr(self._client, "status", "running")
        if status == "running" and not isinstance(error, cluster_errors()):
            return
        client = "" if status == "running" else f" (the client is {status})"
        raise RuntimeError(
            f"the Dask cluster failed{client}: {in_one_line(error)}. Nothing was fitted; check the client, the "
            "scheduler and the memory of the workers, and fit again"
        ) from error


def client_of(scheduler: Any) -> Any | None:
    """Return the client of a cluster whose method `get` is this scheduler; None for any other scheduler."""
    distributed = sys.modules.get("distributed")
    client = getattr(scheduler, "__self__", None)
    return client if distributed is not None and isinstance(client, distributed.Client) else None


async def gather(client: Any, futures: list[Any]) -> list[Any]:
    """Return the results of futures; raise a ClusterError instead of waiting for a cluster that does not work."""
    results = asyncio.ensure_future(client.gather(futures, asynchronous=True))
    trouble = asyncio.ensure_future(find_trouble(client, [future.key for future in futures]))
    try:
        await asyncio.wait([results, trouble], return_when=asyncio.FIRST_COMPLETED)
        if results.done():
            return results.result()
        raise ClusterError(trouble.result())
    finally:
        results.cancel()
        trouble.cancel()


async def find_trouble(client: Any, keys: list[Any]) -> str:
    """Return as soon as the cluster has not worked for too long; say why."""
    setting = dask.config.get("distributed.scheduler.no-workers-timeout", None) or NO_WORKERS_TIMEOUT
    timeout = parse_timedelta(setting)
    last_worked = time.monotonic()
    while True:
        await asyncio.sleep(min(timeout / 4, LONGEST_PAUSE))
        try:
            problem = await asyncio.wait_for(find_problem(client, keys), timeout)
        except TimeoutError:
            return f"the scheduler has not answered for {setting}"
        if problem is None:
            last_worked = time.monotonic()
        elif time.monotonic() - last_worked >= timeout:
            return f"for {setting}, {problem}"


async def find_problem(client: Any, keys: list[Any]) -> str | None:
    """Return why no worker works on the tasks with these keys at this moment; None if one does, or could at once."""
    workers, running = await client.scheduler.ncores(), await client.scheduler.ncores_running()
    if not workers:
        return "there has been no worker; to wait longer, set distributed.scheduler.no-workers-timeout in Dask"
    states = await client.scheduler.get_task_status(keys=keys)
    if None in states.values():  # a restart can lose tasks without telling the client that has just sent them
        return "the scheduler has not known the tasks; it was probably restarted"
    if len(running) == len(workers):
        return None
    # A worker whose memory is nearly full is paused, but may keep tasks that wait for it to go on.
    identity = await client.scheduler.identity()
    if any(is_busy(worker) for address, worker in identity["workers"].items() if address in running):
        return None
    n_paused = len(workers) - len(running)
    return f"no worker has worked: {n_paused} of {len(workers)} are paused because their memory is nearly full"


def is_busy(worker: dict[str, Any]) -> bool:
    """Tell whether a worker has tasks to run, or is fetching what they need; `worker` is what the scheduler knows."""
    counts = worker.get("metrics", {}).get("task_counts", {})
    return any(count for state, count in counts.items() if state not in ("memory", "released", "forgotten"))


@contextmanager
def lent_thread() -> Iterator[None]:
    """Let a worker run other tasks while this thread waits, if this thread itself runs a task of the worker."""
    distributed = sys.modules["distributed"]
    if getattr(distributed.worker.thread_state, "key", None) is None:
        yield
        return
    distributed.secede()
    try:
        yield
    finally:
        distributed.rejoin()


def release(futures: Any) -> None:
    """Tell the scheduler that the results of these futures are no longer needed."""
    with suppress(Exception):  # a client that is closed, or has lost the scheduler, keeps nothing
        for future in list(futures):
            future.release()


def cluster_errors() -> tuple[type[Exception], ...]:
    """Return the errors that Dask raises if workers, the scheduler, futures or connections are lost."""
    return (ClusterError, CancelledError, OSError, asyncio.TimeoutError, *errors_of_lost_workers())


def errors_of_lost_workers() -> tuple[type[Exception], ...]:
    """Return the errors that the scheduler puts in the place of a result if a task has no worker any more."""
    scheduler = sys.modules["distributed"].scheduler
    return (scheduler.KilledWorker, scheduler.NoValidWorkerError, scheduler.NoWorkerError)


def in_one_line(error: BaseException | None) -> str:
    """Return the type and the message of an error as the last words of a sentence, without the full stop."""
    return f"{type(error).__name__}: {' '.join(str(error).split()).rstrip('.')}"
