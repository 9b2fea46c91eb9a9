"""The picture of `select_k`, drawn with matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onebatchpam._optional import require
from onebatchpam._parameters import describe

if TYPE_CHECKING:
    from onebatchpam.evaluation.k_selection import KSelection


def plot_k_selection(selection: KSelection, axes: Any = None) -> Any:
    """Draw inertia and medoid silhouette over k and mark the k that each suggests; return the axes of the inertia."""
    plt = require("matplotlib.pyplot", extra="plot", needed_by="a plot")  # imported here, because it is slow to import
    if axes is not None and not isinstance(axes, plt.Axes):
        raise ValueError(f"{describe(axes, 'axes')}: expected None or the Axes of matplotlib, as plt.subplots()[1]")

    left = plt.figure(figsize=(6, 3.5), layout="constrained").subplots() if axes is None else axes
    right = left.twinx()
    curves = [
        (left, "inertia", selection.inertia, selection.k_by_elbow, "tab:blue", "o"),
        (right, "medoid silhouette", selection.silhouette, selection.k_by_silhouette, "tab:orange", "s"),
    ]
    for axis, name, values, suggested, colour, marker in curves:
        axis.plot(selection.k, values, color=colour, marker=marker, markersize=4)
        axis.set_ylabel(name, color=colour)
        if suggested is not None:
            axis.axvline(suggested, color=colour, linestyle=":" if axis is left else "--", linewidth=1)
    left.set_xlabel("number of medoids k")
    left.locator_params(axis="x", integer=True)
    left.set_title(selection.advice().split(". ")[0].rstrip("."), fontsize=10)
    return left
