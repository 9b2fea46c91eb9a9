"""Tables and figures say what the records say."""

from __future__ import annotations

import base64
import csv
import io
import math
import re
import statistics

import numpy as np
import pandas as pd
import pytest

from bench.__main__ import main
from bench.measure.config import ConfigError, read_config
from bench.measure.records import Run, Store
from bench.methods.table import AS_PUBLISHED, CONTESTANTS
from bench.report import paper
from bench.report.figures import find_front
from bench.report.intervals import Ranking, bound_mean, compare, half_width, rank_methods
from bench.report.page import Section, render
from bench.report.report import read_scores
from bench.report.scores import measure_selection
from bench.report.tables import Table, average, format_entry, make_tables, tabulate_details

CONFIG = """
title = "Test"
metric = "manhattan"
reference = "FasterPAM"
paper = "small"
time_limit = 1
memory_limit = 1
[[grid]]
datasets = ["abalone", "letter"]
k = [10, 50, 100]
seeds = 2
methods = ["Random", "FasterPAM", "OneBatchPAM-nniw", "onebatch"]
"""
MACHINE = {"cpu": "Chip", "processors": 2, "simd": "v3", "python": "3", "versions": {"numpy": "2"}, "commit": "abc"}


def record_of(run, seconds, objective, **changes):
    return {
        **run.as_dict(),
        "status": "ok",
        "seconds": seconds,
        "stages": {"assignment": seconds / 4},
        "objective": objective,
        "n_distances": 100,
        "peak_bytes": 10**6,
        "elapsed": seconds,
        "variant": "paper",
        "threads": 2,
        "machine": MACHINE,
        **changes,
    }


def made_up(run):
    """Return seconds and objective of a run."""
    factor = {"Random": (0.01, 1.6), "FasterPAM": (1, 1), "OneBatchPAM-nniw": (0.2, 1.02), "onebatch": (0.5, 1.01)}
    time, loss = factor[run.method]
    return time * (1 + run.seed) * run.k, loss * (1000 / run.k) * (1 + 0.1 * run.seed)


@pytest.fixture
def config(tmp_path):
    """Return the file of an experiment."""
    path = tmp_path / "test.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def store(tmp_path, config):
    store = Store(tmp_path, "test")
    for run in read_config(config).list_runs():
        store.append(record_of(run, *made_up(run), experiment=str(config)))
    return store


def table(scores, slug):
    return next(table for table in make_tables(scores) if table.slug == slug)


def entry(found, row, column):
    """Return the numbers of an entry by their names."""
    numbers = found.numbers.loc[row]
    return {name.removeprefix(f"{column} "): value for name, value in numbers.items() if name.startswith(f"{column} ")}


def text(found, row, column):
    return found.texts.loc[row, column]


def test_scores_are_those_of_the_paper(store):
    cell = read_scores(store).cells.loc["letter", 50, "OneBatchPAM-nniw"]
    times, base = [0.2 * 50, 0.2 * 100], statistics.mean([50, 100])
    assert cell["rt"] == pytest.approx(100 * statistics.mean(times) / base)
    assert cell["rt std"] == pytest.approx(100 * statistics.stdev(times) / base)
    losses, base = [1.02 * 20, 1.02 * 22], statistics.mean([20, 22])
    assert cell["delta_ro"] == pytest.approx(2)
    assert cell["delta_ro std"] == pytest.approx(100 * statistics.stdev(losses) / base)
    assert (cell["paired_delta_ro"], cell["paired_delta_ro std"]) == pytest.approx((2, 0), abs=1e-9)
    assert cell["objective"] == pytest.approx(statistics.mean(losses))
    assert cell["faults"] == 0


def test_averages_are_means_of_means_and_of_deviations(store):
    scores = read_scores(store)
    cells = scores.cells.xs("Random", level="method").loc[["abalone", "letter"]]
    found = average(scores, ["abalone", "letter"], (10, 50, 100), "rt").loc["Random"]
    assert found["mean"] == pytest.approx(statistics.mean(cells["rt"]))
    assert found["std"] == pytest.approx(statistics.mean(cells["rt std"]))
    assert found["cells"] == found["cells expected"] == 6


