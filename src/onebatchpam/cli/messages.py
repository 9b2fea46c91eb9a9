"""What a command says on stderr: notes, warnings and errors. Data go to stdout, and never through here."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COLOURS = {"warning": "33", "error": "31"}


class UsageError(Exception):
    """The user typed what cannot be done, whatever the data are; the exit code is 2."""


class Messages:
    """The voice of a command. With `quiet`, only warnings and errors are shown; with `debug`, also tracebacks."""

    def __init__(self, *, quiet: bool = False, debug: bool = False) -> None:
        self.warnings: list[str] = []
        self._quiet, self._debug = quiet, debug

    @property
    def shows_progress(self) -> bool:
        """Whether progress bars are wanted: on a terminal only."""
        return not self._quiet and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Show a note."""
        if not self._quiet:
            print(text, file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Show a warning, and keep it for the summary of the run."""
        self.warnings.append(text)
        print(f"{paint('warning')}: {text}", file=sys.stderr, flush=True)

    def fail(self, error: BaseException, code: int) -> int:
        """Show an error in one line, after its traceback if that is wanted; return the exit code."""
        if self._debug:
            traceback.print_exception(error)
        print(f"onebatchpam: {paint('error')}: {describe_error(error)}", file=sys.stderr, flush=True)
        return code

    @contextmanager
    def showing_warnings(self) -> Iterator[None]:
        """Show warnings of Python, each once and in one line, as long as a `with` statement lasts."""

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            text = " ".join(str(message).split())
            if text not in self.warnings:
                self.warn(text)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if not self._debug else "default", DeprecationWarning)
            warnings.filterwarnings("always", category=UserWarning)
            warnings.showwarning = show
            yield


def describe_error(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; nothing has been written"
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {text}' if text else ''}; pass --memory-limit, or fewer rows or columns"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, (ValueError, OSError, ImportError, UsageError)):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}; pass --debug to see where"


def paint(word: str) -> str:
    """Return a word in its colour if stderr is a terminal that shows colours and the user has not refused them."""
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return word if plain else f"\033[{COLOURS[word]}m{word}\033[0m"
