"""Choosing k: the medoid silhouette, and `select_k`, which tries several k on one block."""

from __future__ import annotations

import sys

import kmedoids
import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import reference
from onebatchpam import FasterPAM, KSelection, OneBatchPAM, batch_size, medoid_silhouette, select_k
from onebatchpam.algorithms.effort import EFFORTS
from onebatchpam.evaluation.k_selection import elbow_depths


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_silhouette_equals_others(k, dtype, blobs, smallest_tiles):
    X = blobs.astype(dtype)
    model = OneBatchPAM(k, random_state=0).fit(X)
    value = medoid_silhouette(X, model)
    block = reference.distance_block(X, X, "euclidean")
    assert value == pytest.approx(reference.medoid_silhouette(block[model.medoid_indices_]), rel=1e-5)
    theirs, _ = kmedoids.medoid_silhouette(block, model.medoid_indices_)
    assert value == pytest.approx(theirs, rel=1e-5)


def test_silhouette_of_duplicates():
    X = np.array([[0.0], [0.0], [1.0]])
    with pytest.warns(ConvergenceWarning, match="2 distinct clusters"):
        model = OneBatchPAM(3).fit(X)
    assert medoid_silhouette(X, model) == 1  # every row coincides with a medoid, two rows with two
    assert medoid_silhouette([[0.5]], OneBatchPAM(2, init=[0, 2]).fit(X)) == 0


def test_silhouette_of_new_rows_and_of_an_asymmetric_matrix(rng):
    matrix = rng.rand(40, 40)
    model = OneBatchPAM(4, metric="precomputed", random_state=0).fit(matrix)
    expected = reference.medoid_silhouette(matrix[model.medoid_indices_])
    assert medoid_silhouette(matrix.T, model) == pytest.approx(expected)  # predict takes the transposed matrix, too
    assert medoid_silhouette(matrix.T[:1], model) == pytest.approx(
        reference.medoid_silhouette(matrix[model.medoid_indices_, :1])
    )


def test_silhouette_of_another_model():
    with pytest.raises(ValueError, match=r"model=KMeans\(n_clusters=2\): expected a fitted estimator of this package"):
        medoid_silhouette(np.eye(3), KMeans(2).fit(np.eye(3)))


def test_silhouette_of_one_medoid():
    with pytest.raises(ValueError, match="expected n_clusters >= 2"):
        medoid_silhouette(np.eye(3), OneBatchPAM(1).fit(np.eye(3)))


@pytest.fixture(scope="module")
def groups():
    X, _ = make_blobs(800, centers=10 * np.eye(5), cluster_std=0.6, random_state=0)
    return X


@pytest.fixture(scope="module")
def selection(groups):
    return select_k(groups, range(1, 10), OneBatchPAM(init="k-means++", random_state=0))


def test_finds_the_groups(selection):
    assert selection.suggested_k == selection.k_by_silhouette == selection.k_by_elbow == 5
    assert selection.criteria_agree
    assert selection.advice() == "Suggested k: 5. Silhouette and elbow agree."


def test_values_are_those_of_the_medoids(selection, groups):
    block = reference.distance_block(groups, groups, "euclidean")
    assert selection.k.tolist() == list(range(1, 10))
    for k, inertia, silhouette, medoids in zip(
        selection.k, selection.inertia, selection.silhouette, selection.medoids, strict=True
    ):
        assert len(medoids) == k
        assert inertia == pytest.approx(block[medoids].min(axis=0).sum())
        if k == 1:
            assert np.isnan(silhouette)
        else:
            assert silhouette == pytest.approx(reference.medoid_silhouette(block[medoids]))
    assert (selection.seconds > 0).all()
    assert selection.block_seconds > 0


@pytest.mark.parametrize("variant", ["unif", "debias", "nniw", "progressive"])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_a_single_k_is_a_fit(variant, init, groups):
    template = OneBatchPAM(99, metric="manhattan", variant=variant, refine=0, init=init, batch_size=100, random_state=0)
    found = select_k(groups, [4], template)
    model = template.set_params(n_clusters=4).fit(groups)
    np.testing.assert_array_equal(found.medoids[0], model.medoid_indices_)
    assert found.inertia[0] == model.inertia_


@pytest.mark.parametrize("parameters", [*({"effort": effort} for effort in EFFORTS), {"n_init": 3}], ids=str)
def test_the_search_for_the_suggested_k_is_that_of_a_fit(parameters, rng):
    X = rng.standard_normal((1000, 3))  # without groups, so that there are many local optima
    template = OneBatchPAM(12, batch_size=100, init="random", random_state=0, **parameters)
    found = select_k(X, [12], template).model
    model = template.fit(X)
    np.testing.assert_array_equal(found.medoid_indices_, model.medoid_indices_)
    assert found.n_swaps_ == model.n_swaps_
    assert set(found.fit_seconds_) == {*model.fit_seconds_, "assignment"}  # by which each k is judged
    several = select_k(X, [2, 12, 40], template)
    assert len(several.model.medoid_indices_) == several.suggested_k


