"""`python -m bench speed`: time, memory and objective of whole fits, in three sections.

- onebatch: OneBatchPAM of this package beside that of the authors' package `onebatch`, with the same batch size;
- fasterpam: FasterPAM beside that of the package `kmedoids`, from the same start;
- methods: all methods of this package.

Every contestant is measured in a process of its own. Time covers the call only, on memory that the process has used
before. In the section onebatch, contestants keep their process and take turns, because a virtual machine may give
memory that is idle back to its host; the first turn is not counted, fits of less than a second are repeated for a
second, and the median counts. In the other sections every run has a new process. Objectives are computed here, in
float64, from the medoids that were returned. Memory, in another process, is the peak during the call, data included,
beyond that before the data were loaded.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.data.sets import load, load_stored
from bench.measure.call import TimedCall, Trial, measure_peak, time_call
from bench.measure.machine import count_processors, describe_machine, summarise_machine
from bench.measure.memory import keep_memory
from bench.measure.objective import compute_objective
from bench.measure.process import Announce, open_process, run_alone
from bench.measure.records import Record, Run, append_line
from bench.methods.contestant import Contestant, Problem, require_installed
from bench.methods.ours import solve_by
from bench.methods.peers import solve_banditpam, solve_kmedoids_from_start, solve_onebatch

SECONDS_PER_TURN = 1.0
SWAPS = "swap search"  # the stage that FasterPAM and kmedoids share

LoadRows = Callable[[str, Path], NDArray[Any]]  # takes the name of a data set and the folder of all sets


@dataclass(frozen=True)
class Case:
    """A data set, a metric and a number of medoids, on which contestants are compared."""

    dataset: str
    metric: str
    k: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.metric}, k = {self.k}"


LETTER = (Case("letter", "manhattan", 10), Case("letter", "manhattan", 100))
MNIST = (Case("mnist", "manhattan", 10), Case("mnist", "manhattan", 100))
TURNS = (MNIST[1], Case("mnist", "euclidean", 100), LETTER[1], LETTER[0])


def load_shifted(dataset: str, folder: Path) -> NDArray[Any]:
    """Return float32 rows that cannot be stored as bytes; a common shift leaves the distances as they are."""
    return load(dataset, folder) + np.float32(0.3)


@dataclass(frozen=True)
class Entry:
    """A line of a table: a contestant, the form in which it is given the rows, and the cases that it takes."""

    contestant: Contestant
    load_rows: LoadRows = load_stored
    cases: tuple[Case, ...] = LETTER + MNIST

    def prepare(self, case: Case, seed: int, folder: Path) -> Trial:
        run = Run(case.dataset, None, case.k, case.metric, self.contestant.name, seed)
        return Trial(self.contestant, run, partial(self.load_rows, case.dataset, folder), count_processors())


def enter_nniw(name: str, load_rows: LoadRows, cases: tuple[Case, ...] = TURNS) -> Entry:
    """Enter our estimator with the algorithm and the batch size of `onebatch`."""
    solve = solve_by("OneBatchPAM", batch_size=Problem.paper_batch_size, variant="nniw", refine=0)
    return Entry(Contestant(name, solve, "ours"), load_rows, cases)


def enter_onebatch(name: str, n_jobs: int | None) -> Entry:
    return Entry(Contestant(name, partial(solve_onebatch, n_jobs=n_jobs), "peer", "onebatch"), load, TURNS)


def enter_method(name: str, class_name: str, **parameters: Any) -> Entry:
    return Entry(Contestant(name, solve_by(class_name, **parameters), "ours"))


def enter_fasterpam(**parameters: Any) -> Entry:
    return Entry(Contestant("FasterPAM", solve_by("FasterPAM", **parameters), "ours", matrix_bytes=4))


def enter_banditpam(max_iter: int) -> Entry:
    """Enter the package of the authors of BanditPAM++; it takes too long for all cases but one."""
    solve = partial(solve_banditpam, max_iter=max_iter)
    return Entry(Contestant(f"banditpam, T = {max_iter}", solve, "peer", "banditpam"), load, LETTER[:1])


def measure_once(announce: Announce, trial: Trial, folder: Path) -> Record:
    """Time a single call, in a process that does nothing else."""
    keep_memory()
    trial.warm_up()
    problem = trial.pose()
    trial.touch_memory(problem)
    return summarise_calls([time_call(announce, trial, problem)], trial.run, folder)


def measure_turn(announce: Announce, trial: Trial, folder: Path) -> Record:
    """Time calls for at least a second, in a process that has made such calls before."""
    keep_memory()
    problem = trial.pose()
    calls: list[TimedCall] = []
    while sum(call.seconds for call in calls) < SECONDS_PER_TURN:
        calls.append(time_call(announce, trial, problem))
    return summarise_calls(calls, trial.run, folder)


def summarise_calls(calls: list[TimedCall], run: Run, folder: Path) -> Record:
    """Return the median time of calls with equal answers; the objective is that of the rows as float32."""
    answer = calls[-1].answer
    return {
        "seconds": statistics.median(call.seconds for call in calls),
        "stages": answer.stages,
        "n_distances": answer.n_distances,
        "objective": compute_objective(load(run.dataset, folder), answer.medoids, run.metric),
    }


def take_turns(entries: list[Entry], case: Case, seeds: int, folder: Path) -> Iterator[tuple[Run, Record]]:
    """Measure contestants that keep their process, one after the other for each seed."""
    with ExitStack() as stack:
        calls = [stack.enter_context(open_process()) for _ in entries]
        for call, entry in zip(calls, entries, strict=True):
            call(measure_turn, entry.prepare(case, 0, folder), folder)  # the first calls of a process are not counted
        for seed in range(seeds):
            for call, entry in zip(calls, entries, strict=True):
                trial = entry.prepare(case, seed, folder)
                yield trial.run, call(measure_turn, trial, folder)


def take_new_processes(entries: list[Entry], case: Case, seeds: int, folder: Path) -> Iterator[tuple[Run, Record]]:
    """Measure every contestant and seed in a new process."""
    for seed in range(seeds):
        for entry in entries:
            trial = entry.prepare(case, seed, folder)
            yield trial.run, run_alone(measure_once, trial, folder)


@dataclass(frozen=True)
class Summary:
    """The runs of a contestant with all seeds: medians, and the mean objective."""

    seconds: float
    objective: float
    n_distances: float | None
    stages: dict[str, float]

    @classmethod
    def of(cls, records: list[Record]) -> Summary:
        stages = dict.fromkeys(name for record in records for name in record["stages"])
        counts = [record["n_distances"] for record in records if record["n_distances"] is not None]
        return cls(
            statistics.median(record["seconds"] for record in records),
            statistics.mean(record["objective"] for record in records),
            statistics.median(counts) if counts else None,
            {name: statistics.median(record["stages"].get(name, 0.0) for record in records) for name in stages},
        )

    def stages_text(self) -> str:
        return ", ".join(f"{name} {seconds:.3f}" for name, seconds in self.stages.items())


def compare_turns(runs: dict[str, list[Record]], peaks: dict[str, Record]) -> str:
    """Return a table in Markdown that compares times and objectives with the first contestant."""
    lines = [
        "| | seconds | times faster | mean objective | peak memory | peak / (X + block) | stages |",
        "|---|---|---|---|---|---|---|",
    ]
    summaries = {name: Summary.of(records) for name, records in runs.items()}
    first = next(iter(summaries.values()))
    for name, each in summaries.items():
        peak = peaks[name]
        lines.append(
            f"| {name} | {each.seconds:.3f} | {first.seconds / each.seconds:.1f} "
            f"| {each.objective:.6g} ({each.objective / first.objective - 1:+.2%}) "
            f"| {peak['peak_bytes'] / 1e6:,.0f} MB | {peak['peak_bytes'] / peak['needed_bytes']:.2f} "
            f"| {each.stages_text()} |"
        )
    return "\n".join(lines)


def compare_methods(runs: dict[str, list[Record]], peaks: dict[str, Record]) -> str:
    """Return a table in Markdown that compares times with the first method, and objectives with the lowest."""
    summaries = {name: Summary.of(records) for name, records in runs.items()}
    first_name, first = next(iter(summaries.items()))
    best = min(each.objective for each in summaries.values())
    lines = [
        f"| | seconds | times faster than {first_name} | its swap phase | mean objective | dissimilarities "
        "| peak memory | stages |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, each in summaries.items():
        both_swap = SWAPS in each.stages and SWAPS in first.stages
        lines.append(
            f"| {name} | {each.seconds:.3f} | {first.seconds / each.seconds:.1f} "
            f"| {f'{first.stages[SWAPS] / each.stages[SWAPS]:.1f}' if both_swap else ''} "
            f"| {each.objective:.6g} ({each.objective / best - 1:+.2%}) "
            f"| {each.n_distances:.3g} | {peaks[name]['peak_bytes'] / 1e6:,.0f} MB | {each.stages_text()} |"
        )
    return "\n".join(lines)


@dataclass(frozen=True)
class Section:
    """Contestants, how they are measured, and how they are compared."""

    measure: Callable[[list[Entry], Case, int, Path], Iterator[tuple[Run, Record]]]
    compare: Callable[[dict[str, list[Record]], dict[str, Record]], str]
    entries: tuple[Entry, ...]


SECTIONS = {
    "onebatch": Section(
        take_turns,
        compare_turns,
        (
            enter_onebatch("onebatch", n_jobs=None),
            enter_onebatch("onebatch, n_jobs=-1", n_jobs=-1),
            enter_nniw("onebatchpam", load),
            enter_nniw("onebatchpam, floats that are not bytes", load_shifted),
            enter_nniw("onebatchpam, bytes", load_stored, tuple(case for case in TURNS if case.dataset == "mnist")),
        ),
    ),
    "fasterpam": Section(
        take_new_processes,
        compare_methods,
        (
            # Not mnist: its distances, 2.8e12 comparisons of features, would take scikit-learn many minutes.
            Entry(Contestant("kmedoids", solve_kmedoids_from_start, "peer", "kmedoids", matrix_bytes=8), load, LETTER),
            enter_fasterpam(init=Problem.draw_start),
        ),
    ),
    "methods": Section(
        take_new_processes,
        compare_methods,
        (
            enter_fasterpam(),
            enter_method("OneBatchPAM", "OneBatchPAM"),
            Entry(
                Contestant("PAM", solve_by("PAM"), "ours", matrix_bytes=4), cases=LETTER
            ),  # each pass over mnist reads 14 GB
            enter_method("CLARANS", "CLARANS"),
            enter_method("FasterMSC", "FasterMSC"),
            enter_method("FasterCLARA-5", "FasterCLARA", n_samplings=5),
            enter_method("FasterCLARA-50", "FasterCLARA", n_samplings=50),
            enter_method("Alternate", "Alternate"),
            enter_method("KMeansPlusPlus", "KMeansPlusPlus"),
            enter_method("LSKMeansPlusPlus-5", "LSKMeansPlusPlus", n_swaps=5),
            enter_method("LSKMeansPlusPlus-10", "LSKMeansPlusPlus", n_swaps=10),
            enter_method("KMC2-20", "KMC2", chain_length=20),
            enter_method("KMC2-200", "KMC2", chain_length=200),
            enter_method("RandomMedoids", "RandomMedoids"),
            enter_method("BanditPAM-0", "BanditPAM", max_iter=0),
            enter_method("BanditPAM-5", "BanditPAM", max_iter=5),
            enter_banditpam(max_iter=0),
            enter_banditpam(max_iter=5),
        ),
    ),
}


def run_section(name: str, arguments: argparse.Namespace) -> None:
    """Measure a section and print a table for each case."""
    section, folder = SECTIONS[name], arguments.data
    require_installed(entry.contestant for entry in section.entries)
    for case in dict.fromkeys(case for entry in section.entries for case in entry.cases):
        if arguments.only not in str(case):
            continue
        entries = [entry for entry in section.entries if case in entry.cases]
        runs: dict[str, list[Record]] = {entry.contestant.name: [] for entry in entries}
        for run, record in section.measure(entries, case, arguments.seeds, folder):
            runs[run.method].append(record)
            if arguments.records:
                line = {"section": name, "case": str(case), "method": run.method, "seed": run.seed, **record}
                append_line(arguments.records, line)
        trials = (entry.prepare(case, 0, folder) for entry in entries)
        peaks = {trial.run.method: run_alone(measure_peak, trial) for trial in trials}
        print(f"\n{case}\n{section.compare(runs, peaks)}", flush=True)


def run_sections(arguments: argparse.Namespace) -> None:
    """Describe the machine, then measure the sections."""
    print(summarise_machine(describe_machine(), count_processors()), flush=True)
    for section in SECTIONS if arguments.section is None else [arguments.section]:
        run_section(section, arguments)


def add_command(commands: Any) -> None:
    """Add `speed` to the command line."""
    parser = commands.add_parser("speed", help="times, memory and objective of all methods, beside other packages")
    parser.add_argument("--section", choices=SECTIONS, help="only this section (all)")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains this text")
    parser.add_argument("--records", type=Path, help="append a JSON line for each run to this file")
    parser.set_defaults(run=run_sections)
