"""Ctrl-C ends a fit even if the exception is lost on its way.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a destructor, or in the callback by which a
weak reference is removed from a set of threads or progress bars, the interpreter drops it. The signal is therefore
noted as well, and the stages of a fit, which report their progress all the time, raise it again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_was_interrupted = False
_is_noting = False  # True within `noting_interrupts`; uses inside of another leave everything to the outermost


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed since the outermost `noting_interrupts` was entered."""
    if _was_interrupted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


@contextmanager
def noting_interrupts() -> Iterator[None]:
    """Note Ctrl-C, raise KeyboardInterrupt as usual, and raise it at the end if it was lost.

    Only Python's own way to handle Ctrl-C is replaced meanwhile, not that of another program, and only in the main
    thread, which alone may do so.
    """
    global _was_interrupted, _is_noting
    if _is_noting or threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, _note):
        yield
        return
    try:
        _is_noting, _was_interrupted = True, False
        signal.signal(signal.SIGINT, _note)
        yield
        raise_if_interrupted()
    finally:
        _is_noting = False
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _was_interrupted = False


def _note(number: int, frame: FrameType | None) -> None:
    global _was_interrupted
    _was_interrupted = True
    raise KeyboardInterrupt
