"""`python -m bench complexity`, `theorem` and `pages`: the tables of docs/ are those of the records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from bench.__main__ import main
from bench.measure.records import Run, Store
from bench.methods.contestant import Answer
from bench.studies import appendix, bandit, beyond, complexity, counts, pages, theorem
from onebatchpam import PAM, FasterPAM, OneBatchPAM


def test_the_tables_of_the_pages_are_those_of_the_records(capsys):
    assert main(["pages", "--check"]) == 0, capsys.readouterr().err


def test_a_table_that_differs_is_found_and_mended(tmp_path, monkeypatch, capsys):
    table = pd.DataFrame({"b": ["1"]}, index=pd.Index(["x"], name="a"))
    monkeypatch.setitem(pages.BLOCKS, "some table", lambda: table)
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- records: some table -->\nold\n<!-- end -->\n\nAfter.\n")
    assert main(["pages", "--folder", str(tmp_path), "--check"]) == 2
    assert "page.md are not those of the records" in capsys.readouterr().err
    assert main(["pages", "--folder", str(tmp_path)]) == 0
    assert page.read_text() == (
        "Before.\n\n<!-- records: some table -->\n\n| a | b |\n|---|---|\n| x | 1 |\n\n<!-- end -->\n\nAfter.\n"
    )
    assert main(["pages", "--folder", str(tmp_path), "--check"]) == 0


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (12.34, "12.3"), (-0.066, "−0.07"), (0.001, "0"), (-0.001, "0"), (None, "")]
)
def test_figures_have_the_digits_that_mean_something(value, text):
    assert pages.show(math.nan if value is None else value) == text


def test_a_mean_has_its_spread_in_brackets():
    assert pages.show_spread(1.68, 0.52) == "1.7 (0.52)"
    assert pages.show_spread(15.5, math.nan) == "15.5"


def test_standard_deviations_stand_beside_those_of_the_paper():
    table = pages.compare_with_paper("small")
    assert table.loc["OneBatchPAM-nniw", ["paper", "paper "]].tolist() == ["1.7 (0.50)", "15.5 (1.6)"]
    objectives = pages.open_scores("small").runs.query("method == 'FasterPAM'").groupby(["dataset", "k"])["objective"]
    spread = (100 * objectives.std() / objectives.mean()).mean()
    assert table.loc["FasterPAM", "ΔRO"] == f"0 ({pages.show(spread)})"


def test_rows_say_where_they_have_fewer_cases_and_seeds_than_others():
    whole = pd.DataFrame({"cases": [15, 15, 5], "seeds": [5, 1, 2]}, index=["PAM", "onebatch", "banditpam, T = 2"])
    names = [pages.name_row(method, own, whole) for method, own in whole.iterrows()]
    assert names == ["PAM", "`onebatch` (1 seed)", "`banditpam`, T = 2 (5 of 15, 2 seeds)"]


def test_a_line_names_each_machine_once(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    machine = {"cpu": "Some CPU", "simd": "v3", "processors": 2, "memory_bytes": 2**34}
    for seed, cpu in enumerate(("Some CPU", "Some CPU", "Another CPU")):
        run = Run("letter", None, 10, "manhattan", "FasterPAM", seed)
        record = {"machine": {**machine, "cpu": cpu}, "threads": 1}
        Store(tmp_path, "small").append({**run.as_dict(), **record})
    rest = "with AVX2, processors: 2, memory: 16 GiB, threads of each method: 1"
    assert pages.describe_machines("small") == f"Machine: Another CPU {rest}; or Some CPU {rest}.\n"


def test_the_appendix_of_the_paper_stands_beside_ours():
    row = pages.compare_dataset("small", "letter").loc["OneBatchPAM-nniw"]
    assert row[["ΔRO, the paper", "RT, the paper"]].tolist() == ["1.8 (0.20)", "8.5 (0.50)"]


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Let the study of complexity have few rows; return its command."""
    monkeypatch.setattr(complexity, "MIDDLE", {"n": 400, "k": 3, "p": 2})
    monkeypatch.setattr(complexity, "SIZES", {"n": (200, 400, 800), "k": (2, 3, 5), "p": (2, 3, 4)})
    return ["complexity", "--seeds", "1", "--results", str(tmp_path)]


