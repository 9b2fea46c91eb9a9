"""Experiments in TOML: which runs there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from bench.data.sets import check_name
from bench.measure.records import Run
from bench.methods.table import AS_PUBLISHED, check_method

CONFIGS = Path(__file__).parents[1] / "configs"


@dataclass(frozen=True)
class Grid:
    """All combinations of data sets, numbers of rows, k, seeds and methods."""

    datasets: tuple[str, ...]
    k: tuple[int, ...]
    seeds: int
    methods: tuple[str, ...]
    n: tuple[int, ...] = ()  # all rows when empty

    def runs(self, metric: str, seed: int) -> Iterator[Run]:
        """Return the runs with this seed."""
        if seed >= self.seeds:
            return
        for dataset in self.datasets:
            for n in self.n or (None,):
                for k in self.k:
                    for method in self.methods:
                        yield Run(dataset, n, k, metric, method, seed)


@dataclass(frozen=True)
class Config:
    """An experiment: grids, limits, and what its tables compare with."""

    name: str
    title: str
    metric: str
    reference: str  # the method that times and objectives are relative to
    time_limit: float  # seconds, for the call
    memory_limit: float  # GiB, for the process
    grids: tuple[Grid, ...]
    paper: str | None = None  # the scale of the paper's tables to be shown beside: "small" or "large"

    def runs(self) -> list[Run]:
        """Return all runs, a seed at a time: so that what is stopped early has a bit of everything."""
        seeds = range(max(grid.seeds for grid in self.grids))
        return list(dict.fromkeys(run for seed in seeds for grid in self.grids for run in grid.runs(self.metric, seed)))

    def with_as_published(self) -> Config:
        """Return this experiment with the row of LWCS as its authors weight it."""
        grids = tuple(
            Grid(grid.datasets, grid.k, grid.seeds, (*grid.methods, AS_PUBLISHED), grid.n)
            if "OneBatchPAM-lwcs" in grid.methods and AS_PUBLISHED not in grid.methods
            else grid
            for grid in self.grids
        )
        return Config(**{**vars(self), "grids": grids})


class ConfigError(ValueError):
    """An experiment is not there, or asks for what there is not."""


def find_config(name: str) -> Path:
    """Return the file of an experiment: one of ours by its name, or any by its path."""
    path = CONFIGS / f"{name}.toml"
    if not path.exists():
        path = Path(name)
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in CONFIGS.glob("*.toml")))
        raise ConfigError(f"there is no experiment {name!r}: expected one of {known}, or a file")
    return path


def read_config(path: Path) -> Config:
    """Return the experiment that a file describes; raise if it names what there is not."""
    try:
        entries = tomllib.loads(path.read_text())
        grids = tuple(_grid(entry) for entry in entries.pop("grid", []))
        if not grids:
            raise ValueError("expected at least one [[grid]]")
        config = Config(name=path.stem, grids=grids, **_known(Config, entries))
        check_method(config.reference, config.metric)
        for run in config.runs():
            check_name(run.dataset)
            check_method(run.method, run.metric)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return config


def _grid(entry: dict[str, Any]) -> Grid:
    entries: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in _known(Grid, entry).items()
    }
    return Grid(**entries)


def _known(kind: type[Any], entries: dict[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(kind)} - {"name", "grids"}
    unknown = sorted(set(entries) - names)
    if unknown:
        raise ValueError(f"unknown entry {unknown[0]!r}: expected {', '.join(sorted(names))}")
    return entries
