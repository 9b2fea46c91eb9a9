"""The study of representatives: its data, its methods, and its tables."""

from __future__ import annotations

import gzip
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bench.__main__ import main
from bench.data import download, labelled
from bench.measure.records import Run
from bench.methods import selectors
from bench.methods.contestant import Problem
from bench.studies import representatives as study

X = np.random.RandomState(0).standard_normal((200, 3)).astype(np.float32)


QUICK = [each for each in selectors.SELECTORS if each.name != "apricot"]  # which takes seconds to compile


@pytest.mark.parametrize("contestant", QUICK, ids=lambda contestant: contestant.name)
def test_every_method_returns_distinct_rows(contestant):
    medoids = contestant.solve(Problem(X, 7, "euclidean", 3, 1)).medoids
    assert len(np.unique(medoids)) == len(medoids) == 7
    assert 0 <= medoids.min() <= medoids.max() < 200


def test_k_center_adds_the_farthest_row():
    line = np.array([[0.0], [1.0], [2.0], [10.0]])
    problem = Problem(line, 3, "euclidean", 0, 1)
    start = int(problem.draw_start()[0])
    chosen = selectors.solve_k_center(problem).medoids
    assert chosen.tolist() == {0: [0, 3, 2], 1: [1, 3, 0], 2: [2, 3, 0], 3: [3, 0, 2]}[start]


def test_apricot_sees_the_same_distances(monkeypatch):
    """They become similarities by a subtraction; apricot itself would square them first."""

    class Selection:
        def __init__(self, k, metric, optimizer):
            assert (k, metric, optimizer) == (2, "precomputed", "lazy")

        def fit(self, similarities):
            np.testing.assert_array_equal(similarities, [[9, 5, 0], [5, 9, 4], [0, 4, 9]])
            self.ranking = [1, 2]
            return self

    monkeypatch.setitem(sys.modules, "apricot", SimpleNamespace(FacilityLocationSelection=Selection))
    rows = np.array([[0.0], [4.0], [9.0]])
    assert selectors.solve_apricot(Problem(rows, 2, "euclidean", 0, 1)).medoids.tolist() == [1, 2]


def test_some_choose_once():
    """The choice of k-center begins with its choice of fewer rows; prefixes of ours are named as such."""
    contestants = {each.name: each for each in QUICK}
    runs = [Run("digits", None, k, "euclidean", "", 3) for k in (5, 20)]
    long, short = (selectors.solve_k_center(Problem(X, k, "euclidean", 3, 1)).medoids for k in (20, 5))
    np.testing.assert_array_equal(short, long[:5])
    for name in ("k-center", "prefix"):
        (_, first, seconds), (_, last, again) = study.choose(contestants[name], runs, X, longest=20)
        np.testing.assert_array_equal(first, last[:5])
        assert (len(last), seconds) == (20, again)
    (_, first, _), (_, last, _) = study.choose(contestants["onebatchpam"], runs, X, longest=None)
    expected = [selectors.solve_representatives(Problem(X, k, "euclidean", 3, 1)).medoids for k in (5, 20)]
    np.testing.assert_array_equal(first, expected[0])
    np.testing.assert_array_equal(last, expected[1])


def test_series_are_read_with_all_channels(tmp_path):
    path = tmp_path / "series.ts"
    path.write_text("# a comment\n@univariate false\n@data\n1.5,2:3,4:left\n\n5,6:7,8:right\n")
    assert labelled.read_data_lines(path) == [["1.5,2", "3,4", "left"], ["5,6", "7,8", "right"]]


def test_digits_are_at_hand(tmp_path):
    rows, labels = labelled.load_labelled("digits", tmp_path)
    assert rows.shape == (1797, 64)
    assert set(labels) == set(range(10))


def test_scaled_features():
    scaled = labelled.scale(np.array([[1.0, 5.0], [3.0, 5.0]]))
    np.testing.assert_array_equal(scaled, [[-1, 0], [1, 0]])