def test_the_papers_figures_stand_beside(store):
    scores = read_scores(store)
    found = table(scores, "test-delta-ro-per-dataset")
    numbers = entry(found, "OneBatchPAM-nniw", "letter")
    assert (numbers["paper mean"], numbers["paper std"]) == (1.8, 0.2)  # read in the appendix
    assert text(found, "OneBatchPAM-nniw", "letter").endswith(" / 1.8 (0.2) / +0.2")
    summary = table(scores, "test-summary")
    assert entry(summary, "OneBatchPAM-nniw", "RT")["paper mean"] == pytest.approx((34.0 + 8.5) / 2)  # of the two sets
    assert math.isnan(entry(summary, "onebatch", "RT")["paper mean"])  # no row of the paper
    assert math.isnan(entry(table(scores, "test-per-k"), "OneBatchPAM-nniw", "RT, k = 10")["paper mean"])


def test_the_data_without_slips_are_not_compared_with_the_paper(store):
    run = next(iter(store.read()))
    store.append(record_of(run, *made_up(run), variant="clean"))
    assert math.isnan(entry(table(read_scores(store), "test-summary"), "OneBatchPAM-nniw", "RT")["paper mean"])


def test_another_reference(store):
    scores = read_scores(store, "onebatch")
    assert scores.cells.loc[("abalone", 10, "FasterPAM"), "rt"] == pytest.approx(200)
    assert scores.cells.loc[("abalone", 10, "onebatch"), "delta_ro"] == pytest.approx(0)
    # The paper's figures are relative to its own.
    assert math.isnan(entry(table(scores, "test-by-onebatch-summary"), "OneBatchPAM-nniw", "RT")["paper mean"])
    assert read_scores(store, "FasterPAM").name == "test"
    with pytest.raises(ConfigError, match="test has no method 'KMeans': expected one of Random, FasterPAM, "):
        read_scores(store, "KMeans")


def test_tables_in_other_terms_replace_no_others(store, tmp_path, capsys):
    assert main(["tables", "test", "--results", str(tmp_path)]) == 0
    usual = {path: path.read_text() for path in (tmp_path / "tables").iterdir()}
    other_terms = ["--reference", "onebatch", "--time", "selection", "--results", str(tmp_path)]
    assert main(["tables", "test", *other_terms]) == 0
    assert "Times are without the labels of all rows." in capsys.readouterr().out
    assert {path: path.read_text() for path in usual} == usual
    assert (tmp_path / "tables" / "test-by-onebatch-selection-summary.csv").exists()


def test_the_time_of_the_selection_leaves_out_the_labels(store):
    record = next(iter(store.read().values()))
    assert measure_selection(record) == pytest.approx(0.75 * record["seconds"])
    assert measure_selection({"method": "onebatch", "seconds": 3.0, "stages": {}}) == 3
    judged = {"method": "FasterCLARA-5", "seconds": 3.0, "stages": {"assignment": 2.0}}
    assert measure_selection(judged) == 3  # its labels say which sample has the best medoids
    scores = read_scores(store, time="selection")
    assert scores.cells.loc[("abalone", 10, "onebatch"), "seconds"] == pytest.approx(0.75 * 0.5 * 1.5 * 10)


def test_missing_runs_are_shown_with_their_reason(store):
    failed = Run("letter", None, 100, "manhattan", "OneBatchPAM-nniw", 1)
    store.append(record_of(failed, 1, 1, status="timeout", reason="too slow"))
    for seed in (0, 1):
        lost = Run("abalone", None, 10, "manhattan", "FasterPAM", seed)
        store.append(record_of(lost, 1, 1, status="memory", reason="too large"))
    scores = read_scores(store)
    rows = table(scores, "test-missing").rows
    assert ("letter", ["100", "OneBatchPAM-nniw", "1", "timeout: too slow"]) in rows
    assert ("abalone", ["10", "FasterPAM", "2", "memory: too large"]) in rows
    others = "Random, OneBatchPAM-nniw, onebatch"
    assert ("abalone", ["10", others, "6", "no result of the reference FasterPAM"]) in rows
    cell = scores.cells.loc["letter", 100, "OneBatchPAM-nniw"]
    assert math.isnan(cell["rt std"])  # one seed is left
    assert cell["rt"] == pytest.approx(20)  # the reference's mean is over the seed that both have
    assert "[2 of 3]" in text(table(scores, "test-rt-per-dataset"), "Random", "abalone")


def test_runs_that_were_never_made_are_shown(store, config):
    config.write_text(CONFIG.replace("seeds = 2", "seeds = 3"))
    rows = table(read_scores(store), "test-missing").rows
    assert rows == [(name, ["10, 50, 100", "all", "12", "not run"]) for name in ("abalone", "letter")]