def test_exponents_of_counts_are_those_of_the_formulas(few, tmp_path, capsys):
    assert main(few) == 0
    assert "Seconds" not in capsys.readouterr().out
    frame = complexity.make_frame(Store(tmp_path, "complexity").read())
    exact = frame[frame["method"] == "FasterPAM"]
    assert (exact["n_distances"] == exact["n"] ** 2).all()
    table = complexity.tabulate(frame, "n_distances")
    for method in ("FasterPAM", "k-means++"):
        for axis in ("n", "k", "p"):
            assert table.loc[method, f"{axis}: measured"] == f"{table.loc[method, f'{axis}: Table 1']} ± 0.00"


def test_seconds_are_added_to_counts(few, capsys):
    assert main(few) == 0
    capsys.readouterr()
    assert main([*few, "--time"]) == 0
    assert "mixture2 n=200 k=3 seed=0 FasterPAM" in capsys.readouterr().out
    assert main([*few, "--time"]) == 0
    printed = capsys.readouterr().out
    assert "seed=0" not in printed
    assert "Seconds" in printed


def test_exponents_of_seconds_are_those_of_the_operations_with_the_swaps_that_were_made():
    swaps = {8: 70, 32: 75, 128: 66, 512: 90}
    runs = {
        Run(f"mixture{p}", 10_000, 10, "manhattan", "FasterPAM", 0): {"n_swaps": T, "seconds": 1e-9 * (p + T) * 1e8}
        for p, T in swaps.items()
    }
    row = complexity.tabulate(complexity.make_frame(runs), "seconds").loc["FasterPAM"]
    assert row["Table 1"] == "(p + T) n²"
    assert row["p: measured"].startswith(f"{row['p: Table 1']} ± ")
    assert 0.4 < float(row["p: Table 1"]) < 0.6
    assert row["n: Table 1"] == row["n: measured"] == "–"


def test_operations_are_p_for_each_dissimilarity_and_more_for_each_swap():
    runs = pd.DataFrame({"n": [1000.0], "k": [5.0], "p": [7.0], "n_swaps": [11.0]})
    block, sample = 1000 * math.log(5000), 100**2
    expected = {
        "FasterPAM": (7 + 11) * 1000**2,
        "BanditPAM++-2": 7 * (11 + 5) * 1000 * math.log(1000),
        "OneBatchPAM-nniw": (7 + 11) * block,
        "FasterCLARA-5": 5 * ((7 + 11 / 5) * sample + 7 * 5 * 1000),
        "k-means++": 7 * 5 * 1000,
    }
    for method, operations in expected.items():
        assert complexity.FORMULAS[method].evaluate(runs, "seconds") == pytest.approx([operations])


def test_labels_are_not_timed_except_those_by_which_samples_are_judged():
    answer = Answer(np.array([0]), {"distances": 2.0, "swap search": 1.0, "assignment": 4.0})
    assert complexity.find_seconds("FasterPAM", answer) == 3
    assert complexity.find_seconds("FasterCLARA-5", answer) == 7


