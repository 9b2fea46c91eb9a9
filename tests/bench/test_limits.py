"""`python -m bench limits`, on few rows, and with a method that fails."""

from __future__ import annotations

import json

import pytest

from bench.__main__ import main
from bench.measure import growth
from bench.measure.process import TaskError
from bench.methods.contestant import Contestant
from bench.studies import limits, scale


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Let the measurement be of few rows and medoids, and in this process; return the command."""
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(scale, "K", 3)
    monkeypatch.setattr(limits, "SMALLEST", 100)
    monkeypatch.setattr(growth, "run_alone", lambda task, *arguments, limits: task(print, *arguments))
    methods = ["--method", limits.OURS, "--method", "kmedoids", "--method", "average linkage"]
    return ["limits", "--rows", "500", "--results", str(tmp_path / "results"), *methods]


def read_records(folder):
    return [json.loads(line) for line in (folder / "results" / "limits.jsonl").read_text().splitlines()]


def test_every_method_is_measured_with_every_size(tiny, tmp_path, capsys):
    pytest.importorskip("kmedoids")
    assert main(tiny) == 0
    records = read_records(tmp_path)
    methods = (limits.OURS, "kmedoids", "average linkage")
    assert [(record["method"], record["n"]) for record in records] == [
        (method, n) for method in methods for n in (100, 200, 500)
    ]
    assert all(len(record["medoids"]) == 3 for record in records)
    assert "| onebatchpam | 500 |" in capsys.readouterr().out
    assert (tmp_path / "results" / "limits.png").stat().st_size > 1000


def test_a_method_that_fails_gets_no_more_rows(tiny, tmp_path, monkeypatch, capsys):
    def fail_beyond_100(task, trial, limits):
        if trial.run.n > 100:
            raise TaskError("memory", "20 GB were not enough")
        return task(print, trial)

    monkeypatch.setattr(growth, "run_alone", fail_beyond_100)
    assert main(tiny[:-4]) == 0
    assert [record["n"] for record in read_records(tmp_path)] == [100, 200]
    assert "20 GB were not enough" in capsys.readouterr().out


def test_a_missing_package_is_said_to_be_missing(tiny, monkeypatch, capsys):
    monkeypatch.setattr(Contestant, "explain_absence", lambda _: "it is not installed")
    assert main(tiny) == 0
    assert "kmedoids is left out: it is not installed" in capsys.readouterr().out


def test_a_package_that_cannot_be_loaded_is_left_out(tiny, tmp_path, monkeypatch, capsys):
    def fail(task, trial, limits):
        raise TaskError("error", "ValueError: numpy.dtype size changed")

    monkeypatch.setattr(growth, "run_alone", fail)
    assert main(tiny[:-4]) == 0
    assert "onebatchpam is left out: ValueError: numpy.dtype" in capsys.readouterr().out
    assert not (tmp_path / "results" / "limits.jsonl").exists()
