"""Medoids that are drawn: at random, and by k-means++."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam.search.first_medoids import draw_from_sums, kmeans_plus_plus, random_medoids
from spaces import make_matrix_space, make_run, make_space


class TestFirstMedoids:
    def test_random_ones_are_distinct_and_equally_likely(self, rng):
        drawn = np.array([random_medoids(10, 3, rng) for _ in range(3000)])
        assert all(len(set(row)) == 3 for row in drawn)
        np.testing.assert_allclose(np.bincount(drawn.ravel(), minlength=10), 900, atol=5 * 25.1)

    def test_kmeans_plus_plus_draws_by_distance(self):
        X = np.array([[0.0], [1.0], [3.0], [10.0]])
        rng, repeats = np.random.RandomState(0), 4000
        pairs = np.zeros((4, 4))
        for _ in range(repeats):
            first, second = kmeans_plus_plus(make_space(X), 2, make_run(rng))
            pairs[first, second] += 1
        distances = reference.distance_block(X, X, "euclidean")
        expected = distances / distances.sum(axis=1, keepdims=True) / 4
        np.testing.assert_allclose(pairs / repeats, expected, atol=5 * np.sqrt(0.25 / repeats))

    def test_kmeans_plus_plus_takes_every_group_before_a_duplicate(self):
        X = np.repeat(np.eye(6), 10, axis=0)
        for seed in range(20):
            medoids = kmeans_plus_plus(make_space(X), 6, make_run(np.random.RandomState(seed)))
            assert sorted(medoids // 10) == list(range(6))

    @pytest.mark.parametrize("seed", range(5))
    def test_kmeans_plus_plus_with_fewer_distinct_rows_than_medoids(self, seed):
        X = np.repeat([[0.0], [1.0]], 4, axis=0)
        medoids = kmeans_plus_plus(make_space(X), 8, make_run(np.random.RandomState(seed)))
        assert sorted(medoids) == list(range(8))

    def test_kmeans_plus_plus_draws_no_row_twice_where_it_is_not_nearest_to_itself(self, rng):
        assert sorted(kmeans_plus_plus(make_matrix_space(np.ones((6, 6))), 6, make_run(rng))) == list(range(6))

    def test_kmeans_plus_plus_reads_a_matrix_by_rows_of_medoids(self):
        # From medoid 0 or 1, only point 2 is not at distance 0, so 2 is always drawn. By columns no point would be.
        matrix = np.zeros((3, 3))
        matrix[:2, 2] = 1
        for seed in range(20):
            medoids = kmeans_plus_plus(make_matrix_space(matrix), 2, make_run(np.random.RandomState(seed)))
            assert 2 in medoids


class LastNumber(np.random.RandomState):
    """A generator whose next number is the largest below 1."""

    def random_sample(self, size=None):
        return np.nextafter(1, 0)


def test_draws_from_sums_are_those_of_numpy():
    odds = np.random.RandomState(0).random_sample(50) * (np.arange(50) % 3 > 0)
    ours = [draw_from_sums(odds.cumsum(), np.random.RandomState(seed)) for seed in range(200)]
    theirs = [np.random.RandomState(seed).choice(50, p=odds / odds.sum()) for seed in range(200)]
    assert ours == theirs
    assert odds[ours].all()


def test_a_sum_that_is_rounded_up_draws_the_last_odds_that_are_not_zero():
    assert draw_from_sums(np.array([0.0, 5e-324, 5e-324]), LastNumber()) == 1
    assert draw_from_sums(np.array([1.0, 2.0, 2.0]), LastNumber()) == 1
