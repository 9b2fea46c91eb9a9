"""Calls in a process that has little memory left."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import numpy as np
import psutil
import scipy.sparse

from faults import make_rows
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    BanditPAM,
    DynMSC,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    block_metric,
    cluster_statistics,
    collapse_duplicates,
    distance_block,
    lower_bound,
    medoids_of,
    select_k,
    select_representatives,
    swap_search,
)

MEGABYTES = (0, 1, 4, 16, 64, 1000)  # that are left to a call, one after the other
X = make_rows(3000, 20)


def batch(**options):
    return OneBatchPAM(5, batch_size=500, n_jobs=2, random_state=0, **options)


def fit_by(model):
    return lambda X: model.fit(X).labels_


def fit_files(X):
    """Fit a file and write the labels to another, which a fit that fails leaves out."""
    with tempfile.TemporaryDirectory() as name:
        rows, labels = Path(name, "rows.npy"), Path(name, "labels.npy")
        np.save(rows, X)
        try:
            return batch().fit(rows, labels_out=labels).labels_.copy()
        except MemoryError:
            assert sorted(Path(name).iterdir()) == [rows]
            raise


def fit_matrix(X):
    differences = np.abs(X[:600, :1] - X[:600, :1].T)
    return batch(metric="precomputed").fit(differences).labels_


def assess(X):
    return FasterPAM(5, n_jobs=2, random_state=0).fit(X[:600]).assess_rows(X).distances


def compare_blocks(A, B):
    return np.abs(A[:, np.newaxis] - B).sum(axis=2)


CALLS = {
    "whole block": fit_by(batch(memory_limit="100MB")),
    "limit by free memory": fit_by(batch()),
    "reduced block": fit_by(batch(metric="manhattan", memory_limit="3MB")),
    "recomputed block": fit_by(batch(memory_limit=0)),
    "float64": lambda X: batch().fit(X.astype(np.float64)).labels_,
    "library metric": fit_by(batch(metric="canberra").set_params(n_jobs=1)),
    "gower": fit_by(batch(metric="gower")),
    "files": fit_files,
    "function of blocks": fit_by(batch(metric=block_metric(compare_blocks)).set_params(n_jobs=1)),
    "function of one or the other": fit_by(batch(metric=compare_blocks).set_params(n_jobs=1)),
    "sparse": lambda X: batch().fit(scipy.sparse.csr_matrix(X[:1000])).labels_,
    "FasterPAM": fit_by(FasterPAM(5, n_jobs=2, random_state=0)),
    "PAM": fit_by(PAM(5, n_jobs=2)),
    "FasterMSC": fit_by(FasterMSC(5, n_jobs=2, random_state=0)),
    "CLARANS": fit_by(CLARANS(5, max_neighbors=9, n_jobs=2, random_state=0)),
    "FasterCLARA": fit_by(FasterCLARA(5, n_jobs=2, random_state=0)),
    "Alternate": fit_by(Alternate(5, n_jobs=2, random_state=0)),
    "LSKMeansPlusPlus": fit_by(LSKMeansPlusPlus(200, n_jobs=2, random_state=0)),
    "transform": lambda X: RandomMedoids(500, random_state=0).fit(X[:600]).transform(X),
    "select_k": lambda X: select_k(X, [2, 5], batch()).inertia,
    "select_representatives": lambda X: select_representatives(X, 5, random_state=0).losses,
    "medoids_of": lambda X: medoids_of(X, np.zeros(len(X), int), random_state=0).indices,
    "BanditPAM": lambda X: BanditPAM(3, n_jobs=2, random_state=0).fit(X[:1000]).labels_,
    "KMC2": fit_by(KMC2(3, n_jobs=2, random_state=0)),
    "DynMSC": lambda X: DynMSC(4, batch_size=200, n_jobs=2, random_state=0).fit(X[:1000]).labels_,
    "precomputed": fit_matrix,
    "minimum size": fit_by(batch(min_cluster_size=100)),
    "best effort": lambda X: batch(effort="best").fit(X[:1500]).labels_,
    "lower_bound": lambda X: lower_bound(X[:600], [1, 2, 3], random_state=0).bound,
    "lower_bound by a sample": lambda X: lower_bound(X, [1, 2, 3], confidence=0.9, random_state=0).bound,
    "cluster_statistics": lambda X: cluster_statistics(X[:1500], np.arange(min(len(X), 1500)) % 3).diameters,
    "assess_rows": assess,
    "collapse_duplicates": lambda X: collapse_duplicates(np.round(X)).weights,
    "distance_block": lambda X: distance_block(X, X[:300]),
    "swap_search": lambda X: swap_search(X**2, 3, random_state=0).medoids,
}


def says_that_memory_lacks(error):
    """Tell whether an error says so; Python has an error of its own for a thread that gets no memory for its stack."""
    is_about_threads = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM or is_about_threads


def call_with_little_memory(tell, name):
    """Make a call again and again, with more memory each time; return the amounts that were too little.

    A call must have the right result or say that memory lacks; any other error is a defect, and so is a process that
    dies.
    """
    import resource

    call, results, too_little = CALLS[name], [], []
    call(X[:600])  # imports what is imported on demand
    for megabytes in MEGABYTES:
        tell(megabytes)
        limit = psutil.Process().memory_info().vms + 1_000_000 * megabytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            results.append(call(X))
        except (MemoryError, OSError, RuntimeError) as error:
            if not says_that_memory_lacks(error):
                raise
            too_little.append(megabytes)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for result in results:
        np.testing.assert_array_equal(result, results[-1])
    return too_little
