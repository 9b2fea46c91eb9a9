"""`python -m bench appendix`: the figures of the paper's appendix from our records, on three pictures for docs/.

One picture for each half of the data sets has the bars of RT and ΔRO; the third has the Pareto fronts of both halves.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.measure.records import RESULTS, Store
from bench.methods.table import CONTESTANTS
from bench.report import palette
from bench.report.figures import FRONT, Point, find_front, list_points, open_figure
from bench.report.report import read_scores
from bench.report.scores import Scores
from bench.report.tables import average, choose_datasets

DOCS = Path(__file__).parents[2] / "docs"
HALVES = {"small": "FasterPAM", "large": "OneBatchPAM-nniw"}  # with the reference of RT and ΔRO
SIDES: dict[str, tuple[str, str, dict[str, int]]] = {  # labels and scales
    "rt": ("RT, in %, log scale", "log", {}),
    "delta_ro": ("ΔRO, in %, log scale from 1", "symlog", {"linthresh": 1}),
}
FRONT_KS, N_COLUMNS = (10, 100), 4
DOTS_PER_INCH = 75  # files stay small


def list_datasets(scores: Scores) -> list[str]:
    """Return the data sets of the paper that have results."""
    return [dataset for dataset in choose_datasets(scores) if not scores.pick([dataset], scores.ks)["rt"].isna().all()]


def list_methods(scores: Scores) -> list[str]:
    """Return the rows of the paper that have results."""
    known = scores.cells["seconds"].dropna().index.unique("method")
    return [method for method in scores.methods if method in known and CONTESTANTS[method].kind == "paper"]


def draw_bars(scores: Scores, path: Path) -> Path:
    """Draw RT above ΔRO, averages over k with standard deviations, with a column of panels for each data set."""
    datasets, methods = list_datasets(scores), list_methods(scores)
    shared: dict[str, Any] = {"sharey": True, "sharex": "row", "squeeze": False}
    figure, axes = open_figure(len(datasets), 14, 1 + 0.42 * len(methods), len(SIDES), **shared)
    for column, dataset in zip(axes.T, datasets, strict=True):
        for axis, (measure, (label, scale, options)) in zip(column, SIDES.items(), strict=True):
            bars = average(scores, [dataset], scores.ks, measure).reindex(methods)
            deviations, colour = bars["std"].fillna(0), palette.KINDS["paper"]
            axis.barh(range(len(bars)), bars["mean"], xerr=deviations, color=colour, height=0.7)
            axis.set_yticks(range(len(methods)), methods)
            axis.set_xscale(scale, **options)
            axis.set(title=dataset, xlabel=label, ylim=(len(methods) - 0.4, -0.6))
            axis.grid(axis="x", alpha=0.3)
            axis.set_axisbelow(True)
    return save(figure, path)


def draw_fronts(halves: list[Scores], path: Path) -> Path:
    """Draw objective against time for each data set and k, with the front in red; a number stands for a method."""
    places = [(scores, dataset, k) for scores in halves for dataset in list_datasets(scores) for k in FRONT_KS]
    methods = list_methods(halves[0])
    n_lines = -(-(len(places) + 1) // N_COLUMNS)
    figure, axes = open_figure(N_COLUMNS, 14, 3.1 * n_lines, n_lines)
    for axis, (scores, dataset, k) in zip(axes.flat, places, strict=False):
        points = [point for point in list_points(scores, dataset, k) if point[2] in methods]
        draw_front(axis, points, methods)
        axis.set(title=f"{dataset}, k = {k}", xlabel="seconds, log scale", ylabel="objective")
    for axis in axes.flat[len(places) :]:
        axis.set_axis_off()
    names = "\n".join(f"{number}  {method}" for number, method in enumerate(methods, start=1))
    axes.flat[len(places)].text(0, 1, names, va="top", size=9, linespacing=1.15)
    return save(figure, path)


def draw_front(axis: Any, points: list[Point], methods: list[str]) -> None:
    front = find_front(points)
    axis.plot([x for x, _, _ in front], [y for _, y, _ in front], color=FRONT, linewidth=1)
    for x, y, method in points:
        colour = FRONT if (x, y, method) in front else palette.KINDS["paper"]
        axis.scatter(x, y, color=colour, s=12)
        number, above = methods.index(method) + 1, 4 if method in methods[::2] else -11
        axis.annotate(str(number), (x, y), (0, above), textcoords="offset points", ha="center", color=colour, size=8)
    axis.set_xscale("log")
    axis.margins(0.1)


def save(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=DOTS_PER_INCH, pil_kwargs={"optimize": True})
    return path


def run(arguments: argparse.Namespace) -> None:
    """Draw all three."""
    halves = {name: read_scores(Store(RESULTS, name), reference) for name, reference in HALVES.items()}
    for name, scores in halves.items():
        print(draw_bars(scores, arguments.folder / f"{name}-bars.png"))
    selections = [read_scores(Store(RESULTS, name), reference, "selection") for name, reference in HALVES.items()]
    print(draw_fronts(selections, arguments.folder / "fronts.png"))


def add_command(commands: Any) -> None:
    """Add `appendix` to the command line."""
    parser = commands.add_parser("appendix", help="draw the figures of the paper's appendix for docs/")
    parser.add_argument("--folder", type=Path, default=DOCS, help="where to write them (%(default)s)")
    parser.set_defaults(run=run)
