"""The study of first medoids and of copies, with few rows."""

from __future__ import annotations

import sys

import pytest

from bench.__main__ import main


@pytest.mark.parametrize(
    ("kind", "calls"),
    [("vectors", ["KMeansPlusPlus", "LSKMeansPlusPlus", "OneBatchPAM"]), ("copies", ["collapse_duplicates"])],
)
def test_installs_are_compared_in_turns(kind, calls, capsys):
    size = ["--vectors", "500", "--copies", "1000", "--clusters", "4", "--seeds", "1"]
    assert main(["seeding", "--kind", kind, *size, "--python", sys.executable, "--python", sys.executable]) == 0
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[3:]]
    assert [line[1] for line in lines] == [call for call in calls for _ in range(2)]
    for first, second in zip(lines[::2], lines[1::2], strict=True):
        assert first[5] == "1.00"
        assert first[6] == second[6]
