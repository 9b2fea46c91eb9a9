"""Pictures. They need matplotlib, the extra `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEDOIDS_PER_LINE = 10


def save_medoids(medoids: NDArray[Any], sizes: NDArray[Any], shape: tuple[int, int], path: Path) -> None:
    """Draw medoids that are images, each with the size of its cluster, the largest first."""
    from matplotlib.figure import Figure  # an extra, and slow to import

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
