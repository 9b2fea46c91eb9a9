"""Strings and other objects in partitions: the result is about as good as in memory."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import onebatchpam
from onebatchpam import pair_metric
from onebatchpam.dask import OneBatchPAM, population


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 1500)


@pytest.fixture(scope="module", name="words")
def make_words():
    rng = np.random.RandomState(0)
    return np.array(["".join(rng.choice(list("abcd"), rng.randint(3, 8))) for _ in range(2000)], dtype=object)


def compare_lengths(a, b):
    return abs(len(a) - len(b))


@pytest.mark.parametrize("metric", ["levenshtein", pair_metric(compare_lengths)])
@pytest.mark.parametrize("form", ["series", "array"])
def test_strings(words, metric, form):
    pytest.importorskip("rapidfuzz")
    data = dd.from_pandas(pd.Series(words), npartitions=4) if form == "series" else da.from_array(words, chunks=700)
    parameters = {"n_clusters": 5, "metric": metric, "batch_size": 100, "random_state": 0}
    model, in_memory = OneBatchPAM(**parameters).fit(data), onebatchpam.OneBatchPAM(**parameters).fit(words)
    assert model.inertia_ <= 1.02 * in_memory.inertia_
    assert model.cluster_centers_.tolist() == words[model.medoid_indices_].tolist()
    distances = model.transform(data).compute()
    np.testing.assert_array_equal(distances, onebatchpam.OneBatchPAM.transform(model, words))
    np.testing.assert_array_equal(model.predict(data).compute(), distances.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_.compute(), distances.argmin(axis=1))
    assert model.inertia_ == distances.min(axis=1).sum() == -model.score(data)


def test_numbers_in_one_dimension():
    with pytest.raises(ValueError, match="X is a Dask array of 1 dimensions: expected rows of features"):
        OneBatchPAM(2).fit(da.ones(100, chunks=50))