def test_the_interval_of_an_exponent():
    slope, half = complexity.fit_exponent([1, 10, 100, 1000], [2, 2e2, 2e4, 2e6])
    assert (slope, half) == pytest.approx((2, 0), abs=1e-6)
    rng, sizes = np.random.default_rng(0), np.geomspace(1, 100, 12)
    noisy = (sizes**1.5 * np.exp(0.1 * rng.standard_normal(12)) for _ in range(400))
    covered = [abs(slope - 1.5) < half for slope, half in (complexity.fit_exponent(sizes, each) for each in noisy)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_the_smallest_difference_is_that_of_all_swaps():
    D = cdist(*[np.random.default_rng(0).random((12, 2))] * 2)
    medoids = np.array([2, 7, 9])
    loss = D[:, medoids].min(axis=1).mean()
    swapped = [
        [row if place == other else medoid for other, medoid in enumerate(medoids)]
        for place in range(3)
        for row in range(12)
    ]
    differences = [abs(D[:, swap].min(axis=1).mean() - loss) for swap in swapped]
    smallest = min(difference for difference in differences if difference > 1e-12)
    assert theorem.find_smallest_difference(D, medoids) == pytest.approx(smallest)


def test_a_batch_of_all_rows_has_the_medoids_of_fasterpam(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(theorem, "SETS", {"places": 3})
    monkeypatch.setattr(theorem, "SHARES", (0.1, 1.0))
    assert main(["theorem", "--seeds", "2", "--results", str(tmp_path)]) == 0
    table = theorem.tabulate(Store(tmp_path, "theorem").read())
    assert table.loc["places", "m = 100 % of n"] == "0.00 % (2)"


def test_the_theorem_says_something_about_the_corners():
    X = theorem.make_rows("corners")
    record = theorem.measure("corners", 0.75, seed=1)
    assert record["required"] <= record["m"] < len(X)
    assert record["agrees"]
    # No other pair of medoids has a smaller difference than those at the end of the search.
    corners = np.cumsum(theorem.CORNERS) - 1
    D = cdist(X, X[corners])
    changes = [
        abs(D[:, pair].min(axis=1).mean() - D[:, swapped].min(axis=1).mean())
        for pair in itertools.combinations_with_replacement(range(3), 2)
        for slot in range(2)
        for other in range(3)
        for swapped in [[other if place == slot else medoid for place, medoid in enumerate(pair)]]
    ]
    smallest = min(change for change in changes if change > 1e-12)
    assert theorem.find_smallest_difference(cdist(X, X), corners[:2]) == pytest.approx(smallest)


def test_the_batch_size_of_the_theorem_is_shown_if_it_is_one():
    assert theorem.show_required(pd.Series([1500, 1800]), n=3000) == "1,800"
    assert theorem.show_required(pd.Series([2 * 10**9, 10**12]), n=3000) == "above 10⁹"


def test_medoids_in_the_batch_are_counted(monkeypatch):
    monkeypatch.setattr(counts, "KS", (3,))
    X = np.random.RandomState(0).rand(3000, 2).astype(np.float32)
    records = {run: counts.measure(run, X) for run in counts.list_runs(seeds=1)}
    table = counts.tabulate_batch(records)
    assert table.iloc[-1, 0] == f"{100 * int(100 * np.log(9000)) / 3000:.1f} %"
    for variant in counts.VARIANTS:
        model = OneBatchPAM(3, metric="manhattan", variant=variant, refine=0, random_state=0, init="random")
        model.set_params(batch_size=int(100 * np.log(9000))).fit(X)
        share = np.mean([medoid in model.batch_indices_ for medoid in model.medoid_indices_])
        assert table.loc[variant, "k = 3"].startswith(f"{100 * share:.0f} %")
    swaps = counts.tabulate_swaps(records)
    assert swaps.loc["T = 2", "swaps"] == "2.0"
    assert swaps["more than BUILD, millions"].astype(float).is_monotonic_increasing
    passes = counts.tabulate_passes(records)["k = 3"]
    for method, estimator in {"PAM after BUILD": PAM, "FasterPAM": FasterPAM}.items():
        model = estimator(3, metric="manhattan", random_state=0).fit(X)
        assert passes[[f"{method}, passes", f"{method}, swaps"]].tolist() == [f"{model.n_iter_}", f"{model.n_swaps_}"]


def test_the_figures_of_the_appendix_have_all_rows_of_the_paper(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(appendix, "save", lambda figure, path: shown.append(figure) or path)
    assert main(["appendix", "--folder", str(tmp_path)]) == 0
    bars, _, fronts = shown
    scores = pages.open_scores("small")
    assert [axis.get_title() for axis in bars.axes[:5]] == scores.datasets
    assert [label.get_text() for label in bars.axes[0].get_yticklabels()] == appendix.list_methods(scores)
    drawn = {axis.get_title(): len(axis.collections) for axis in fronts.axes}
    assert drawn["letter, k = 100"] == len(appendix.list_methods(scores))
    assert "mnist, k = 10" in drawn


def test_the_exponents_of_figure_1_are_those_of_its_counts():
    table = pages.show_growth_of_counts()
    assert set(table.loc["FasterPAM"]) == {"2.00 ± 0.00"}
    assert set(table.loc["k-means++"]) == {"1.00 ± 0.00"}


def test_the_times_of_banditpam_are_multiples_of_those_of_fasterpam():
    row = pages.compare_bandit().loc["BanditPAM++-5"]
    scores = pages.open_scores("small")
    rt = scores.cells["rt"].xs("BanditPAM++-5", level="method").mean()
    assert row["times FasterPAM's"] == f"{rt / 100:.1f}"
    assert row[["ΔRO, the paper", "times FasterPAM's, the paper"]].tolist() == ["2.2", "28.8"]


def test_banditpam_beside_the_package_of_its_authors():
    seconds = {"BanditPAM++-2": 0.1, "banditpam, T = 2": 4.0}
    records = {
        Run("abalone", None, 10, "manhattan", method, seed): {
            "status": "ok",
            "objective": 100.0 + seed,
            "seconds": each,
        }
        for method, each in seconds.items()
        for seed in (0, 2)
    }
    untimed = {"status": "ok", "objective": 104.0, "seconds": None}
    records[Run("abalone", None, 10, "manhattan", "banditpam, T = 2", 1)] = untimed
    table = bandit.tabulate(records)
    assert table.index.tolist() == ["abalone, T = 2"]
    assert table["objective, ours"].tolist() == ["101 ± 1.4 (2)"]
    assert table["seconds, theirs"].tolist() == ["4"]
    assert table[["difference", "times as fast"]].to_numpy().tolist() == [["−0.98 %", "40"]]


def test_the_other_algorithms_are_judged_by_both_objectives():
    X = np.array([[0.0], [2.0], [3.0]])
    assert beyond.judge(X, np.array([0, 2])) == pytest.approx((1.0, (1 + (1 - 1 / 2) + 1) / 3))
    records = {
        Run("mapping", None, 10, "manhattan", method, seed): {
            "objective": 100 * (1 + 0.01 * place),
            "silhouette": 0.5,
            "share": 1,
            "seconds": 0.1 + seed,
            "n_medoids": 3 if method == "DynMSC" else 10,
        }
        for place, method in enumerate(beyond.METHODS)
        for seed in (0, 1)
    }
    table = beyond.tabulate(records)
    assert table["ΔRO, in %"].tolist()[:2] == ["0.00 (0.00 to 0.00)", "1.00 (1.00 to 1.00)"]
    assert set(table["gain"]) == {"0.000 (0.000 to 0.000)"}
    assert set(table["seconds, median"]) == {"0.6"}
    assert table["medoids"].tolist() == ["10"] * 5 + ["3"]
    assert table.loc["DynMSC", "ΔRO, in %"] == "–"  # a sum over fewer medoids cannot be compared


def test_runs_whose_records_have_no_seconds_are_made_again(tmp_path, monkeypatch, capsys):
    X = np.random.RandomState(0).rand(60, 2)
    monkeypatch.setattr(beyond, "load", lambda name, folder: X)
    monkeypatch.setattr(beyond, "DATASETS", ("mapping",))
    monkeypatch.setattr(beyond, "KS", (4,))
    command, store = ["beyond", "--seeds", "2", "--results", str(tmp_path)], Store(tmp_path, "beyond")
    run = Run("mapping", None, 4, "manhattan", "FasterPAM", 0)
    store.append({**run.as_dict(), "objective": 1.0, "silhouette": 0.0, "share": 1.0})
    assert main(command) == 0
    assert all("seconds" in record for record in store.read().values())
    capsys.readouterr()
    assert main(command) == 0
    assert "seed=" not in capsys.readouterr().out
