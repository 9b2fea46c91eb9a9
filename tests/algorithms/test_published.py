"""Results that are published for other packages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from onebatchpam import PAM, FasterPAM

# The 75 points of Ruspini (1970), in the order of R's `cluster::ruspini`.
RUSPINI = np.fromstring(
    """
    4 53 5 63 10 59 9 77 13 49 13 69 12 88 15 75 18 61 19 65 22 74 27 72 28 76 24 58 27 55 28 60 30 52 31 60 32 61 36 72
    28 147 32 149 35 153 33 154 38 151 41 150 38 145 38 143 32 143 34 141 44 156 44 149 44 143 46 142 47 149 49 152
    50 142 53 144 52 152 55 155 54 124 60 136 63 139 86 132 85 115 85 96 78 94 74 96 97 122 98 116 98 124 99 119 99 128
    101 115 108 111 110 111 108 116 111 126 115 117 117 115 70 4 77 12 83 21 61 15 69 15 78 16 66 18 58 13 64 20 69 21
    66 23 61 25 76 27 72 31 64 30
    """,
    sep=" ",
).reshape(75, 2)


class TestRuspini:
    def test_pam_with_four_medoids(self):
        """R's `pam(ruspini, 4)` prints these objectives, medoids and this average silhouette width."""
        built, model = PAM(4, max_iter=0).fit(RUSPINI), PAM(4).fit(RUSPINI)
        assert built.inertia_ / 75 == pytest.approx(17.22898, abs=5e-6)
        assert model.inertia_ / 75 == pytest.approx(11.48637, abs=5e-6)
        np.testing.assert_array_equal(np.sort(model.medoid_indices_) + 1, [10, 32, 52, 70])
        np.testing.assert_array_equal(np.sort(model.cluster_sizes_), [15, 17, 20, 23])
        assert silhouette_score(RUSPINI, model.labels_) == pytest.approx(0.737657, abs=5e-7)

    def test_five_medoids(self):
        assert PAM(5).fit(RUSPINI).inertia_ / 75 == pytest.approx(10.396, abs=5e-4)
        for seed in range(5):  # a single start of eager swaps ends in another local optimum
            model = FasterPAM(5, n_init=30, random_state=seed).fit(RUSPINI)
            assert model.inertia_ / 75 == pytest.approx(10.396, abs=5e-4)
