"""The paper's figures from our records: Figure 1, bars of RT and ΔRO, and Pareto fronts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import Patch

from bench.methods.table import CONTESTANTS
from bench.report.scores import Cell, Scores, Spread
from bench.report.tables import number

COLOURS = {"paper": "#4c72b0", "ours": "#2a9d5c", "peer": "#8c8c8c"}
KINDS = {"paper": "row of the paper", "ours": "ours beyond the paper", "peer": "package of others"}
FRONT = "#d62728"
LINES = ("#4c72b0", "#dd8452", "#2a9d5c", "#8172b3", "#937860", "#c44e52", "#555555")
MARKERS = "osD^vPX"
LABEL_OFFSETS = ((8, 5), (8, -12), (-8, 5), (-8, -12))  # in turn, so that neighbours' numbers stay apart
NEAR_THE_BEST = 1.05
PARETO_KS = (10, 100)


Point = tuple[float, float, str]  # seconds, objective, method


@dataclass(frozen=True)
class Picture:
    """A drawn figure."""

    path: Path
    title: str


def draw(scores: Scores, folder: Path) -> list[Picture]:
    """Draw what the experiment has the data for; return the pictures."""
    pictures = []
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        if any(run.n is not None for run in scores.runs):
            pictures += draw_growth(scores, folder)
        whole = [name for name in scores.datasets if "n =" not in name]
        pictures += [picture for name in whole for picture in draw_bars(scores, name, folder)]
        ks = [k for k in PARETO_KS if k in scores.ks] or scores.ks
        pictures += [picture for name in whole for k in ks for picture in draw_pareto(scores, name, k, folder)]
    return pictures


def _save(figure: Any, folder: Path, slug: str, title: str) -> Picture:
    path = folder / f"{slug}.png"
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return Picture(path, title)


def _add_legend(figure: Any, colours: dict[str, str], meanings: dict[str, str]) -> None:
    handles = [Patch(color=colour) for colour in colours.values()]
    figure.legend(handles, list(meanings.values()), loc="outside lower center", ncols=len(handles), frameon=False)


# Figure 1


def draw_growth(scores: Scores, folder: Path) -> list[Picture]:
    """Draw time and objective against n for the k with most n, and against k for the n with most k."""
    cells = [cell for cell in scores.cells.values() if _rows(cell) is not None]
    base = cells[0].dataset.split(" (")[0]
    k = max(scores.ks, key=lambda k: len({cell.dataset for cell in cells if cell.k == k}))
    label = max(scores.datasets, key=lambda name: len({cell.k for cell in cells if cell.dataset == name}))
    present = [name for name in scores.methods if any(cell.method == name and cell.seconds for cell in cells)]
    figure, axes = plt.subplots(1, 4, figsize=(17, 3.8), layout="constrained")
    against_n = [cell for cell in cells if cell.k == k]
    against_k = [cell for cell in cells if cell.dataset == label]
    for pair, shown, abscissa in ((axes[:2], against_n, "n"), (axes[2:], against_k, "k")):
        for name, style in zip(present, _styles(), strict=False):
            own = sorted((cell for cell in shown if cell.method == name), key=lambda cell: _position(cell, abscissa))
            positions = [_position(cell, abscissa) for cell in own]
            _plot_line(pair[0], positions, [cell.seconds for cell in own], name, style)
            _plot_line(pair[1], positions, [_per_row(cell) for cell in own], name, style)
        fixed = f"k = {k}" if abscissa == "n" else label
        for axis, title, what in zip(pair, ("time", "objective"), ("seconds", "objective / n"), strict=True):
            axis.set(xscale="log", xlabel=abscissa, ylabel=what, title=f"{title} against {abscissa}, {fixed}")
            ticks = sorted({_position(cell, abscissa) for cell in shown})
            axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45 if abscissa == "n" else 0)
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        pair[0].set_yscale("log")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return [_save(figure, folder, f"{scores.name}-growth", f"{base}: time and objective against n and against k")]


def _styles() -> list[dict[str, Any]]:
    return [{"color": colour, "marker": marker} for colour, marker in zip(LINES, MARKERS, strict=True)]


def _plot_line(axis: Any, xs: Sequence[int], ys: Sequence[Spread | None], name: str, style: dict[str, Any]) -> None:
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    axis.errorbar(
        [x for x, _ in known],
        [y.mean for _, y in known],
        yerr=[y.std or 0.0 for _, y in known],
        label=name,
        markersize=5,
        linewidth=1.4,
        capsize=2,
        **style,
    )


def _rows(cell: Cell) -> int | None:
    found = re.search(r"n = (\d+)", cell.dataset)
    return int(found[1]) if found else None


def _position(cell: Cell, abscissa: str) -> int:
    return (_rows(cell) or 0) if abscissa == "n" else cell.k


def _per_row(cell: Cell) -> Spread | None:
    """Return the mean distance: the objective grows with n, whatever the method."""
    rows = _rows(cell)
    if cell.objective is None or rows is None:
        return None
    return Spread(cell.objective.mean / rows, None if cell.objective.std is None else cell.objective.std / rows)


# Bars


@dataclass(frozen=True)
class Bar:
    """A method's two bars."""

    label: str
    colour: str
    rt: Spread
    delta_ro: Spread


