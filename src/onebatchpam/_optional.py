"""Optional packages: imported when they are needed, with an error that says how to install them."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires
from typing import Any


def require(module: str, *, extra: str, needed_by: str) -> Any:
    """Import and return an optional module, which the named extra of this package installs."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{needed_by} needs {package}: {command_for(extra) or f'pip install {package}'}") from error


def command_for(extra: str) -> str:
    """Return the command that installs the packages of an extra, wherever this package came from; or nothing."""
    try:
        found = [requirement.partition(";") for requirement in requires("onebatchpam") or ()]
    except PackageNotFoundError:  # the package runs from its source, without an installation
        return ""
    names = [name.strip() for name, _, marker in found if re.search(rf"extra == ['\"]{extra}['\"]", marker)]
    return " ".join(["pip install", *(f"'{name}'" for name in names)]) if names else ""
