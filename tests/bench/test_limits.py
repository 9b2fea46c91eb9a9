"""`python -m bench limits`, on few rows, and with a method that fails."""

from __future__ import annotations

import json

import pytest

from bench.__main__ import main
from bench.measure import growth
from bench.measure.process import TaskError
from bench.measure.records import Run
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
    assert "| average linkage | 500 |" in capsys.readouterr().out
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


def make_records(**by_method):
    """Return records of methods: for each number of rows its seconds, or the limit that it exceeds."""
    return {
        Run(scale.MIXTURE, n, scale.K, scale.METRIC, method.replace("_", " "), 0): (
            {"status": value, "reason": "why"}
            if isinstance(value, str)
            else {
                "seconds": value,
                "peak_bytes": 2 * n * 10**5,
                "objective": n * (1.5 if method == "kmedoids" else 1.0),
            }
        )
        for method, values in by_method.items()
        for n, value in values.items()
    }


def test_the_last_table_has_the_most_rows_of_each_method():
    ours = {10_000: 0.5, 1000: 0.1, 100_000: 120.4}
    records = make_records(
        onebatchpam=ours, kmedoids={1000: 1, 10_000: 4.26, 100_000: "memory"}, apricot={1000: 9, 10_000: "timeout"}
    )
    table = limits.tabulate_ends(records)
    assert table.loc["onebatchpam"].tolist() == ["100,000", "120 s", "20 GB", "", ""]
    assert table.loc["kmedoids"].tolist() == ["10,000", "4.3 s", "2 GB", "+50.00 %", "out of memory"]
    assert table.loc["apricot"].tolist() == ["1,000", "9 s", "200 MB", "0.00 %", "out of time"]
    assert list(table.index) == ["onebatchpam", "kmedoids", "apricot"]  # the others have no records


def test_the_first_table_has_all_rows_in_their_order():
    table = limits.tabulate_runs(make_records(onebatchpam={10_000: 2.0, 1000: 0.1}, kmedoids={1000: 1, 2000: "memory"}))
    assert table["onebatchpam"].to_dict() == {"1,000": "0.1 s, 200 MB", "10,000": "2 s, 2 GB"}
    assert table["kmedoids"].to_dict() == {"1,000": "1 s, 200 MB", "10,000": ""}


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
