"""Relative time and relative objective, as the paper defines them, from records.

For a method, a data set and a k, with the method's seeds as the repetitions:

- RT is its time divided by the mean time of the reference, in percent;
- ΔRO is its objective divided by the mean objective of the reference, minus 1, in percent.

Mean and standard deviation are taken over the seeds that both have. An average over data sets or over k is the mean of
the means and the mean of the standard deviations, as in the paper. The paired ΔRO divides by the objective of the
reference with the same seed instead, so that the spread of the reference is not in it.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.measure.config import Config, ConfigError
from bench.measure.records import Record, Run
from bench.methods.table import AS_PUBLISHED, CONTESTANTS

ASSIGNMENT = "assignment"  # the stage of our estimators that labels all rows


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over repetitions, or the means of both over several cells."""

    mean: float
    std: float | None
    n_cells: int = 1

    @classmethod
    def over_seeds(cls, values: Sequence[float]) -> Spread | None:
        """Return the spread of repetitions; None if there are none."""
        if not values:
            return None
        return cls(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None)

    @classmethod
    def average(cls, spreads: Iterable[Spread | None]) -> Spread | None:
        """Return the average of the known spreads; None if none is known."""
        known = [spread for spread in spreads if spread is not None]
        if not known:
            return None
        stds = [spread.std for spread in known if spread.std is not None]
        mean = statistics.mean(spread.mean for spread in known)
        return cls(mean, statistics.mean(stds) if stds else None, len(known))


@dataclass(frozen=True)
class Cell:
    """A method on a data set with a k, over all seeds."""

    method: str
    dataset: str  # with the number of rows, unless it is all of them
    n: int | None  # None for all rows
    k: int
    seconds: Spread | None
    objective: Spread | None
    rt: Spread | None
    delta_ro: Spread | None
    paired_delta_ro: Spread | None
    peak_bytes: float | None
    n_distances: float | None
    faults: tuple[str, ...]  # the reason of every seed that has no result


def measure_call(record: Record) -> float:
    """Return the seconds of the whole call."""
    return float(record["seconds"])


def measure_selection(record: Record) -> float:
    """Return the seconds without the labels of all rows, which the paper's times do not include."""
    return float(record["seconds"] - record["stages"].get(ASSIGNMENT, 0.0))


TIMES = {"call": measure_call, "selection": measure_selection}


def name_in_terms(name: str, reference: str | None, time: str) -> str:
    """Return a name that tells another reference and another time apart from the usual ones."""
    parts = [name, None if reference is None else f"by-{slugify(reference)}", None if time == "call" else time]
    return "-".join(part for part in parts if part is not None)


def slugify(text: str) -> str:
    """Return a text as part of a file's name."""
    return re.sub("[^0-9A-Za-z]+", "-", text).strip("-")


def label_dataset(run: Run) -> str:
    """Return the data set with its number of rows, unless it is all of them."""
    return run.dataset if run.n is None else f"{run.dataset} (n = {run.n})"


class Scores:
    """The cells of an experiment, in the order of data sets, k and methods."""

    def __init__(
        self,
        name: str,
        records: dict[Run, Record],
        config: Config,
        reference: str | None = None,
        time: str = "call",
    ) -> None:
        if any(run.method == AS_PUBLISHED for run in records):
            config = config.add_as_published()
        self.records, self.config, self.time = records, config, time
        self._measure_time = TIMES[time]
        self.reference = reference or config.reference
        self.name = name_in_terms(name, self.reference if self.has_other_reference else None, time)
        self.runs = list(dict.fromkeys([*config.list_runs(), *records]))
        self.datasets = list(dict.fromkeys(label_dataset(run) for run in self.runs))
        self.ks = sorted({run.k for run in self.runs})
        present = {run.method for run in self.runs}
        self.methods = [method for method in CONTESTANTS if method in present]
        if self.reference not in present:
            raise ConfigError(f"{name} has no method {self.reference!r}: expected one of {', '.join(self.methods)}")
        self._groups: dict[tuple[str, str, int], list[Run]] = {}
        for run in self.runs:
            self._groups.setdefault((run.method, label_dataset(run), run.k), []).append(run)
        self.cells = {
            key: self._score(*key)
            for dataset in self.datasets
            for k in self.ks
            for method in self.methods
            if (key := (method, dataset, k)) in self._groups
        }

    @property
    def has_other_reference(self) -> bool:
        """Say whether the reference is not the experiment's own."""
        return self.reference != self.config.reference

    @property
    def has_papers_data(self) -> bool:
        """Say whether all data are in the paper's variant."""
        return all(record["variant"] == "paper" for record in self.records.values())

    def pick(self, method: str, datasets: Sequence[str], ks: Sequence[int]) -> list[Cell]:
        """Return the cells of a method, as far as the experiment has them."""
        keys = ((method, dataset, k) for dataset in datasets for k in ks)
        return [self.cells[key] for key in keys if key in self.cells]

    def _find_results(self, method: str, dataset: str, k: int) -> dict[int, Record]:
        """Return the successful records by seed."""
        runs = self._groups.get((method, dataset, k), [])
        records = {run.seed: self.records[run] for run in runs if run in self.records}
        return {seed: record for seed, record in records.items() if record["status"] == "ok"}

    def _score(self, method: str, dataset: str, k: int) -> Cell:
        runs = self._groups[method, dataset, k]
        own, base = self._find_results(method, dataset, k), self._find_results(self.reference, dataset, k)
        relative = self._compare(own, base)
        rt, delta_ro, paired_delta_ro = (Spread.over_seeds([values[i] for values in relative]) for i in range(3))
        distances = [record["n_distances"] for record in own.values() if record["n_distances"] is not None]
        return Cell(
            method=method,
            dataset=dataset,
            n=runs[0].n,
            k=k,
            seconds=Spread.over_seeds([self._measure_time(record) for record in own.values()]),
            objective=Spread.over_seeds([record["objective"] for record in own.values()]),
            rt=rt,
            delta_ro=delta_ro,
            paired_delta_ro=paired_delta_ro,
            peak_bytes=next((record["peak_bytes"] for record in own.values() if record.get("peak_bytes")), None),
            n_distances=statistics.mean(distances) if distances else None,
            faults=tuple(fault for run in runs if (fault := self._find_fault(run, base)) is not None),
        )

    def _compare(self, own: dict[int, Record], base: dict[int, Record]) -> list[tuple[float, float, float]]:
        """Return RT, ΔRO and paired ΔRO of each seed that has a result of the reference."""
        both = sorted(own.keys() & base.keys())
        if not both:
            return []
        base_seconds = statistics.mean(self._measure_time(base[seed]) for seed in both)
        base_objective = statistics.mean(base[seed]["objective"] for seed in both)
        return [
            (
                100 * self._measure_time(own[seed]) / base_seconds,
                100 * (own[seed]["objective"] / base_objective - 1),
                100 * (own[seed]["objective"] / base[seed]["objective"] - 1),
            )
            for seed in both
        ]

    def _find_fault(self, run: Run, base: dict[int, Record]) -> str | None:
        """Say why a run does not count; None if it does, or if the reference has no run to compare it with."""
        record = self.records.get(run)
        if record is None:
            return "not run"
        if record["status"] != "ok":
            return f"{record['status']}: {record['reason']}"
        if run.seed in base or (self.reference, label_dataset(run), run.k) not in self._groups:
            return None
        return f"no result of the reference {self.reference}"
