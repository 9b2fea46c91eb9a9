"""Running a command: from the arguments to an exit code."""

from __future__ import annotations

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
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        return messages.fail(error, FAILED)
    return 0
