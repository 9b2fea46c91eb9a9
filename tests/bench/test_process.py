"""A task in a process of its own: its limits, its failures, its memory."""

from __future__ import annotations

import os
import signal
import time

import bench_tasks
import pytest

from bench.measure.process import Limits, TaskError, open_process, open_renewed_process, run_alone

LIMITS = Limits(seconds=1.5, memory_bytes=2**29, untimed_seconds=600)


def fail(task, *arguments):
    """Return the failure of a task."""
    with pytest.raises(TaskError) as caught:
        run_alone(task, *arguments, limits=LIMITS)
    return caught.value


def test_a_task_has_a_process_of_its_own():
    record = run_alone(bench_tasks.succeed, 7, limits=LIMITS)
    assert record["value"] == 7
    assert record["process"] != os.getpid()
    assert run_alone(bench_tasks.succeed, 7)["process"] != record["process"]


def test_a_process_runs_one_task_after_the_other():
    with open_process() as call:
        first, second = call(bench_tasks.succeed, 1), call(bench_tasks.succeed, 2)
    assert (first["value"], second["value"]) == (1, 2)
    assert first["process"] == second["process"]


@pytest.mark.parametrize("failure", ["fail", "die"])
def test_a_process_is_renewed_after_a_failure(failure):
    with open_renewed_process() as call:
        before = [call(bench_tasks.succeed, i)["process"] for i in range(2)]
        with pytest.raises(TaskError):
            call(getattr(bench_tasks, failure))
        after = [call(bench_tasks.succeed, i)["process"] for i in range(2)]
    assert before[0] == before[1] != after[0] == after[1]


def test_the_time_limit_is_for_the_timed_part():
    start = time.perf_counter()
    failure = fail(bench_tasks.sleep, "timed")
    assert (failure.status, failure.reason) == ("timeout", "the call took more than 1.5 s")
    assert time.perf_counter() - start < 800
    assert run_alone(bench_tasks.sleep_untimed_first, limits=LIMITS)["value"] == 1


def test_the_memory_limit():
    assert run_alone(bench_tasks.allocate, 2**27, limits=LIMITS)["length"] == 2**27
    failure = fail(bench_tasks.allocate, 2**30)
    assert failure.status == "memory"
    assert "(limit 0.5 GiB)" in failure.reason


def test_an_error_is_a_failure(capfd):
    failure = fail(bench_tasks.fail)
    assert (failure.status, failure.reason) == ("error", "KeyError: 'nothing here'")
    assert "bench_tasks.py" in capfd.readouterr().err  # the traceback


def test_a_death_is_a_failure():
    failure = fail(bench_tasks.die)
    assert (failure.status, failure.reason) == (
        "error",
        "the process ended by SIGABRT, perhaps for lack of memory",
    )


def test_a_missing_package_is_a_failure():
    failure = fail(bench_tasks.lack_package)
    assert (failure.status, failure.reason) == ("unavailable", "No module named 'no_such_package'")


def test_a_task_may_use_threads():
    assert run_alone(bench_tasks.count_threads)["threads"] == 2  # joblib gives a daemon only one


def test_an_interrupt_is_for_the_parent():
    before = signal.getsignal(signal.SIGINT)
    assert run_alone(bench_tasks.tell_interrupt_handler)["handler"] == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) is before


def test_private_memory():
    growth = run_alone(bench_tasks.use_private_memory, 50_000_000)  # this process may have kept as much
    assert 50_000_000 <= growth["peak"] < 150_000_000
