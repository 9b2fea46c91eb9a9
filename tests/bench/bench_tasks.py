"""Tasks that tests give to processes of their own; few imports, since each process makes them anew."""

from __future__ import annotations

import os
import signal
import time


def succeed(announce, value):
    announce("timed")
    announce("untimed")
    return {"value": value, "process": os.getpid()}


def sleep(announce, part):
    announce(part)
    time.sleep(900)
    return {}


def sleep_untimed_first(announce):
    time.sleep(2.0)  # longer than the limit of the timed part
    return succeed(announce, 1)


def allocate(announce, n_bytes):
    return {"length": len(bytearray(n_bytes))}


def fail(announce):
    raise KeyError("nothing here")


def die(announce):
    os.abort()


def lack_package(announce):
    import no_such_package  # noqa: F401


def tell_interrupt_handler(announce):
    return {"handler": signal.getsignal(signal.SIGINT)}


def count_threads(announce):
    from joblib import effective_n_jobs

    return {"threads": effective_n_jobs(2)}


def use_private_memory(announce, n_bytes):
    import numpy as np

    from bench.measure.memory import watch_private_peak

    with watch_private_peak() as found:
        array = np.ones(n_bytes, np.uint8)
        time.sleep(0.2)
    assert array.all()
    return found
