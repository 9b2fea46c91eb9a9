"""Relative time and relative objective, as the paper defines them, from records.

For a method, a data set and a k, with the method's seeds as the repetitions:

- RT is its time divided by the mean time of the reference, in percent;
- ΔRO is its objective divided by the mean objective of the reference, minus 1, in percent.

Mean and standard deviation are taken over the seeds that both have. An average over data sets or over k is the mean of
the means and the mean of the standard deviations, as in the paper. The paired ΔRO divides by the objective of the
reference with the same seed instead; it has no spread of the reference in it.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.measure.config import Config, ConfigError
from bench.measure.records import Record, Run, Store
from bench.methods.table import AS_PUBLISHED, CONTESTANTS

ASSIGNMENT = "assignment"  # the stage of our estimators that labels all rows


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over repetitions, or the means of these over several cells."""

    mean: float
    std: float | None
    n_cells: int = 1

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None)

    @classmethod
    def average(cls, spreads: Iterable[Spread | None]) -> Spread | None:
        """Return the average of those that there are; None if there are none."""
        known = [spread for spread in spreads if spread is not None]
        if not known:
            return None
        stds = [spread.std for spread in known if spread.std is not None]
        return cls(statistics.mean(each.mean for each in known), statistics.mean(stds) if stds else None, len(known))


@dataclass(frozen=True)
class Cell:
    """A method on a data set with a k: all seeds."""

    method: str
    dataset: str  # with the number of rows, if not all
    k: int
    seconds: Spread | None
    objective: Spread | None
    rt: Spread | None
    delta_ro: Spread | None
    paired_delta_ro: Spread | None
    peak_bytes: float | None
    n_distances: float | None
    n_expected: int
    faults: tuple[str, ...]  # why seeds have no result, one for each of them


def call_seconds(record: Record) -> float:
    """Return the time of the whole call."""
    return float(record["seconds"])


def selection_seconds(record: Record) -> float:
    """Return the time without that of labelling all rows, which the paper's times do not have."""
    return float(record["seconds"] - record["stages"].get(ASSIGNMENT, 0.0))


TIMES = {"call": call_seconds, "selection": selection_seconds}


def name_in_terms(name: str, reference: str | None, time: str) -> str:
    """Return the name of what is relative to another method, or in another time: it does not replace the usual."""
    parts = [name, None if reference is None else f"by-{slug(reference)}", None if time == "call" else time]
    return "-".join(part for part in parts if part is not None)


def slug(text: str) -> str:
    """Return a text as part of a file's name."""
    return re.sub("[^0-9A-Za-z]+", "-", text).strip("-")


class Scores:
    """The cells of an experiment, in the order of data sets, k and methods."""

    def __init__(self, store: Store, config: Config, reference: str | None = None, time: str = "call") -> None:
        self.records = store.read()
        if any(run.method == AS_PUBLISHED for run in self.records):
            config = config.with_as_published()
        self.config, self.time = config, time
        self.reference = reference or config.reference
        self.name = name_in_terms(store.name, self.reference if self.is_relative_to_another else None, time)
        self.seconds: Callable[[Record], float] = TIMES[time]
        self.runs = list(dict.fromkeys([*config.runs(), *self.records]))
        self.datasets = list(dict.fromkeys(dataset_label(run) for run in self.runs))
        self.ks = sorted({run.k for run in self.runs})
        present = {run.method for run in self.runs}
        self.methods = [name for name in CONTESTANTS if name in present]
        if self.reference not in present:
            raise ConfigError(
                f"{store.name} has no method {self.reference!r}: expected one of {', '.join(self.methods)}"
            )
        self._groups: dict[tuple[str, str, int], list[Run]] = {}
        for run in self.runs:
            self._groups.setdefault((run.method, dataset_label(run), run.k), []).append(run)
        self.cells = {
            key: self._cell(*key)
            for dataset in self.datasets
            for k in self.ks
            for method in self.methods
            if (key := (method, dataset, k)) in self._groups
        }

    @property
    def is_relative_to_another(self) -> bool:
        """Say whether the reference is not the experiment's."""
        return self.reference != self.config.reference

    @property
    def is_of_the_papers_data(self) -> bool:
        """Say whether the data are in the paper's variant."""
        return all(record["variant"] == "paper" for record in self.records.values())

    def pick(self, method: str, datasets: Sequence[str], ks: Sequence[int]) -> list[Cell]:
        """Return the cells of a method that there should be."""
        keys = ((method, dataset, k) for dataset in datasets for k in ks)
        return [self.cells[key] for key in keys if key in self.cells]

    def _results(self, method: str, dataset: str, k: int) -> dict[int, Record]:
        """Return the successful records by seed."""
        runs = self._groups.get((method, dataset, k), [])
        records = {run.seed: self.records[run] for run in runs if run in self.records}
        return {seed: record for seed, record in records.items() if record["status"] == "ok"}

    def _cell(self, method: str, dataset: str, k: int) -> Cell:
        runs = self._groups[method, dataset, k]
        own, base = self._results(method, dataset, k), self._results(self.reference, dataset, k)
        both = sorted(own.keys() & base.keys())
        relative = None
        if both:
            base_seconds = statistics.mean(self.seconds(base[seed]) for seed in both)
            base_objective = statistics.mean(base[seed]["objective"] for seed in both)
            relative = (
                Spread.of([100 * self.seconds(own[seed]) / base_seconds for seed in both]),
                Spread.of([100 * (own[seed]["objective"] / base_objective - 1) for seed in both]),
                Spread.of([100 * (own[seed]["objective"] / base[seed]["objective"] - 1) for seed in both]),
            )
        rt, delta_ro, paired = relative or (None, None, None)
        distances = [record["n_distances"] for record in own.values() if record["n_distances"] is not None]
        return Cell(
            method=method,
            dataset=dataset,
            k=k,
            seconds=Spread.of([self.seconds(record) for record in own.values()]) if own else None,
            objective=Spread.of([record["objective"] for record in own.values()]) if own else None,
            rt=rt,
            delta_ro=delta_ro,
            paired_delta_ro=paired,
            peak_bytes=next((record["peak_bytes"] for record in own.values() if record.get("peak_bytes")), None),
            n_distances=statistics.mean(distances) if distances else None,
            n_expected=len(runs),
            faults=tuple(fault for run in runs if (fault := self._fault(run, both)) is not None),
        )

    def _fault(self, run: Run, scored: Sequence[int]) -> str | None:
        """Say why this run does not count, if it should."""
        record = self.records.get(run)
        if record is None:
            return "not run"
        if record["status"] != "ok":
            return f"{record['status']}: {record['reason']}"
        if run.seed in scored or (self.reference, dataset_label(run), run.k) not in self._groups:
            return None
        return f"no result of the reference {self.reference}"


def dataset_label(run: Run) -> str:
    """Return the data set with its number of rows, if they are not all."""
    return run.dataset if run.n is None else f"{run.dataset} (n = {run.n})"
