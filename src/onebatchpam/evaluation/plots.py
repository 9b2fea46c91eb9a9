"""Pictures of results, drawn with matplotlib, which the extra `plot` installs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam._optional import require

if TYPE_CHECKING:
    from onebatchpam.evaluation.k_selection import KSelection


MEDOIDS_PER_LINE = 10


def save_medoids(medoids: NDArray[Any], sizes: NDArray[Any], shape: tuple[int, int], path: Path) -> None:
    """Save a picture of medoids that are images, each with the size of its cluster; the largest cluster comes first."""
    from matplotlib.figure import Figure  # imported here, because matplotlib is optional and slow to import

    n_lines = -(-len(medoids) // MEDOIDS_PER_LINE)
    n_columns = min(len(medoids), MEDOIDS_PER_LINE)
    figure = Figure(figsize=(1.1 * n_columns, 1.35 * n_lines), layout="constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axis in axes:
        axis.set_axis_off()
    for axis, cluster in zip(axes, np.argsort(-sizes, kind="stable"), strict=False):
        axis.imshow(medoids[cluster].reshape(shape), cmap="gray_r")
        axis.set_title(f"{sizes[cluster]} rows", fontsize=9)
    figure.savefig(path, dpi=150)


def plot_k_selection(selection: KSelection, axes: Any = None) -> Any:
    """Draw inertia and medoid silhouette over k and mark the k that each suggests; return the axes of the inertia."""
    plt = require("matplotlib.pyplot", extra="plot", needed_by="a plot")  # imported here, because it is slow to import

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
    left.set_title(selection.advice().split(". ")[0].rstrip("."), fontsize=10)
    return left
