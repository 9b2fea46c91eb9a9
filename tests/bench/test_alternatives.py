"""`python -m bench alternatives`, on few rows, and what its tables show of runs that failed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bench.__main__ import main
from bench.measure import growth
from bench.measure.records import Run
from bench.studies import alternatives, pages


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Let the measurement be of few rows and medoids, and in this process; return the command."""
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(alternatives, "ROWS", (100, 200))
    monkeypatch.setattr(alternatives, "N_JUDGED", 150)
    monkeypatch.setattr(growth, "run_alone", lambda task, *arguments, limits: task(lambda part: None, *arguments))
    options = ["--features", "16", "--k", "10", "--results", str(tmp_path / "results")]
    return ["alternatives", *options, "--method", alternatives.OURS, "--method", "KMeans"]


def test_methods_are_judged_by_both_metrics(tiny, tmp_path, capsys):
    assert main(tiny) == 0
    lines = (tmp_path / "results" / "alternatives.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert all(each["cpu_seconds"] > 0 for each in records)
    assert [(each["metric"], each["method"], each["n"]) for each in records] == [
        ("euclidean", alternatives.OURS, 100),
        ("euclidean", alternatives.OURS, 200),
        ("euclidean", "KMeans", 100),
        ("euclidean", "KMeans", 200),
        ("manhattan", alternatives.OURS, 100),
        ("manhattan", alternatives.OURS, 200),
    ]
    assert all(0 < each["euclidean"] < each["manhattan"] for each in records)
    above = records[3]["manhattan"] / records[5]["manhattan"] - 1
    assert f"| 200 × 16, k = 10 | {above:+.1%} |".replace("-", "−").replace("%", " %") in capsys.readouterr().out


def test_tables_say_what_was_found_and_which_limit_ended_a_method():
    def run(method, n, metric="euclidean", k=100):
        return Run("mixture16", n, k, metric, method, 0)

    found = {"seconds": 123.4, "cpu_seconds": 1.234, "peak_bytes": 2e9, "euclidean": 3.0, "manhattan": 9.0}
    records = {
        run(alternatives.OURS, 10_000): found,
        run(alternatives.OURS, 10_000, "manhattan"): {**found, "manhattan": 8.0},
        run(alternatives.OURS, 100_000): found,
        run("KMeans", 10_000): {**found, "euclidean": 2.9, "seconds": 0.02},
        run("kmedoids", 10_000): {"status": "memory", "reason": "too large"},
        run("apricot", 10_000): {"status": "timeout", "reason": "too long"},
    }
    tables = {name: alternatives.tabulate(records, name) for name in alternatives.TABLES}
    methods = [alternatives.OURS, "KMeans", "kmedoids", "apricot"]
    assert list(tables["seconds"]) == methods
    assert tables["seconds"].to_numpy().tolist() == [
        ["123", "0.02", "memory", "time"],
        ["123", "", "memory", "time"],  # no more rows are tried after a limit
    ]
    assert list(tables["seconds"].index) == ["10,000 × 16, k = 100", "100,000 × 16, k = 100"]
    assert tables["seconds manhattan"].to_numpy().tolist() == [["123"]]
    assert tables["processor"].iloc[0].tolist() == ["1.2", "1.2", "memory", "time"]
    assert tables["memory"].iloc[0].tolist() == ["2.0", "2.0", "memory", "time"]
    assert list(tables["euclidean"]) == methods[1:]
    assert tables["euclidean"]["KMeans"].iloc[0] == "−3.3 %"
    assert tables["manhattan"]["KMeans"].tolist() == ["+12.5 %"]
    assert tables["both"].iloc[0].tolist() == ["123", "0.02, −3.3 %", "memory", "time"]
    assert alternatives.tabulate({run("KMeans", 10_000, k=10): found}, "both").empty


def test_pages_say_what_is_not_measured_yet(monkeypatch, tmp_path):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    for name in alternatives.TABLES:
        assert "Not measured yet." in pages.draw_block(f"alternatives {name}")


def test_a_run_that_must_exceed_the_time_is_not_tried():
    few, many = (Run("mixture16", n, 10, "euclidean", "KMeans", 0) for n in (1000, 10_000))
    limits = growth.Limits(seconds=60)
    growth.require_time(many, (few, {"seconds": 5.0}), limits)
    with pytest.raises(growth.TaskError, match="1,000 rows took 7 s, so that 10,000 take 70 s or more"):
        growth.require_time(many, (few, {"seconds": 7.0}), limits)


def test_a_method_that_was_too_slow_with_few_medoids_is_not_tried_with_more():
    few, many = (Run("mixture16", 1000, k, "euclidean", "KMeans", 0) for k in (10, 100))
    records = {few: {"status": "timeout"}, many: {"status": "timeout"}}
    growth.require_time_with_fewer_medoids(few, records)
    growth.require_time_with_fewer_medoids(many, {few: {"seconds": 1.0}})
    growth.require_time_with_fewer_medoids(replace(many, n=500), records)
    with pytest.raises(growth.TaskError, match="too long with k = 10"):
        growth.require_time_with_fewer_medoids(many, records)


def test_rows_are_the_same_whatever_their_number(tmp_path, monkeypatch):
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path))
    loaded = [
        load()
        for sizes in ([10_000], [10_000, 100_000])
        for _, load in alternatives.list_runs("KMeans", 16, 10, "euclidean", sizes, sizes[-1])
    ]
    assert [len(each) for each in loaded] == [10_000, 10_000, 100_000]
    assert np.array_equal(loaded[0], loaded[1])


def test_which_runs_are_made():
    def count(method, k, metric, p=16):
        return len(alternatives.list_sizes(method, p, k, metric, 10**7))

    assert [count(alternatives.OURS, k, metric) for k in (10, 100) for metric in alternatives.METRICS] == [4] * 4
    assert [count("kmedoids", k, "manhattan") for k in (10, 100, 1000)] == [0, 4, 0]
    assert [count("KMeans", 100, metric) for metric in alternatives.METRICS] == [4, 0]
    assert [count(method, 10, "euclidean", 768) for method in (alternatives.OURS, alternatives.FAST)] == [3, 2]


def test_the_case_of_few_medoids(tiny, monkeypatch, capsys):
    monkeypatch.setattr(alternatives, "FEW_ROWS", 150)
    monkeypatch.setattr(alternatives, "FEW", replace(alternatives.FEW, n=150))
    assert main(tiny) == 0
    before, _, after = capsys.readouterr().out.partition("\n150 × 10, k = 8 (")
    ours, peer = after.splitlines()[4:6]
    assert ours.startswith(f"| {alternatives.OURS} | ")
    assert ours.endswith(" |  |")
    assert peer.startswith("| KMeans | ")
    assert "processors, " in after.splitlines()[0]
    assert "| 150 × 10" not in before
