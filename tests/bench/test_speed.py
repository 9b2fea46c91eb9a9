"""`python -m bench speed`: its tables, and every line of them on very few rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.__main__ import main
from bench.measure.call import measure_peak
from bench.studies import speed


def record(seconds, objective, **stages):
    return {"seconds": seconds, "objective": objective, "stages": stages, "n_distances": 1000}


def test_turns_are_compared_with_the_authors_package():
    peaks = {name: {"peak_bytes": 2e6, "needed_bytes": 1e6} for name in ("onebatch", "ours")}
    runs = {"onebatch": [record(s, 100.0) for s in (1, 10, 900)], "ours": [record(2, 99.0, distances=1)]}
    lines = speed.compare_turns(runs, peaks).splitlines()
    assert lines[2].startswith("| onebatch | 10.000 | 1.0 | 100 (+0.00%) | 2 MB | 2.00 |")
    assert lines[3] == "| ours | 2.000 | 5.0 | 99 (-1.00%) | 2 MB | 2.00 | distances 1.000 |"


def test_methods_are_compared_with_the_first_and_with_the_best():
    first = [record(s, 102.0, **{"distances": s - 2, "swap search": 2.0}) for s in (5, 8, 900)]
    runs = {"kmedoids": first, "ours": [record(2, 100.0, **{"swap search": 0.5})], "random": [record(1, 150.0)]}
    lines = speed.compare_methods(runs, {name: {"peak_bytes": 2_000_000} for name in runs}).splitlines()
    assert lines[2].startswith("| kmedoids | 8.000 | 1.0 | 1.0 | 102 (+2.00%) | 1e+03 | 2 MB | distances 6.000,")
    assert lines[3].startswith("| ours | 2.000 | 4.0 | 4.0 | 100 (+0.00%) |")
    assert lines[4].startswith("| random | 1.000 | 8.0 |  | 150 (+50.00%) |")


@pytest.mark.parametrize(
    ("section", "entry"),
    [(section, entry) for section, parts in speed.SECTIONS.items() for entry in parts.entries],
    ids=lambda value: value if isinstance(value, str) else value.contestant.name,
)
def test_every_contestant_runs(section, entry, tmp_path, monkeypatch):
    if entry.contestant.explain_absence() is not None:
        pytest.skip(entry.contestant.explain_absence())
    monkeypatch.setattr(speed, "SECONDS_PER_TURN", 0.001)
    trial = entry.prepare(speed.Case("blobs", "manhattan", 3), 0, tmp_path)
    measure = speed.measure_turn if section == "onebatch" else speed.measure_once
    record = measure(print, trial, tmp_path)
    assert record["seconds"] > 0
    assert record["objective"] > 0
    assert section == "onebatch" or record["n_distances"] > 0
    # In this process, which may give memory back meanwhile, the difference can even be negative.
    assert isinstance(measure_peak(print, trial)["peak_bytes"], int)


@pytest.mark.parametrize("section", ["fasterpam", "onebatch"])
def test_the_command(section, tmp_path, monkeypatch, capsys):
    for entry in speed.SECTIONS[section].entries:
        if entry.contestant.explain_absence() is not None:
            pytest.skip(entry.contestant.explain_absence())
    case = speed.Case("blobs", "manhattan", 3)
    entries = tuple(replace(entry, cases=(case,)) for entry in speed.SECTIONS[section].entries[:2])
    monkeypatch.setitem(speed.SECTIONS, section, replace(speed.SECTIONS[section], entries=entries))
    records = tmp_path / "records.jsonl"
    assert main(["speed", "--section", section, "--seeds", "2", "--records", str(records)]) == 0
    printed = capsys.readouterr().out
    assert "blobs, manhattan, k = 3\n| | seconds | times faster" in printed
    assert all(f"\n| {entry.contestant.name} | " in printed for entry in entries)
    assert len(records.read_text().splitlines()) == 2 * 2


def test_a_missing_peer_is_named(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["speed"]) == 2
    assert "onebatch is not installed: pip install --group bench" in capsys.readouterr().err
