"""The progressive batch: half uniform, half drawn by the distance to the batch so far."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.datasets import make_blobs

import reference
from onebatchpam import OneBatchPAM
from onebatchpam._draws import sample_by_odds
from onebatchpam.batch.rounds import round_sizes
from onebatchpam.batch.sampling import MemoryScan
from spaces import make_run, make_space


def far_groups(seed):
    """Return one blob of 15,000 rows and six groups of 8 rows far away; and the group of each row, -1 for the blob."""
    rng = np.random.RandomState(seed)
    blob = rng.randn(15_000, 4)
    centres = 100 * np.concatenate([np.eye(4), -np.eye(4)])[:6]
    groups = centres[:, None, :] + 0.5 * rng.randn(6, 8, 4)
    labels = np.r_[np.full(15_000, -1), np.repeat(np.arange(6), 8)]
    order = rng.permutation(len(labels))
    return np.concatenate([blob, groups.reshape(-1, 4)]).astype(np.float32)[order], labels[order]


@pytest.mark.parametrize("refine", [0, "auto"])
@pytest.mark.parametrize("seed", range(5))
def test_every_far_group_gets_a_medoid(seed, refine):
    X, groups = far_groups(seed)
    model = OneBatchPAM(20, metric="manhattan", variant="progressive", refine=refine, random_state=seed).fit(X)
    assert set(groups[model.medoid_indices_]) >= set(range(6))


def test_a_uniform_batch_misses_some():
    X, groups = far_groups(0)
    model = OneBatchPAM(20, metric="manhattan", variant="nniw", refine=0, random_state=0).fit(X)
    assert not set(groups[model.medoid_indices_]) >= set(range(6))


def test_not_worse_than_nniw_on_balanced_data():
    X, _ = make_blobs(4000, 6, centers=40, cluster_std=2.0, random_state=3)
    X = X.astype(np.float32)
    means = {
        variant: np.mean(
            [
                OneBatchPAM(20, metric="manhattan", variant=variant, random_state=seed, batch_size=600).fit(X).inertia_
                for seed in range(10)
            ]
        )
        for variant in ("progressive", "nniw")
    }
    assert means["progressive"] <= 1.001 * means["nniw"]


@pytest.mark.parametrize(("m", "n"), [(1, 5), (2, 5), (3, 10), (9, 10), (1300, 5000), (17, 40)])
def test_rounds_add_up(m, n):
    sizes = round_sizes("progressive", m, n)
    assert sum(sizes) == m
    assert min(sizes) >= 1
    assert sizes[0] == m - m // 2
    assert round_sizes("nniw", m, n) == [m]
    assert round_sizes("progressive", n, n) == [n]


def test_block_weights_and_count():
    X = np.random.RandomState(0).rand(500, 3)
    model = OneBatchPAM(4, metric="manhattan", batch_size=60, variant="progressive", refine=0, random_state=0).fit(X)
    assert len(np.unique(model.batch_indices_)) == 60
    nearest, _ = reference.scan_block(reference.distance_block(X, X[model.batch_indices_], "manhattan"))
    np.testing.assert_allclose(model.batch_weights_, reference.nearest_neighbour_weights(nearest, 60))
    assert model.n_distances_ == 500 * (60 + 4)  # no dissimilarity is computed twice


def test_far_rows_are_drawn_in_proportion(rng):
    scan = MemoryScan(make_space(np.arange(5.0)[:, None]), 2, 1, 10**9, make_run(rng))
    scan.add(np.array([0]))
    drawn = np.array([scan.draw_far(1)[0] for _ in range(4000)])
    assert chisquare(np.bincount(drawn, minlength=5)[1:], 4000 * np.array([0.1, 0.2, 0.3, 0.4])).pvalue > 1e-3


def test_rows_without_odds_come_last_and_excluded_ones_never(rng):
    odds = np.array([0.0, 0, 5, 0, 1e-300, 0])
    for _ in range(50):
        drawn = sample_by_odds(odds, 4, rng, exclude=np.array([0]))
        assert len(set(drawn)) == 4
        assert {2, 4} <= set(drawn)
        assert 0 not in drawn


def test_duplicates_only():
    with pytest.warns(match="distinct"):
        model = OneBatchPAM(3, batch_size=10, random_state=0).fit(np.ones((40, 2)))
    assert len(np.unique(model.batch_indices_)) == 10
