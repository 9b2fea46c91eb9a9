"""The commands: what they write and print is what the package computes."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import skops.io
from scipy.spatial.distance import cdist

import onebatchpam
from onebatchpam import OneBatchPAM, select_k, select_representatives
from onebatchpam.algorithms.effort import EFFORTS
from onebatchpam.cli import main, parser

N = 150
FILES = ["labels.csv", "map.svg", "medoids.csv", "model.skops", "report.html", "summary.json"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    group = rng.choice(3, N)
    return pa.table(
        {
            "key": [f"K{i}" for i in range(N)],
            "age": rng.normal(np.array([30.0, 50, 70])[group], 4),
            "size": np.array(["S", "M", "L"])[group],
            "joined": np.datetime64("2020-01-01")
            + np.round(rng.normal(np.array([0, 400, 900])[group], 50)).astype(int),
            "copies": 1 + rng.choice(3, N),
            "notes": [f"note {i}" for i in range(N)],
        }
    )


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "customers.csv"
    pyarrow.csv.write_csv(table, path)
    return path


OPTIONS = ["--weight", "copies", "--kind", "size=S<M<L", "--seed", "3"]
PARAMS = {"kinds": {"size": ["S", "M", "L"]}}


@pytest.fixture(scope="module")
def model(table):
    estimator = OneBatchPAM(3, metric="gower", metric_params=PARAMS, random_state=3)
    return estimator.fit(compared(table), sample_weight=table["copies"].to_numpy())


def test_efforts(file, table, capsys):
    assert tuple(EFFORTS) == parser.EFFORTS  # listed twice, so that --help need not import scikit-learn
    assert main(["cluster", str(file), "-k", "3", *OPTIONS, "--effort", "best", "--json", "-q"]) == 0
    estimator = OneBatchPAM(3, metric="gower", metric_params=PARAMS, random_state=3, effort="best")
    fitted = estimator.fit(compared(table), sample_weight=table["copies"].to_numpy())
    summary = json.loads(capsys.readouterr().out)
    assert summary["parameters"]["effort"] == "best"
    assert summary["result"]["inertia"] == fitted.inertia_


def compared(table):
    return table.select(["age", "size", "joined"])


@pytest.fixture(scope="module")
def folder(file, tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / "segments"
    assert main(["cluster", str(file), "-k", "3", *OPTIONS, "-o", str(path), "--quiet"]) == 0
    return path


def read_csv(path):
    with path.open() as lines:
        return list(csv.DictReader(lines))


class TestCluster:
    def test_writes_all_files(self, folder):
        assert sorted(path.name for path in folder.iterdir()) == FILES

    def test_labels(self, folder, model, table):
        rows = read_csv(folder / "labels.csv")
        assert [row["key"] for row in rows] == table["key"].to_pylist()
        np.testing.assert_array_equal([int(row["cluster"]) for row in rows], model.labels_)
        np.testing.assert_allclose([float(row["distance"]) for row in rows], model.distances_, rtol=1e-6)

    def test_medoids_have_all_columns(self, folder, model, table):
        rows = read_csv(folder / "medoids.csv")
        clusters = [int(row["cluster"]) for row in rows]
        assert sorted(clusters) == [0, 1, 2]
        for row, cluster in zip(rows, clusters, strict=True):
            medoid = table.slice(int(model.medoid_indices_[cluster]), 1).to_pylist()[0]
            assert (row["key"], row["notes"], float(row["age"])) == (medoid["key"], medoid["notes"], medoid["age"])
            assert float(row["size_of_cluster"]) == model.cluster_sizes_[cluster]
            np.testing.assert_allclose(float(row["mean_distance"]), model.mean_distances_[cluster], rtol=1e-6)
        shares = [float(row["share"]) for row in rows]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1)

    def test_the_summary_repeats_the_run(self, folder, model, tmp_path, capsys):
        summary = json.loads((folder / "summary.json").read_text())
        assert summary["medoids"] == model.medoid_indices_.tolist()
        assert summary["result"]["inertia"] == model.inertia_
        assert summary["parameters"]["random_state"] == 3
        assert summary["versions"]["onebatchpam"]
        assert len(summary["input"]["sha256"]) == 64
        again = tmp_path / "again"
        assert main(["cluster", "--config", str(folder / "summary.json"), "-o", str(again)]) == 0
        for name in ("labels.csv", "medoids.csv"):
            assert (again / name).read_bytes() == (folder / name).read_bytes()
        typed = shlex.split(summary["command"])
        typed[-1] = str(tmp_path / "typed")
        assert main(typed[1:]) == 0
        assert (tmp_path / "typed" / "labels.csv").read_bytes() == (folder / "labels.csv").read_bytes()

    def test_the_model_opens_in_python(self, folder, model, table):
        opened = skops.io.load(folder / "model.skops", trusted=["onebatchpam.OneBatchPAM", "datetime.datetime"])
        np.testing.assert_array_equal(opened.predict(compared(table)), model.labels_)

    def test_the_report_names_the_medoids(self, folder, model, table):
        page = (folder / "report.html").read_text(encoding="utf-8")
        for medoid in model.medoid_indices_:
            assert table["key"][int(medoid)].as_py() in page
        assert "onebatchpam cluster" in page

    def test_a_range_of_k(self, file, tmp_path, capsys):
        assert main(["cluster", str(file), "-k", "2:5", "-o", str(tmp_path / "out"), "--json"]) == 0
        printed = capsys.readouterr()
        summary = json.loads(printed.out)
        assert summary["choice_of_k"]["k"] == [2, 3, 4, 5]
        assert summary["result"]["n_clusters"] == 3
        assert "Suggested k: 3" in printed.err
        assert "Choice of k" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")

    def test_labels_as_parquet_and_no_report(self, file, tmp_path, capsys):
        out = tmp_path / "out"
        assert main(["cluster", str(file), "-k", "3", "--labels", "parquet", "--no-report", "-o", str(out)]) == 0
        assert pyarrow.parquet.read_table(out / "labels.parquet").num_rows == N
        assert not (out / "report.html").exists()
        assert re.match(r"cluster +medoid +rows +share +mean distance\n", capsys.readouterr().out)

    def test_certify(self, file, tmp_path, capsys):
        assert main(["cluster", str(file), "-k", "3", "--certify", "5", "-o", str(tmp_path / "out"), "--json"]) == 0
        printed = capsys.readouterr()
        assert 0 <= json.loads(printed.out)["certificate"]["gap"] < 0.1
        assert "The objective" in printed.err


@pytest.mark.parametrize("name", ["cluster", "distance", "second", "margin"])
def test_the_names_of_rows_in_a_column_that_is_called_like_one_of_ours(name, tmp_path, capsys):
    path, names = tmp_path / "rows.csv", ["A", "B", "C", "D"]
    path.write_text(f"{name},cluster_of_cluster,b\nA,1,2\nB,2,3\nC,9,9\nD,8,9\n")
    assert main(["cluster", str(path), "--id", name, "-k", "2", "-o", str(tmp_path / "o"), "-q"]) == 0
    assert main(["predict", str(tmp_path / "o"), str(path), "-o", str(tmp_path / "new.csv"), "-q"]) == 0
    capsys.readouterr()
    assert (tmp_path / "new.csv").read_text() == (tmp_path / "o" / "labels.csv").read_text()
    lines = read_csv(tmp_path / "o" / "labels.csv")
    assert [line[name] for line in lines] == names
    ours = {"cluster", "distance", "second", "margin"}
    assert set(lines[0]) == {name, f"{name}_of_cluster", *ours}
    medoids = read_csv(tmp_path / "o" / "medoids.csv")
    assert {line[name] for line in medoids} < set(names)
    assert {float(line["cluster_of_cluster"]) for line in medoids} < {1, 2, 8, 9}


def test_weights_count_in_every_silhouette(file, folder, tmp_path, capsys):
    options = ["cluster", str(file), "-k", "3,3", *OPTIONS]
    assert main([*options, "--json", "-q"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["result"]["silhouette"] == pytest.approx(summary["choice_of_k"]["silhouette"][0], abs=1e-3)
    rows = read_csv(folder / "labels.csv")
    copies = [int(row["copies"]) for row in read_csv(file)]
    expected = np.average([float(row["margin"]) for row in rows], weights=copies)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["result"]["silhouette"] == pytest.approx(expected, rel=1e-6)


def test_the_table_of_clusters_says_what_it_counts(file, tmp_path, capsys):
    for number, (options, heading) in enumerate([([], "rows"), (["--weight", "copies"], "weight")]):
        assert main(["cluster", str(file), "-k", "3", *options, "-o", str(tmp_path / str(number)), "-q"]) == 0
        assert capsys.readouterr().out.split()[2] == heading


def test_a_report_has_the_weights_of_the_fit(file, folder, table, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(folder), str(file), "-o", str(page)]) == 0
    facts = [re.findall(r"<d[td].*", path.read_text(encoding="utf-8")) for path in (page, folder / "report.html")]
    assert facts[0] == facts[1]
    pyarrow.csv.write_csv(table.drop_columns("copies"), tmp_path / "few.csv")
    assert main(["report", str(folder), str(tmp_path / "few.csv"), "-o", str(page), "--force"]) == 1
    assert "few.csv lacks the column 'copies' of the fit: expected the weights" in capsys.readouterr().err


class TestPredict:
    def test_the_rows_of_the_fit(self, folder, file, capsys):
        assert main(["predict", str(folder), str(file)]) == 0
        assert capsys.readouterr().out == (folder / "labels.csv").read_text()

    def test_few_rows_of_another_format(self, folder, table, tmp_path):
        """Columns in another order and of other types, and a file too small to tell the types by itself."""
        few = table.slice(3, 2).select(["joined", "size", "key", "age"])
        pyarrow.parquet.write_table(few, tmp_path / "new.parquet")
        out = tmp_path / "labels.csv"
        assert main(["predict", str(folder), str(tmp_path / "new.parquet"), "-o", str(out)]) == 0
        assert read_csv(out) == read_csv(folder / "labels.csv")[3:5]

    def test_whole_numbers_where_the_fit_had_fractions(self, folder, tmp_path, capsys):
        (tmp_path / "new.csv").write_text("age,size,joined\n30,S,2020-01-01\n,XL,\n")
        assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 0
        assert capsys.readouterr().out.count("\n") == 3

    def test_a_column_is_missing(self, folder, tmp_path, capsys):
        (tmp_path / "new.csv").write_text("age,size\n30,S\n")
        assert main(["predict", str(folder), str(tmp_path / "new.csv")]) == 1
        assert "new.csv lacks the column 'joined' of the fit" in capsys.readouterr().err

    @pytest.mark.parametrize("kind", ["numbers", "strings"])
    def test_without_columns(self, kind, tmp_path, capsys):
        if kind == "numbers":
            np.save(tmp_path / "rows.npy", np.random.RandomState(0).rand(50, 3))
        else:
            (tmp_path / "rows.txt").write_text("".join(f"{'ab' * (i % 5)}{i}\n" for i in range(50)))
        file = next(tmp_path.iterdir())
        assert main(["cluster", str(file), "-k", "3", "-o", str(tmp_path / "out"), "--no-report"]) == 0
        capsys.readouterr()
        assert main(["predict", str(tmp_path / "out"), str(file), "-q"]) == 0
        assert capsys.readouterr().out == (tmp_path / "out" / "labels.csv").read_text()

    def test_a_model_of_a_stranger_runs_no_code(self, folder, file, tmp_path, capsys):
        """A file with another class in it is refused, and nothing of it is called."""
        strange = tmp_path / "strange"
        strange.mkdir()
        (strange / "summary.json").write_bytes((folder / "summary.json").read_bytes())
        skops.io.dump({"harm": print}, strange / "model.skops")
        assert main(["predict", str(strange), str(file)]) == 1
        assert "cannot be read as a model of onebatchpam" in capsys.readouterr().err
        (strange / "model.skops").write_bytes(b"\x80\x04cos\nsystem\n.")
        assert main(["predict", str(strange), str(file)]) == 1

    def test_no_such_folder(self, tmp_path, file, capsys):
        assert main(["predict", str(tmp_path / "nothing"), str(file)]) == 1
        assert "No such summary" in capsys.readouterr().err


class TestSelect:
    def test_indices(self, file, table, capsys):
        assert main(["select", str(file), "-k", "5", *OPTIONS]) == 0
        printed = capsys.readouterr()
        chosen = select_representatives(
            compared(table),
            5,
            metric="gower",
            metric_params=PARAMS,
            sample_weight=table["copies"].to_numpy(),
            random_state=3,
        )
        assert list(map(int, printed.out.split())) == chosen.indices.tolist()
        assert "5 representatives" in printed.err

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "jsonl", "txt"])
    def test_rows_keep_all_columns(self, suffix, file, table, tmp_path, capsys):
        out = tmp_path / f"subset.{suffix}"
        assert main(["select", str(file), "-k", "4", "-o", str(out), "--json"]) == 0
        indices = json.loads(capsys.readouterr().out)["indices"]
        if suffix == "txt":
            assert out.read_text().split("\n")[:-1] == [table["notes"][i].as_py() for i in indices]
            return
        assert main(["select", str(out), "-k", "4", "--json", "--columns", "age"]) == 0  # it can be read again
        assert set(json.loads(capsys.readouterr().out)["indices"]) == {0, 1, 2, 3}
        if suffix == "parquet":
            assert pyarrow.parquet.read_table(out).to_pylist() == table.take(indices).to_pylist()

    def test_rows_of_numbers(self, tmp_path, capsys):
        rows = np.random.RandomState(0).rand(60, 3)
        np.save(tmp_path / "rows.npy", rows)
        assert main(["select", str(tmp_path / "rows.npy"), "-k", "4", "-o", str(tmp_path / "few.npy"), "--json"]) == 0
        np.testing.assert_array_equal(
            np.load(tmp_path / "few.npy"), rows[json.loads(capsys.readouterr().out)["indices"]]
        )

    def test_rows_on_stdout(self, file, capsys):
        assert main(["select", str(file), "-k", "2", "--rows", "-q"]) == 0
        assert [row["size"] for row in csv.DictReader(capsys.readouterr().out.splitlines())]


def test_choose_k(file, table, tmp_path, capsys):
    picture = tmp_path / "k.png"
    assert main(["choose-k", str(file), "-k", "2:5", "--drop", "copies", "--plot", str(picture), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = select_k(compared(table), range(2, 6), OneBatchPAM(metric="gower", random_state=0))
    assert found["k"] == [2, 3, 4, 5]
    np.testing.assert_allclose(found["inertia"], expected.inertia)
    assert found["suggested_k"] == expected.suggested_k == 3
    assert matplotlib.image.imread(picture).shape[1] > 500
    assert main(["choose-k", str(file), "-k", "3,2", "--drop", "copies"]) == 0
    assert re.search(r"\n2 .*\n3 ", capsys.readouterr().out)


def test_estimate(file, capsys):
    assert main(["estimate", str(file), "-k", "3", "--json"]) == 0
    cost = json.loads(capsys.readouterr().out)
    assert (cost["n_samples"], cost["n_clusters"], cost["metric"]) == (N, 3, "gower")
    assert main(["estimate", str(file), "-k", "3"]) == 0
    assert "batch points m" in capsys.readouterr().out


def test_report(folder, file, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(folder), str(file), "-o", str(page), "--title", "My <customers>"]) == 0
    assert "<h1>My &lt;customers&gt;</h1>" in page.read_text(encoding="utf-8")
    few = tmp_path / "few.csv"
    few.write_text("".join(file.read_text().splitlines(keepends=True)[:50]))
    assert main(["report", str(folder), str(few), "-o", str(tmp_path / "few.html")]) == 1
    assert "few.csv has 49 rows: expected the 150 rows of the fit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "n", "expected"), [("addresses", 3000, "east_km"), ("customers", 800, "plan"), ("words", 300, "Paris")]
)
def test_demo_of_generated_data(name, n, expected, tmp_path, capsys):
    out = tmp_path / "demo"
    k = 40 if name == "words" else 5
    assert main(["demo", name, "--rows", str(n), "-k", str(k), "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith(f"{(out / 'report.html').as_uri()}\n")
    assert "$ onebatchpam cluster" in printed.err
    assert f"All pairs of {n:,} rows would be" in printed.err
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert expected in (out / "report.html").read_text(encoding="utf-8")
    has_proof = re.search(r"The objective \d+\.\d+ is at most 0\.\d+ % above the optimum", printed.err)
    assert bool(has_proof) == (name == "addresses")


def test_demo_of_digits(tmp_path, capsys):
    assert main(["demo", "digits", "-o", str(tmp_path / "demo")]) == 0
    assert re.search(r"The objective \d+ is at most \d\.\d+ % above the optimum", capsys.readouterr().err)
    assert (tmp_path / "demo" / "report.html").read_text(encoding="utf-8").count("data:image/png") > 100


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "onebatchpam" in capsys.readouterr().out


def test_the_shell_completes_commands_and_options(tmp_path):
    """As a shell asks: by variables of the environment, with a file for the answer."""
    line, answer = "onebatchpam cluster --met", tmp_path / "answer"
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "PYTHONPATH": str(Path(onebatchpam.__file__).parents[1]),
    }
    subprocess.run([sys.executable, "-m", "onebatchpam"], env={**os.environ, **asked}, check=True, capture_output=True)
    assert answer.read_text().strip() == "--metric"


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_matrix_of_dissimilarities(symmetric, tmp_path, capsys):
    rows = np.random.RandomState(0).rand(40, 2)
    matrix = cdist(rows, rows) if symmetric else np.random.RandomState(0).rand(40, 40)
    np.save(tmp_path / "d.npy", matrix)
    assert (
        main(["cluster", str(tmp_path / "d.npy"), "-k", "3", "--metric", "precomputed", "-o", str(tmp_path / "o")]) == 0
    )
    labels = [int(row["cluster"]) for row in read_csv(tmp_path / "o" / "labels.csv")]
    np.testing.assert_array_equal(labels, OneBatchPAM(3, metric="precomputed", random_state=0).fit_predict(matrix))
    assert "x0" not in read_csv(tmp_path / "o" / "medoids.csv")[0]
    capsys.readouterr()


def test_a_range_beyond_the_rows_and_numbers_that_json_does_not_know(tmp_path, capsys):
    (tmp_path / "few.csv").write_text("a,b\n1,2\n2,3\n9,9\n8,9\n")
    assert main(["choose-k", str(tmp_path / "few.csv"), "-k", "1:20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["k"] == [1, 2, 3, 4]
    assert found["silhouette"][0] is None
