"""Methods of the benchmark: each is what its name says."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from bench.methods.contestant import Problem
from bench.methods.ours import solve_lwcs_as_published
from bench.methods.peers import snap
from bench.methods.table import AS_PUBLISHED, CONTESTANTS, check_method
from onebatchpam import OneBatchPAM

X = np.random.RandomState(1).standard_normal((400, 3)).astype(np.float32)


@pytest.mark.filterwarnings("ignore:BanditPAM was stopped")
@pytest.mark.parametrize("name", CONTESTANTS)
def test_every_method_returns_distinct_rows(name):
    contestant = CONTESTANTS[name]
    if contestant.explain_absence() is not None:
        pytest.skip(contestant.explain_absence())
    metric = "euclidean" if contestant.metrics == ("euclidean",) else "manhattan"
    answer = contestant.solve(Problem(X, 5, metric, 0, 1))
    assert len(np.unique(answer.medoids)) == (len(answer.medoids) if name == "DynMSC" else 5)
    assert answer.medoids.min() >= 0
    assert answer.medoids.max() < len(X)
    assert answer.n_distances is None or answer.n_distances > 0


def test_the_papers_rows_do_not_follow_our_defaults():
    problem = Problem(np.tile(X, (8, 1)), 5, "manhattan", 3, 1)
    m = int(100 * np.log(5 * 3200))
    assert problem.paper_batch_size() == m
    answer = CONTESTANTS["OneBatchPAM-unif"].solve(problem)
    model = OneBatchPAM(5, metric="manhattan", variant="unif", batch_size=m, refine=0, random_state=3)
    np.testing.assert_array_equal(answer.medoids, model.fit(problem.X).medoid_indices_)
    assert answer.n_distances == 3200 * (m + 5)


def test_lwcs_as_published_weights_by_q():
    """With the weights q no swap improves what it found; with 1/q, as coresets are meant, some swap does."""
    rows = np.random.RandomState(2).lognormal(sigma=1.5, size=(1200, 2)).astype(np.float32)
    answer = solve_lwcs_as_published(Problem(rows, 4, "manhattan", 5, 1))
    q = reference.lightweight_coreset_probabilities(rows, "manhattan")
    m = int(100 * np.log(4 * 1200))
    batch = np.random.RandomState(5).choice(1200, size=m, replace=False, p=q / q.sum())
    block = reference.distance_block(rows, rows[batch], "manhattan")
    block[batch, np.arange(m)] = block.max()
    best = {}
    for name, weights in {"q": q[batch], "1/q": 1 / q[batch]}.items():
        loss = reference.loss(block, answer.medoids, weights)
        best[name] = reference.swap_gains(block, answer.medoids, weights).max() / loss
    assert best["q"] < 1e-5
    assert best["1/q"] > 1e-3
    assert answer.n_distances == 1200 * (m + 1)
    assert CONTESTANTS[AS_PUBLISHED].paper_row == "OneBatchPAM-lwcs"


def test_centres_are_snapped_to_distinct_rows():
    rows = np.array([[0.0], [0.0], [1.0], [5.0], [5.0]])
    assert snap(rows, np.array([[0.1], [0.2], [5.1]])).tolist() == [0, 2, 3]
    assert snap(rows, np.array([[5.2], [5.1], [5.0]])).tolist() == [3, 2, 0]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert CONTESTANTS["kmedoids FasterPAM"].explain_absence() == "the package kmedoids is not installed"


def test_a_method_knows_its_metrics():
    assert check_method("KMeans, snapped", "euclidean").kind == "peer"
    with pytest.raises(ValueError, match="T = 5 takes the metrics manhattan, euclidean, cosine, not 'chebyshev'"):
        check_method("banditpam, T = 5", "chebyshev")
