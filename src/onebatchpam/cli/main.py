"""Running a command: from the arguments to an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from onebatchpam._interrupts import noting_interrupts
from onebatchpam.cli.config import parse
from onebatchpam.cli.messages import Messages, UsageError

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 1 if the command failed, 2 for wrong usage, 130 for Ctrl-C."""
    try:
        mend_streams()
        arguments = parse(sys.argv[1:] if argv is None else list(argv))
    except UsageError as error:
        return Messages().fail(error, WRONG_USAGE)
    messages = Messages(quiet=arguments.quiet, debug=arguments.debug)
    try:
        command = import_module(f"onebatchpam.cli.{arguments.command.replace('-', '_')}")
        with noting_interrupts(), messages.showing_warnings():
            command.run(arguments, messages)
            sys.stdout.flush()
    except UsageError as error:
        return messages.fail(error, WRONG_USAGE)
    except KeyboardInterrupt as error:
        return messages.fail(error, INTERRUPTED)
    except BrokenPipeError:  # the program that read our output has ended, as `head` does; there is no one to tell
        drop_output()
        return FAILED
    except Exception as error:
        drop_output()
        return messages.fail(error, FAILED)
    return 0


def drop_output() -> None:
    """Let what stdout cannot take go nowhere, because Python would try to write it again when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def mend_streams() -> None:
    """Read nothing where stdin is closed, and tell nobody where stderr is; raise if stdout is closed.

    Python has None for a closed stream, and would print notes to stdout, among the data, if that is stderr. Where
    PYTHONUNBUFFERED is set, its stdout may write only a part of what it is given, as when a disk becomes full, and
    raise no error; a stream with a buffer does.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115 (for as long as the program runs, as all streams here)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise UsageError("stdout is closed: expected a terminal, a file or a pipe, or /dev/null")
    if isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = open(sys.stdout.fileno(), "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
