"""Dask fits on a cluster of processes, in which tasks fail, or workers, futures and the scheduler are lost.

Every fit finds what an undisturbed one finds, to the last bit, or ends with one clear error; and nothing is left on the
cluster. `python -m bench chaos` does the same at random times.
"""

from __future__ import annotations

import contextvars
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.machinery import PathFinder

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Future, LocalCluster, get_client
from distributed.utils import key_split
from sklearn.datasets import make_blobs

from clusters import ProcessCluster, can_make_namespaces, find_leftovers
from onebatchpam.dask import OneBatchPAM, bound_tasks, population, runner, tasks

N, K, M, N_PARTITIONS = 2000, 5, 100, 4
SECONDS = 600  # longest time to wait for the cluster
DRAW, SUM, MEMBERS = "onebatchpam-draw", "onebatchpam-sum", "onebatchpam-merge-members"  # names of passes

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="sends signals"),
    # The package onebatch installs a package `tests`, in which workers would look for the functions of this file.
    pytest.mark.skipif(
        getattr(PathFinder.find_spec("tests"), "origin", None) is not None, reason="a package `tests` is installed"
    ),
]


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 1)


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two processes that write all results to disk at once, as if their memory were too small."""
    with (
        dask.config.set({"distributed.worker.memory.target": 1e-9}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    """Return a client of the cluster, whose two workers run; after the test nothing is left on the cluster."""
    with Client(cluster, set_as_default=False) as control:
        control.wait_for_workers(2, timeout=SECONDS)
        with Client(cluster) as client:
            yield client
            assert find_leftovers(control) == {}


def load(block):
    """Take a moment to load a partition."""
    time.sleep(0.02)
    return block


def rows():
    X = make_blobs(N, 5, centers=10, random_state=0)[0]
    return da.from_array(X, chunks=(-(-N // N_PARTITIONS), 5)).map_blocks(load, dtype=X.dtype, meta=X[:0])


def make_model(**params):
    return OneBatchPAM(K, batch_size=M, random_state=0, **params)


@pytest.fixture(scope="module")
def expected():
    """Return the model that is fitted with the threads of this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "DRIVER_NUMBERS", 1)
        with dask.config.set(scheduler="threads"):
            return make_model().fit(rows())


@pytest.fixture
def during(monkeypatch):
    """Return a function that makes something happen a moment after the first pass of a name has begun.

    From then on the driver waits for a cluster that does not work for three seconds instead of minutes.
    """
    happened = threading.Event()
    timers = []

    def plan(name, act):
        def compute(self, tasks):
            if not happened.is_set() and any(name == key_split(task.key) for task in tasks):
                happened.set()
                timers.append(threading.Timer(0.03, act))
                timers[0].start()
            if not happened.is_set():
                return original(self, tasks)
            with dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}):
                return original(self, tasks)

        original = runner.Runner.compute
        monkeypatch.setattr(runner.Runner, "compute", compute)

    yield plan
    assert happened.is_set()
    timers[0].join()


def assert_same(found, expected):
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(found.batch_indices_, expected.batch_indices_)
    assert found.inertia_ == expected.inertia_


def assert_fails(data, message):
    """Check that a fit ends with an error of the cluster, and that the estimator is as it was before."""
    model = make_model()
    with pytest.raises(RuntimeError, match=rf"the Dask cluster failed.*{message}.*Nothing was fitted") as held:
        model.fit(data)
    assert "\n" not in str(held.value)
    assert not hasattr(model, "medoid_indices_")


def pids_of(client):
    return list(client.run(os.getpid).values())


def test_a_cluster_finds_what_threads_find(client, expected):
    data = rows()
    found = make_model().fit(data)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.labels_.compute(), found.predict(data).compute())


def test_persisted_rows_stay_on_their_workers(client, expected):
    assert_same(make_model().fit(rows().persist()), expected)


@pytest.mark.parametrize("name", [DRAW, MEMBERS])
def test_a_worker_is_killed(client, expected, during, name):
    victim = pids_of(client)[0]
    during(name, lambda: os.kill(victim, signal.SIGKILL))
    assert_same(make_model().fit(rows().persist()), expected)  # half of the partitions are lost with the worker
    client.wait_for_workers(2, timeout=SECONDS)
    assert victim not in pids_of(client)


@pytest.mark.parametrize("name", ["onebatchpam-sum", "onebatchpam-merge-price"])
def test_a_worker_is_killed_while_a_bound_is_computed(client, expected, during, name):
    with dask.config.set(scheduler="threads"):
        undisturbed = expected.certify(rows(), confidence=0.95)
    victim = pids_of(client)[0]
    during(name, lambda: os.kill(victim, signal.SIGKILL))
    found = expected.certify(rows().persist(), confidence=0.95)
    assert (found.bound, found.objective) == (undisturbed.bound, undisturbed.objective)
    client.wait_for_workers(2, timeout=SECONDS)


