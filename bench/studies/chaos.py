"""`python -m bench chaos`: Dask fits on a cluster of which something breaks at a random time, as often as time allows.

A disturbed fit must find what an undisturbed one finds, to the last bit, or end with one clear error within a bounded
time; and nothing may be left on the cluster. The command prints how often each happened.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from bench.data.synthetic import make_mixture
from clusters import ProcessCluster, can_make_namespaces, find_leftovers

N, P, K, M, N_PARTITIONS = 6000, 5, 5, 100, 6
SECONDS_TO_LOAD = 0.02  # for each partition, so that there is time for something to happen
SECONDS_TO_END = 240  # a fit that takes longer than this hangs

# Dask gives up a silent worker after minutes. Here that takes seconds, but more than a busy machine makes it wait.
TTL, CONNECT, TCP = "20s", "10s", "20s"
SETTINGS = {
    "distributed.scheduler.worker-ttl": TTL,
    "distributed.comm.timeouts.connect": CONNECT,
    "distributed.comm.timeouts.tcp": TCP,
}
NO_WORKERS_TIMEOUT = "30s"


class HangError(BaseException):
    """A fit that has not ended in time; not an Exception, so that nothing on the way handles it."""


@dataclass
class Scene:
    """A cluster on which a fit runs, as those see it who disturb the fit."""

    cluster: ProcessCluster
    control: Any  # a client that the fit does not use
    client: Any  # the client of the fit
    rng: np.random.RandomState
    undo: ExitStack = field(default_factory=ExitStack)  # what to do when the fit has ended

    def pids(self, *, nanny: bool = False) -> list[int]:
        """Return the processes of the workers or of their nannies, in random order."""
        pids = list(self.control.run(os.getpid, nanny=nanny, on_error="ignore").values())
        return [int(pid) for pid in self.rng.permutation(pids)]

    def some(self, numbers: list[int]) -> list[int]:
        """Return the first of these, or all."""
        return numbers[: self.rng.choice([1, len(numbers)])]


def kill_workers(scene: Scene) -> None:
    for pid in scene.some(scene.pids()):
        os.kill(pid, signal.SIGKILL)


def kill_workers_for_good(scene: Scene) -> None:
    for pid in scene.some(scene.pids(nanny=True)):
        os.killpg(pid, signal.SIGKILL)


def pause_workers(scene: Scene) -> None:
    """Pause one or all workers for a while that may be longer than the scheduler waits."""
    for pid in scene.some(scene.pids()):
        os.kill(pid, signal.SIGSTOP)
        wake = threading.Timer(scene.rng.uniform(0.1, 30), send_signal, (pid, signal.SIGCONT))
        wake.start()
        scene.undo.callback(wake.join)


def pause_workers_for_good(scene: Scene) -> None:
    for pid in scene.some(scene.pids()):
        os.kill(pid, signal.SIGSTOP)
        scene.undo.callback(send_signal, pid, signal.SIGCONT)


def pause_scheduler(scene: Scene) -> None:
    pid = scene.cluster.processes["scheduler"].pid
    os.kill(pid, signal.SIGSTOP)
    wake = threading.Timer(scene.rng.uniform(0.1, 40), send_signal, (pid, signal.SIGCONT))
    wake.start()
    scene.undo.callback(wake.join)


def starve_workers(scene: Scene) -> None:
    """Lower the memory limit of one or all workers, so that they spill, pause, or are ended by their nannies."""
    share = scene.rng.choice([0.9, 1.15, 1.35])
    workers = list(scene.control.nthreads())[: scene.rng.choice([1, scene.cluster.n_workers])]
    for nanny in (True, False):
        scene.control.run(partial(limit_memory, share), nanny=nanny, workers=workers, on_error="ignore")
    scene.undo.callback(scene.control.run, partial(limit_memory, None), on_error="ignore")
    scene.undo.callback(scene.control.run, partial(limit_memory, None), nanny=True, on_error="ignore")


def cut_network(scene: Scene) -> None:
    """Cut one or all workers off the network for a while that may be longer than the scheduler waits."""
    for number in scene.some(list(range(scene.cluster.n_workers))):
        scene.cluster.cut_off(number)
        mend = threading.Timer(scene.rng.uniform(0.1, 30), partial(scene.cluster.cut_off, number, cut=False))
        mend.start()
        scene.undo.callback(mend.join)


def cut_network_for_good(scene: Scene) -> None:
    for number in scene.some(list(range(scene.cluster.n_workers))):
        scene.cluster.cut_off(number)
        scene.undo.callback(scene.cluster.cut_off, number, cut=False)


def cancel_futures(scene: Scene) -> None:
    scene.client.cancel(list_futures(scene.client), force=bool(scene.rng.randint(2)))


def close_client(scene: Scene) -> None:
    scene.client.close()


def restart_workers(scene: Scene) -> None:
    scene.control.restart(timeout=60)


def kill_scheduler(scene: Scene) -> None:
    scene.cluster.processes["scheduler"].kill()
    scene.cluster.processes["scheduler"].wait()


def interrupt_driver(scene: Scene) -> None:
    os.kill(os.getpid(), signal.SIGINT)


DISTURBANCES: dict[str, Callable[[Scene], None]] = {
    "workers killed": kill_workers,
    "workers killed with their nannies": kill_workers_for_good,
    "workers paused for a while": pause_workers,
    "workers paused for good": pause_workers_for_good,
    "workers starved of memory": starve_workers,
    "network of workers cut for a while": cut_network,
    "network of workers cut for good": cut_network_for_good,
    "futures cancelled": cancel_futures,
    "client closed": close_client,
    "workers restarted": restart_workers,
    "scheduler paused": pause_scheduler,
    "scheduler killed": kill_scheduler,
    "driver interrupted": interrupt_driver,
}
KILLED_DRIVER = "driver killed"


def send_signal(pid: int, number: int) -> None:
    """Send a signal to a process, which may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def limit_memory(share: float | None, dask_worker: Any) -> None:
    """Set the memory limit of a worker or nanny to this share of the memory that the worker has now; None: no limit."""
    process = psutil.Process()
    if share is not None and hasattr(dask_worker, "process"):  # a nanny
        process = psutil.Process(dask_worker.process.pid)
    dask_worker.memory_manager.memory_limit = None if share is None else int(share * process.memory_info().rss)