def test_one_block_for_all(groups, monkeypatch):
    counts = []

    def count(A, B):
        counts.append(len(A) * len(B))
        return np.abs(A[:, None] - B[None]).sum(axis=-1)

    selection = select_k(groups, [2, 3, 7], OneBatchPAM(metric=count, batch_size=100, refine=0, random_state=0))
    n_assignments = 800 * (2 + 3 + 7 + selection.suggested_k)  # n k for the criteria of each k, and for the model
    assert sum(counts) == 6 + 800 * 100 + n_assignments  # 6 for the trial that tells the kind of function


def test_the_batch_is_that_of_the_largest_k(groups, monkeypatch):
    sizes = []
    from onebatchpam.evaluation import k_selection

    original = k_selection.BatchSearch
    monkeypatch.setattr(
        k_selection, "BatchSearch", lambda population, m, *rest: sizes.append(m) or original(population, m, *rest)
    )
    select_k(groups, [2, 30], OneBatchPAM(random_state=0))
    assert sizes == [batch_size(800, 30)]


def test_template_is_not_changed(groups):
    template = OneBatchPAM(3, random_state=0)
    before = dict(vars(template))
    select_k(groups, [2, 3], template)
    assert vars(template) == before


@pytest.mark.parametrize("metric", ["precomputed", "levenshtein"])
def test_other_data(metric, groups):
    pytest.importorskip("rapidfuzz")
    words = [
        stem + ending for stem in ("aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc") for ending in ("", "d", "e", "f", "g")
    ]
    X = words if metric == "levenshtein" else reference.dissimilarities(words, words, reference.levenshtein)
    assert select_k(X, range(2, 6), OneBatchPAM(metric=metric, init="k-means++", random_state=0)).suggested_k == 3


def test_any_metric_without_an_estimator(groups):
    selection = select_k(groups, range(2, 8), metric="minkowski", metric_params={"p": 3})
    assert selection.suggested_k == 5
    assert (selection.model.metric, selection.model.metric_params) == ("minkowski", {"p": 3})
    with pytest.raises(ValueError, match="metric and metric_params are those of the estimator"):
        select_k(groups, [2, 3], OneBatchPAM(), metric="manhattan")


@pytest.mark.parametrize("refine", [0, "auto"])
def test_the_suggested_k_comes_with_a_refined_model(refine, groups):
    template = OneBatchPAM(9, batch_size=40, refine=refine, random_state=0)
    selection = select_k(groups, range(2, 8), template)
    model, place = selection.model, selection.suggested_k - 2
    assert model.n_clusters == len(model.medoid_indices_) == selection.suggested_k
    block = reference.distance_block(groups, groups, "euclidean")
    assert model.inertia_ == pytest.approx(block[model.medoid_indices_].min(axis=0).sum())
    np.testing.assert_array_equal(model.predict(groups), model.labels_)
    if refine == 0:
        np.testing.assert_array_equal(model.medoid_indices_, selection.medoids[place])
    else:
        assert model.n_refine_rounds_ > 0
        assert model.inertia_ < selection.inertia[place]
    assert not hasattr(template, "labels_")
    assert select_k(groups, [1], template).model is None


def test_weights_are_repeated_rows(groups):
    weights = np.arange(len(groups)) % 3
    template = OneBatchPAM(batch_size=len(groups), init="k-means++", random_state=0)
    weighted = select_k(groups, range(1, 6), template, sample_weight=weights)
    block = np.repeat(reference.distance_block(groups, groups, "euclidean"), weights, axis=1)
    for k, inertia, silhouette, medoids in zip(
        weighted.k, weighted.inertia, weighted.silhouette, weighted.medoids, strict=True
    ):
        assert (weights[medoids] > 0).all()
        assert inertia == pytest.approx(block[medoids].min(axis=0).sum())
        if k > 1:
            assert silhouette == pytest.approx(reference.medoid_silhouette(block[medoids]))
    assert weighted.suggested_k == 5
    expected = reference.medoid_silhouette(block[weighted.model.medoid_indices_])
    assert medoid_silhouette(groups, weighted.model, sample_weight=weights) == pytest.approx(expected, rel=1e-5)
    assert weighted.model.cluster_sizes_.sum() == weights.sum()


