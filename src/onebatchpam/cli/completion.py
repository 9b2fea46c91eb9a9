"""`onebatchpam completion`: the script by which a shell completes commands and options."""

from __future__ import annotations

import argparse

from onebatchpam._optional import require
from onebatchpam.cli.messages import Messages


def run(arguments: argparse.Namespace, messages: Messages) -> None:
    """Print the script for a shell."""
    argcomplete = require("argcomplete", extra="cli", needed_by="completion")
    print(argcomplete.shellcode(["onebatchpam"], shell=arguments.shell))
