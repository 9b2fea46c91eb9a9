"""Relative time and relative objective, as the paper defines them, from records.

For a method, a data set and a k, with the method's seeds as the repetitions:

- RT is its time divided by the mean time of the reference, in percent;
- ΔRO is its objective divided by the mean objective of the reference, minus 1, in percent.

Mean and standard deviation are taken over the seeds that both have. The paired ΔRO divides by the objective of the
reference with the same seed instead, so that the spread of the reference is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import pandas as pd

from bench.measure.config import Config, ConfigError
from bench.measure.records import Record, Run
from bench.methods.table import AS_PUBLISHED, CONTESTANTS

ASSIGNMENT = "assignment"  # the stage of our estimators that labels all rows
CASE = ["dataset", "k"]
CELL = [*CASE, "method"]
ABSOLUTE = ["seconds", "objective"]
RELATIVE = ["rt", "delta_ro", "paired_delta_ro"]
COSTS = ["peak_bytes", "n_distances"]


def measure_call(record: Record) -> float:
    """Return the seconds of the whole call; NaN if the run was not timed."""
    return float("nan") if record["seconds"] is None else float(record["seconds"])


def measure_selection(record: Record) -> float:
    """Return the seconds without the labels of all rows, which the paper's times do not include.

    FasterCLARA labels all rows to judge each sample, and Alternate does so in each pass: that is a part of the choice.
    """
    labels = record["stages"].get(ASSIGNMENT, 0.0) if CONTESTANTS[record["method"]].labels_last else 0.0
    return measure_call(record) - labels


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
    """The runs of an experiment, and its cells: each a method on a data set with a k, over all seeds.

    `runs` has a row for every run that was made or should have been, with its absolute and relative figures; `fault`
    says why it does not count. `cells` has the means over seeds, and in columns such as "rt std" their standard
    deviations; its index is in the order of data sets, k and methods.
    """

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
        self.reference = reference or config.reference
        self.name = name_in_terms(name, self.reference if self.has_other_reference else None, time)
        planned = list(dict.fromkeys([*config.list_runs(), *records]))
        self.datasets = list(dict.fromkeys(map(label_dataset, planned)))
        self.ks = sorted({run.k for run in planned})
        present = {run.method for run in planned}
        self.methods = [method for method in CONTESTANTS if method in present]
        if self.reference not in present:
            raise ConfigError(f"{name} has no method {self.reference!r}: expected one of {', '.join(self.methods)}")
        self.runs = self._compare(pd.DataFrame([self._read_run(run) for run in planned]))
        self.cells = self._average(self.runs)

    @property
    def has_other_reference(self) -> bool:
        """Say whether the reference is not the experiment's own."""
        return self.reference != self.config.reference

    @property
    def has_papers_data(self) -> bool:
        """Say whether all data are in the paper's variant."""
        return all(record["variant"] == "paper" for record in self.records.values())

    def pick(self, datasets: Collection[str], ks: Collection[int]) -> pd.DataFrame:
        """Return the cells of some data sets and k."""
        places = self.cells.index
        return self.cells[places.isin(datasets, level="dataset") & places.isin(ks, level="k")]

    def _read_run(self, run: Run) -> dict[str, object]:
        """Return a row of `runs` without its relative figures."""
        row = {"dataset": label_dataset(run), "n": run.n, "k": run.k, "method": run.method, "seed": run.seed}
        record = self.records.get(run)
        if record is None:
            return {**row, "fault": "not run"}
        if record["status"] != "ok":
            return {**row, "fault": f"{record['status']}: {record['reason']}"}
        figures = {"seconds": TIMES[self.time](record), "objective": record["objective"]}
        return {**row, "fault": None, **figures, **{name: record.get(name) for name in COSTS}}

    def _compare(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the runs with RT, ΔRO and paired ΔRO, as far as the reference has a result with the same seed."""
        runs = runs.reindex(columns=[*CELL, "n", "seed", "fault", *ABSOLUTE, *COSTS])
        runs = runs.astype(dict.fromkeys([*ABSOLUTE, *COSTS], float))
        reference = runs[runs["method"] == self.reference]
        counting = reference[reference["fault"].isna()]
        both = runs[runs["fault"].isna()].merge(
            counting[[*CASE, "seed", *ABSOLUTE]], on=[*CASE, "seed"], suffixes=("", " of the reference")
        )
        base = both[[f"{name} of the reference" for name in ABSOLUTE]].set_axis(ABSOLUTE, axis=1)
        mean = base.groupby([both[name] for name in CELL]).transform("mean")
        both["rt"] = 100 * both["seconds"] / mean["seconds"]
        both["delta_ro"] = 100 * (both["objective"] / mean["objective"] - 1)
        both["paired_delta_ro"] = 100 * (both["objective"] / base["objective"] - 1)
        runs = runs.merge(both[[*CELL, "seed", *RELATIVE]], on=[*CELL, "seed"], how="left")
        has_reference = runs.set_index(CASE).index.isin(reference.set_index(CASE).index)
        alone = runs["fault"].isna() & runs["delta_ro"].isna() & has_reference
        runs.loc[alone, "fault"] = f"no result of the reference {self.reference}"
        return runs

    def _average(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return the cells: means and standard deviations over seeds, and how many seeds do not count."""
        seeds = runs.groupby(CELL)
        stds = seeds[[*ABSOLUTE, *RELATIVE]].std().add_suffix(" std")
        costs = pd.concat([seeds["peak_bytes"].first(), seeds["n_distances"].mean()], axis=1)
        faults = seeds["fault"].count().rename("faults")
        cells = pd.concat([seeds["n"].first(), seeds[[*ABSOLUTE, *RELATIVE]].mean(), stds, costs, faults], axis=1)
        order = pd.MultiIndex.from_product([self.datasets, self.ks, self.methods], names=CELL)
        return cells.reindex(order[order.isin(cells.index)])