def test_a_table_in_a_notebook(selection):
    html = selection._repr_html_()
    assert html.count("<tr>") == 10
    assert selection.advice() in html


def make(k, inertia, silhouette):
    k = np.array(k)
    seconds = np.full(len(k), 0.5)
    return KSelection(k, np.array(inertia, float), np.array(silhouette, float), seconds, 1.0, [np.arange(i) for i in k])


def test_advice():
    disagree = make([2, 3, 4, 5], [100, 50, 48, 46], [0.5, 0.4, 0.3, 0.2])
    assert (disagree.k_by_silhouette, disagree.k_by_elbow, disagree.criteria_agree) == (2, 3, False)
    assert "The criteria disagree: the elbow of the inertia is at 3." in disagree.advice()
    straight = make([2, 3, 4], [30, 20, 10], [0.1, 0.2, 0.1])
    assert straight.k_by_elbow is None
    assert straight.advice() == "Suggested k: 3, by the silhouette. The inertia has no elbow."
    assert "try larger k" in make([2, 3, 4], [30, 20, 10], [0.1, 0.2, 0.3]).advice()
    assert make([1], [30], [np.nan]).advice() == "No k is suggested: try a wider range."
    assert make([1], [30], [np.nan]).suggested_k is None


def test_elbow_depths():
    np.testing.assert_allclose(elbow_depths(np.array([1, 2, 3]), np.array([10.0, 2.0, 0.0])), [0, 0.3, 0])
    np.testing.assert_allclose(elbow_depths(np.array([1, 3, 5]), np.array([10.0, 10.0, 10.0])), 0)


def test_table(selection):
    lines = str(selection).splitlines()
    assert lines[0].split() == ["k", "inertia", "silhouette", "seconds"]
    assert [int(line.split()[0]) for line in lines[1:10]] == list(range(1, 10))
    assert lines[-1] == selection.advice()
    assert repr(selection) == str(selection)
    frame = selection.to_frame()
    assert frame.index.tolist() == list(range(1, 10))
    np.testing.assert_array_equal(frame["inertia"], selection.inertia)


def test_plot(selection, monkeypatch):
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    axes = selection.plot()
    assert axes.get_xlabel() == "number of medoids k"
    assert axes.get_title() == "Suggested k: 5"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), selection.inertia)
    assert selection.plot(axes) is axes
    plt.close("all")


def test_plot_without_matplotlib(selection, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install .matplotlib>=3\.9"):
        selection.plot()


@pytest.mark.parametrize(
    ("k_range", "message"),
    [
        (5, "k_range=5: expected several numbers"),
        ([], r"k_range=\[\]: expected several numbers"),
        ([2, 801], "n_clusters=801 is larger than n_samples=800"),
        ([0, 2], r"k_range\[0\]=0"),
        ([2.5], r"k_range\[0\]=2.5"),
        ("23", "k_range='23'"),
    ],
)
def test_bad_ranges(k_range, message, groups):
    with pytest.raises(ValueError, match=message):
        select_k(groups, k_range)


def test_a_least_size_that_no_clusters_can_have(groups):
    template = OneBatchPAM(min_cluster_size=300, random_state=0)
    for use in (lambda: template.set_params(n_clusters=3).fit(groups), lambda: select_k(groups, [2, 3], template)):
        with pytest.raises(ValueError, match=r"min_cluster_size=300 is too large for n_clusters=3: .*expected at most"):
            use()
    assert select_k(groups, [2], template).model.cluster_sizes_.min() >= 300


@pytest.mark.parametrize("estimator", [FasterPAM(), OneBatchPAM, "auto"], ids=str)
def test_what_is_no_template(estimator, groups):
    with pytest.raises(ValueError, match=r"estimator=.*: expected OneBatchPAM\(...\)"):
        select_k(groups, [2, 3], estimator)


def test_init_of_a_single_k(groups):
    with pytest.raises(ValueError, match="init holds medoids for a single k"):
        select_k(groups, [2, 3], OneBatchPAM(init=[0, 1]))


def test_a_search_that_was_stopped(groups):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        select_k(groups, [8], OneBatchPAM(max_iter=1, random_state=0))


def test_candidates(groups):
    candidates = np.arange(0, len(groups), 7)
    model = OneBatchPAM(batch_size=100, random_state=0)
    selection = select_k(groups, range(1, 6), model, candidates=candidates)
    assert all(np.isin(medoids, candidates).all() for medoids in selection.medoids)
    with pytest.raises(ValueError, match="n_clusters=4 is larger than the number of candidates"):
        select_k(groups, range(1, 5), model, candidates=[3, 4, 5])
