"""Experiments in TOML: which runs there are, and what their tables compare with."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

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
    n: tuple[int | None, ...] = (None,)  # None stands for all rows

    def list_runs(self, metric: str, seed: int) -> Iterator[Run]:
        """Return the runs with this seed."""
        if seed >= self.seeds:
            return
        for dataset in self.datasets:
            for n in self.n:
                for k in self.k:
                    for method in self.methods:
                        yield Run(dataset, n, k, metric, method, seed)


@dataclass(frozen=True)
class Config:
    """An experiment: grids, limits, and what its tables compare with."""

    experiment: str  # the name or path by which `find_config` finds it; records keep it
    name: str
    grids: tuple[Grid, ...]
    title: str
    metric: str
    reference: str  # the method that times and objectives are relative to
    time_limit: float  # seconds for the call
    memory_limit: float  # GiB for the process
    threads: int = 1  # of each method: packages that cannot be told otherwise compute their distances in one
    paper: str | None = None  # the scale of the paper's tables that are comparable: "small" or "large"

    def list_runs(self) -> list[Run]:
        """Return all runs, a seed at a time, so that an experiment that is stopped early has a bit of everything."""
        seeds = range(max(grid.seeds for grid in self.grids))
        return list(
            dict.fromkeys(run for seed in seeds for grid in self.grids for run in grid.list_runs(self.metric, seed))
        )

    def add_as_published(self) -> Config:
        """Return this experiment with LWCS as its authors weight it, wherever it has LWCS."""
        grids = (
            replace(grid, methods=tuple(dict.fromkeys((*grid.methods, AS_PUBLISHED))))
            if "OneBatchPAM-lwcs" in grid.methods
            else grid
            for grid in self.grids
        )
        return replace(self, grids=tuple(grids))


class ConfigError(ValueError):
    """An experiment does not exist, or asks for something that does not."""


def list_experiments() -> list[str]:
    """Return the names of the experiments in bench/configs."""
    return sorted(config.stem for config in CONFIGS.glob("*.toml"))


def find_config(experiment: str) -> Path:
    """Return the file of an experiment: one in bench/configs by its name, or any by its path."""
    path = CONFIGS / f"{experiment}.toml"
    if not path.exists():
        path = Path(experiment)
    if not path.exists():
        known = ", ".join(list_experiments())
        raise ConfigError(f"there is no experiment {experiment!r}: expected one of {known}, or a file")
    return path


def read_toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def read_config(path: Path) -> Config:
    """Return the experiment that a file describes; raise if it names an unknown entry, data set or method."""
    try:
        entries = read_toml(path)
        grids = tuple(_read_grid(entry) for entry in entries.pop("grid", []))
        if not grids:
            raise ValueError("expected at least one [[grid]]")
        _check_entries(entries, Config)
        experiment = path.stem if path.parent == CONFIGS else str(path.resolve())
        config = Config(experiment, path.stem, grids, **entries)
        check_method(config.reference, config.metric)
        for run in config.list_runs():
            check_name(run.dataset)
            check_method(run.method, run.metric)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error
    return config


def _read_grid(entries: dict[str, Any]) -> Grid:
    _check_entries(entries, Grid)
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entries.items()
    }
    return Grid(**values)


def _check_entries(entries: dict[str, Any], kind: type[Any]) -> None:
    known = {field.name for field in fields(kind)} - {"experiment", "name", "grids"}
    unknown = sorted(set(entries) - known)
    if unknown:
        raise ValueError(f"unknown entry {unknown[0]!r}: expected {', '.join(sorted(known))}")
