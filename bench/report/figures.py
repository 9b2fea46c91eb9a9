"""The paper's figures from our records, Figure 1, bars of RT and ΔRO, and Pareto fronts; and critical differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench.methods.table import CONTESTANTS
from bench.report import palette
from bench.report.intervals import rank_methods
from bench.report.scores import ABSOLUTE, Scores
from bench.report.tables import MEASURES, average, choose_datasets, format_number

KINDS = {"paper": "row of the paper", "ours": "ours beyond the paper", "peer": "package of others"}
FRONT = "#d62728"
LABEL_OFFSETS = ((8, 5), (8, -12), (-8, 5), (-8, -12))  # in turn, so that neighbours' numbers stay apart
NEAR_THE_BEST = 1.05
PARETO_KS = (10, 100)
PERCENTS = (-0.5, 0, 0.5, 1, 2, 5, 10, 20)  # ticks: a line up to one percent, logarithmic beyond


Point = tuple[float, float, str]  # seconds, objective, method


@dataclass(frozen=True)
class Picture:
    """A figure in a file."""

    path: Path
    title: str


def draw_figures(scores: Scores, folder: Path) -> list[Picture]:
    """Draw the figures for which the experiment has results."""
    import matplotlib

    whole = scores.cells.index[scores.cells["n"].isna()].unique("dataset")
    ks = [k for k in PARETO_KS if k in scores.ks] or scores.ks
    with matplotlib.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        pictures = [
            draw_growth(scores, folder),
            draw_ranks(scores, folder),
            *(draw_bars(scores, dataset, folder) for dataset in whole),
            *(draw_pareto(scores, dataset, k, folder) for dataset in whole for k in ks),
        ]
    return [picture for picture in pictures if picture is not None]


def open_figure(n_axes: int, width: float, height: float, n_lines: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a figure that belongs to no window, and its axes, so many side by side in each line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(n_lines, n_axes, **options)


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
    cells = scores.cells.dropna(subset=["n", "seconds"]).reset_index()
    if cells.empty:
        return None
    k = cells.groupby("k")["n"].nunique().idxmax()
    dataset = cells.groupby("dataset")["k"].nunique().idxmax()
    name, n = dataset.split(" (")[0], cells.loc[cells["dataset"] == dataset, "n"].iloc[0]
    runs = scores.runs[scores.runs["fault"].isna()].dropna(subset=["n"])
    figure, axes = open_figure(2, 11, 8, n_lines=2)
    _draw_lines(axes[0], scores, runs[runs["k"] == k], "n", f"{name}, k = {k}")
    _draw_lines(axes[1], scores, runs[runs["dataset"] == dataset], "k", f"{name}, n = {n:,.0f}")
    _add_legend(figure, *axes[0, 0].get_legend_handles_labels())
    title = f"{name}: time and objective against n and against k"
    return _save(figure, folder, f"{scores.name}-growth", title)


def _draw_lines(pair: Any, scores: Scores, runs: pd.DataFrame, abscissa: str, fixed: str) -> None:
    """Draw time and objective, relative to the reference, against "n" or "k": the mean of seeds, lowest and highest."""
    ticks = sorted(runs[abscissa].unique())
    for method in [method for method in scores.methods if (runs["method"] == method).any()]:
        own = runs[runs["method"] == method].groupby(abscissa)
        style = {"label": method, "markersize": 6, "linewidth": 1.4, "capsize": 2, **palette.style_of(method)}
        for axis, measure in zip(pair, ("seconds", "paired_delta_ro"), strict=True):
            mean, errors = own[measure].mean(), own[measure].agg(["min", "max"])
            axis.errorbar(mean.index, mean, yerr=[mean - errors["min"], errors["max"] - mean], **style)
    for axis, title in zip(pair, ("time in seconds", f"objective, % above {scores.reference}"), strict=True):
        axis.set(xscale="log", xlabel=abscissa, title=f"{fixed}: {title}")
        axis.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
        axis.grid(alpha=0.3)
    pair[0].set_yscale("log")
    pair[0].yaxis.set_major_formatter("{x:g}")
    pair[1].set_yscale("symlog", linthresh=1, linscale=1)
    pair[1].set_yticks(PERCENTS, [f"{percent:g}" for percent in PERCENTS])
    for axis in pair:
        axis.minorticks_off()
        axis.margins(y=0.06)


# Bars


def draw_bars(scores: Scores, dataset: str, folder: Path) -> Picture | None:
    """Draw RT and ΔRO of all methods on a data set, averaged over k; a star marks methods without a result for some."""
    sides = {measure: average(scores, [dataset], scores.ks, measure) for measure in MEASURES}
    cells = scores.pick([dataset], scores.ks)
    planned = cells.groupby("method").size()
    methods = [method for method in scores.methods if sides["rt"]["cells"].get(method, 0) > 0]
    if not methods:
        return None
    labels = [name if sides["rt"].loc[name, "cells"] == planned[name] else f"{name} *" for name in methods]
    figure, axes = open_figure(2, 11, 1.6 + 0.3 * len(methods), sharey=True)
    _draw_side(axes[0], sides["rt"].loc[methods], "RT (%), log scale")
    _draw_side(axes[1], sides["delta_ro"].loc[methods], "ΔRO (%)")
    axes[0].set_xscale("log")
    axes[0].set_yticks(range(len(methods)), labels)
    axes[0].set_ylim(len(methods) - 0.4, -0.6)
    partial = "; * not for all k" if labels != methods else ""
    figure.suptitle(f"{dataset}: relative to {scores.reference}, averages over k{partial}")
    _explain_colours(figure, palette.KINDS, KINDS)
    return _save(figure, folder, f"{scores.name}-bars-{dataset}", f"{dataset}: RT and ΔRO")


def _draw_side(axis: Any, bars: pd.DataFrame, label: str) -> None:
    means, stds = bars["mean"].to_numpy(), bars["std"].fillna(0).to_numpy()
    colours = [palette.KINDS[CONTESTANTS[method].kind] for method in bars.index]
    axis.barh(range(len(bars)), means, xerr=stds, color=colours, ecolor="#333333")
    for row, (mean, std) in enumerate(zip(means, stds, strict=True)):
        end = (max(mean + std, 0.0), row)
        axis.annotate(format_number(mean), end, xytext=(4, 0), textcoords="offset points", va="center", size=8)
    axis.set_xlabel(label)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    axis.margins(x=0.15)


# Critical differences


def draw_ranks(scores: Scores, folder: Path, methods: Sequence[str] | None = None) -> Picture | None:
    """Draw the mean ranks of methods on a line, the best on the left; bars join those that no test tells apart."""
    ranking = rank_methods(scores, choose_datasets(scores), scores.ks, methods)
    if ranking is None:
        return None
    ranks, groups = ranking.mean_ranks, ranking.find_groups()
    n_left = (len(ranks) + 1) // 2
    below = 0.35 * len(groups) + 0.6  # the labels begin below the bars
    figure, axis = open_figure(1, 11, 1.4 + 0.3 * (below + n_left))
    first, last = 1, len(ranks)
    axis.set(xlim=(first, last), ylim=(-below - n_left, 2), yticks=[], xticks=range(first, last + 1))
    axis.spines[["left", "top", "right"]].set_visible(False)
    axis.spines["bottom"].set_position(("data", 0))
    axis.tick_params(axis="x", direction="in", pad=-16)  # ticks and their labels stand above the line
    for place, (method, mean_rank) in enumerate(ranks.items()):
        is_left = place < n_left
        height = -below - (place if is_left else len(ranks) - 1 - place)
        side, margin = (first, -6) if is_left else (last, 6)
        colour = palette.KINDS[CONTESTANTS[method].kind]
        axis.plot([mean_rank, mean_rank, side], [0, height, height], color=colour, lw=1)
        axis.annotate(
            f"{method}  {mean_rank:.1f}" if is_left else f"{mean_rank:.1f}  {method}",
            (side, height),
            xytext=(margin, 0),
            textcoords="offset points",
            ha="right" if is_left else "left",
            va="center",
            color=colour,
            annotation_clip=False,
        )
    for row, (best, worst) in enumerate(groups):
        axis.plot([ranks[best] - 0.05, ranks[worst] + 0.05], [-0.35 * (row + 1)] * 2, color="black", lw=3.5)
    difference = ranking.critical_difference
    axis.plot([first, first + difference], [1.5, 1.5], color="black", lw=2)
    axis.text(first + difference / 2, 1.6, f"critical difference {difference:.1f}", ha="center", va="bottom")
    _explain_colours(figure, palette.KINDS, KINDS)
    title = f"{scores.config.title}: mean ranks by objective in {ranking.n_cases} cases"
    return _save(figure, folder, f"{scores.name}-ranks", title)


# Pareto fronts


def draw_pareto(scores: Scores, dataset: str, k: int, folder: Path) -> Picture | None:
    """Draw mean objective against mean time, with the methods on the Pareto front in red.

    A second panel shows the methods near the best objective, which lie close together in the first.
    """
    points = list_points(scores, dataset, k)
    if not points:
        return None
    best = min(objective for _, objective, _ in points)
    near = [point for point in points if point[1] <= NEAR_THE_BEST * best]
    figure, axes = open_figure(2, 14, 5)
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
    _explain_colours(figure, {**palette.KINDS, "front": FRONT}, {**KINDS, "front": "on the Pareto front"})
    return _save(figure, folder, f"{scores.name}-pareto-{dataset}-k{k}", f"{dataset}, k = {k}: Pareto front")


def list_points(scores: Scores, dataset: str, k: int) -> list[Point]:
    """Return mean time and mean objective of the methods that have a result on a data set with a k."""
    cells = scores.pick([dataset], [k])[ABSOLUTE].dropna()
    return [(seconds, objective, method) for (_, _, method), seconds, objective in cells.itertuples(name=None)]


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
    return FRONT if any(method == name for _, _, name in front) else palette.KINDS[CONTESTANTS[method].kind]


def find_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in one coordinate while being as good in the other, by time."""
    front: list[Point] = []
    for point in sorted(points):
        if not front or point[1] < front[-1][1] or point[:2] == front[-1][:2]:
            front.append(point)
    return front
