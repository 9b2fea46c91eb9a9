"""Results that are published for other packages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from onebatchpam import (
    CLARANS,
    PAM,
    Alternate,
    DynMSC,
    FasterMSC,
    FasterPAM,
    OneBatchPAM,
    cluster_statistics,
    distance_block,
)

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
        assert cluster_statistics(RUSPINI, model.labels_).silhouette == pytest.approx(0.737657, abs=5e-7)

    def test_five_medoids(self):
        assert PAM(5).fit(RUSPINI).inertia_ / 75 == pytest.approx(10.396, abs=5e-4)

    @pytest.mark.parametrize(
        ("algorithm", "init", "n_init"),
        [
            (FasterPAM, "random", 20),  # each start ends there about once in four times
            (FasterPAM, "ls-k-means++", 10),
            (Alternate, "ls-k-means++", 10),  # of a random start, about once in twenty times
            (Alternate, "build", 1),
            (OneBatchPAM, "random", 10),
            (CLARANS, "random", 5),
        ],
    )
    def test_five_medoids_by_a_few_starts(self, algorithm, init, n_init):
        """A single start of these ends in another local optimum more often than not."""
        for seed in range(5):
            model = algorithm(5, init=init, n_init=n_init, random_state=seed).fit(RUSPINI)
            assert model.inertia_ / 75 == pytest.approx(10.396, abs=5e-4)


NA = np.nan


def standardise(X):
    """Scale columns as R does: by their mean and their mean absolute deviation, over the values that are known."""
    centred = X - np.nanmean(X, axis=0)
    return centred / np.nanmean(np.abs(centred), axis=0)


def manhattan_of_known(A, B):
    """Compare blocks of rows by the columns that both have, scaled up to all columns, as R does."""
    differences = np.abs(A[:, None] - B[None])
    return np.nanmean(differences, axis=2) * A.shape[1]


class TestPAMOfR:
    """The tests of `pam` in R's package cluster, by the numbers that they print (pam.Rout.save)."""

    SEVERAL_SCALES = np.array(
        [
            [9, 12, 12, 15, 9, 9, 13, 11, 15, 10, 13, 13, 13, 15, 8, 13, 13, 10, 7, 9, 6, 11, 3],
            [5, 9, 3, 5, 1, 1, 2, NA, 10, 1, 4, 7, 4, NA, NA, 5, 2, 4, 3, 3, 6, 1, 1],
            [63, 41, 59, 50, 290, 226, 60, 36, 32, 121, 70, 51, 79, 32, 42, 39, 76, 60, 56, 88, 57, 309, 254],
            [146, 43, 78, 88, 314, 149, 78, NA, 238, 153, 159, 222, 203, NA, NA, 74, 100, 111, 9, 180, 50, 256, 107],
        ]
    ).T

    def test_missing_values_with_manhattan(self):
        X = np.array([np.arange(-3, 5) ** 2, [0, 1, 2, 3, 4, 5, 6, NA], [1, 2, NA, 7, NA, 8, 9, 8]]).T
        built, model = (PAM(2, metric=manhattan_of_known, max_iter=most).fit(X) for most in (0, 100))
        assert built.inertia_ / 8 == model.inertia_ / 8 == 6.375
        assert set(model.medoid_indices_ + 1) == {2, 6}
        first = model.labels_[1]
        np.testing.assert_array_equal(model.labels_ == first, [True] * 3 + [False] * 5)

    def test_missing_values_with_euclidean(self):
        X = standardise(self.SEVERAL_SCALES)
        assert distance_block(X, X, "nan_euclidean").max() == pytest.approx(8.51931, abs=5e-6)
        built, model = (PAM(5, metric="nan_euclidean", max_iter=most).fit(X) for most in (0, 100))
        assert built.inertia_ / 23 == pytest.approx(0.9368049, abs=5e-8)
        assert model.inertia_ / 23 == pytest.approx(0.8621860, abs=5e-8)
        assert set(model.medoid_indices_ + 1) == {15, 8, 14, 22, 23}
        groups = [1, 2, 2, 3, 4, 4, 2, 2, 3, 2, 2, 2, 2, 3, 1, 2, 2, 2, 1, 1, 1, 4, 5]
        pairs = set(zip(model.labels_.tolist(), groups, strict=True))
        assert len(pairs) == 5

    def test_a_start_of_ones_own(self):
        X, start = standardise(self.SEVERAL_SCALES), [0, 2, 19, 1, 4]
        begun = PAM(5, metric="nan_euclidean", init=start, max_iter=0).fit(X)
        # A fifth swap would gain 0, and less than rounding decides whether it is made.
        model = PAM(5, metric="nan_euclidean", init=start, tol=1e-6).fit(X)
        assert begun.inertia_ == pytest.approx(29.8745, abs=5e-5)
        assert model.inertia_ / 23 == pytest.approx(0.8627319, abs=5e-8)
        assert set(model.medoid_indices_ + 1) == {15, 8, 14, 5, 6}
        assert model.n_swaps_ == 4

    def test_dissimilarities_with_missing_values(self):
        """`daisy` of 0, 1 and NA, and `dist(x, "manhattan")`, for some pairs of rows."""
        X = np.array([[0, NA, 0, 1, 1], [0, 0, 1, 1, NA], [0, 1, 1, 0, 0], [NA, 0, NA, 0, 1]])
        block = distance_block(X, X, "nan_euclidean")
        np.testing.assert_allclose(
            block[np.triu_indices(4, 1)], [1.290994, 1.936492, 1.581139, 1.581139, 1.581139, 1.825742], atol=5e-7
        )
        Y = np.array([[0, -5], [-4, -14], [-22, NA], [-14, -35], [113, 47], [104, NA]])
        block = manhattan_of_known(Y, Y)
        np.testing.assert_array_equal(block[0], [0, 13, 44, 44, 165, 208])
        np.testing.assert_array_equal(block[2], [44, 36, 0, 16, 270, 252])


