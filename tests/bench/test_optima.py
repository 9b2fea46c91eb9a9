"""Instances with known optima: the bound is at most the optimum, and close to it."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from bench.data.sets import default_folder
from bench.studies import orlib
from onebatchpam import FasterPAM


def certify(matrix, k):
    matrix = matrix.astype(np.float32)
    return FasterPAM(k, metric="precomputed", random_state=0).fit(matrix).certify(matrix)


def find_folder(name):
    folder = default_folder() / name
    if not folder.exists():
        pytest.skip(f"there is no {folder}")
    return folder


@pytest.mark.parametrize("name", [f"pmed{number}" for number in range(1, 41)])
def test_graphs(name):
    folder = find_folder("orlib")
    matrix, k = orlib.load_graph(folder / f"{name}.txt")
    check(certify(matrix, k), orlib.load_optima(folder)[name])


def load_plane(path):
    """Return the distances of all pairs of points, rounded down as in the published optima."""
    lines = re.findall(r"^\s*\d+\s+([-+.\deE]+)\s+([-+.\deE]+)\s*$", path.read_text(), re.MULTILINE)
    points = np.array(lines, dtype=np.float64)
    return np.floor(np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)))


@pytest.mark.parametrize("name", ["rl1304", "fl1400", "u1432", "vm1748", "pcb3038"])
def test_points_in_the_plane(name):
    folder = find_folder("tsplib")
    with (folder / "best_known.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["instance"] == name]
    matrix = load_plane(folder / rows[0]["data_file"])
    assert len(matrix) == int(rows[0]["n"])
    for row in rows:
        check(certify(matrix, int(row["p"])), int(row["best_known"]))


def check(result, optimum):
    assert result.bound <= optimum <= result.objective
    assert result.bound >= 0.98 * optimum