def bars_of(scores: Scores, dataset: str) -> list[Bar]:
    """Return the bars of the methods that have results; a star marks those that lack some k."""
    bars = []
    for method in scores.methods:
        cells = scores.pick(method, [dataset], scores.ks)
        rt = Spread.average(cell.rt for cell in cells)
        delta_ro = Spread.average(cell.delta_ro for cell in cells)
        if rt is not None and delta_ro is not None:
            label = method if rt.n_cells == len(cells) else f"{method} *"
            bars.append(Bar(label, COLOURS[CONTESTANTS[method].kind], rt, delta_ro))
    return bars


def draw_bars(scores: Scores, dataset: str, folder: Path) -> list[Picture]:
    """Draw RT and ΔRO of all methods on a data set, averaged over k."""
    bars = bars_of(scores, dataset)
    if not bars:
        return []
    figure, axes = plt.subplots(1, 2, figsize=(11, 1.6 + 0.3 * len(bars)), sharey=True, layout="constrained")
    _draw_side(axes[0], [bar.rt for bar in bars], bars, "RT (%), log scale")
    _draw_side(axes[1], [bar.delta_ro for bar in bars], bars, "ΔRO (%)")
    axes[0].set_xscale("log")
    axes[0].set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes[0].set_ylim(len(bars) - 0.4, -0.6)
    partial = "; * not for all k" if any(bar.label.endswith("*") for bar in bars) else ""
    figure.suptitle(f"{dataset}: relative to {scores.reference}, averages over k{partial}")
    _add_legend(figure, COLOURS, KINDS)
    return [_save(figure, folder, f"{scores.name}-bars-{dataset}", f"{dataset}: RT and ΔRO")]


def _draw_side(axis: Any, spreads: Sequence[Spread], bars: Sequence[Bar], label: str) -> None:
    means, stds = [each.mean for each in spreads], [each.std or 0.0 for each in spreads]
    axis.barh(range(len(bars)), means, xerr=stds, color=[bar.colour for bar in bars], ecolor="#333333")
    for row, (mean, std) in enumerate(zip(means, stds, strict=True)):
        end = (max(mean + std, 0.0), row)
        axis.annotate(number(mean), end, xytext=(4, 0), textcoords="offset points", va="center", size=8)
    axis.set_xlabel(label)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    axis.margins(x=0.15)


# Pareto fronts


def draw_pareto(scores: Scores, dataset: str, k: int, folder: Path) -> list[Picture]:
    """Draw mean objective against mean time; the methods that no other beats in both in red.

    A second panel shows the methods near the best objective, which lie close together in the first.
    """
    points = [
        (cell.seconds.mean, cell.objective.mean, cell.method)
        for cell in scores.cells.values()
        if cell.dataset == dataset and cell.k == k and cell.seconds is not None and cell.objective is not None
    ]
    if not points:
        return []
    best = min(objective for _, objective, _ in points)
    near = [point for point in points if point[1] <= NEAR_THE_BEST * best]
    figure, axes = plt.subplots(1, 2, figsize=(14, 5), layout="constrained")
    ranks = {method: rank for rank, (_, _, method) in enumerate(sorted(points), start=1)}
    front = pareto_front(points)
    _draw_front(axes[0], points, front, ranks)
    _draw_front(axes[1], near, [point for point in front if point in near], ranks)
    axes[0].set_title("all methods")
    axes[1].set_title(f"those within {NEAR_THE_BEST - 1:.0%} of the best")
    red = {method for _, _, method in front}
    for row, (method, rank) in enumerate(ranks.items()):
        place = (1.04, 1 - row * 0.043)
        axes[1].text(*place, f"{rank:2d}  {method}", transform=axes[1].transAxes, color=_colour(method, red), va="top")
    figure.suptitle(f"{dataset}, k = {k}: objective and time")
    _add_legend(figure, {**COLOURS, "front": FRONT}, {**KINDS, "front": "on the Pareto front"})
    slug = f"{scores.name}-pareto-{dataset}-k{k}"
    return [_save(figure, folder, slug, f"{dataset}, k = {k}: Pareto front")]


def _draw_front(axis: Any, points: Sequence[Point], front: Sequence[Point], ranks: dict[str, int]) -> None:
    axis.plot([x for x, _, _ in front], [y for _, y, _ in front], color=FRONT, linewidth=1.5, zorder=2)
    for x, y, method in points:
        colour = _colour(method, {method for _, _, method in front})
        axis.scatter(x, y, color=colour, s=36, zorder=3)
        offset = LABEL_OFFSETS[ranks[method] % len(LABEL_OFFSETS)]
        style = {"textcoords": "offset points", "ha": "center", "color": colour, "size": 9}
        axis.annotate(str(ranks[method]), (x, y), xytext=offset, **style)
    axis.set(xscale="log", xlabel="seconds, log scale", ylabel="objective")
    axis.ticklabel_format(axis="y", useOffset=False)
    axis.margins(0.08)
    axis.grid(alpha=0.3)


def _colour(method: str, front: set[str]) -> str:
    return FRONT if method in front else COLOURS[CONTESTANTS[method].kind]


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other is at least as good as in both and better in one, by time."""
    front: list[Point] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1] or point[:2] == front[-1][:2]:
            front.append(point)
    return front
