"""The command line: what a newcomer types first."""

from __future__ import annotations

import re
import sys

import matplotlib.image
import pytest

from onebatchpam.cli import main


def test_demo_says_what_it_did_and_draws_the_medoids(tmp_path, capsys):
    picture = tmp_path / "medoids.png"
    assert main(["demo", "--n-clusters", "12", "--batch-size", "200", "--picture", str(picture)]) == 0
    report = capsys.readouterr().out
    for expected in (
        r"rows n +1,797\n",
        r"medoids k +12\n",
        r"batch points m +200\n",
        r"distances +[\d,]+ computed, \d+% of the 3,229,209 of PAM\n",
        r"objective +[\d,]+ in sum",
        r"swap search +\d+\.\d+ s\n",
    ):
        assert re.search(expected, report), expected
    sizes = re.search(r"cluster sizes +(.+)", report)[1].split(", ")
    assert len(sizes) == 12
    assert sum(map(int, sizes)) == 1797
    height, width, _ = matplotlib.image.imread(picture).shape
    assert width > 1000
    assert height > 300  # twelve medoids fill two lines


def test_demo_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["demo", "--picture", str(tmp_path / "medoids.png")]) == 0
    assert "onebatchpam[plot]" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-clusters", "2000"], "n_clusters=2000 is larger than n_samples=1797"),
        (["--metric", "euclid"], "metric='euclid'"),
        (["--batch-size", "0"], "batch_size=0"),
        (["--picture", "no/such/folder/medoids.png"], "no/such/folder"),
    ],
)
def test_wrong_values_end_in_one_line(arguments, message, capsys):
    assert main(["demo", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_no_command(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "command" in capsys.readouterr().err
