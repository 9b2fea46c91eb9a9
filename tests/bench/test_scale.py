"""`python -m bench scale`, on very few rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import reference
from bench.__main__ import main
from bench.studies import scale


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Let the measurement be of few rows and medoids, and in this process; return the command."""
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(scale, "K", 3)
    monkeypatch.setattr(scale, "KS", (2, 5, 300))
    monkeypatch.setattr(scale, "LIMITED", ("blobs",))
    monkeypatch.setattr(scale, "run_alone", lambda task, *arguments: task(print, *arguments))
    return ["scale", "--rows", "6000", "--seeds", "1", "--results", str(tmp_path / "results")]


def records_of(folder):
    return [json.loads(line) for line in (folder / "results" / "scale.jsonl").read_text().splitlines()]


def test_everything(tiny, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(tiny) == 0
    records = records_of(tmp_path)
    # Three of all rows, six smaller sizes, two k, a pair with and without limit, two peers.
    assert len(records) == 3 + 6 + 2 + 2 + 2
    assert {record["method"] for record in records} == set(scale.METHODS)
    for record in records:
        assert record["seconds"] > 0
        assert isinstance(record["peak_bytes"], int)
        assert record["machine"]["cpu"]
    shown = capsys.readouterr().out
    assert "seconds grow like n^" in shown
    assert "the same medoids in 1 of 1 runs" in shown
    assert (tmp_path / "results" / "scale.png").stat().st_size > 1000

    assert main([*tiny, "--part", "rows"]) == 0  # all of it is there
    assert len(records_of(tmp_path)) == len(records)
    assert main([*tiny, "--part", "rows", "--again"]) == 0
    assert len(records_of(tmp_path)) == len(records) + 3


def test_from_a_file_as_from_memory(tiny, tmp_path):
    assert main([*tiny, "--part", "rows"]) == 0
    memory, file, no_limit = records_of(tmp_path)
    assert (memory["method"], file["method"]) == (scale.OURS, scale.FROM_FILE)
    assert memory["medoids"] == file["medoids"] == no_limit["medoids"]
    X = np.load(scale.make_mixture_file(6000))
    expected = reference.inertia(X, np.array(memory["medoids"]), "manhattan")
    assert [memory["objective"], file["objective"]] == pytest.approx([expected] * 2)


def test_a_tenth_of_the_block_is_less_than_the_block(tiny, tmp_path):
    assert main([*tiny, "--part", "limit"]) == 0
    whole, tenth = records_of(tmp_path)
    assert whole["block_storage"] == "whole"
    assert tenth["block_storage"] != "whole"


def test_exponent():
    runs = [scale.name_mixture_run(n, 3, scale.OURS) for n in (10, 100, 1000)]
    records = {run: {"seconds": 7 * run.n**1.25} for run in runs}
    assert scale.fit_exponent(runs, records) == pytest.approx(1.25)
