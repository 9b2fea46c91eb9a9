"""Files that get their names only when they are complete: what is being written ends in ".partial" until then."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onebatchpam._interrupts import raise_if_interrupted


def name_partial(path: Path) -> Path:
    """Return a name that nobody can foresee, in the same folder, for what is to be called `path`."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")


def make_partial(path: Path) -> Path:
    """Make an empty file that is to be called `path`; raise an error that names `path` if that cannot be done."""
    partial = name_partial(path)
    try:
        partial.open("xb").close()  # "x" opens only new files, and follows no links
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return partial


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write to, which replaces the file `path` when all is written; an error removes it."""
    partial = make_partial(path)
    try:
        yield partial
        raise_if_interrupted()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
