"""`python -m bench COMMAND`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import orlib, speed
from bench.data import default_folder


def main(argv: Sequence[str] | None = None) -> int:
    """Run a measurement; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure onebatchpam and its peers.")
    parser.add_argument("--data", type=Path, default=default_folder(), help="folder of the data sets (%(default)s)")
    commands = parser.add_subparsers(required=True, metavar="command")
    speed.add_command(commands)
    orlib.add_command(commands)
    arguments = parser.parse_args(argv)
    try:
        arguments.run(arguments)
    except (FileNotFoundError, ImportError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