class TestLabelsOfMnist:
    LABELS = np.arange(5, dtype=np.uint8)
    FILE = gzip.compress(b"\x00\x00\x08\x01\x00\x00\x00\x05" + LABELS.tobytes())

    @pytest.fixture(autouse=True)
    def _home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path))
        monkeypatch.setattr(download, "_download", lambda url: self.FILE)

    def test_they_are_cached(self, monkeypatch, tmp_path, capsys):
        monkeypatch.setattr(download, "MNIST_LABELS_SHA256", download.hash_array(self.LABELS))
        assert main(["download", "mnist-labels"]) == 0
        with np.load(tmp_path / "mnist-labels.npz") as arrays:
            np.testing.assert_array_equal(arrays["X"], self.LABELS)

    def test_others_are_refused(self, tmp_path, capsys):
        assert main(["download", "mnist-labels"]) == 2
        assert "the labels have the SHA-256" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(study, "SELECTORS", QUICK)


def test_a_study_prints_its_tables_and_goes_on_where_it_stopped(tmp_path, few, capsys):
    arguments = ["representatives", "--sets", "breast cancer", "--ks", "5", "9", "--results", str(tmp_path), "--seeds"]
    assert main([*arguments, "1"]) == 0
    assert main([*arguments, "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("breast cancer k=9 seed=0 onebatchpam: ") == 1  # not made a second time
    assert shown.count("breast cancer k=9 seed=1 onebatchpam: ") == 1
    last = shown.split("**Accuracy of 1-NN, in %**")[-1]
    for title in ("Accuracy of logistic regression, in %", "onebatchpam minus others", "above onebatchpam", "Seconds"):
        assert title in last
    assert "| breast cancer | 9 | " in last


def test_a_set_that_is_not_at_hand_is_left_out(tmp_path, few, capsys, monkeypatch):
    monkeypatch.setenv("ONEBATCHPAM_CACHE", str(tmp_path))
    main(["--data", str(tmp_path), "representatives", "--sets", "mnist", "covertype", "--results", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "mnist is left out" in shown
    assert "covertype is left out" in shown


class TestTables:
    RECORDS = tuple(
        {"dataset": "digits", "n": None, "k": 10, "metric": "euclidean", "method": method, "seed": seed, "n_pool": 9}
        | {"seconds": 1.0, "objective": objective * (1 + seed), "nearest": accuracy + 0.1 * seed, "logistic": 0.5}
        for method, objective, accuracy in (("random", 3.0, 0.2), ("onebatchpam", 2.0, 0.5))
        for seed in (0, 1)
    )

    def test_differences_are_paired_by_seed(self):
        summary = study.make_summary("title", study.gather(self.RECORDS, "nearest", 100), ["random", "onebatchpam"])
        assert summary.splitlines()[-1] == "| 10 | 1 | +30.0 ± 0.0 |"

    def test_objectives_are_relative(self):
        assert study.compare(self.RECORDS)["digits", 10, "random"] == pytest.approx({0: 50, 1: 50})

    def test_seeds_without_a_partner_do_not_count(self):
        assert study.compare(self.RECORDS[:-1])["digits", 10, "random"] == pytest.approx({0: 50})
        values = study.gather(self.RECORDS[:-1], "nearest")
        assert study.average_differences(values, ["digits"], 10, "random") == pytest.approx([0.3])

    def test_a_page_without_a_method_that_did_not_run(self):
        page = study.make_page(list(self.RECORDS))
        assert "apricot" not in page
        assert "| digits | 10 | 25.0 ± 63.5 | 55.0 ± 63.5 |" in page

    def test_a_single_class_is_predicted_for_all(self):
        scores = study.judge_models(X[:3], np.ones(3), X[:10], np.r_[np.ones(5), np.zeros(5)])
        assert scores == {"nearest": 0.5, "logistic": 0.5}
