"""Dask fits on a cluster of processes, in which tasks fail, or workers, futures and the scheduler are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.utils import key_split
from sklearn.datasets import make_blobs

from onebatchpam.dask import OneBatchPAM, population, scheduler

N, K, M, N_PARTITIONS = 2000, 5, 100, 4
SECONDS = 20  # longest time to wait for the cluster


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_ENTRIES", 1)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


def rows():
    """Return partitions that take a moment to load."""
    X = make_blobs(N, 5, centers=10, random_state=0)[0]

    def load(block):
        time.sleep(0.02)
        return block

    return da.from_array(X, chunks=(-(-N // N_PARTITIONS), 5)).map_blocks(load, dtype=X.dtype, meta=X[:0])


def make_model(**params):
    return OneBatchPAM(K, batch_size=M, random_state=0, **params)


@pytest.fixture(scope="module")
def expected():
    """Return the model that is fitted with the threads of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "DRIVER_ENTRIES", 1)
        with dask.config.set(scheduler="threads"):
            return make_model().fit(rows())


def during(monkeypatch, name, act):
    """Call `act` a moment after the first pass of this name begins; return an event that is set when it does."""
    happened = threading.Event()

    def compute(tasks):
        if any(name == key_split(task.key) for task in tasks) and not happened.is_set():
            happened.set()
            threading.Timer(0.03, act).start()
        return original(tasks)

    original = scheduler.compute
    for module in (scheduler, population):
        monkeypatch.setattr(module, "compute", compute)
    return happened


def assert_same(found, expected):
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(found.batch_indices_, expected.batch_indices_)
    assert found.inertia_ == expected.inertia_


def tasks_left(client):
    """Return the names of the tasks that the scheduler still knows after it had time to forget them."""
    deadline = time.monotonic() + SECONDS
    while True:
        names = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
        if not names or time.monotonic() > deadline:
            return names
        time.sleep(0.05)


def test_a_cluster_finds_what_threads_find(client, expected):
    data = rows()
    found = make_model().fit(data)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.labels_.compute(), found.predict(data).compute())
    assert tasks_left(client) == []


def test_persisted_rows_stay_on_their_workers(client, expected):
    data = rows().persist()
    assert_same(make_model().fit(data), expected)
    del data
    assert tasks_left(client) == []


@pytest.mark.parametrize("name", ["onebatchpam-draw", "onebatchpam-merge-swaps"])
def test_a_worker_is_killed_during_a_fit(client, expected, monkeypatch, name):
    victim = next(iter(client.run(os.getpid).values()))
    killed = during(monkeypatch, name, lambda: os.kill(victim, signal.SIGKILL))
    data = rows().persist()  # half of the partitions are lost with the worker
    assert_same(make_model().fit(data), expected)
    assert killed.is_set()
    client.wait_for_workers(2, timeout=SECONDS)
    assert victim not in client.run(os.getpid).values()
    del data
    assert tasks_left(client) == []


def test_a_metric_that_raises(client):
    def metric(a, b):
        if a[0] > 5:
            raise ZeroDivisionError("a is too large")
        return abs(a - b).sum()

    model = make_model(metric=metric)
    message = r"partition \d.*metric\(X\[\d+\], X\[\d+\]\) raised ZeroDivisionError"
    with pytest.raises(ValueError, match=message) as held:  # `held` keeps the error alive, as a debugger does
        model.fit(rows())
    assert held.tb
    assert not hasattr(model, "medoid_indices_")
    assert tasks_left(client) == []


def test_a_future_is_cancelled_during_a_fit(client, monkeypatch):
    data = rows().persist()
    cancelled = during(monkeypatch, "onebatchpam-draw", partial(client.cancel, data, force=True))
    model = make_model()
    with pytest.raises(RuntimeError, match=r"the Dask cluster failed: .*Nothing was fitted"):
        model.fit(data)
    assert cancelled.is_set()
    assert not hasattr(model, "medoid_indices_")
    del data
    assert tasks_left(client) == []


def test_the_scheduler_is_lost_during_a_fit(monkeypatch, tmp_path):
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nworkers", "1", "--no-dashboard", "--no-nanny"]
    processes = [
        subprocess.Popen([*each, "--scheduler-file", str(file)], cwd=tmp_path, **quiet) for each in (command, worker)
    ]
    try:
        with Client(scheduler_file=str(file), timeout=SECONDS, set_as_default=True) as client:
            client.wait_for_workers(1, timeout=SECONDS)
            lost = during(monkeypatch, "onebatchpam-draw", processes[0].kill)
            model = make_model()
            with pytest.raises(RuntimeError, match="the Dask cluster failed"):
                model.fit(rows())
            assert lost.is_set()
            assert not hasattr(model, "medoid_indices_")
        assert processes[1].wait(timeout=60) is not None, "the worker did not stop"
    finally:
        for process in processes:
            process.kill()
            process.wait()
