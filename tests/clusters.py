"""A Dask cluster of processes on this machine whose parts can be lost, and a look at what a fit has left on it."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

SECONDS_TO_START = 600
SECONDS_TO_FORGET = 60  # longest time in which a scheduler forgets tasks that nobody wants
# The network of the cluster whose workers have network namespaces of their own, and how the names of its parts begin;
# both differ from those of another process that has such a cluster.
NETWORK, PREFIX = f"10.77.{os.getpid() % 256}", f"obp{os.getpid()}-"


class ProcessCluster:
    """A scheduler and workers with nannies, each in a process of its own; all of them end with the `with` block.

    With `namespaces`, each worker lives in a network namespace of its own, from which it can be cut off. This needs
    root and the command `ip`.
    """

    def __init__(self, n_workers: int = 2, *, settings: dict[str, str] | None = None, namespaces: bool = False) -> None:
        self.n_workers, self.namespaces = n_workers, namespaces
        self.processes: dict[str, subprocess.Popen[bytes]] = {}  # "scheduler", and "worker 0" and so on for the nannies
        # The processes find the modules of this one.
        self._environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        self._environment |= {variable_of(name): value for name, value in (settings or {}).items()}
        self._stack = ExitStack()

    def __enter__(self) -> ProcessCluster:
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cluster-")))
            stack.callback(self._end)
            if self.namespaces:
                stack.enter_context(connected_namespaces(self.n_workers))
            host = f"{NETWORK}.1" if self.namespaces else "127.0.0.1"
            command = ["distributed.cli.dask_scheduler", "--host", host, "--port", "0", "--dashboard-address", ":0"]
            self._start("scheduler", [], command)
            for number in range(self.n_workers):
                self._start_worker(number)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def scheduler_file(self) -> str:
        """The file that tells clients and workers the address of the scheduler."""
        return str(self.folder / "scheduler.json")

    def connect(self, **options: Any) -> Any:
        """Return a new client, when all workers have come."""
        from distributed import Client

        client = Client(scheduler_file=self.scheduler_file, timeout=SECONDS_TO_START, **options)
        client.wait_for_workers(self.n_workers, timeout=SECONDS_TO_START)
        return client

    def cut_off(self, number: int, *, cut: bool = True) -> None:
        """Cut a worker off the network, or connect it again."""
        run_ip("link", "set", f"{PREFIX}{number}", "down" if cut else "up")

    def _start_worker(self, number: int) -> None:
        prefix = ["ip", "netns", "exec", f"{PREFIX}{number}"] if self.namespaces else []
        command = ["distributed.cli.dask_worker", "--nworkers", "1", "--nthreads", "1", "--dashboard-address", ":0"]
        command += ["--memory-limit", "2GB", "--local-directory", str(self.folder / str(number))]
        self._start(f"worker {number}", prefix, command)

    def _start(self, name: str, prefix: list[str], command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*prefix, sys.executable, "-m", *command, "--scheduler-file", self.scheduler_file],
                cwd=self.folder,
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # so that a nanny ends together with its worker
            )

    def _end(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def variable_of(setting: str) -> str:
    """Return the environment variable from which a process reads a setting of Dask."""
    return "DASK_" + setting.replace(".", "__").replace("-", "_").upper()


def run_ip(*arguments: str) -> None:
    """Run the command `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def can_make_namespaces() -> bool:
    """Tell whether this process may make network namespaces."""
    if shutil.which("ip") is None:
        return False
    try:
        with connected_namespaces(1):
            return True
    except subprocess.CalledProcessError:
        return False


@contextmanager
def connected_namespaces(count: int) -> Iterator[None]:
    """Make network namespaces, which a bridge connects with each other and with this machine."""
    with ExitStack() as stack:
        bridge = f"{PREFIX}b"  # a name has at most 15 characters

        def run(*arguments: str, undo: tuple[str, ...] | None = None) -> None:
            run_ip(*arguments)
            if undo is not None:
                stack.callback(run_ip, *undo)

        run("link", "add", bridge, "type", "bridge", undo=("link", "del", bridge))
        run("address", "add", f"{NETWORK}.1/24", "dev", bridge)
        run("link", "set", bridge, "up")
        for number in range(count):
            name = f"{PREFIX}{number}"
            run("netns", "add", name, undo=("netns", "del", name))
            run("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name, undo=("link", "del", name))
            run("link", "set", name, "master", bridge, "up")
            run("-n", name, "address", "add", f"{NETWORK}.{number + 2}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                run("-n", name, "link", "set", device, "up")
        yield


def find_leftovers(client: Any, seconds: float = SECONDS_TO_FORGET) -> dict[str, list[str]]:
    """Return everything that a cluster still holds after this time, by kind; it is empty if nothing is left.

    The call returns as soon as nothing is left. A worker that does not answer is left out.
    """
    gc.collect()  # because the errors of Dask refer to themselves, and so to the persisted rows of a fit that failed
    deadline = time.monotonic() + seconds
    while True:
        left = client.run_on_scheduler(left_on_scheduler)
        for found in client.run(left_on_worker, on_error="ignore").values():
            for kind, names in found.items():
                left.setdefault(kind, []).extend(names)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def left_on_scheduler(dask_scheduler: Any) -> dict[str, list[str]]:
    """Return the names of everything that users can leave on a scheduler, by kind."""
    extensions = dask_scheduler.extensions
    left = {
        # Now and then Dask keeps released tasks of the user's own collection that nobody wants; they hold no result.
        "tasks": [
            key
            for key, task in dask_scheduler.tasks.items()
            if task.state != "released" or str(key).startswith("onebatchpam")
        ],
        "wanted": [key.key for each in dask_scheduler.clients.values() for key in each.wants_what],
        "datasets": extensions["publish"].datasets,
        "variables": extensions["variables"].variables,
        "queues": extensions["queues"].queues,
        "locks and semaphores": extensions["semaphores"].leases,
        "events": extensions["events"]._events,
    }
    return {kind: [str(name) for name in names] for kind, names in left.items() if names}


def left_on_worker(dask_worker: Any) -> dict[str, list[str]]:
    """Return the results that a worker holds and the files to which it has written results, by kind."""
    files = Path(dask_worker.local_directory, "storage")
    left = {
        "results": list(dask_worker.data),
        "spilled files": list(files.rglob("*")) if files.is_dir() else [],
    }
    return {kind: [str(name) for name in names] for kind, names in left.items() if names}
