"""The study of disturbed Dask fits."""

from __future__ import annotations

from bench.__main__ import main


def test_the_command_prints_a_table(capsys):
    assert main(["chaos", "--minutes", "0", "--only", "futures"]) == 0
    header, _, line = capsys.readouterr().out.splitlines()[-3:]
    assert header.startswith("| disturbance | fits | same bits |")
    name, fits, _, _, leftovers, *_ = (cell.strip() for cell in line.strip("|").split("|"))
    assert name == "futures cancelled"
    assert int(fits) <= 2
    assert leftovers == "none"
