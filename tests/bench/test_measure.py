"""Experiments: which runs there are, their records, restarts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reference
from bench.__main__ import main
from bench.data.sets import load
from bench.measure.config import ConfigError, find_config, list_experiments, read_config
from bench.measure.objective import check_medoids, compute_objective
from bench.measure.process import Limits, TaskError
from bench.measure.records import Run, Store
from bench.measure.runner import (
    Setting,
    estimate_left,
    execute,
    is_due,
    load_rows,
    make_run,
    name_store,
)
from bench.methods.table import AS_PUBLISHED, CONTESTANTS

LIMITS = Limits(seconds=0.5, memory_bytes=2**29, untimed_seconds=600)
A_RUN = Run("blobs", None, 3, "manhattan", "Random", 0)


def test_records_are_whole_lines(tmp_path):
    store = Store(tmp_path, "x")
    store.append({**A_RUN.as_dict(), "value": 1})
    with store.plain.open("a") as file:
        file.write('{"dataset": "blo')  # a power cut
    store.append({**A_RUN.as_dict(), "seed": 1, "value": 2})
    assert [record["value"] for record in store.read().values()] == [1, 2]


def test_the_last_record_of_a_run_counts_also_when_packed(tmp_path):
    store = Store(tmp_path, "x")
    for value in (1, 2):
        store.append({**A_RUN.as_dict(), "value": value})
    store.pack()
    assert not store.plain.exists()
    assert [record["value"] for record in store.read().values()] == [2]
    store.append({**A_RUN.as_dict(), "value": 3})
    assert [record["value"] for record in store.read().values()] == [3]
    store.pack()
    assert list(store.read()) == [A_RUN]


def test_which_runs_are_due():
    good, bad = {"status": "ok"}, {"status": "timeout"}
    assert [is_due(record, "never") for record in (None, good, bad)] == [True, False, False]
    assert [is_due(record, "failed") for record in (None, good, bad)] == [True, False, True]
    assert [is_due(record, "all") for record in (None, good, bad)] == [True, True, True]
    hasty = {**good, "seconds": None}  # made while the machine did other work
    assert [is_due(record, "never", timed=True) for record in (hasty, {**good, "seconds": 1.0}, bad)] == [
        True,
        False,
        False,
    ]
    assert not is_due(hasty, "never", timed=False)
    old, new = ({**good, "finished": f"2026-01-{day}T12:00:00+00:00"} for day in (30, 31))
    assert [is_due(record, "never", "2026-01-31") for record in (None, good, old, new)] == [True, True, True, False]


def test_the_time_left_is_that_of_the_same_runs_with_other_seeds():
    slow, fast = A_RUN, Run("blobs", None, 9, "manhattan", "Random", 0)
    records = [{**slow.as_dict(), "status": "ok", "elapsed": 100}, {**fast.as_dict(), "status": "ok", "elapsed": 2}]
    unavailable = {**Run("x", None, 3, "manhattan", "Random", 0).as_dict(), "status": "unavailable", "elapsed": 0}
    known = [*records, unavailable]
    assert estimate_left([Run("blobs", None, 3, "manhattan", "Random", 1)], known) == "0:01:40"
    assert estimate_left([Run("blobs", None, 9, "manhattan", "Random", 1)] * 30, known) == "0:01:00"
    assert estimate_left([Run("other", None, 9, "manhattan", "Random", 1)], known) == "0:00:51"
    assert estimate_left([A_RUN], [unavailable]) == "unknown time"


def test_rows_are_drawn_by_the_seed(tmp_path):
    def rows(n, seed):
        return load_rows(Run("blobs", n, 3, "manhattan", "Random", seed), tmp_path, "paper")

    first, again, other = (rows(4, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.tolist() != other.tolist()
    assert len(np.unique(first, axis=0)) == 4
    np.testing.assert_array_equal(rows(None, 1), load("blobs", tmp_path))
    with pytest.raises(ValueError, match="n=601: blobs has 600 rows only"):
        rows(601, 0)


@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
def test_objective(metric):
    X = np.random.RandomState(0).rand(5200, 3).astype(np.float32)
    medoids = np.array([4, 5100, 77])
    expected = reference.distance_block(X, X[medoids], metric).min(axis=1).sum()
    assert compute_objective(X, medoids, metric) == pytest.approx(expected)


@pytest.mark.parametrize("medoids", [[0, 1], [0, 1, 5], [-1, 1, 2]])
def test_bad_medoids_are_refused(medoids):
    with pytest.raises(ValueError, match="expected 3 row indices below 5"):
        check_medoids(medoids, 3, 5)


CONFIG = """
title = "Test"
metric = "manhattan"
reference = "FasterPAM"
time_limit = 1
memory_limit = 1
[[grid]]
datasets = ["blobs"]
k = [3]
seeds = 2
methods = ["Random", "OneBatchPAM-lwcs"]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"blobs"', '"iris"', "there is no data set 'iris'"),
        ('"Random"', '"Best"', "there is no method 'Best'"),
        ('"Random"', '"KMeans, snapped"', "KMeans, snapped takes the metrics euclidean, not 'manhattan'"),
        ("seeds", "sedes", "unknown entry 'sedes': expected datasets"),
        ("title", "name", "unknown entry 'name'"),
        ("seeds = 2", "", "seeds"),
        ("[[grid]]", "[other]", "expected at least one"),
        ("k = [3]", "k = 3]", "line"),
    ],
)
def test_errors_of_experiments_are_told(old, new, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(ConfigError, match=message):
        read_config(path)


def test_an_unknown_experiment_is_told(capsys):
    assert main(["run", "huge"]) == 2
    assert "there is no experiment 'huge': expected one of ablation, bandit, batch" in capsys.readouterr().err


def test_all_experiments_can_be_read():
    assert {"ablation", "small", "large", "smoke", "weights"} <= set(list_experiments())
    for name in list_experiments():
        assert read_config(find_config(name)).list_runs()


def test_the_papers_experiments_are_complete():
    small, large = (read_config(find_config(name)).add_as_published() for name in ("small", "large"))
    rows = {name for name, contestant in CONTESTANTS.items() if contestant.kind == "paper"}
    assert rows <= {run.method for run in small.list_runs()}
    out_of_reach = {"FasterPAM", "Alternate", "BanditPAM++-0", "BanditPAM++-2", "BanditPAM++-5"}
    assert out_of_reach < rows
    assert rows - out_of_reach <= {run.method for run in large.list_runs() if run.dataset == "covertype"}
    assert {(run.k, run.seed) for run in small.list_runs()} == {(k, seed) for k in (10, 50, 100) for seed in range(5)}


def test_seeds_come_one_after_the_other_and_no_run_twice(tmp_path):
    path = tmp_path / "test.toml"
    path.write_text(CONFIG + CONFIG[CONFIG.index("[[grid]]") :])
    runs = read_config(path).list_runs()
    assert [run.seed for run in runs] == [0, 0, 1, 1]
    assert AS_PUBLISHED in {run.method for run in read_config(path).add_as_published().list_runs()}


def test_records_of_other_settings_have_another_name(tmp_path):
    (tmp_path / "test.toml").write_text(CONFIG)
    config = read_config(tmp_path / "test.toml")
    assert name_store(config, "paper", None) == "test"
    assert name_store(config, "clean", 1) == "test-clean-1-threads"


def test_runs_are_chosen_by_what_their_names_contain(tmp_path):
    path, store = tmp_path / "test.toml", Store(tmp_path, "test")
    path.write_text(CONFIG)
    config, setting = read_config(path), Setting(tmp_path, "paper", 1, LIMITS, in_process=True)
    assert execute(config, setting, store, only="seed=1", skip=["lwcs"]) == 1
    assert [str(run) for run in store.read()] == ["blobs k=3 seed=1 Random"]


def test_an_untimed_run_has_no_seconds_and_a_timed_one_takes_its_place(tmp_path):
    path, store = tmp_path / "test.toml", Store(tmp_path, "test")
    path.write_text(CONFIG)
    config, setting = read_config(path), Setting(tmp_path, "paper", 1, LIMITS, in_process=True)
    choice = {"only": "seed=1", "skip": ["lwcs"]}
    made = [execute(config, replace(setting, timed=timed), store, **choice) for timed in (False, False, True, True)]
    assert made == [1, 0, 1, 0]
    first, last = [json.loads(line) for line in store.plain.read_text().splitlines()]
    assert first["seconds"] is None
    assert first["objective"] == last["objective"]
    assert last["seconds"] > 0


def test_what_cannot_run_is_a_record(tmp_path, monkeypatch):
    path = tmp_path / "test.toml"
    path.write_text(CONFIG.replace('"blobs"', '"monitor_gas"').replace('"Random"', '"onebatch"'))
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path))
    monkeypatch.setattr("bench.measure.runner.fetch", lambda *_: (_ for _ in ()).throw(ImportError("no pooch")))
    find_spec = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "onebatch" else find_spec(name))
    store = Store(tmp_path, "test")
    assert execute(read_config(path), Setting(tmp_path, "paper", 1, LIMITS), store) == 4
    records = list(store.read().values())
    assert {record["status"] for record in records} == {"unavailable"}
    assert {record["method"]: record["reason"] for record in records} == {
        "onebatch": "the package onebatch is not installed",
        "OneBatchPAM-lwcs": "no data: monitor_gas is not in the folder, and its download failed (ImportError)",
    }


