"""Options from a configuration file: they are put before those that were typed, which therefore win."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from onebatchpam.cli.messages import UsageError
from onebatchpam.cli.parser import build_parser, complete


def parse(argv: list[str]) -> argparse.Namespace:
    """Return the options of a command line, joined with those of its configuration file if it names one."""
    parser = build_parser()
    complete(parser)
    if not argv:
        parser.print_help(sys.stderr)
        raise UsageError("no command: expected one of those above")
    for argument in argv:
        if any("\ud800" <= letter <= "\udfff" for letter in argument):  # Python's stand-in for a byte that is not UTF-8
            raise UsageError(f"{argument!a} is not UTF-8: expected UTF-8; rename the file")
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--config", type=Path)
    path = first.parse_known_args(argv)[0].config
    if path is not None and not argv[0].startswith("-"):
        argv = [argv[0], *read_options(path, argv[0]), *argv[1:]]
    arguments = parser.parse_args(argv)
    if "file" in arguments and arguments.file is None:
        arguments.file = arguments.input
        if arguments.file is None:
            parser.error(f"{arguments.command} needs a FILE, or - for stdin")
    return arguments


def read_options(path: Path, command: str) -> list[str]:
    """Return the options in a TOML file, or in the summary of a former run, as they would be typed.

    Options in a table with the name of the command come after those at the top of the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)["options"] if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--config {path} is neither TOML nor the summary.json of a run: {error}") from error
    own = {name: value for name, value in content.items() if not isinstance(value, Mapping)}
    return [*as_typed(own), *as_typed(content.get(command, {}))]


def as_typed(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as they are typed: --name=value; --name for true; a list becomes text with commas."""
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, list) and name == "kind":
            yield from (f"{option}={each}" for each in value)
        elif isinstance(value, list):
            yield f"{option}={','.join(map(str, value))}"
        elif value is True:
            yield option
        elif value is not False and value is not None:
            yield f"{option}={value}"
