"""The page of a report: its numbers are those of the package, for every kind of data, and text from data stays text."""

from __future__ import annotations

import base64
import html
import io
import os
import re
import sys
from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform

from onebatchpam import FasterPAM, OneBatchPAM, pair_metric, scan_parquet, select_k
from onebatchpam.report import study as study_module
from onebatchpam.report.columns import MOST_BINS, find_features, show_number
from onebatchpam.report.layout import draw_map, grow_tree
from onebatchpam.report.page import describe_study
from onebatchpam.report.rows import encode_png
from onebatchpam.report.study import Study

EVIL = "<script>alert('x')</script>"
VOID = {"meta", "link", "img", "br", "path", "rect", "circle", "line", "polyline"}


class Balanced(HTMLParser):
    """Fails if an element is not closed, or closed twice; collects the addresses to which a page refers."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses, self.ids = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def check_page(path):
    """Return the page if it is well-formed and needs nothing else."""
    page = path.read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    for address in parser.addresses:
        assert address.startswith("data:") or (address[0] == "#" and address[1:] in parser.ids), address
    assert "@import" not in page
    assert "url(" not in page
    assert "nan" not in re.sub(r"data:\S+|<style>.*</style>|<script>.*</script>", "", page, flags=re.DOTALL).split()
    return page


def make_frame(n=300):
    rng = np.random.RandomState(0)
    group = rng.choice(3, n)
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(np.array([30, 50, 70])[group], 4)),
            EVIL: rng.normal(np.array([1.0, 1, 9])[group], 1),
            "plan": np.array(["basic", EVIL, "premium"])[group],
            "active": rng.uniform(size=n) < np.array([0.1, 0.5, 0.9])[group],
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * group + rng.choice(30, n), "D"),
        }
    )


@pytest.fixture(scope="module")
def frame():
    return make_frame()


def dtw(a, b):
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = abs(x - y) + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


RNG = np.random.RandomState(2)
NUMBERS = RNG.rand(80, 4)
SERIES = [np.sin(np.arange(5 + i % 4) + i % 3) for i in range(30)]
KINDS = {
    "numbers": (OneBatchPAM(3), NUMBERS),
    "float32": (OneBatchPAM(3), NUMBERS.astype(np.float32)),
    "two columns": (OneBatchPAM(3), NUMBERS[:, :2]),
    "one column": (OneBatchPAM(3), NUMBERS[:, :1]),
    "many columns": (OneBatchPAM(3), RNG.rand(60, 200)),
    "bytes": (OneBatchPAM(3, metric="manhattan"), (255 * NUMBERS).astype(np.uint8)),
    "sparse": (OneBatchPAM(3, metric="cosine"), csr_array(NUMBERS * (RNG.rand(80, 4) > 0.5) + [[0.1, 0, 0, 0]])),
    "wide sparse": (OneBatchPAM(3, metric="cosine"), csr_array(RNG.rand(50, 300) * (RNG.rand(50, 300) > 0.9))),
    "pandas": (OneBatchPAM(3, metric="gower"), make_frame()),
    "polars": (OneBatchPAM(3, metric="gower"), pl.DataFrame(make_frame().to_dict("list"))),
    "arrow": (OneBatchPAM(3, metric="gower"), pa.Table.from_pandas(make_frame())),
    "numbers in a frame": (OneBatchPAM(3), pd.DataFrame(NUMBERS, columns=list("abcd"))),
    "objects": (OneBatchPAM(3, metric="gower"), np.array([[1, "x"], [2, "y"], [3, "z"], [9, "x"]] * 5, dtype=object)),
    "strings": (OneBatchPAM(3, metric="levenshtein"), [EVIL, "tea", "team", "coffee", "coffees", "salt"] * 5),
    "series": (OneBatchPAM(3, metric=pair_metric(dtw)), SERIES),
    "sets": (OneBatchPAM(2, metric=lambda a, b: len(a ^ b)), [{1, 2}, {1}, {7, 8, 9}, {7, 8}]),
    "matrix": (OneBatchPAM(3, metric="precomputed"), squareform(pdist(NUMBERS))),
    "one cluster": (OneBatchPAM(1), NUMBERS),
    "one row": (OneBatchPAM(1), NUMBERS[:1]),
    "two rows": (OneBatchPAM(2), NUMBERS[:2]),
    "equal rows": (OneBatchPAM(2, random_state=0), np.ones((9, 2)) + np.arange(9)[:, np.newaxis] // 8),
    "FasterPAM": (FasterPAM(3), NUMBERS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data(kind, tmp_path):
    model, X = KINDS[kind]
    path = tmp_path / "report.html"
    model.fit(X).report(X, path)
    page = check_page(path)
    assert page.count('<tr style="--c:') >= len(model.medoid_indices_)
    assert EVIL not in page
    assert "alert(&#39;x&#39;)" in page or kind not in ("pandas", "polars", "arrow", "strings")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_rows_on_disk(tmp_path, frame):
    frame.to_parquet(tmp_path / "rows.parquet")
    np.save(tmp_path / "rows.npy", NUMBERS)
    for file, metric in (("rows.parquet", "gower"), ("rows.npy", "euclidean")):
        X = tmp_path / file
        OneBatchPAM(3, metric=metric).fit(X).report(X, tmp_path / "report.html")
        check_page(tmp_path / "report.html")


def test_columns_of_a_file_that_are_not_compared_are_not_shown(tmp_path, frame):
    vectors = frame.assign(vector=list(np.random.RandomState(0).rand(len(frame), 3)), lists=[["a"]] * len(frame))
    vectors.to_parquet(tmp_path / "rows.parquet")
    for columns, metric in ((["age", "active"], "gower"), (["age"], "euclidean"), (["vector"], "cosine")):
        X = scan_parquet(tmp_path / "rows.parquet", columns=columns)
        study = Study(OneBatchPAM(3, metric=metric, random_state=0).fit(X), X)
        names = [feature.name for feature in find_features(study)]
        assert names == (["x0", "x1", "x2"] if columns == ["vector"] else columns)
        study.model.report(X, tmp_path / "report.html")
        check_page(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("show_as", "expected"), [((2, 2), "data:image/png"), ("series", "<polyline"), ("table", "What sets it apart")]
)
def test_how_rows_are_shown(show_as, expected, tmp_path):
    OneBatchPAM(3).fit(NUMBERS).report(NUMBERS, tmp_path / "report.html", show_as=show_as)
    assert expected in check_page(tmp_path / "report.html")


def make_study(model, X, **options):
    return Study(model.fit(X), X, **options)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "gower", "precomputed"])
def test_rows_are_compared_as_in_the_fit(metric):
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(0, [1, 1, 9], (150, 3)), rng.normal(3, [4, 1, 1], (150, 3))])
    weights = np.repeat([0.0, 1.0], 150)  # so that variances, and the ranges of gower, are those of half of the rows
    if metric == "precomputed":
        X = rng.random_sample((300, 300))  # not symmetric
    model = OneBatchPAM(4, metric=metric, random_state=0).fit(X, sample_weight=weights)
    rows = Study(model, X).rows
    np.testing.assert_array_equal(rows.labels, model.labels_)
    np.testing.assert_allclose(rows.distances, model.distances_, rtol=1e-6)


class TestNumbers:
    def test_by_weight(self):
        weights = 1.0 + 99 * (np.arange(len(NUMBERS)) % 5 == 0)
        model = OneBatchPAM(3, random_state=0).fit(NUMBERS, sample_weight=weights)
        shown = describe_study(Study(model, NUMBERS, weights=weights), "auto", None, None, ())
        d = np.sort(cdist(NUMBERS, NUMBERS[model.medoid_indices_]), axis=1)
        facts = {name: value for name, value, _ in shown["facts"]}
        assert facts["mean distance"] == show_number(model.inertia_ / weights.sum())
        silhouette = f"{np.average(1 - d[:, 0] / d[:, 1], weights=weights):.2f}"
        assert silhouette != f"{np.mean(1 - d[:, 0] / d[:, 1]):.2f}"  # so that the weights matter
        assert facts["silhouette"] == silhouette
        for cluster in shown["clusters"]:
            assert cluster.mean == show_number(model.mean_distances_[cluster.label])

    def test_of_clusters(self):
        model = OneBatchPAM(3, random_state=0)
        study = make_study(model, NUMBERS)
        shown = describe_study(study, "auto", None, None, ())["clusters"]
        d = cdist(NUMBERS, NUMBERS[model.medoid_indices_])
        sizes = np.bincount(d.argmin(axis=1))
        assert [cluster.size for cluster in shown] == sorted(sizes, reverse=True)
        for cluster in shown:
            own = d[d.argmin(axis=1) == cluster.label]
            nearest, second = np.sort(own, axis=1)[:, :2].T
            assert cluster.mean == show_number(nearest.mean())
            assert cluster.silhouette == f"{np.mean(1 - nearest / second):.2f}"
            distances = np.sort(d[d.argmin(axis=1) == cluster.label, cluster.label])
            assert [row.distance for row in cluster.nearest] == [show_number(x) for x in distances[1:7]]
            assert [row.distance for row in cluster.farthest] == [show_number(x) for x in distances[::-1][:4]]

    def test_of_columns(self, frame):
        study = make_study(OneBatchPAM(3, metric="gower", random_state=0), frame)
        features = {feature.name: feature for feature in find_features(study)}
        assert list(features) == list(frame.columns)
        for cluster in range(3):
            own = frame[study.rows.labels == cluster]
            ages = (own["age"].mean() - frame["age"].mean()) / frame["age"].std(ddof=0)
            effect = features["age"].effect(cluster)
            assert (0 if effect is None else effect.size) == pytest.approx(ages if abs(ages) > 0.35 else 0)
            histogram = features["plan"].histogram(cluster)
            for label, overall, share in zip(histogram.labels, histogram.overall, histogram.own, strict=True):
                assert overall == pytest.approx((frame["plan"] == label).mean())
                assert share == pytest.approx((own["plan"] == label).mean())
            bins = features["age"].histogram(cluster)
            assert bins.overall.sum() == pytest.approx(1)
            assert bins.own.sum() == pytest.approx(1)

    def test_of_few_whole_numbers_have_a_bin_each_and_end_at_numbers_that_occur(self):
        X = np.array([[0.0, 0.0], [1.0, 5.5], [1.0, 6.5], [3.0, 9.0]])
        study = make_study(OneBatchPAM(2, random_state=0), X)
        few, many = (feature.histogram(0) for feature in find_features(study))
        assert few.labels == ["0", "3"]
        assert few.overall.tolist() == [0.25, 0.5, 0.0, 0.25]
        assert len(many.overall) == MOST_BINS

    def test_of_a_sample_stand_for_all_rows(self, monkeypatch):
        """With few sampled rows, shares are still those of all rows, although small clusters have more than theirs."""
        monkeypatch.setattr(study_module, "SAMPLED_ROWS", 300)
        rng = np.random.RandomState(0)
        X = np.concatenate([rng.normal(0, 1, (5000, 2)), rng.normal(50, 1, (60, 2))])
        study = make_study(OneBatchPAM(2, random_state=0), X)
        assert len(study.sample.indices) < 400
        assert np.bincount(study.sample.labels).min() == study_module.FEWEST_OF_A_CLUSTER
        assert study.sample.weights.sum() == pytest.approx(len(X))
        first = find_features(study)[0]
        np.testing.assert_allclose(first._means[0], X[:, 0].mean(), atol=0.3)

    def test_of_the_map(self):
        """Points of a plane, turned into five dimensions, come out as the plane."""
        rng = np.random.RandomState(0)
        plane = rng.rand(100, 2)
        X = plane @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T
        study = make_study(OneBatchPAM(3, random_state=0), X)
        found = draw_map(study, find_features(study))
        np.testing.assert_allclose(pdist(found.places), pdist(X[found.rows]), atol=1e-3)
        np.testing.assert_allclose(pdist(found.medoids), pdist(X[study.medoids]), atol=1e-3)

    def test_of_the_tree(self):
        study = make_study(OneBatchPAM(5, random_state=0), NUMBERS)
        tree = grow_tree(study)
        medoids = NUMBERS[study.medoids[tree.clusters]]
        np.testing.assert_allclose(tree.distances, cdist(medoids, medoids), atol=1e-5)
        assert len(tree.joints) == 4


class TestAlerts:
    def find(self, model, X, **options):
        study = make_study(model, X)
        selection = options.get("selection")
        alerts = describe_study(study, "auto", selection, None, options.get("warnings", ()))["alerts"]
        return " ".join(alert.text for alert in alerts)

    def test_none_for_good_data(self, blobs):
        assert self.find(OneBatchPAM(5, random_state=0), blobs) == ""

    def test_a_cluster_of_one_row(self):
        assert "holds a single row" in self.find(FasterPAM(2), np.append(NUMBERS, [[99.0] * 4], axis=0))

    def test_a_column_that_dominates(self):
        assert "The column “x1” makes up 100%" in self.find(OneBatchPAM(2), NUMBERS * [1, 1000, 1, 1])
        assert "makes up" not in self.find(OneBatchPAM(2, metric="gower"), NUMBERS * [1, 1000, 1, 1])

    def test_medoids_with_missing_values(self):
        frame = make_frame()[["age", "plan"]]
        frame.loc[::2, "age"] = None
        frame.loc[1::2, "plan"] = None
        assert "Some medoids lack values: “age”, “plan”" in self.find(OneBatchPAM(3, metric="gower"), frame)

    def test_equal_rows(self):
        assert "50% of the sampled rows equal another one" in self.find(OneBatchPAM(2), np.repeat(NUMBERS, 2, axis=0))

    def test_the_end_of_the_range(self):
        X = np.repeat([0.0, 3, 9, 17], 30)[:, np.newaxis] + 0.01 * RNG.rand(120, 1)
        selection = select_k(X, range(2, 5), OneBatchPAM(random_state=0))
        assert "4, is the largest that was tried" in self.find(OneBatchPAM(4), X, selection=selection)

    def test_warnings_of_the_fit(self):
        assert "not converged" in self.find(OneBatchPAM(2), NUMBERS, warnings=["not converged"])


def test_names_titles_choices_and_certificates(tmp_path):
    path, model = tmp_path / "report.html", OneBatchPAM(3, random_state=0).fit(NUMBERS)
    model.report(
        NUMBERS,
        path,
        title=EVIL,
        row_names=[f"{EVIL}{i}" for i in range(80)],
        selection=select_k(NUMBERS, range(2, 5)),
        certificate=model.certify(NUMBERS),
    )
    page = check_page(path)
    assert EVIL not in page
    assert html.escape(f"{EVIL}{model.medoid_indices_[0]}").replace("&#x27;", "&#39;") in page
    assert "Choice of k" in page
    assert "above the optimum" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row_names": ["a"]}, r"row_names has 1 elements: expected 80"),
        ({"row_names": 3}, r"row_names=3: expected a name for each row"),
        ({"show_as": "pie"}, r"show_as='pie': expected 'auto'"),
        ({"show_as": (3, 3)}, r"show_as=\(3, 3\): expected an array with 9 numbers in each row, got rows of 4 numbers"),
        ({"title": 3}, r"title=3: expected text"),
        ({"selection": 3}, r"selection=3: expected a KSelection"),
        ({"certificate": 3}, r"certificate=3: expected a LowerBound"),
        ({"path": "no/such/folder/report.html"}, r"expected the path of a file in a folder that exists"),
        ({"path": ""}, r"path='': expected"),
        ({"path": "a\0.html"}, r"path='a.x00\.html': expected"),
        ({"X": NUMBERS[:50]}, r"X has 50 rows: expected the 80 rows of the fit"),
    ],
)
def test_wrong_arguments(options, message, tmp_path):
    arguments = {"X": NUMBERS, "path": tmp_path / "report.html", **options}
    with pytest.raises(ValueError, match=message):
        OneBatchPAM(3).fit(NUMBERS).report(**arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="only administrators may make links")
def test_no_other_file_is_written(tmp_path):
    """A file or link beside the page may have any name."""
    (tmp_path / "other").write_text("years of work")
    (tmp_path / ".report.html.partial").symlink_to(tmp_path / "other")
    OneBatchPAM(3).fit(NUMBERS).report(NUMBERS, tmp_path / "report.html")
    check_page(tmp_path / "report.html")
    assert (tmp_path / "other").read_text() == "years of work"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_page_that_cannot_be_written_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("onebatchpam.report.page.Study", lambda *_: pytest.fail("the work began"))
    name = "a" * 250 + ".html"  # too long while the file has a longer name
    with pytest.raises(OSError, match=rf"'.*/{name}'"):
        OneBatchPAM(3).fit(NUMBERS).report(NUMBERS, tmp_path / name)


def test_names_that_are_no_characters(tmp_path):
    """The name of a file, which is the title of its report, may consist of any bytes."""
    path, names = tmp_path / "report.html", [f"a\udcff{i}" for i in range(80)]
    OneBatchPAM(3).fit(NUMBERS).report(NUMBERS, path, title="b\udcff", row_names=names)
    assert "<title>b?" in check_page(path)


def test_jinja2_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match="a report needs jinja2"):
        OneBatchPAM(3).fit(NUMBERS).report(NUMBERS, tmp_path / "report.html")


@pytest.mark.parametrize(("n", "p", "k"), [(60_000, 30, 8), (5_000, 4, 900)])
def test_the_page_stays_small(n, p, k, tmp_path):
    X = np.random.RandomState(0).rand(n, p).astype(np.float32)
    model = OneBatchPAM(k, batch_size=max(200, k), refine=0, random_state=0).fit(X)
    model.report(X, tmp_path / "report.html")
    check_page(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


@pytest.mark.parametrize("shape", [(5, 7), (4, 4, 3), (3, 6, 4)])
def test_pictures(shape):
    pixels = np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)
    content = base64.b64decode(encode_png(pixels).partition(",")[2])
    read = matplotlib.image.imread(io.BytesIO(content))
    np.testing.assert_allclose(read, pixels / 255, atol=1e-6)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (12.345, "12.3"), (123456.7, "123,457"), (0.001234, "0.00123"), (-5.5, "-5.5"), (1e-9, "1e-09")],
)
def test_numbers_as_text(number, text):
    assert show_number(number) == text
