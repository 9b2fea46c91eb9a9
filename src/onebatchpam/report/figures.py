"""The numbers of a study as the coordinates of drawings, which the templates draw."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebatchpam.evaluation import KSelection
from onebatchpam.report.columns import Histogram, show_number
from onebatchpam.report.layout import MedoidTree, RowMap
from onebatchpam.report.study import Study

# Colours that can be told apart on white and on black; clusters beyond the last one get further hues.
COLOURS = (
    "#4269d0", "#e0761a", "#3ca951", "#d6453d", "#a463f2", "#1f9e9e", "#d9549c", "#9c6b4e", "#8a8f98", "#c79a00",
)  # fmt: skip
GOLDEN_ANGLE = 0.381966
MAP_WIDTH, MAP_HEIGHTS = 900, (340, 620)
MAP_MARGIN = 34
MOST_MARKS = 100  # medoids that are marked on the map
SILHOUETTE_STEPS = 40
SURE = (0.2, 0.5)  # silhouettes that divide rows into those between clusters, in between, and clearly of one cluster


def colour_of(rank: int) -> str:
    """Return the colour of the cluster of this rank by size."""
    if rank < len(COLOURS):
        return COLOURS[rank]
    red, green, blue = colorsys.hls_to_rgb((rank * GOLDEN_ANGLE) % 1, 0.5, 0.55)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def draw_histogram(histogram: Histogram) -> dict[str, Any]:
    """Return a small histogram: the bars of numbers as two paths in a box of 100 x 40, or the shares of categories."""
    drawn: dict[str, Any] = {
        "column": histogram.column,
        "labels": histogram.labels,
        "is_numeric": histogram.is_numeric,
    }
    if histogram.is_numeric:
        top = max(float(histogram.overall.max()), float(histogram.own.max()), 1e-12)
        return drawn | {"overall": draw_bars(histogram.overall / top, 0.92), "own": draw_bars(histogram.own / top, 0.6)}
    triples = zip(histogram.labels, histogram.overall, histogram.own, strict=True)
    return drawn | {
        "shares": [{"label": label, "overall": float(all_), "own": float(own)} for label, all_, own in triples]
    }


def draw_bars(heights: NDArray[np.float64], width: float) -> str:
    """Return a path of bars in a box of 100 x 40, each of which takes up this part of its place."""
    step = 100 / len(heights)
    lefts = step * (np.arange(len(heights)) + (1 - width) / 2)
    bars = zip(lefts, 40 * heights, strict=True)
    return "".join(f"M{x:.1f},40v{-h:.1f}h{width * step:.1f}v{h:.1f}z" for x, h in bars if h > 0.05)


def draw_points(study: Study, row_map: RowMap) -> dict[str, Any]:
    """Return the points of the map: for each cluster and each grade of silhouette a path, and the medoids."""
    low, high = view_of(row_map)
    extent = high - low
    width = MAP_WIDTH
    height = int(np.clip(width * extent[1] / extent[0], *MAP_HEIGHTS)) if row_map.axes is None else MAP_HEIGHTS[1]
    scale = np.array([width - 2 * MAP_MARGIN, height - 2 * MAP_MARGIN]) / extent
    if row_map.axes is None:  # distances must look the same in both directions
        scale = np.full(2, scale.min())

    def place(points: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = (points - (low + high) / 2) * scale
        return np.column_stack([width / 2 + moved[:, 0], height / 2 - moved[:, 1]])

    points, medoids = place(row_map.places), place(row_map.medoids)
    is_in_view = ((row_map.places >= low) & (row_map.places <= high)).all(axis=1)
    points, rows = points[is_in_view], row_map.rows[is_in_view]
    labels, silhouettes = study.rows.labels[rows], study.rows.silhouettes
    grades = np.zeros(len(labels), int) if silhouettes is None else np.digitize(silhouettes[rows], SURE)
    groups = []
    for rank, cluster in enumerate(study.by_size):
        for grade in range(3):
            chosen = points[(labels == cluster) & (grades == grade)]
            if len(chosen):
                path = "".join(f"M{x:.0f},{y:.0f}h0" for x, y in chosen)
                groups.append({"path": path, "grade": grade, "colour": colour_of(rank), "cluster": int(cluster)})
    return {
        "groups": groups,
        "medoids": mark_medoids(study, medoids),
        "width": width,
        "height": height,
        "n": len(labels),
        "axes": row_map.axes,
    }


def mark_medoids(study: Study, places: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the marks of the medoids on the map, those of the largest clusters, given the places of all medoids."""
    return [
        {
            "x": round(float(places[c, 0]), 1),
            "y": round(float(places[c, 1]), 1),
            "cluster": int(c),
            "colour": colour_of(rank),
            "name": study.name(int(study.medoids[c])),
            "size": f"{study.sizes[c]:,}",
        }
        for rank, c in enumerate(study.by_size[:MOST_MARKS])
    ]


