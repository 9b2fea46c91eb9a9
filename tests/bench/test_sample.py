"""The study of fits to many rows, with few."""

from __future__ import annotations

import sys

from bench.__main__ import main


def test_installs_are_compared_in_turns(capsys):
    size = ["--rows", "2000", "--clusters", "4", "--seeds", "1", "--kind", "far groups"]
    assert main(["sample", *size, "--python", sys.executable, "--python", sys.executable, "--file"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| far groups | 0 |")
    assert lines[-1].endswith("| +0.000% | +0.000% to +0.000% |")
