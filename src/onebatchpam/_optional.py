"""Optional packages: imported when they are needed, with an error that names the extra that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str, needed_by: str) -> Any:
    """Import and return an optional module; the error says which extra of this package installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{needed_by} needs {package}: pip install 'onebatchpam[{extra}]'") from error
