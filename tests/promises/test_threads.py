"""The public API in several threads at once: all get the result that one thread gets alone, to the last bit.

`nox -s threads` runs each test in four threads that start together, by pytest-run-parallel, on a free-threaded Python
as well where there is one. In an ordinary run of the tests there is one thread. Only what the package itself needs is
imported here, because few other packages are ready for free-threaded Python.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import onebatchpam
from faults import list_fitted, make_rows
from onebatchpam import (
    KMC2,
    Alternate,
    BanditPAM,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    block_metric,
    pair_metric,
)

N, K = 240, 4
X = make_rows(N, 6)
MATRIX = onebatchpam.distance_block(X, X, "manhattan")
LABELS = np.arange(N) % 3


def sum_of_differences(a, b):
    return float(np.abs(a - b).sum())


def block_of_differences(A, B):
    return np.abs(A[:, np.newaxis] - B).sum(axis=2)


# Models and functions that all threads share; the models are cloned, and the rows are the same objects in all threads.
MODELS = {
    "OneBatchPAM": (OneBatchPAM(K, batch_size=50, n_jobs=2, random_state=0), X),
    "reduced": (OneBatchPAM(K, metric="manhattan", batch_size=50, memory_limit="20kB", random_state=0), X),
    "recomputed": (OneBatchPAM(K, batch_size=50, memory_limit=0, n_jobs=2, random_state=0), X),
    "several starts": (OneBatchPAM(K, batch_size=50, n_init=3, effort="best", random_state=0), X),
    "bytes": (OneBatchPAM(K, batch_size=50, random_state=0), X.astype(np.uint8)),
    "sparse": (OneBatchPAM(K, metric="manhattan", batch_size=50, random_state=0), scipy.sparse.csr_array(X)),
    "gower": (OneBatchPAM(K, metric="gower", batch_size=50, random_state=0), X),
    "scipy": (OneBatchPAM(K, metric="canberra", batch_size=50, n_jobs=2, random_state=0), X),
    "scikit-learn": (OneBatchPAM(K, metric="nan_euclidean", batch_size=50, random_state=0), X),
    "pair function": (OneBatchPAM(K, metric=pair_metric(sum_of_differences), batch_size=20, random_state=0), X[:60]),
    "block function": (OneBatchPAM(K, metric=block_metric(block_of_differences), random_state=0), X),
    "matrix": (FasterPAM(K, metric="precomputed", n_jobs=2, random_state=0), MATRIX),
    "FasterPAM": (FasterPAM(K, n_jobs=2, random_state=0), X),
    "FasterCLARA": (FasterCLARA(K, random_state=0), X),
    "Alternate": (Alternate(K, random_state=0), X),
    "BanditPAM": (BanditPAM(K, random_state=0), X),
    "KMeansPlusPlus": (KMeansPlusPlus(K, random_state=0), X),
    "LSKMeansPlusPlus": (LSKMeansPlusPlus(K, random_state=0), X),
    "KMC2": (KMC2(K, random_state=0), X),
    "RandomMedoids": (RandomMedoids(K, random_state=0), X),
}
FUNCTIONS = {
    "cluster_statistics": lambda: onebatchpam.cluster_statistics(X, LABELS, n_jobs=2).silhouettes,
    "collapse_duplicates": lambda: onebatchpam.collapse_duplicates(np.repeat(X, 2, axis=0)),
    "distance_block": lambda: onebatchpam.distance_block(X, X[:50], n_jobs=2),
    "lower_bound": lambda: onebatchpam.lower_bound(X, [1, 2, 3], random_state=0).bound,
    "medoids_of": lambda: onebatchpam.medoids_of(X, LABELS, random_state=0).indices,
    "select_k": lambda: onebatchpam.select_k(X, [2, 3], OneBatchPAM(2, batch_size=50, random_state=0)).inertia,
    "select_representatives": lambda: onebatchpam.select_representatives(X, 5, random_state=0).indices,
    "swap_search": lambda: onebatchpam.swap_search(MATRIX, K, n_jobs=2, random_state=0).medoids,
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """Return an estimator, rows, and the estimator as one thread has fitted it."""
    model, rows = MODELS[request.param]
    return model, rows, clone(model).fit(rows)


def test_fit(fitted):
    model, rows, expected = fitted
    np.testing.assert_equal(list_fitted(clone(model).fit(rows)), list_fitted(expected))


def test_methods_of_one_model(fitted):
    _, rows, model = fitted
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.transform(rows).min(axis=1), model.distances_)
    assert model.score(rows) == -model.inertia_
    assert onebatchpam.medoid_silhouette(rows, model) <= 1
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.labels_)


@pytest.fixture(scope="module", params=FUNCTIONS)
def called(request):
    """Return a function, and the result that one thread got."""
    return FUNCTIONS[request.param], FUNCTIONS[request.param]()


def test_functions(called):
    function, expected = called
    np.testing.assert_equal(function(), expected)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return the path of a file with the rows."""
    path = tmp_path_factory.mktemp("rows") / "X.npy"
    np.save(path, X)
    return path


def test_one_file(path):
    model = MODELS["OneBatchPAM"][0]
    np.testing.assert_equal(list_fitted(clone(model).fit(path)), list_fitted(clone(model).fit(X)))