def test_an_error_while_a_bound_is_computed(client, expected, monkeypatch):
    """The traceback refers to the points that the workers keep for the next pass, but they are released."""

    def merge(parts, k):
        raise ValueError("no merge")

    monkeypatch.setattr(bound_tasks, "merge_cheapest", merge)
    with pytest.raises(RuntimeError, match="a partition could not be computed: ValueError: no merge") as held:
        expected.certify(rows(), confidence=0.95)
    assert find_leftovers(client) == {}
    assert held.tb


def test_a_worker_is_paused_for_a_while(client, expected, during):
    victim = pids_of(client)[0]

    def pause():
        os.kill(victim, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(victim, signal.SIGCONT)

    during(SUM, pause)
    assert_same(make_model().fit(rows().persist()), expected)


def test_a_worker_is_paused_for_good(client, expected, during):
    address, victim = next(iter(client.run(os.getpid).items()))

    async def give_up(dask_scheduler):
        """Do what the scheduler does when it has not heard of a worker for minutes."""
        dask_scheduler.workers[address].last_seen = 0
        await dask_scheduler.check_worker_ttl()

    def pause():
        os.kill(victim, signal.SIGSTOP)
        client.run_on_scheduler(give_up)

    during(SUM, pause)
    assert_same(make_model().fit(rows().persist()), expected)


def test_two_fits_at_once(client, expected):
    data = rows().persist()

    def fit_with(other):
        with other.as_current():
            return make_model().fit(data if other is client else rows())

    with Client(client.scheduler.address, set_as_default=False) as other, ThreadPoolExecutor(3) as threads:
        for found in threads.map(fit_with, [client, client, other]):
            assert_same(found, expected)


def test_a_fit_inside_a_task(client, expected):
    def fit():
        population.DRIVER_NUMBERS = 1
        with get_client().as_current():
            return make_model().fit(rows())

    # Each worker has one thread. Both run a fit, so that each of them needs the thread of the other.
    for future in [client.submit(fit, pure=False) for _ in range(2)]:
        assert_same(future.result(timeout=SECONDS), expected)
    del future


def test_a_metric_that_raises(client):
    def metric(a, b):
        if a[0] > 5:
            raise ZeroDivisionError("a is too large")
        return abs(a - b).sum()

    model = make_model(metric=metric)
    message = r"partition \d.*metric\(medoid \d, X\[\d+\]\) raised ZeroDivisionError"
    with pytest.raises(ValueError, match=message) as held:  # `held` keeps the error alive, as a debugger does
        model.fit(rows())
    assert not hasattr(model, "medoid_indices_")
    assert find_leftovers(client) == {}
    assert held.tb


def test_an_error_while_results_are_kept(client, monkeypatch):
    """The traceback refers to the distances that the workers keep for the next pass, but they are released."""

    def draw(partition, far, totals, seed, until):
        raise ValueError("the next pass")

    monkeypatch.setattr(tasks, "draw_sample", draw)
    with pytest.raises(ValueError, match=r"in partition \d, .*: the next pass") as held:
        make_model().fit(rows())
    assert find_leftovers(client) == {}
    assert held.tb


@pytest.mark.parametrize("which", ["data", "all"])
def test_futures_are_cancelled(client, during, which):
    data = rows().persist()

    def cancel():
        client.cancel(data if which == "data" else [Future(key, client) for key in list(client.futures)], force=True)

    during(DRAW, cancel)
    assert_fails(data, "cancelled")


def test_the_client_is_closed(client, during):
    with Client(client.scheduler.address) as own:
        during(DRAW, own.close)
        assert_fails(rows(), r"\(the client is clos(ing|ed)\)")


@pytest.fixture
def before_sampling(monkeypatch):
    """Return a function that makes something happen between two passes, before the sample is drawn."""

    def plan(act):
        monkeypatch.setattr(population.PartitionedData, "draw_sample", lambda *given: act() or draw_sample(*given))

    draw_sample = population.PartitionedData.draw_sample
    return plan


def test_the_client_is_closed_between_two_passes(client, before_sampling):
    """The fit does not go on with another client, or with the threads of the driver."""

    def fit():
        own = Client(client.scheduler.address)
        before_sampling(own.close)
        assert_fails(rows(), r"\(the client is closed\)")

    contextvars.Context().run(fit)  # in a new context, because in this one `client` is the current client


def test_the_workers_are_restarted(before_sampling):
    # A cluster of its own: a nanny whose worker was paused before may never come back from a restart.
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        before_sampling(partial(client.restart, timeout=SECONDS))
        # Tasks that reach the scheduler after its restart are told that the rows are gone, not that it was restarted.
        assert_fails(rows().persist(), "(restarted|lost dependencies)")
        assert find_leftovers(client) == {}


def test_tasks_that_the_scheduler_does_not_know(client):
    """A restart may lose tasks that were sent at the same time; the driver must not wait for them for ever."""
    future = client.submit(sum, [1, 2])
    assert future.result() == 3
    assert client.sync(runner.find_problem, client, [future.key]) is None
    problem = client.sync(runner.find_problem, client, [future.key, "lost"])
    future.release()
    assert problem == "the scheduler has not known the tasks; it was probably restarted"


def test_no_worker_is_left(cluster, client, expected, during):
    during(DRAW, partial(cluster.scale, 0))
    assert_fails(rows(), "for 3s, there has been no worker; to wait longer, set")
    assert find_leftovers(client) == {}
    cluster.scale(2)
    client.wait_for_workers(2, timeout=SECONDS)
    assert_same(make_model().fit(rows()), expected)


def test_workers_have_no_memory_left(client, expected, during):
    def starve(limit, dask_worker):
        dask_worker.memory_manager.memory_limit = limit

    limits = client.run(lambda dask_worker: dask_worker.memory_manager.memory_limit)
    during(DRAW, partial(client.run, partial(starve, 2**20)))
    assert_fails(rows(), "for 3s, no worker has worked: 2 of 2 are paused because their memory is nearly full")
    client.run(partial(starve, max(limits.values())))
    assert_same(make_model().fit(rows()), expected)


def test_a_worker_has_no_memory_left(client, expected):
    """The other worker takes over, or the fit ends with an error; it does not wait for ever."""

    def starve(limit, dask_worker):
        dask_worker.memory_manager.memory_limit = limit

    address, limit = next(iter(client.run(lambda dask_worker: dask_worker.memory_manager.memory_limit).items()))
    data = rows().persist()
    client.run(partial(starve, 2**20), workers=[address])
    try:
        with dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}):
            assert_same(make_model().fit(data), expected)
    except RuntimeError as error:
        assert "for 3s, no worker has worked: 1 of 2 are paused" in str(error)  # noqa: PT017 (may not be raised)
    finally:
        client.run(partial(starve, limit), workers=[address])


