"""The paper's figures from our records: Figure 1, bars of RT and ΔRO, and Pareto fronts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.methods.table import CONTESTANTS
from bench.report.scores import Cell, Scores, Spread
from bench.report.tables import format_number

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
    """A figure in a file."""

    path: Path
    title: str


def draw_figures(scores: Scores, folder: Path) -> list[Picture]:
    """Draw the figures for which the experiment has results."""
    import matplotlib

    whole = list(dict.fromkeys(cell.dataset for cell in scores.cells.values() if cell.n is None))
    ks = [k for k in PARETO_KS if k in scores.ks] or scores.ks
    with matplotlib.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        pictures = [
            draw_growth(scores, folder),
            *(draw_bars(scores, dataset, folder) for dataset in whole),
            *(draw_pareto(scores, dataset, k, folder) for dataset in whole for k in ks),
        ]
    return [picture for picture in pictures if picture is not None]


def _open_figure(n_axes: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """Return a figure that belongs to no window, and its axes side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, n_axes, **options)


def _save(figure: Any, folder: Path, slug: str, title: str) -> Picture:
    path = folder / f"{slug}.png"
    figure.savefig(path, dpi=110, bbox_inches="tight")
    return Picture(path, title)


def _add_legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _explain_colours(figure: Any, colours: dict[str, str], meanings: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    _add_legend(figure, [Patch(color=colour) for colour in colours.values()], list(meanings.values()))


# Figure 1


def draw_growth(scores: Scores, folder: Path) -> Picture | None:
    """Draw time and objective against n for the k with most n, and against k for the n with most k."""
    cells = [cell for cell in scores.cells.values() if cell.n is not None]
    if not cells:
        return None
    k = max(scores.ks, key=lambda k: len({cell.dataset for cell in cells if cell.k == k}))
    dataset = max(scores.datasets, key=lambda name: len({cell.k for cell in cells if cell.dataset == name}))
    methods = [name for name in scores.methods if any(cell.method == name and cell.seconds for cell in cells)]
    figure, axes = _open_figure(4, 17, 3.8)
    _draw_lines(axes[:2], methods, [cell for cell in cells if cell.k == k], "n", f"k = {k}")
    _draw_lines(axes[2:], methods, [cell for cell in cells if cell.dataset == dataset], "k", dataset)
    _add_legend(figure, *axes[0].get_legend_handles_labels())
    title = f"{dataset.split(' (')[0]}: time and objective against n and against k"
    return _save(figure, folder, f"{scores.name}-growth", title)


def _draw_lines(pair: Any, methods: Sequence[str], cells: Sequence[Cell], abscissa: str, fixed: str) -> None:
    """Draw time and mean distance, which unlike the objective does not grow with n, against "n" or "k"."""
    ticks = sorted({getattr(cell, abscissa) for cell in cells})
    for method, colour, marker in zip(methods, LINES, MARKERS, strict=False):
        own = sorted((cell for cell in cells if cell.method == method), key=lambda cell: getattr(cell, abscissa))
        style = {"label": method, "color": colour, "marker": marker}
        _plot_line(pair[0], [(getattr(cell, abscissa), cell.seconds, 1) for cell in own], style)
        _plot_line(pair[1], [(getattr(cell, abscissa), cell.objective, cell.n or 1) for cell in own], style)
    for axis, title, label in zip(pair, ("time", "objective"), ("seconds", "objective / n"), strict=True):
        axis.set(xscale="log", xlabel=abscissa, ylabel=label, title=f"{title} against {abscissa}, {fixed}")
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45 if abscissa == "n" else 0)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    pair[0].set_yscale("log")


def _plot_line(axis: Any, points: Sequence[tuple[int, Spread | None, int]], style: dict[str, Any]) -> None:
    """Draw points, each of a position, a spread, and a number that the spread is divided by."""
    known = [(x, spread.mean / over, (spread.std or 0.0) / over) for x, spread, over in points if spread is not None]
    positions, means, stds = ([point[i] for point in known] for i in range(3))
    axis.errorbar(positions, means, yerr=stds, markersize=5, linewidth=1.4, capsize=2, **style)


# Bars


@dataclass(frozen=True)
class Bar:
    """The two bars of a method."""

    label: str
    colour: str
    rt: Spread
    delta_ro: Spread


def make_bars(scores: Scores, dataset: str) -> list[Bar]:
    """Return the bars of the methods that have results; a star marks methods without a result for some k."""
    bars = []
    for method in scores.methods:
        cells = scores.pick(method, [dataset], scores.ks)
        rt = Spread.average(cell.rt for cell in cells)
        delta_ro = Spread.average(cell.delta_ro for cell in cells)
        if rt is not None and delta_ro is not None:
            label = method if rt.n_cells == len(cells) else f"{method} *"
            bars.append(Bar(label, COLOURS[CONTESTANTS[method].kind], rt, delta_ro))
    return bars


