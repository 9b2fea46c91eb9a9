"""Calls that take so long that somebody may press Ctrl-C, one for each metric and each stage of each algorithm."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, clone

from faults import call_at_stages, list_fitted, make_rows
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    BanditPAM,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    block_metric,
    cluster_statistics,
    lower_bound,
    medoids_of,
    native_metric,
    pair_metric,
    select_k,
    select_representatives,
)

FEW = 300  # rows of a quick call, but at least three for each medoid
SECONDS_BETWEEN_SIGNALS = 0.01  # of the processor's time


@dataclass(frozen=True)
class Case:
    """A call with n rows that takes many seconds: an estimator to fit, or a function of the rows."""

    call: Any
    make: Callable[[int], Any]  # makes rows, given their number
    n: int
    stage: str = "distances"  # the stage in which the call is interrupted
    needs: str = "onebatchpam"  # a package without which there is no such call


def dense(p, dtype=np.float32):
    return partial(make_rows, p=p, dtype=dtype)


def make_places(n):
    return make_rows(n, 2) / 100


def make_shares(n):
    return np.abs(make_rows(n, 300, np.float64)) + 0.1


def make_table(n):
    return pd.DataFrame(make_rows(n, 300), columns=[f"x{i}" for i in range(300)])


def make_sparse(n):
    rows = scipy.sparse.random(FEW, 2000, 0.1, "csr", np.float32, np.random.RandomState(0))
    return scipy.sparse.vstack([rows] * (n // FEW))


def make_matrix(n):
    return np.random.default_rng(0).random((n, n), dtype=np.float32)


def make_strings(n):
    letters = np.random.RandomState(0).choice(list("abcd"), size=(n, 200))
    return ["".join(row) for row in letters]


def make_file(n):
    path = Path(f"{n} rows.npy")
    np.save(path, make_rows(n, 100))
    return path


def compare_slowly(a, b):
    return float(np.abs(a - b).sum())


def compare_blocks(A, B):
    return np.abs(A[:, np.newaxis] - B).sum(axis=2)


def fit_compiled(X):
    """Fit with a compiled metric, which is made here because it cannot be pickled."""
    import numba

    doubles = numba.types.CPointer(numba.types.float64)

    @numba.cfunc(numba.types.float64(doubles, doubles, numba.types.intp))
    def manhattan(a, b, n):
        total = 0.0
        for i in range(n):
            total += abs(a[i] - b[i])
        return total

    return FasterPAM(3, metric=native_metric(manhattan), random_state=0).fit(X).medoid_indices_


def fit_on_dask(X):
    import dask.array as da

    from onebatchpam.dask import OneBatchPAM as DaskOneBatchPAM

    return DaskOneBatchPAM(50, random_state=0).fit(da.from_array(X, chunks=(len(X) // 10, -1))).medoid_indices_


def make_longer_if_many(n):
    return make_rows(n, 2000 if n > 1000 else 2)


def bound_few(X):
    return lower_bound(X, np.arange(20), memory_limit=0, random_state=0).bound


def fit_equal_clusters(X):
    return batch(100, batch_size=500, refine=0, min_cluster_size=0.009 * len(X)).fit(X).medoid_indices_


def fit_medoids():
    return RandomMedoids(1000, random_state=0).fit(make_rows(1000, 100))


def square(metric, **options):
    """Return an estimator that compares all rows with all: the tiles of this block have the most entries."""
    return FasterPAM(3, metric=metric, random_state=0, **options)


def batch(k=20, **options):
    return OneBatchPAM(k, metric="manhattan", random_state=0, **options)


METRICS = {
    "manhattan": Case(square("manhattan"), dense(2000), 12_000),
    "manhattan, two threads": Case(square("manhattan", n_jobs=2), dense(2000), 12_000),
    "sqeuclidean of bytes": Case(square("sqeuclidean"), dense(2000, np.uint8), 20_000),
    "euclidean in float64": Case(square("euclidean"), dense(3072, np.float64), 8_000),
    "chebyshev in float64": Case(square("chebyshev"), dense(3072, np.float64), 8_000),
    "cosine": Case(square("cosine"), dense(2000), 12_000),
    "canberra": Case(square("canberra"), dense(300), 12_000),
    "correlation": Case(square("correlation"), dense(300), 12_000),
    "mahalanobis": Case(square("mahalanobis"), dense(290, np.float64), 8_000),
    "minkowski": Case(square("minkowski", metric_params={"p": 3}), dense(300), 12_000),
    "jensenshannon": Case(square("jensenshannon"), make_shares, 12_000),
    "nan_euclidean": Case(square("nan_euclidean"), dense(1000), 12_000),
    "haversine": Case(square("haversine"), make_places, 20_000),
    "gower": Case(square("gower"), make_table, 12_000),
    "sparse manhattan": Case(square("manhattan"), make_sparse, 10_000),
    "levenshtein": Case(square("levenshtein"), make_strings, 5_000, needs="rapidfuzz"),
    "pair function": Case(square(pair_metric(compare_slowly)), dense(10), 3_000),
    "block function": Case(square(block_metric(compare_blocks)), dense(1000), 8_000),
    "compiled function": Case(fit_compiled, dense(2000), 12_000, needs="numba"),
}
ALGORITHMS = {
    "OneBatchPAM, start": Case(batch(1000, init="k-means++"), dense(20), 200_000, "initial medoids"),
    "OneBatchPAM, distances": Case(batch(batch_size=20_000, memory_limit=0), dense(100), 200_000),
    "OneBatchPAM, means": Case(batch(variant="lwcs", batch_size=20_000, memory_limit=0), dense(100), 200_000),
    "OneBatchPAM, sample": Case(batch(400), dense(100), 200_000, "sample"),
    "OneBatchPAM, search": Case(batch(400, batch_size=1000), dense(2), 60_000, "swap search"),
    "OneBatchPAM, reduced": Case(batch(100, batch_size=1000, memory_limit="60MB"), dense(60), 200_000, "swap search"),
    "OneBatchPAM, recomputed": Case(batch(100, batch_size=1000, memory_limit=0), dense(60), 200_000, "swap search"),
    "OneBatchPAM, refinement": Case(batch(100, batch_size=100), dense(500), 40_000, "refinement"),
    "OneBatchPAM, pool search": Case(batch(300, batch_size=600, refine=0, n_init=3), dense(2), 20_000, "pool search"),
    "OneBatchPAM, minimum sizes": Case(fit_equal_clusters, dense(2), 20_000, "cluster sizes"),
    "OneBatchPAM, core": Case(batch(50, batch_size=500, refine=0, effort="best"), dense(100), 20_000, "core"),
    "OneBatchPAM, from a file": Case(batch(batch_size=10_000, memory_limit=0), make_file, 200_000),
    "OneBatchPAM, on Dask": Case(fit_on_dask, dense(100), 300_000, needs="dask"),
    "FasterPAM, search": Case(FasterPAM(1600, metric="precomputed", random_state=0), make_matrix, 8_000, "swap search"),
    "BUILD": Case(PAM(200, metric="precomputed"), make_matrix, 8_000, "initial medoids"),
    "PAM, search": Case(
        PAM(200, metric="precomputed", init="random", random_state=0), make_matrix, 8_000, "swap search"
    ),
    "FasterMSC, search": Case(FasterMSC(60, batch_size=1000, random_state=0), dense(2), 60_000, "swap search"),
    "CLARANS": Case(CLARANS(20, random_state=0), dense(50), 20_000, "swap search"),
    "FasterCLARA": Case(FasterCLARA(400, random_state=0), dense(500), 100_000, "assignment"),
    "Alternate": Case(Alternate(2, metric="manhattan", random_state=0), dense(100), 80_000, "middles of clusters"),
    "LSKMeansPlusPlus": Case(LSKMeansPlusPlus(50, n_swaps=500, random_state=0), dense(20), 100_000, "local search"),
    "KMC2": Case(KMC2(200, chain_length=2000, random_state=0), make_longer_if_many, 20_000, "initial medoids"),
    "RandomMedoids": Case(RandomMedoids(1000, random_state=0), dense(100), 200_000, "assignment"),
    "BanditPAM": Case(BanditPAM(100, random_state=0), dense(50), 60_000, "BUILD"),
    "BanditPAM, swaps": Case(BanditPAM(50, max_iter=1000, random_state=0), dense(2), 8_000, "SWAP"),
    "select_k": Case(
        lambda X: select_k(X, [len(X) // 100], batch(batch_size=1000)).inertia, dense(2), 60_000, "swap search"
    ),
    "select_representatives": Case(
        # Fixed rows leave nothing to search for, so that the last stage is soon reached.
        lambda X: select_representatives(X, 200, fixed=np.arange(200), random_state=0).losses,
        *(dense(20), 1_500_000, "coverage"),
    ),
    "select_representatives, order": Case(
        lambda X: select_representatives(X, len(X) // 30, fixed=np.arange(len(X) // 30), random_state=0).losses,
        *(dense(20), 60_000, "order"),
    ),
    "lower_bound": Case(bound_few, dense(100), 20_000, "pricing"),
    "cluster_statistics": Case(
        lambda X: cluster_statistics(X, np.arange(len(X)) % 2).diameters, dense(100), 60_000, "pairs"
    ),
    "medoids_of": Case(
        lambda X: medoids_of(X, np.zeros(len(X), int), random_state=0).indices, dense(100), 80_000, "medoids"
    ),
    "predict": Case(lambda X: fit_medoids().predict(X), dense(100), 800_000, "assignment"),
    "transform": Case(lambda X: fit_medoids().transform(X), dense(100), 200_000),
}
CASES = METRICS | ALGORITHMS


class Answers:
    """Measures for how long, in seconds of the processor's time, the process does not answer signals."""

    def __init__(self):
        self.longest, self._last = 0.0, time.process_time()

    def note(self, *_):
        now = time.process_time()
        self.longest, self._last = max(self.longest, now - self._last), now


