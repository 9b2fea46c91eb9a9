"""The paper's own figures, from `paper.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.measure.config import read_toml
from bench.methods.table import CONTESTANTS
from bench.report.scores import Spread

KS = (10, 50, 100)  # the paper's figures are averages over these


@cache
def _read_figures() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("paper.toml"))


def list_datasets(scale: str) -> list[str]:
    """Return the paper's data sets of this scale."""
    return [name for name in _read_figures()[scale] if name != "summary"]


def find_figure(scale: str, scope: Sequence[str], measure: str, method: str) -> Spread | None:
    """Return the paper's "rt" or "delta_ro" of a method, averaged over data sets; None if the paper has none.

    Over all data sets of a scale this is the published average, over some the average of their published figures.
    """
    row = CONTESTANTS[method].paper_row
    known = list_datasets(scale)
    if row is None or not scope or not set(scope) <= set(known):
        return None
    names = ["summary"] if len(scope) == len(known) else scope
    published = [_read_figures()[scale][name][measure].get(row) for name in names]
    return None if None in published else Spread.average(Spread(*figure) for figure in published)
