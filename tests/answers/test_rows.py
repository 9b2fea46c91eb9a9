"""What a model tells about each row and each cluster: distances, the second nearest medoid, silhouettes, sizes."""

from __future__ import annotations

import pickle
import tracemalloc

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import onebatchpam
import onebatchpam.dask
import reference
from onebatchpam import OneBatchPAM

ESTIMATORS = [name for name in onebatchpam.__all__ if hasattr(getattr(onebatchpam, name), "predict")]


@pytest.fixture(scope="module")
def rows():
    return np.random.RandomState(0).rand(300, 3).round(2)


def assert_assessed(assessment, distances):
    """Check an assessment against the dissimilarities of all rows to all medoids."""
    order = np.argsort(distances, axis=1, kind="stable")
    each = np.arange(len(distances))
    np.testing.assert_array_equal(assessment.labels, order[:, 0])
    np.testing.assert_array_equal(assessment.distances, distances[each, order[:, 0]])
    np.testing.assert_array_equal(assessment.second_labels, order[:, 1])
    np.testing.assert_array_equal(assessment.second_distances, distances[each, order[:, 1]])
    nearest, second = np.sort(distances.astype(float), axis=1)[:, :2].T
    expected = [1 - a / b if a > 0 else 1 for a, b in zip(nearest, second, strict=True)]
    np.testing.assert_allclose(assessment.silhouettes, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_estimator_knows_the_distances_of_its_rows(name, weighted, rows):
    weights = np.arange(len(rows)) % 3 / 2 if weighted else None
    model = getattr(onebatchpam, name)(6, random_state=0).fit(rows, sample_weight=weights)
    distances = reference.distance_block(rows, rows[model.medoid_indices_], "euclidean")
    np.testing.assert_allclose(model.distances_, distances.min(axis=1), rtol=1e-6)
    assert model.distances_.dtype == np.float64

    weights = np.ones(len(rows)) if weights is None else weights
    k = len(model.medoid_indices_)  # DynMSC chooses it
    sizes = np.bincount(model.labels_, weights, minlength=k)
    np.testing.assert_allclose(model.cluster_sizes_, sizes)
    assert model.cluster_sizes_.dtype == (np.float64 if weighted else np.int64)
    assert np.sum(model.cluster_sizes_ * model.mean_distances_) == pytest.approx(model.inertia_)
    present = weights > 0
    expected = [distances[(model.labels_ == label) & present, label].max() for label in range(k)]
    np.testing.assert_allclose(model.max_distances_, expected, rtol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "canberra"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
def test_assessment_of_numbers(metric, dtype, rows, smallest_tiles):
    X = (rows * 50 + 1).astype(dtype)
    model = OneBatchPAM(7, metric=metric, random_state=0).fit(X)
    assert_assessed(model.assess_rows(X), model.transform(X))
    assert_assessed(model.assess_rows(X[:1]), model.transform(X[:1]))
    np.testing.assert_array_equal(model.assess_rows(X).labels, model.labels_)
    np.testing.assert_array_equal(model.assess_rows(X).distances, model.distances_)
    np.testing.assert_array_equal(model.score_samples(X), -model.distances_)
    assert model.score_samples(X).sum(dtype=float) == pytest.approx(model.score(X))


def test_assessment_of_every_kind_of_data(rows, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    frame = pd.DataFrame({"number": rows[:, 0], "letter": ["x", "y", None] * 100})
    pd.DataFrame(rows, columns=list("abc")).to_parquet(tmp_path / "rows.parquet")
    words = ["a" * (i % 7) + "b" * (i % 5) for i in range(60)]
    matrix = np.abs(rows[:, :1] - rows[:, 0])
    for X, metric in [
        (tmp_path / "rows.npy", "euclidean"),
        (str(tmp_path / "rows.parquet"), "manhattan"),
        (csr_array(rows), "cosine"),
        (frame, "gower"),
        (words, "levenshtein"),
        (matrix, "precomputed"),
        (rows, lambda a, b: float(np.abs(a - b).max())),
    ]:
        model = OneBatchPAM(4, metric=metric, random_state=0).fit(X)
        assessment = model.assess_rows(X)
        assert_assessed(assessment, model.transform(X))
        np.testing.assert_array_equal(assessment.distances, model.distances_)


def test_rows_that_are_equally_near_to_two_medoids():
    X = np.array([[0.0], [2.0], [1.0], [0.0]])
    model = OneBatchPAM(2, init=[0, 1]).fit(X)
    assessment = model.assess_rows([[1.0], [0.0]])
    assert assessment.labels.tolist() == [0, 0]
    assert assessment.second_labels.tolist() == [1, 1]
    assert assessment.silhouettes.tolist() == [0, 1]


def test_one_medoid_has_no_second(rows):
    model = OneBatchPAM(1).fit(rows)
    assessment = model.assess_rows(rows)
    np.testing.assert_array_equal(assessment.distances, model.distances_)
    assert assessment.second_labels is assessment.second_distances is assessment.silhouettes is None
    assert list(assessment.to_frame()) == ["label", "distance"]
    assert "silhouette" not in repr(assessment)
    assert model.describe_clusters().shares.tolist() == [1]


def test_far_rows_and_rows_between_clusters_are_found():
    rng = np.random.RandomState(0)
    groups = [rng.normal(center, 0.3, (500, 2)) for center in ([0, 0], [10, 0])]
    far, between = rng.normal([5, 50], 1, (10, 2)), rng.normal([5, 0], 0.1, (10, 2))
    X = np.concatenate([*groups, far, between])
    frame = OneBatchPAM(2, random_state=0).fit(X).assess_rows(X).to_frame()
    assert set(frame.nlargest(10, "distance").index) == set(range(1000, 1010))
    assert set(frame.nsmallest(20, "silhouette").index) == set(range(1000, 1020))
    assert list(frame) == ["label", "distance", "second_label", "second_distance", "silhouette"]


def test_memory_does_not_grow_with_the_number_of_medoids():
    X = np.random.RandomState(0).rand(100_000, 2)
    model = OneBatchPAM(400, init=np.arange(400), batch_size=400, max_iter=1, refine=0)
    with pytest.warns(UserWarning, match="max_iter=1"):
        model.fit(X)
    tracemalloc.start()
    model.assess_rows(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(X) * 400 * 8 / 5


def test_distances_stay_in_memory_if_labels_go_to_a_file(rows, tmp_path):
    model = OneBatchPAM(4, random_state=0).fit(rows, labels_out=tmp_path / "labels.npy")
    assert isinstance(model.labels_, np.memmap)
    assert type(model.distances_) is np.ndarray
    np.testing.assert_array_equal(model.distances_, -model.score_samples(rows))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("in_memory", [True, False])
def test_dask_arrays_are_assessed_lazily(k, in_memory, rows, monkeypatch):
    if not in_memory:
        monkeypatch.setattr(onebatchpam.dask.population, "DRIVER_NUMBERS", 1)
    X = da.from_array(rows.astype("float32"), chunks=(70, 3))
    model = onebatchpam.dask.OneBatchPAM(k, batch_size=50, random_state=0).fit(X)
    expected = onebatchpam.dask.OneBatchPAM.assess_rows(model, X.compute())
    lazy = model.assess_rows(X)
    assert all(isinstance(values, da.Array) for values in (model.distances_, lazy.labels, model.score_samples(X)))
    assert "compute()" in repr(lazy)
    assert lazy.distances.dtype == model.distances_.dtype == expected.distances.dtype == np.float32
    np.testing.assert_array_equal(model.distances_.compute(), expected.distances)
    np.testing.assert_array_equal(model.score_samples(X).compute(), -expected.distances)
    pd.testing.assert_frame_equal(lazy.to_frame(), expected.to_frame())
    assert (lazy.silhouettes is None) == (k == 1)
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(expected.labels, minlength=k))
    assert np.sum(model.cluster_sizes_ * model.mean_distances_) == pytest.approx(model.inertia_, rel=1e-6)


def test_clusters_by_size(rows):
    model = OneBatchPAM(25, random_state=0).fit(rows)
    table = model.describe_clusters()
    assert (np.diff(table.sizes) <= 0).all()
    np.testing.assert_array_equal(model.labels_[table.medoid_indices], table.labels)
    np.testing.assert_array_equal(np.bincount(model.labels_)[table.labels], table.sizes)
    assert table.shares.sum() == pytest.approx(1)
    lines = str(table).splitlines()
    assert lines[0].split("  ")[0].strip() == "cluster"
    assert f"X[{table.medoid_indices[0]}]" in lines[1]
    assert lines[-1] == "and 5 smaller clusters"
    assert table._repr_html_().count("<tr>") == 21
    frame = table.to_frame()
    assert frame.index.name == "cluster"
    assert list(frame) == ["medoid", "size", "share", "mean_distance", "max_distance"]


def test_a_model_that_is_not_fitted_says_so(rows):
    for ask in (lambda model: model.assess_rows(rows), lambda model: model.describe_clusters()):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(OneBatchPAM(3))


def test_a_model_predicts_without_what_it_holds_of_each_row(rows):
    model = OneBatchPAM(3, random_state=0).fit(rows)
    labels = model.labels_
    del model.labels_, model.distances_
    opened = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(opened.predict(rows), labels)
    assert opened.describe_clusters().sizes.sum() == len(rows)
