"""The study of failing allocations."""

from __future__ import annotations

import sys

import pytest

from bench.__main__ import main
from bench.studies.allocations import format_line


def test_a_process_that_died_is_told():
    told = [["FasterPAM", 202], ["FasterPAM", 17], -11]
    assert format_line("FasterPAM", told) == "| FasterPAM | DIED by exit code -11 after position 17 | | | |"


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is replaced as Linux allows it")
def test_the_command_prints_a_table(capsys):
    assert main(["allocations", "--most", "2", "--only", "transform"]) == 0
    header, _, line = capsys.readouterr().out.splitlines()
    assert header.startswith("| call | allocations | MemoryError |")
    name, count, *ends = (cell.strip() for cell in line.strip("|").split("|"))
    assert name == "transform"
    assert int(count) > sum(map(int, ends)) == 4  # two positions, alone and with all that follow
