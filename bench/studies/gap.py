"""`python -m bench gap`: the gap to FasterPAM against k / m, and the picture of docs/refinement.md.

The records of the experiment `batch` yield one point for each data set, k and batch size: the mean over seeds of the
objective relative to that of FasterPAM with the same seed, minus 1.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure.records import Record, Store, add_results_option
from bench.report import palette
from onebatchpam import OneBatchPAM

EXPERIMENT, REFERENCE = "batch", "FasterPAM"
PICTURE = Path(__file__).parents[2] / "docs" / "refinement.png"
TITLES = {"nniw": "the paper's: nniw, not refined", "refined": "ours: progressive, refined"}
STYLES = {"nniw": {"color": palette.BLUE, "marker": "s"}, "refined": {"color": palette.OURS, "marker": "o"}}
SMALLEST_GAP = 1e-4  # smaller gaps are drawn below it
TICKS = {SMALLEST_GAP / 2: "less", 1e-4: "0.01 %", 1e-3: "0.1 %", 1e-2: "1 %", 0.1: "10 %"}


@dataclass(frozen=True)
class Point:
    """The gap of an algorithm, "nniw" or "refined", with a batch of m."""

    kind: str
    dataset: str
    k: int
    m: int
    gap: float

    @property
    def constant(self) -> float:
        """The c for which the gap is c k / m."""
        return self.gap * self.m / self.k


def find_batch_size(record: Record) -> tuple[str, int] | None:
    """Return the algorithm and the batch size of a record; None if it has no batch, or one of all rows."""
    n, k = record["n_rows"], record["k"]
    paper_size = 100 * math.log(k * n)
    named = re.fullmatch(r"(nniw|refined), ([\d.]+) ([mk])", record["method"])
    if named:
        kind, m = named[1], float(named[2]) * (paper_size if named[3] == "m" else k)
    elif record["method"] == "OneBatchPAM-nniw":
        kind, m = "nniw", paper_size
    else:
        return None
    return (kind, int(m)) if m < n else None


def compute_points(records: list[Record]) -> list[Point]:
    """Compare each run with FasterPAM from the same seed; runs without such a partner are left out."""

    def identify(record: Record) -> tuple[Any, ...]:
        return record["dataset"], record["k"], record["seed"]

    references = {identify(record): record["objective"] for record in records if record["method"] == REFERENCE}
    gaps = defaultdict(list)
    for record in records:
        size = find_batch_size(record)
        if size is not None and identify(record) in references:
            kind, m = size
            gap = record["objective"] / references[identify(record)] - 1
            gaps[kind, record["dataset"], record["k"], m].append(gap)
    return [Point(*key, statistics.mean(values)) for key, values in sorted(gaps.items())]


def make_tables(points: list[Point]) -> str:
    """Return the constants, and the gaps by points per medoid, as Markdown."""
    lines = ["| | data | c in gap ≈ c·k/m, median (quartiles) |", "|---|---|---|"]
    for kind, title in TITLES.items():
        for dataset in sorted({point.dataset for point in points}):
            constants = [point.constant for point in points if (point.kind, point.dataset) == (kind, dataset)]
            low, middle, high = np.quantile(constants, [0.25, 0.5, 0.75])
            lines.append(f"| {title} | {dataset} | {middle:.2f} ({low:.2f}–{high:.2f}) |")
    lines += ["", "| k | m / k | gap, refined | of data sets |", "|---|---|---|---|"]
    by_size = defaultdict(list)
    for point in points:
        if point.kind == "refined":
            by_size[point.k, round(point.m / point.k, 1)].append(point.gap)
    for (k, ratio), gaps in sorted(by_size.items()):
        lines.append(f"| {k} | {ratio} | {statistics.mean(gaps):.2%} | {len(gaps)} |")
    return "\n".join(lines)


def draw(points: list[Point], path: Path) -> None:
    """Draw a uniform and a progressive batch, and the gap against k / m."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.9), layout="constrained")
    uniform, progressive, law = figure.subplots(1, 3, width_ratios=(1, 1, 1.45))
    _draw_batch(uniform, "nniw", "A uniform batch")
    _draw_batch(progressive, "progressive", "A progressive batch")
    handles, labels = uniform.get_legend_handles_labels()
    uniform.legend(handles, labels, fontsize=9, loc="lower center", ncols=2, frameon=False)
    for kind, title in TITLES.items():
        chosen = [point for point in points if point.kind == kind]
        x = [point.k / point.m for point in chosen]
        y = [point.gap if point.gap >= SMALLEST_GAP else SMALLEST_GAP / 2 for point in chosen]
        law.loglog(x, y, ls="", ms=4.5, alpha=0.7, label=title, **STYLES[kind])
    constant = statistics.median(point.constant for point in points if point.kind == "nniw")
    ends = np.array([function(point.k / point.m for point in points) for function in (min, max)])
    law.loglog(ends, constant * ends, "--", color=palette.BLUE, label=f"{constant:.2f} k / m")
    law.axhspan(SMALLEST_GAP / 3, SMALLEST_GAP * 0.75, color="#eeeeee", zorder=0)
    law.set(xlabel="k / m", ylabel="gap to FasterPAM", title="The gap grows as k / m", ylim=(SMALLEST_GAP / 3, 0.4))
    law.set_yticks(list(TICKS), TICKS.values())
    law.xaxis.set_major_formatter("{x:g}")
    law.minorticks_off()
    law.grid(alpha=0.3)
    law.legend(fontsize=9, loc="upper left")
    figure.savefig(path, dpi=120)


def _draw_batch(axes: Any, variant: str, title: str) -> None:
    """Draw a blob and six small groups, a batch of them, and the medoids that the batch leads to."""
    rng = np.random.RandomState(0)
    angles = np.arange(6) * np.pi / 3
    groups = np.repeat(30 * np.stack([np.cos(angles), np.sin(angles)], axis=1), 60, axis=0)
    X = np.concatenate([2 * rng.standard_normal((15000, 2)), groups + rng.standard_normal((360, 2))])
    model = OneBatchPAM(12, variant=variant, refine=0, batch_size=200, random_state=0).fit(X)
    axes.plot(*X.T, ".", ms=2, color="#cccccc")
    axes.plot(*X[model.batch_indices_].T, "o", ms=3, color=palette.BLUE, label="batch")
    axes.plot(*model.cluster_centers_.T, "X", ms=9, color=palette.OURS, mec="white", label="medoids")
    axes.set(title=title, xlim=(-35, 35), ylim=(-41, 33), xticks=[], yticks=[])


def show_gap(arguments: argparse.Namespace) -> None:
    """Print the tables and draw the picture."""
    records = [record for record in Store(arguments.results, EXPERIMENT).read().values() if record["status"] == "ok"]
    if not records:
        raise FileNotFoundError(f"no records of {EXPERIMENT}: make them by `python -m bench run {EXPERIMENT}`")
    points = compute_points(records)
    print(make_tables(points))
    draw(points, arguments.picture)
    print(f"\n{arguments.picture}")


def add_command(commands: Any) -> None:
    """Add `gap` to the command line."""
    parser = commands.add_parser("gap", help="the gap to FasterPAM against k / m")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw it (%(default)s)")
    add_results_option(parser)
    parser.set_defaults(run=show_gap)