def test_smoke_interrupted_continued_and_shown(tmp_path, capsys):
    path = tmp_path / "smoke-1-threads.jsonl"
    command = ["run", "smoke", "--only", "seed=0", "--results", str(tmp_path), "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *command],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Where tests run in the background, Ctrl-C is ignored, and so it would be there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        while not path.exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "stopped; the same command goes on from here" in errors
    assert "Traceback" not in errors
    assert [json.loads(line) for line in path.read_text().splitlines()]

    assert main(command) == 0
    records = [json.loads(line) for line in path.read_text().splitlines()]
    expected = [run for run in read_config(find_config("smoke")).list_runs() if run.seed == 0]
    assert len(records) == len(expected)  # none twice
    assert {Run.from_record(record) for record in records} == set(expected)
    for record in records:
        assert record["status"] == "ok", record["reason"]
        assert record["seconds"] > 0
        assert record["objective"] > 0
        assert record["peak_bytes"] > 0
        assert record["n_distinct"] == record["k"]
        assert record["threads"] == 1
        assert record["machine"]["versions"]["onebatchpam"]
        assert record["machine"]["cpu"]
    ours = [record for record in records if record["method"] == "OneBatchPAM-nniw"]
    assert ours
    assert all(record["stages"]["distances"] > 0 and record["n_distances"] > 0 for record in ours)

    assert main(command) == 0
    assert len(path.read_text().splitlines()) == len(expected)
    assert main(["pack", "--results", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["tables", "--results", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "| OneBatchPAM-nniw | " in printed
    assert "| blobs | 3 | all | 3 | not run |" in printed  # the other seed
    assert main(["figures", "--results", str(tmp_path)]) == 0
    assert "<td>not run</td>" in (tmp_path / "report.html").read_text()

    assert main(["run", "smoke", "--results", str(tmp_path), "--threads", "1"]) == 0
    records = Store(tmp_path, "smoke-1-threads").read()
    assert set(records) == set(read_config(find_config("smoke")).list_runs())
    assert {record["status"] for record in records.values()} == {"ok"}


def test_why_memory_was_not_measured_is_in_the_record(monkeypatch, tmp_path):
    def run_alone(*_, **__):
        raise TaskError("memory", "too much")

    monkeypatch.setattr("bench.measure.runner.run_alone", run_alone)
    record = make_run(A_RUN, Setting(tmp_path, "paper", 1, LIMITS), lambda *_: {"seconds": 1.0})
    assert (record["status"], record["peak_bytes"], record["peak_reason"]) == ("ok", None, "too much")
