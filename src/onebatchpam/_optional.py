"""Optional packages: imported when they are first needed, with an error that names the extra that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, *, extra: str, needed_by: str) -> Any:
    """Return an optional module, or say which extra of this package installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{needed_by} needs {package}: pip install 'onebatchpam[{extra}]'") from error
