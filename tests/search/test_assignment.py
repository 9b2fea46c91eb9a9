"""Medoids of empty clusters move; all others stay where the search left them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from onebatchpam import FasterPAM, KMeansPlusPlus, OneBatchPAM

pytestmark = pytest.mark.filterwarnings("ignore:found")


def test_no_row_is_a_medoid_twice_if_it_is_far_from_itself():
    matrix = np.array([[0.0, 1, 0], [1, 3, 1], [0, 1, 3]])
    model = OneBatchPAM(3, metric="precomputed").fit(matrix)
    assert sorted(model.medoid_indices_) == [0, 1, 2]


@pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM, KMeansPlusPlus])
@pytest.mark.parametrize("seed", range(20))
def test_no_row_is_a_medoid_twice_if_it_is_not_quite_at_distance_zero_from_itself(algorithm, seed):
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 9, (4, 7)).astype(float)[rng.randint(0, 4, 30)]
    model = algorithm(6, metric="correlation", random_state=seed).fit(X)
    assert len(np.unique(model.medoid_indices_)) == 6


@pytest.mark.parametrize(
    "make", [lambda D: D.astype(np.uint8), lambda D: np.maximum(0, D - 2)], ids=["whole numbers", "with a tolerance"]
)
@pytest.mark.parametrize("seed", range(20))
def test_medoids_at_distance_zero_of_each_other_stay_if_they_serve_rows(make, seed):
    """Such dissimilarities are not metrics: rows at distance zero of each other may differ in all others."""
    X = np.random.RandomState(seed).rand(60, 2) * 5
    model = OneBatchPAM(8, metric="precomputed", random_state=0).fit(make(cdist(X, X, "cityblock")))
    assert model.inertia_ <= model.batch_inertia_ * (1 + 1e-6)  # all rows are in the batch


def test_a_medoid_moves_if_another_that_has_moved_empties_its_cluster():
    """Medoid 2 is at distance zero of medoid 0 and moves to row 3, the only one of the cluster of medoid 1."""
    matrix = np.array([[0, 0, 0, 3, 1], [0, 0, 1, 2, 3], [0, 1, 0, 3, 3], [3, 2, 3, 0, 3], [1, 3, 3, 3, 0]])
    model = FasterPAM(3, metric="precomputed", init=[0, 1, 2], max_iter=0).fit(matrix)
    assert model.medoid_indices_.tolist() == [0, 4, 3]
    assert model.inertia_ == 0