def test_the_driver_is_interrupted(client, during):
    model = make_model()
    during(SUM, partial(os.kill, os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as held:
        model.fit(rows())
    assert not hasattr(model, "medoid_indices_")
    assert find_leftovers(client) == {}
    assert held.tb


def fit_forever(address):
    population.DRIVER_NUMBERS = 1
    with Client(address):
        while True:
            make_model().fit(rows().persist())


def test_the_driver_is_killed(client):
    driver = multiprocessing.get_context("spawn").Process(target=fit_forever, args=(client.scheduler.address,))
    driver.start()
    try:
        deadline = time.monotonic() + SECONDS
        while not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks) > 2 * N_PARTITIONS):
            assert time.monotonic() < deadline
    finally:
        driver.kill()
        driver.join()
    assert find_leftovers(client) == {}


def test_the_scheduler_is_paused_and_killed(during, before_sampling):
    with ProcessCluster(1) as cluster, cluster.connect() as client:
        scheduler = cluster.processes["scheduler"]
        during(DRAW, partial(scheduler.send_signal, signal.SIGSTOP))
        assert_fails(rows(), "the scheduler has not answered for 3s")
        scheduler.send_signal(signal.SIGCONT)
        assert find_leftovers(client) == {}
        before_sampling(lambda: threading.Timer(0.03, scheduler.kill).start())  # during the pass that follows
        # The error depends on what the client was doing when the scheduler died: sending, waiting or connecting again.
        assert_fails(rows(), "(lost the connection to the scheduler|CommClosedError|Timed out|has not answered for 3s)")
        assert cluster.processes["worker 0"].wait(timeout=SECONDS) is not None, "the worker did not stop"


@pytest.fixture(scope="module")
def network():
    """Return a cluster whose two workers can be cut off the network."""
    if not can_make_namespaces():
        pytest.skip("network namespaces need root and the command `ip` of iproute2")
    with ProcessCluster(namespaces=True) as cluster:
        yield cluster


def test_the_network_is_cut_for_a_while(network, expected, during):
    def cut():
        network.cut_off(0)
        time.sleep(1)
        network.cut_off(0, cut=False)

    with network.connect() as client:
        during(SUM, cut)
        assert_same(make_model().fit(rows().persist()), expected)
        assert find_leftovers(client) == {}


def test_the_network_is_cut_for_good(network, during):
    async def give_up(dask_scheduler):
        """Do what the scheduler does, after minutes, with workers that it cannot reach and whose nannies neither."""
        for address in list(dask_scheduler.workers):
            await dask_scheduler.remove_worker(address, stimulus_id="cut", close=False)

    def cut():
        for number in range(network.n_workers):
            network.cut_off(number)
        client.run_on_scheduler(give_up)

    with network.connect() as client:
        during(SUM, cut)
        assert_fails(rows().persist(), "for 3s, there has been no worker; to wait longer, set")
        assert find_leftovers(client) == {}
