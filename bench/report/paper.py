"""The paper's own figures, from `paper.toml`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from bench.methods.table import CONTESTANTS
from bench.report.scores import Spread

KS = (10, 50, 100)  # what the paper's figures are averages over


@cache
def _figures() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text())


def datasets(scale: str) -> list[str]:
    """Return the paper's data sets of this scale."""
    return [name for name in _figures()[scale] if name != "summary"]


def figure(scale: str, scope: Sequence[str], measure: str, method: str) -> Spread | None:
    """Return what the paper says of a method ("rt" or "delta_ro"), averaged over data sets; None if it does not.

    For all of its data sets that is the published average, for some of them the average of their published figures.
    """
    row = CONTESTANTS[method].paper_row
    known = datasets(scale)
    if row is None or not scope or not set(scope) <= set(known):
        return None
    names = ["summary"] if len(scope) == len(known) and len(scope) > 1 else list(scope)
    published = [_figures()[scale][name][measure].get(row) for name in names]
    if None in published:
        return None
    average = Spread.average(Spread(*each) for each in published)
    assert average is not None
    return average
