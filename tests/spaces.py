"""Spaces and runs, as the stages of a fit are given them."""

from __future__ import annotations

import numpy as np

from onebatchpam._progress import Stages
from onebatchpam._run import Run
from onebatchpam.space import open_space


def make_space(X, metric="euclidean", n_jobs=1, weights=None):
    return open_space(X, metric, None, n_jobs, sample_weight=weights)


def make_matrix_space(matrix, weights=None):
    return make_space(matrix, "precomputed", weights=weights)


def make_run(rng=None, n_jobs=1):
    """Return a run that draws with this generator; with a number, or None, with one of this seed."""
    rng = rng if isinstance(rng, np.random.RandomState) else np.random.RandomState(rng)
    return Run(n_jobs, rng, Stages())