def list_futures(client: Any) -> list[Any]:
    """Return a future for every key of a client."""
    from distributed import Future

    return [Future(key, client) for key in list(client.futures)]


def make_data() -> Any:
    """Return a Dask array whose partitions take a moment to load."""
    import dask.array as da

    rows = make_mixture(np.random.RandomState(0), N, P)
    return da.from_array(rows, chunks=(-(-N // N_PARTITIONS), P)).map_blocks(load, dtype=rows.dtype, meta=rows[:0])


def load(block: NDArray[Any]) -> NDArray[Any]:
    time.sleep(SECONDS_TO_LOAD)
    return block


@contextmanager
def small_sample() -> Iterator[None]:
    """Let the driver gather only a small sample, so that few rows are fitted as many rows would be."""
    from onebatchpam.dask import population

    before = population.DRIVER_NUMBERS
    population.DRIVER_NUMBERS = 1
    try:
        yield
    finally:
        population.DRIVER_NUMBERS = before


def fit(data: Any) -> tuple[Any, ...]:
    """Return the medoids and the objective of a fit."""
    from onebatchpam.dask import OneBatchPAM

    model = OneBatchPAM(K, batch_size=M, random_state=0).fit(data)
    return (*model.medoid_indices_.tolist(), float(model.inertia_))


def fit_on(scheduler_file: str) -> None:
    """Fit on a cluster; a process that will be killed runs this."""
    from distributed import Client

    with small_sample(), Client(scheduler_file=scheduler_file):
        fit(make_data().persist())


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise a HangError in the main thread if the block takes longer."""

    def stop(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def classify(error: BaseException) -> str:
    """Return the kind of an error, without the names of tasks, workers and seconds that differ each time."""
    if not isinstance(error, RuntimeError) or "Dask cluster failed" not in str(error):
        return f"UNCLEAR {type(error).__name__}: {error}" if isinstance(error, Exception) else type(error).__name__
    problem = str(error).removeprefix("the Dask cluster failed").lstrip(": ").split(". Nothing was fitted")[0]
    return re.sub(r"\('.*?\)|[\w-]*-[0-9a-f]{32}-\d+|tcp://\S+", "...", problem)


@dataclass
class Tally:
    """What became of the fits with one kind of disturbance."""

    n_fits: int = 0
    n_same: int = 0
    longest: float = 0.0  # seconds from the disturbance to the end of the fit
    ends: Counter[str] = field(default_factory=Counter)  # of the fits that did not find the same, by the kind of error
    leftovers: list[Any] = field(default_factory=list)
    cleared: float = 0.0  # longest time in seconds from the end of a fit until nothing was left

    def format_line(self, name: str) -> str:
        """Return a line of a table."""
        ends = "; ".join(f"{count} × {end}" for end, count in self.ends.most_common())
        left = len(self.leftovers) or "none"
        seconds = f"{self.longest:.1f} | {self.cleared:.1f}"
        return f"| {name} | {self.n_fits} | {self.n_same} | {ends} | {left} | {seconds} |"


class Study:
    """Disturbed fits, with a cluster that serves until it is broken."""

    def __init__(self, seed: int, names: list[str]) -> None:
        self.rng, self.names = np.random.RandomState(seed), names
        self.tallies: defaultdict[str, Tally] = defaultdict(Tally)
        self.expected: tuple[Any, ...] = ()
        self.seconds = 0.0  # of an undisturbed fit

    def run(self, minutes: float, *, namespaces: bool) -> None:
        """Disturb fits for so many minutes, but at least one."""
        end, names = time.monotonic() + 60 * minutes, itertools.cycle(self.rng.permutation(self.names))
        while True:
            with (
                ProcessCluster(settings=SETTINGS, namespaces=namespaces) as cluster,
                cluster.connect(set_as_default=False) as control,
            ):
                while is_whole(cluster, control):
                    name = str(next(names))
                    self._run_on(cluster, control, name)
                    print(self.tallies[name].format_line(name), flush=True)
                    if time.monotonic() > end:
                        return

    def _run_on(self, cluster: ProcessCluster, control: Any, name: str) -> None:
        if not self.expected:
            with cluster.connect():
                fit(make_data())  # the first fit takes longer, because the workers import the package
                began = time.monotonic()
                self.expected = fit(make_data())
                self.seconds = time.monotonic() - began
        if name == KILLED_DRIVER:
            self._kill_driver(cluster, control)
        else:
            self._disturb(cluster, control, name)

    def _kill_driver(self, cluster: ProcessCluster, control: Any) -> None:
        tally = self.tallies[KILLED_DRIVER]
        driver = multiprocessing.get_context("spawn").Process(target=fit_on, args=(cluster.scheduler_file,))
        driver.start()
        while not control.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            time.sleep(0.01)
        time.sleep(self.rng.uniform(0, self.seconds))
        driver.kill()
        driver.join()
        tally.n_fits += 1
        tally.ends["killed"] += 1
        self._look_for_leftovers(tally, control)

    def _disturb(self, cluster: ProcessCluster, control: Any, name: str) -> None:
        tally = self.tallies[name]
        with cluster.connect() as client:
            scene = Scene(cluster, control, client, np.random.RandomState(self.rng.randint(2**31)))
            happened, ends = self._fit_disturbed(scene, name)
            for end in ends if happened else ():
                tally.n_fits += 1
                if end == self.expected:
                    tally.n_same += 1
                else:
                    tally.ends["OTHER BITS" if isinstance(end, tuple) else str(end)] += 1
            if cluster.processes["scheduler"].poll() is None:
                self._look_for_leftovers(tally, control)

    def _fit_disturbed(self, scene: Scene, name: str) -> tuple[bool, list[Any]]:
        """Return whether fits were disturbed before the first ended, and how each ended."""
        happened: list[float] = []

        def act() -> None:
            happened.append(time.monotonic())
            DISTURBANCES[name](scene)

        timer = threading.Timer(self.rng.uniform(0, self.seconds), act)
        data = make_data().persist() if self.rng.randint(2) else make_data()
        others = []
        if self.rng.randint(2) and name != "driver interrupted":  # a signal interrupts only the main thread
            others.append(OtherFit(scene.cluster, data, own_client=bool(self.rng.randint(2))))
        with scene.undo:
            for each in (timer, *others):
                each.start()
            ends = [self._end_of(partial(fit, data))]
            timer.cancel()
            timer.join()
            if happened:
                self.tallies[name].longest = max(self.tallies[name].longest, time.monotonic() - happened[0])
            return bool(happened), ends + [each.join_and_tell() for each in others]

    def _end_of(self, run: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...] | str:
        try:
            with deadline(SECONDS_TO_END):
                return run()
        except BaseException as error:
            return classify(error)

    def _look_for_leftovers(self, tally: Tally, control: Any) -> None:
        began = time.monotonic()
        left = find_leftovers(control)
        if left:
            tally.leftovers.append(left)
            print("left on the cluster:", left, flush=True)
        else:
            tally.cleared = max(tally.cleared, time.monotonic() - began)


class OtherFit(threading.Thread):
    """A second fit at the same time, from another thread, with the same client or with one of its own."""

    def __init__(self, cluster: ProcessCluster, data: Any, *, own_client: bool) -> None:
        super().__init__(daemon=True)
        self._cluster, self._data, self._own_client = cluster, data, own_client
        self._end: Any = HangError.__name__

    def run(self) -> None:
        """Fit, and keep how it ended."""
        try:
            if self._own_client:
                with self._cluster.connect(set_as_default=False) as client, client.as_current():
                    self._end = fit(make_data())
            else:
                self._end = fit(self._data)
        except BaseException as error:
            self._end = classify(error)
        finally:
            self._data = None

    def join_and_tell(self) -> Any:
        """Return the result of the fit, or the kind of its error."""
        self.join(SECONDS_TO_END)
        return self._end


def is_whole(cluster: ProcessCluster, control: Any) -> bool:
    """Tell whether the scheduler and all workers are there, after a time in which nannies can start new workers."""
    try:
        control.wait_for_workers(cluster.n_workers, timeout=20)
        return len(control.run(os.getpid)) == cluster.n_workers
    except Exception:
        return False


def run_chaos(arguments: argparse.Namespace) -> None:
    """Disturb fits and print a table."""
    import dask.distributed

    names, namespaces = [*DISTURBANCES, KILLED_DRIVER], can_make_namespaces()
    if not namespaces:
        names = [name for name in names if "network" not in name]
        print("the network is not cut: network namespaces need root and the command `ip` of iproute2\n")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets programs in the background ignore it
    study = Study(arguments.seed, [name for name in names if re.search(arguments.only, name)])
    settings = {**SETTINGS, "distributed.scheduler.no-workers-timeout": NO_WORKERS_TIMEOUT}
    with dask.config.set(settings), small_sample():
        study.run(arguments.minutes, namespaces=namespaces)
    print("\n| disturbance | fits | same bits | other ends | leftovers | ended after, s | nothing left after, s |")
    print("|---|---:|---:|---|---|---:|---:|")
    for name in study.tallies:
        print(study.tallies[name].format_line(name))


def add_command(commands: Any) -> None:
    """Add `chaos` to the command line."""
    parser = commands.add_parser("chaos", help="Dask fits on a cluster of which something breaks")
    parser.add_argument("--minutes", type=float, default=20, help="how long to go on (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of what happens, and when (%(default)s)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only disturbances whose name has this in it")
    parser.set_defaults(run=run_chaos)