@contextmanager
def measure_answers():
    """Send a signal to this process many times a second, as long as it is busy."""
    answers = Answers()
    handler = signal.signal(signal.SIGPROF, answers.note)
    signal.setitimer(signal.ITIMER_PROF, SECONDS_BETWEEN_SIGNALS, SECONDS_BETWEEN_SIGNALS)
    try:
        yield answers
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.note()
        signal.signal(signal.SIGPROF, handler)


def be_interrupted(tell, name, folder):
    """Call a case with few rows, with many until Ctrl-C comes, and with few again; return the seconds without answer.

    The second call must leave the model as it was, and the third must have the result of the first. The folder is for
    files of rows.
    """
    os.chdir(folder)
    if hasattr(os, "sched_setaffinity"):  # with more processors, the same calls would be shorter and take more time
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-2:])
    case = CASES[name]
    model = clone(case.call) if isinstance(case.call, BaseEstimator) else None
    call = case.call if model is None else lambda rows: list_fitted(model.fit(rows))
    few, many = case.make(FEW if model is None else max(FEW, 3 * model.n_clusters)), case.make(case.n)
    expected, before = call(few), {} if model is None else dict(vars(model))
    with pytest.MonkeyPatch.context() as patch, measure_answers() as answers:
        call_at_stages(patch, tell)
        with pytest.raises(KeyboardInterrupt):
            call(many)
    assert ({} if model is None else vars(model)) == before
    np.testing.assert_equal(call(few), expected)
    return answers.longest