def test_once_made_as_published_it_is_missed(store, config):
    config.write_text(CONFIG.replace('"Random"', '"OneBatchPAM-lwcs", "Random"'))
    assert AS_PUBLISHED not in str(table(read_scores(store), "test-missing").rows)
    store.append(record_of(Run("letter", None, 10, "manhattan", AS_PUBLISHED, 0), 1, 1))
    rows = table(read_scores(store), "test-missing").rows
    assert ("abalone", ["10, 50, 100", f"OneBatchPAM-lwcs, {AS_PUBLISHED}", "12", "not run"]) in rows


def test_csv_has_the_numbers(store):
    rows = list(csv.DictReader(io.StringIO(table(read_scores(store), "test-summary").as_csv())))
    row = next(row for row in rows if row["method"] == "OneBatchPAM-nniw")
    assert float(row["ΔRO mean"]) == pytest.approx(2)
    assert float(row["ΔRO paper mean"]) == pytest.approx(1.6)
    assert float(row["ΔRO difference"]) == pytest.approx(0.4)
    assert row["RT cells"] == row["RT cells expected"] == "6"
    details = list(csv.DictReader(io.StringIO(tabulate_details(read_scores(store)).as_csv())))
    assert len(details) == 2 * 3 * 4
    assert float(details[0]["seconds"]) == pytest.approx(0.15)


def test_text_of_entries():
    def show(mean, std, paper=math.nan, n_cells=1, n_expected=1, paper_std=math.nan):
        difference = mean - paper if n_cells >= n_expected else math.nan
        names = ["mean", "std", "cells", "cells expected", "paper mean", "paper std", "difference"]
        return format_entry(pd.Series([mean, std, n_cells, n_expected, paper, paper_std, difference], index=names))

    assert show(1.25, 0.5, 1.0) == "1.2 (0.5) / 1.0 / +0.2"
    assert show(1.25, 0.5, 1.0, paper_std=0.7) == "1.2 (0.5) / 1.0 (0.7) / +0.2"
    assert show(0.034, math.nan) == "0.034"
    assert show(math.nan, math.nan, 7.0) == "– / 7.0 / –"
    assert show(math.nan, math.nan) == "–"
    assert show(1.0, math.nan, 1.04) == "1.0 / 1.0 / 0.0"
    # Of some k only, it is not compared with the paper's of all.
    assert show(1.5, math.nan, 1.0, n_expected=3) == "1.5 [1 of 3] / 1.0 / –"
    assert "| <m> | 1.0 | <&> |" in ODD.as_markdown()
    assert "a\\|b" in ODD.as_markdown()


ODD = Table("x", "A | B", "", pd.DataFrame({"a|b": ["1.0"], "c": ["<&>"]}, index=pd.Index(["<m>"], name="method")))


def test_text_on_the_page_is_escaped(store):
    page = render([Section(read_scores(store), [], [ODD])])
    assert '<th scope="row">&lt;m&gt;</th><td>1.0</td><td>&lt;&amp;&gt;</td>' in page


def test_intervals_are_of_the_averages_over_all_cases(store):
    for seed, objective in enumerate((103, 101)):
        run = Run("abalone", None, 10, "manhattan", "onebatch", seed)
        store.append(record_of(run, 1, objective * (1 + 0.1 * seed)))  # 3 and 1 % above FasterPAM, elsewhere 1 %
    found = compare(read_scores(store), "paired_delta_ro", ["abalone", "letter"], (10, 50, 100)).loc["onebatch"]
    averages = [(3 + 5 * 1) / 6, 1]
    assert found["mean"] == pytest.approx(statistics.mean(averages))
    half = 12.706 * abs(averages[0] - averages[1]) / 2  # the quantile of Student's t for two values, from a table
    assert (found["low"], found["high"]) == pytest.approx((found["mean"] - half, found["mean"] + half), rel=1e-4)
    assert (found["least"], found["largest"], found["cases"], found["seeds"]) == pytest.approx((1, 2, 6, 2))


def test_intervals_cover_the_mean_as_often_as_they_say():
    samples = np.random.default_rng(0).normal(3, 2, size=(1000, 5))
    covered = [low < 3 < high for low, high in map(bound_mean, samples)]
    assert statistics.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert bound_mean([2.0, 2.0]) == (2, 2)
    assert all(map(math.isnan, bound_mean([2.0])))
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)  # Student's t with 2 degrees


