"""Strings, compared by rapidfuzz."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import reference
from onebatchpam import OneBatchPAM, distance_block
from onebatchpam.metrics.text import TEXT_METRICS

rapidfuzz = pytest.importorskip("rapidfuzz")
from rapidfuzz import distance as rapidfuzz_distance  # noqa: E402
from rapidfuzz import process  # noqa: E402

text_metrics = pytest.mark.parametrize("metric", TEXT_METRICS)
STEMS = ("medoid", "cluster", "distance", "batch", "swap")


def make_words(n=300, seed=0):
    """Return misspelt words, an empty string, and strings that are not ASCII."""
    rng = np.random.RandomState(seed)
    words = []
    for i in range(n - 3):
        letters = list(STEMS[i % len(STEMS)])
        letters[rng.randint(len(letters))] = rng.choice(list("abcxyzéß"))
        if rng.rand() < 0.5:
            letters.insert(rng.randint(len(letters)), rng.choice(list("abc")))
        words.append("".join(letters))
    return [*words, "", "Ω", "日本語"]


@pytest.fixture(scope="module")
def words():
    return make_words()


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 3])
@text_metrics
def test_equals_rapidfuzz_pair_by_pair(metric, n_jobs, normalized, words, smallest_tiles):
    module = getattr(rapidfuzz_distance, TEXT_METRICS[metric][0])
    function = module.normalized_distance if normalized else module.distance
    block = distance_block(words, words[:9], metric, metric_params={"normalized": normalized}, n_jobs=n_jobs)
    assert block.dtype == np.float32
    np.testing.assert_allclose(block, reference.dissimilarities(words, words[:9], function), rtol=1e-6, atol=1e-7)


def test_equals_the_textbook():
    words = [word[:5] for word in make_words(40)]
    expected = reference.dissimilarities(words, words, reference.levenshtein)
    np.testing.assert_array_equal(distance_block(words, words, "levenshtein"), expected)


def test_worked_examples():
    assert distance_block(["kitten"], ["sitting"], "levenshtein") == 3
    assert distance_block(["kitten"], ["sitting"], "indel") == 5
    assert distance_block(["ca"], ["abc"], "damerau_levenshtein") == 2
    assert distance_block(["ca"], ["abc"], "osa") == 3
    assert distance_block(["karolin"], ["kathrin"], "hamming") == 3
    assert distance_block(["karolin"], ["kat"], "hamming") == 5  # each missing letter counts as a difference
    np.testing.assert_allclose(distance_block(["MARTHA"], ["MARHTA"], "jaro"), 1 - 0.9444444, rtol=1e-5)
    np.testing.assert_allclose(distance_block(["MARTHA"], ["MARHTA"], "jaro_winkler"), 1 - 0.9611111, rtol=1e-5)


@text_metrics
@pytest.mark.parametrize("init", ["random", "k-means++"])
@pytest.mark.parametrize("variant", ["nniw", "debias", "unif"])
def test_fit(metric, init, variant, words):
    model = OneBatchPAM(5, metric=metric, init=init, variant=variant, batch_size=60, random_state=0).fit(words)
    distances = distance_block(words, [words[i] for i in model.medoid_indices_], metric)
    assert model.cluster_centers_.tolist() == [words[i] for i in model.medoid_indices_]
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(words), model.labels_)
    np.testing.assert_array_equal(model.transform(words), distances)
    assert model.inertia_ == pytest.approx(distances.min(axis=1).sum(dtype=np.float64))
    assert model.score(words) == -model.inertia_
    assert not hasattr(model, "n_features_in_")


def test_finds_the_stems():
    words = make_words()[:-3]
    model = OneBatchPAM(5, metric="levenshtein", init="k-means++", random_state=0).fit(words)
    assert np.mean([len(set(model.labels_[i::5])) == 1 for i in range(5)]) == 1
    assert model.predict(["clustter", "swwap"]).tolist() == [model.labels_[1], model.labels_[4]]


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, lambda words: np.array(words, dtype=object)])
def test_containers(container, words):
    expected = OneBatchPAM(5, metric="osa", random_state=0).fit(words)
    model = OneBatchPAM(5, metric="osa", random_state=0).fit(container(words))
    assert model.cluster_centers_.tolist() == expected.cluster_centers_.tolist()
    np.testing.assert_array_equal(model.predict(container(words)), expected.labels_)
    np.testing.assert_array_equal(model.fit_predict(container(words)), expected.labels_)


def test_weights_of_edits_go_from_candidate_to_point(words):
    params = {"weights": (1, 5, 3)}  # insertion, deletion, replacement
    model = OneBatchPAM(
        4, metric="levenshtein", metric_params=params, batch_size=len(words), init="k-means++", random_state=0
    ).fit(words)
    block = reference.dissimilarities(
        words, words, lambda a, b: rapidfuzz_distance.Levenshtein.distance(a, b, weights=(1, 5, 3))
    )
    assert not np.array_equal(block, block.T)
    rows = block[model.medoid_indices_]
    assert model.inertia_ == rows.min(axis=0).sum()
    np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
    np.testing.assert_array_equal(model.transform(words), rows.T)


def test_other_parameters():
    assert distance_block(["Word"], ["wORD"], "levenshtein", metric_params={"processor": str.lower}) == 0
    strong = distance_block(["abcdef"], ["abcdex"], "jaro_winkler", metric_params={"prefix_weight": 0.25})
    assert strong < distance_block(["abcdef"], ["abcdex"], "jaro_winkler")


def test_numbers_keep_the_hamming_distance_of_scipy():
    rows = np.array([[0, 1, 1], [0, 0, 1]])
    assert distance_block(rows[:1], rows[1:], "hamming") == pytest.approx(1 / 3)
    assert distance_block(rows[:1], rows[1:], "hamming", metric_params={"w": [1, 2, 1]}) == pytest.approx(1 / 2)
    assert OneBatchPAM(1, metric="hamming").fit(rows).cluster_centers_.shape == (1, 3)
    with pytest.raises(ValueError, match="Reshape your data"):
        OneBatchPAM(1, metric="hamming").fit(rows).predict([1, 2])


@pytest.mark.parametrize("copy", [clone, lambda model: pickle.loads(pickle.dumps(model))], ids=["clone", "pickle"])
def test_copies(copy, words):
    model = OneBatchPAM(5, metric="jaro_winkler", random_state=0)
    expected = model.fit(words).labels_
    np.testing.assert_array_equal(copy(model).fit(words).labels_, expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(words), expected)


def test_grid_search(words):
    search = GridSearchCV(OneBatchPAM(metric="levenshtein", random_state=0), {"n_clusters": [2, 5]}, cv=3).fit(words)
    assert search.best_params_ == {"n_clusters": 5}


def test_rapidfuzz_has_all_threads(words, monkeypatch):
    cdist, asked = process.cdist, []

    def noting(*arguments, workers, **named):
        asked.append(workers)
        return cdist(*arguments, workers=workers, **named)

    monkeypatch.setattr(process, "cdist", noting)
    distance_block(words, words[:9], "indel", n_jobs=3)
    assert set(asked) == {3}


def test_the_number_of_threads_does_not_matter(words, smallest_tiles):
    one, three = (OneBatchPAM(5, metric="indel", n_jobs=jobs, random_state=0).fit(words) for jobs in (1, 3))
    np.testing.assert_array_equal(one.medoid_indices_, three.medoid_indices_)
    assert one.inertia_ == three.inertia_


def test_after_rows_strings(blobs, words):
    model = OneBatchPAM(5, random_state=0).fit(blobs)
    assert model.n_features_in_ == 4
    model.set_params(metric="levenshtein").fit(words)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["a", "b", None, "c"], r"X\[2\]=None is of type NoneType: metric='levenshtein' expects strings"),
        (["a", np.nan], r"X\[1\]=nan is of type float"),
        (["a", b"b"], r"X\[1\]=b'b' is of type bytes"),
        (pd.Series(["a", None]), r"X\[1\]="),
        ("words", "X is the path 'words': expected a .npy file or a Parquet file of strings"),
        ({"a", "b"}, "X is of type set"),
        ([], "0 samples"),
        (np.array([["a"], ["b"]]), r"shape \(2, 1\)"),
        (pd.DataFrame({"word": ["a", "b"]}), r"shape \(2, 1\): expected a list .*; pass X\['word'\]"),
        (np.ones(3), r"shape \(3,\)"),
    ],
    ids=["None", "NaN", "bytes", "series", "a string", "a set", "empty", "column", "frame", "numbers"],
)
def test_what_is_no_list_of_strings(X, message):
    with pytest.raises(ValueError, match=message):
        OneBatchPAM(1, metric="levenshtein").fit(X)
    with pytest.raises(ValueError, match=message):
        OneBatchPAM(1, metric="levenshtein").fit(["a"]).predict(X)


def test_strings_for_a_metric_of_numbers():
    with pytest.raises(ValueError, match="X holds strings: expected rows of numbers, or a metric of text"):
        OneBatchPAM(1, metric="euclidean").fit(["a", "b"])


def test_unknown_parameters_are_not_passed_over():
    with pytest.raises(ValueError, match="metric='indel' has no parameter 'weights'"):
        OneBatchPAM(1, metric="indel", metric_params={"weights": (1, 1, 1)}).fit(["a"])


@pytest.mark.parametrize("params", [{"weights": (1, 2)}, {"weights": "abc"}, {"processor": len}], ids=str)
def test_values_that_a_parameter_cannot_have(params, words):
    with pytest.raises(ValueError, match="metric='levenshtein' with metric_params="):
        OneBatchPAM(2, metric="levenshtein", metric_params=params).fit(words)


def test_strings_have_no_mean(words):
    with pytest.raises(ValueError, match="needs the mean of the rows"):
        OneBatchPAM(2, metric="indel", variant="lwcs", batch_size=20).fit(words)


def test_without_rapidfuzz(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    with pytest.raises(ImportError, match=r"needs rapidfuzz: pip install 'rapidfuzz>=3\.1'"):
        OneBatchPAM(1, metric="levenshtein").fit(["a"])


def test_tags():
    tags = OneBatchPAM(metric="levenshtein").__sklearn_tags__().input_tags
    assert tags.string
    assert not tags.two_d_array
    assert not OneBatchPAM().__sklearn_tags__().input_tags.string