def view_of(row_map: RowMap) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corners of the part of the map that is shown; the few rows that are far away are left out."""
    low, high = np.quantile(row_map.places, [0.002, 0.998], axis=0)
    low, high = np.minimum(low, row_map.medoids.min(axis=0)), np.maximum(high, row_map.medoids.max(axis=0))
    empty = high <= low
    return np.where(empty, low - 1, low), np.where(empty, high + 1, high)


def draw_silhouettes(study: Study) -> list[dict[str, Any]]:
    """Return for each cluster the outline of its silhouettes, the largest first, in a box of 100 x 100."""
    if study.rows.silhouettes is None:
        return []
    drawn = []
    for rank, cluster in enumerate(study.shown_clusters):
        values = study.rows.silhouettes[study.members[cluster]]
        if not len(values):
            continue
        heights = np.quantile(values, np.linspace(1, 0, SILHOUETTE_STEPS + 1))
        xs = np.linspace(0, 100, SILHOUETTE_STEPS + 1)
        line = " ".join(f"L{x:.1f},{100 - 100 * max(0.0, y):.1f}" for x, y in zip(xs, heights, strict=True))
        drawn.append(
            {
                "cluster": int(cluster),
                "colour": colour_of(rank),
                "path": f"M0,100 {line} L100,100Z",
                "mean": f"{study.mean(study.rows.silhouettes, study.members[cluster]):.2f}",
                "share": 100 * len(values) / study.n,
            }
        )
    return drawn


def draw_sizes(study: Study) -> list[dict[str, Any]]:
    """Return for each cluster its size, and a box of the distances of its rows to the medoid."""
    top = max(
        (float(np.quantile(study.distances_in(c), 0.99)) for c in study.shown_clusters if study.sizes[c]), default=1
    )
    largest = max(1, int(study.sizes.max()))
    drawn = []
    for rank, cluster in enumerate(study.shown_clusters):
        if not study.sizes[cluster]:
            continue
        quantiles = np.quantile(study.distances_in(cluster), [0.05, 0.25, 0.5, 0.75, 0.95])
        box = [round(100 * min(1.0, float(q) / top), 2) if top > 0 else 0 for q in quantiles]
        drawn.append(
            {
                "cluster": int(cluster),
                "colour": colour_of(rank),
                "size": int(study.sizes[cluster]),
                "width": 100 * study.sizes[cluster] / largest,
                "share": f"{study.sizes[cluster] / study.n:.1%}",
                "box": box,
                "median": show_number(float(quantiles[2])),
                "far": show_number(float(quantiles[4])),
            }
        )
    return drawn


def draw_tree(study: Study, tree: MedoidTree) -> dict[str, Any]:
    """Return the tree and the heat map of the distances between medoids; a cell is 1 wide, the tree 3 to 8 high."""
    k = len(tree.clusters)
    rank = {int(cluster): rank for rank, cluster in enumerate(study.by_size)}
    tall = max(3.0, k / 5)
    joints = [
        "M" + " L".join(f"{x + 0.5:.2f},{tall * (1 - h / tree.height):.2f}" for x, h in zip(xs, heights, strict=True))
        for xs, heights in tree.joints
    ]
    apart = tree.distances[~np.eye(k, dtype=bool)]
    nearest, largest = apart.min(), apart.max()
    strengths = 1 - 0.94 * (tree.distances - nearest) / ((largest - nearest) or 1.0)
    cells = [
        {
            "x": j,
            "y": i,
            "strength": round(float(strengths[i, j]), 3),
            "title": f"{tree.clusters[i]} and {tree.clusters[j]}: {show_number(float(tree.distances[i, j]))}",
        }
        for i in range(k)
        for j in range(k)
        if i != j
    ]
    leaves = [{"cluster": int(c), "colour": colour_of(rank[int(c)])} for c in tree.clusters]
    return {
        "joints": joints,
        "cells": cells,
        "leaves": leaves,
        "k": k,
        "tall": tall,
        "largest": show_number(largest),
        "closest": closest_pair(tree),
    }


def closest_pair(tree: MedoidTree) -> tuple[int, int, str]:
    """Return the two clusters whose medoids are nearest to each other, and their distance."""
    apart = tree.distances + np.diag(np.full(len(tree.clusters), np.inf))
    i, j = np.unravel_index(int(np.argmin(apart)), apart.shape)
    return int(tree.clusters[i]), int(tree.clusters[j]), show_number(float(apart[i, j]))


def draw_curves(selection: KSelection) -> list[dict[str, Any]]:
    """Return the curves of the objective and of the silhouette over k, each in a box of 300 x 120."""
    curves = []
    for name, values, suggested in (
        ("mean silhouette, the larger the better", selection.silhouette, selection.k_by_silhouette),
        ("sum of distances, look for a bend", selection.inertia, selection.k_by_elbow),
    ):
        known = np.isfinite(values)
        ks, heights = selection.k[known], np.asarray(values)[known]
        if not len(ks):
            continue
        x = 300 * (ks - ks.min()) / max(1, np.ptp(ks))
        low, high = heights.min(), heights.max()
        y = 115 - 110 * (heights - low) / ((high - low) or 1)
        points = [
            {
                "x": round(float(a), 1),
                "y": round(float(b), 1),
                "k": int(k),
                "value": show_number(float(v)),
                "is_suggested": int(k) == suggested,
            }
            for a, b, k, v in zip(x, y, ks, heights, strict=True)
        ]
        curves.append(
            {
                "name": name,
                "points": points,
                "line": " ".join(f"{p['x']},{p['y']}" for p in points),
                "low": show_number(float(low)),
                "high": show_number(float(high)),
                "suggested": suggested,
                "first": int(ks[0]),
                "last": int(ks[-1]),
            }
        )
    return curves
