"""Ctrl-C: a command that was interrupted writes nothing, even if a library has lost the exception on its way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_was_interrupted = threading.Event()


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if the user has pressed Ctrl-C during this command."""
    if _was_interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def noting_interrupts() -> Iterator[None]:
    """Note Ctrl-C while a command runs, and raise KeyboardInterrupt as usual."""
    _was_interrupted.clear()
    if threading.current_thread() is not threading.main_thread():  # only this one may handle signals
        yield
        return
    former = signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _note(number: int, frame: FrameType | None) -> None:
    _was_interrupted.set()
    raise KeyboardInterrupt