def draw_bars(scores: Scores, dataset: str, folder: Path) -> Picture | None:
    """Draw RT and ΔRO of all methods on a data set, averaged over k."""
    bars = make_bars(scores, dataset)
    if not bars:
        return None
    figure, axes = _open_figure(2, 11, 1.6 + 0.3 * len(bars), sharey=True)
    _draw_side(axes[0], [bar.rt for bar in bars], bars, "RT (%), log scale")
    _draw_side(axes[1], [bar.delta_ro for bar in bars], bars, "ΔRO (%)")
    axes[0].set_xscale("log")
    axes[0].set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes[0].set_ylim(len(bars) - 0.4, -0.6)
    partial = "; * not for all k" if any(bar.label.endswith("*") for bar in bars) else ""
    figure.suptitle(f"{dataset}: relative to {scores.reference}, averages over k{partial}")
    _explain_colours(figure, COLOURS, KINDS)
    return _save(figure, folder, f"{scores.name}-bars-{dataset}", f"{dataset}: RT and ΔRO")


def _draw_side(axis: Any, spreads: Sequence[Spread], bars: Sequence[Bar], label: str) -> None:
    means, stds = [spread.mean for spread in spreads], [spread.std or 0.0 for spread in spreads]
    axis.barh(range(len(bars)), means, xerr=stds, color=[bar.colour for bar in bars], ecolor="#333333")
    for row, (mean, std) in enumerate(zip(means, stds, strict=True)):
        end = (max(mean + std, 0.0), row)
        axis.annotate(format_number(mean), end, xytext=(4, 0), textcoords="offset points", va="center", size=8)
    axis.set_xlabel(label)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    axis.margins(x=0.15)


# Pareto fronts


def draw_pareto(scores: Scores, dataset: str, k: int, folder: Path) -> Picture | None:
    """Draw mean objective against mean time, with the methods on the Pareto front in red.

    A second panel shows the methods near the best objective, which lie close together in the first.
    """
    points = [
        (cell.seconds.mean, cell.objective.mean, cell.method)
        for cell in scores.cells.values()
        if cell.dataset == dataset and cell.k == k and cell.seconds is not None and cell.objective is not None
    ]
    if not points:
        return None
    best = min(objective for _, objective, _ in points)
    near = [point for point in points if point[1] <= NEAR_THE_BEST * best]
    figure, axes = _open_figure(2, 14, 5)
    ranks = {method: rank for rank, (_, _, method) in enumerate(sorted(points), start=1)}
    front = find_front(points)
    _draw_front(axes[0], points, front, ranks)
    _draw_front(axes[1], near, [point for point in front if point in near], ranks)
    axes[0].set_title("all methods")
    axes[1].set_title(f"those within {NEAR_THE_BEST - 1:.0%} of the best")
    for row, (method, rank) in enumerate(ranks.items()):
        place, colour = (1.04, 1 - row * 0.043), _choose_colour(method, front)
        axes[1].text(*place, f"{rank:2d}  {method}", transform=axes[1].transAxes, color=colour, va="top")
    figure.suptitle(f"{dataset}, k = {k}: objective and time")
    _explain_colours(figure, {**COLOURS, "front": FRONT}, {**KINDS, "front": "on the Pareto front"})
    return _save(figure, folder, f"{scores.name}-pareto-{dataset}-k{k}", f"{dataset}, k = {k}: Pareto front")


def _draw_front(axis: Any, points: Sequence[Point], front: Sequence[Point], ranks: dict[str, int]) -> None:
    axis.plot([x for x, _, _ in front], [y for _, y, _ in front], color=FRONT, linewidth=1.5, zorder=2)
    for x, y, method in points:
        colour = _choose_colour(method, front)
        axis.scatter(x, y, color=colour, s=36, zorder=3)
        offset = LABEL_OFFSETS[ranks[method] % len(LABEL_OFFSETS)]
        style = {"textcoords": "offset points", "ha": "center", "color": colour, "size": 9}
        axis.annotate(str(ranks[method]), (x, y), xytext=offset, **style)
    axis.set(xscale="log", xlabel="seconds, log scale", ylabel="objective")
    axis.ticklabel_format(axis="y", useOffset=False)
    axis.margins(0.08)
    axis.grid(alpha=0.3)


def _choose_colour(method: str, front: Sequence[Point]) -> str:
    return FRONT if any(method == name for _, _, name in front) else COLOURS[CONTESTANTS[method].kind]


def find_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in one coordinate while being as good in the other, by time."""
    front: list[Point] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1] or point[:2] == front[-1][:2]:
            front.append(point)
    return front