def test_numbers_of_clusters_of_wine():
    """What R prints for `summary(pam(wine, k=3, stand = TRUE))`: numerical information per cluster."""
    X = standardise(load_wine().data)
    model = PAM(3).fit(X)
    found = cluster_statistics(X, model.labels_)
    order = np.argsort(model.medoid_indices_)
    np.testing.assert_array_equal(model.medoid_indices_[order] + 1, [36, 107, 175])
    np.testing.assert_array_equal(found.sizes[order], [75, 54, 49])
    np.testing.assert_allclose(model.max_distances_[order], [7.164558, 6.473747, 5.781398], atol=1e-6)
    np.testing.assert_allclose(model.mean_distances_[order], [3.611501, 3.511231, 3.232620], atol=1e-6)
    np.testing.assert_allclose(found.diameters[order], [11.255700, 10.901681, 9.027462], atol=1e-6)
    np.testing.assert_allclose(found.separations[order], [2.206761, 2.142040, 2.142040], atol=1e-6)


class TestKMedoids:
    """The matrix of the tests of kmedoids, and what its functions return in version 0.5.5.

    The tests that it publishes agree, but for `pam_build`, of which they expect 11; it returns 9.
    """

    MATRIX = np.array([[0, 2, 3, 4, 5], [2, 0, 6, 7, 8], [3, 6, 0, 9, 10], [4, 7, 9, 0, 11], [5, 8, 10, 11, 0]])

    def test_pam(self):
        assert PAM(2, metric="precomputed", max_iter=0).fit(self.MATRIX).inertia_ == 9
        assert PAM(2, metric="precomputed").fit(self.MATRIX).inertia_ == 9

    def test_fasterpam(self):
        assert FasterPAM(2, metric="precomputed", init="build").fit(self.MATRIX).inertia_ == 9

    def test_alternating_and_the_silhouette_of_its_labels(self):
        model = Alternate(2, metric="precomputed", init="build").fit(self.MATRIX)
        assert model.inertia_ == 9
        found = cluster_statistics(self.MATRIX, model.labels_, metric="precomputed")
        assert found.silhouette == pytest.approx(0.31379, abs=5e-6)


class TestRustKMedoids:
    """The tests of the crate kmedoids for the medoid silhouette, by the values that they expect."""

    MATRIX = np.array([[0, 1, 2, 4, 7], [1, 0, 3, 5, 8], [2, 3, 0, 6, 9], [4, 5, 6, 0, 1], [7, 8, 9, 1, 0]])

    @pytest.mark.parametrize(
        ("start", "medoids", "labels", "n_swaps", "medoid_silhouette", "silhouette"),
        [
            ([0, 1, 2], [0, 3, 2], [0, 0, 2, 1, 1], 1, 0.9047619, 0.5622222),
            ([0, 1], [0, 4], [0, 0, 0, 1, 1], 3, 0.8805556, 0.7522494),
        ],
    )
    def test_fastermsc(self, start, medoids, labels, n_swaps, medoid_silhouette, silhouette):
        model = FasterMSC(len(start), metric="precomputed", init=start).fit(self.MATRIX)
        np.testing.assert_array_equal(model.medoid_indices_, medoids)
        np.testing.assert_array_equal(model.labels_, labels)
        assert model.n_swaps_ == n_swaps
        assert model.medoid_silhouette_ == pytest.approx(medoid_silhouette, abs=5e-8)
        found = cluster_statistics(self.MATRIX, model.labels_, metric="precomputed")
        assert found.silhouette == pytest.approx(silhouette, abs=5e-8)

    @pytest.mark.parametrize("seed", range(4))
    def test_dynmsc(self, seed):
        matrix = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]])
        model = DynMSC(3, metric="precomputed", init="random", random_state=seed).fit(matrix)
        assert (model.n_clusters_, model.medoid_silhouette_) == (3, 0.9375)