def test_ranks_and_their_critical_difference(store):
    """Demšar (2006), Table 5: with four methods q is 2.569, so that the difference is 2.569 (4 · 5 / (6 · 6))^½."""
    ranking = rank_methods(read_scores(store), ["abalone", "letter"], (10, 50, 100))
    assert list(ranking.mean_ranks.index) == ["FasterPAM", "onebatch", "OneBatchPAM-nniw", "Random"]
    assert list(ranking.mean_ranks) == [1, 2, 3, 4]
    assert ranking.critical_difference == pytest.approx(2.569 * (20 / 36) ** 0.5, abs=1e-3)
    assert ranking.p_value < 0.01
    assert ranking.find_groups() == [("FasterPAM", "onebatch"), ("onebatch", "OneBatchPAM-nniw"), TOLD_APART]


TOLD_APART = ("OneBatchPAM-nniw", "Random")  # the last pair of neighbours, which 1.91 covers


@pytest.mark.parametrize(
    ("difference", "groups"),
    [(0.5, []), (1.0, [("a", "b"), ("c", "d")]), (2.5, [("a", "b"), ("b", "d")]), (9, [("a", "d")])],
)
def test_groups_are_as_large_as_the_difference_allows(difference, groups):
    ranks = pd.Series({"a": 1.0, "b": 2.0, "c": 3.6, "d": 4.4})
    assert Ranking(ranks, 5, 0.01, difference).find_groups() == groups


def test_the_papers_averages_are_those_of_its_data_sets():
    """A slip of the pen in paper.toml would show: the summary is the mean of the other tables but for rounding."""
    for scale, n_rows in (("small", 19), ("large", 14)):
        names = paper.list_datasets(scale)
        assert len(names) == 5
        for measure in ("rt", "delta_ro"):
            summary = paper.find_figures(scale, names, measure)
            parts = [paper.find_figures(scale, [name], measure) for name in names]
            assert len(summary) == n_rows
            pd.testing.assert_frame_equal(summary, sum(parts) / 5, atol=0.07, rtol=0)
    assert paper.find_figures("small", ["cifar20k"], "rt").empty
    assert {CONTESTANTS[name].paper_row for name in paper.find_figures("small", ["letter"], "rt").index} == {
        contestant.paper_row for contestant in CONTESTANTS.values() if contestant.paper_row is not None
    }
    assert "FasterPAM" not in paper.find_figures("large", ["mnist"], "rt").index


def test_the_front_is_what_nothing_beats():
    points = [(1, 9, "a"), (2, 5, "b"), (3, 6, "c"), (2, 7, "d"), (4, 5, "e"), (5, 1, "f"), (2, 5, "g")]
    beaten = {q[2] for q in points for p in points if p[0] <= q[0] and p[1] <= q[1] and (p[0] < q[0] or p[1] < q[1])}
    assert {point[2] for point in find_front(points)} == {point[2] for point in points} - beaten


def test_the_page_needs_nothing_else(store, capsys):
    assert main(["figures", "--results", str(store.folder)]) == 0
    page = (store.folder / "report.html").read_text()
    images = re.findall(r'<img [^>]*src="([^"]*)"', page)
    assert (
        len(images) == len(list((store.folder / "figures").glob("*.png"))) == 1 + 2 * (1 + 2)
    )  # ranks; bars, k = 10, k = 100
    assert all(base64.b64decode(image.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG" for image in images)
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "Chip, 2 processors, 2 threads" in page


def test_records_that_name_no_experiment_are_of_ours(tmp_path):
    run = Run("blobs", None, 3, "manhattan", "FasterPAM", 0)
    Store(tmp_path, "smoke").append(record_of(run, 1, 1))
    assert read_scores(Store(tmp_path, "smoke")).config.title == "Smoke"
    Store(tmp_path, "mine").append(record_of(run, 1, 1))
    with pytest.raises(ConfigError, match="there is no experiment 'mine'"):
        read_scores(Store(tmp_path, "mine"))


def test_the_report_has_everything(store, capsys):
    assert main(["report", "--results", str(store.folder)]) == 0
    assert "###" not in capsys.readouterr().out
    assert (store.folder / "report.html").exists()
    assert (store.folder / "tables" / "test.md").exists()
    assert len(list((store.folder / "tables").glob("*.csv"))) == 3 + 2 + 3 + 1 + 1


def test_tables_are_written(store, capsys):
    assert main(["tables", "test", "--results", str(store.folder)]) == 0
    assert "### Test: summary" in capsys.readouterr().out
    assert "### Test: per k, letter" in (store.folder / "tables" / "test.md").read_text()
    assert (store.folder / "tables" / "test-details.csv").exists()


def test_no_records_are_told(tmp_path, capsys):
    assert main(["tables", "--results", str(tmp_path)]) == 2
    assert "no records of anything" in capsys.readouterr().err
