"""The paper's own figures, from `paper.toml`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from bench.measure.config import read_toml
from bench.methods.table import CONTESTANTS

KS = (10, 50, 100)  # the paper's figures are averages over these


@cache
def _read_figures() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("paper.toml"))


def list_datasets(scale: str) -> list[str]:
    """Return the paper's data sets of this scale."""
    return [name for name in _read_figures()[scale] if name != "summary"]


def find_figures(scale: str, scope: Sequence[str], measure: str) -> pd.DataFrame:
    """Return mean and std of the paper's "rt" or "delta_ro" for our names of methods, averaged over data sets.

    Over all data sets of a scale these are the published averages, over some the averages of their published figures.
    """
    known = list_datasets(scale)
    names = ["summary"] if len(scope) == len(known) else scope
    if not scope or not set(scope) <= set(known):
        return pd.DataFrame(columns=["mean", "std"], dtype=float)
    tables = [pd.DataFrame(_read_figures()[scale][name][measure], index=["mean", "std"]).T for name in names]
    rows = {name: contestant.paper_row for name, contestant in CONTESTANTS.items()}
    average = sum(tables[1:], tables[0]) / len(tables)
    return average.reindex(list(rows.values())).set_axis(list(rows), axis=0).dropna()
