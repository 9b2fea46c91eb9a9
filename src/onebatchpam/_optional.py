"""Optional packages: imported when they are needed, with an error that says how to install them."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import Any

OLDEST_ARROW = 18  # the main version; those before 14.0.1 run code that a file holds


def require(module: str, *, extra: str, needed_by: str) -> Any:
    """Import and return an optional module, which the named extra of this package installs."""
    package = module.partition(".")[0]
    try:
        imported = import_module(module)
        if package == "pyarrow":
            check_arrow()
        return imported
    except ImportError as error:
        found = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        command = command_for(extra) or f"pip install {package}"
        raise ImportError(f"{needed_by} needs {package}{found}: {command}") from error


def check_arrow() -> None:
    """Raise if the version of pyarrow is one that is not safe with files of strangers."""
    version = sys.modules["pyarrow"].__version__
    if int(version.partition(".")[0]) < OLDEST_ARROW:
        raise ImportError(f"found version {version}, expected at least {OLDEST_ARROW}")


def command_for(extra: str) -> str:
    """Return the command that installs the packages of an extra, wherever this package came from; or nothing."""
    try:
        found = [requirement.partition(";") for requirement in requires("onebatchpam") or ()]
    except PackageNotFoundError:  # the package runs from its source, without an installation
        return ""
    names = [name.strip() for name, _, marker in found if re.search(rf"extra == ['\"]{extra}['\"]", marker)]
    return " ".join(["pip install", *(f"'{name}'" for name in names)]) if names else ""
