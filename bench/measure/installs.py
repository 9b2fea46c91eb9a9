"""Code that is run by the Python of an install, such as one of an older version, which need not have the bench."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


def run_in(python: str, code: str, folder: Path, *arguments: object) -> dict[str, Any]:
    """Run code in a process of its own, in a folder outside of the repository, and return the JSON that it prints."""
    command = [python, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    record: dict[str, Any] = json.loads(done.stdout)
    return record
