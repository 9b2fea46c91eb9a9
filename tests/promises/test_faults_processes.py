"""Processes that are forked or spawned after a fit, and threads that fit at once."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

import children
from faults import assert_same_fit, fit_again_in_a_process, list_fitted, make_rows
from onebatchpam import Alternate, FasterCLARA, FasterPAM, OneBatchPAM, medoids_of, select_k
from stored import as_npy, as_parquet

X = make_rows(4000, 20)
MODELS = {
    "native": OneBatchPAM(5, batch_size=100, n_jobs=2, random_state=0),
    "recomputed": OneBatchPAM(5, batch_size=100, memory_limit=0, n_jobs=2, random_state=1),
    "library": OneBatchPAM(4, metric="canberra", batch_size=50, n_jobs=2, random_state=0),
    "gower": OneBatchPAM(4, metric="gower", batch_size=50, n_jobs=2, random_state=0),
    "FasterPAM": FasterPAM(4, n_jobs=2, random_state=0),
    "FasterCLARA": FasterCLARA(4, n_jobs=2, random_state=0),
    "Alternate": Alternate(4, n_jobs=2, random_state=0),
}


@children.needs_posix
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("name", ["native", "library", "FasterPAM"])
def test_a_new_process_fits_as_this_one(name, method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("the system has no such processes")
    path = as_npy(X, tmp_path)
    there, here = children.run(fit_again_in_a_process, MODELS[name], path, method)
    np.testing.assert_equal(there, here)


class TestThreads:
    def test_of_different_models(self):
        expected = [clone(model).fit(X) for model in MODELS.values()]
        with ThreadPoolExecutor(len(MODELS)) as threads:
            found = list(threads.map(lambda model: clone(model).fit(X), MODELS.values()))
        for model, other in zip(found, expected, strict=True):
            assert_same_fit(model, other)

    @pytest.mark.parametrize("store", [as_npy, as_parquet])
    def test_that_read_the_same_file(self, store, tmp_path, small_windows):
        path, model = store(X[:700], tmp_path), MODELS["native"]
        expected = clone(model).fit(path)
        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(lambda _: clone(model).fit(path), range(4)):
                assert_same_fit(found, expected)

    def test_that_use_one_model(self):
        model = clone(MODELS["native"]).fit(X)
        expected = model.predict(X), model.transform(X)
        with ThreadPoolExecutor(4) as threads:
            for _ in range(3):
                for labels, distances in threads.map(lambda _: (model.predict(X), model.transform(X)), range(4)):
                    np.testing.assert_array_equal(labels, expected[0])
                    np.testing.assert_array_equal(distances, expected[1])

    def test_that_fit_one_model_to_the_same_rows(self):
        model, expected = clone(MODELS["native"]), clone(MODELS["native"]).fit(X)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: model.fit(X), range(4)))
        np.testing.assert_equal(list_fitted(model), list_fitted(expected))

    def test_of_functions(self):
        labels = np.arange(len(X)) % 3

        def call(_):
            return select_k(X, [2, 4], MODELS["native"]).inertia, medoids_of(X, labels, random_state=0).indices

        expected = call(None)
        with ThreadPoolExecutor(4) as threads:
            for found in threads.map(call, range(4)):
                np.testing.assert_equal(found, expected)
