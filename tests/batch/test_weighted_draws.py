"""Rows drawn by their weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from onebatchpam._draws import DrawOrder, sample_by_weight
from onebatchpam.search.first_medoids import draw_by_weight, kmc2, kmeans_plus_plus
from spaces import make_matrix_space, make_run


class TestDraws:
    WEIGHTS = np.array([1.0, 2, 3, 10, 4])
    MATRIX = np.abs(np.subtract.outer(np.array([0, 1, 3, 10, 4.5]), np.array([0, 1, 3, 10, 4.5])))

    def space(self):
        return make_matrix_space(self.MATRIX, self.WEIGHTS)

    def test_a_start_of_one(self, rng):
        drawn = [draw_by_weight(self.space(), 1, rng)[0] for _ in range(3000)]
        assert chisquare(np.bincount(drawn, minlength=5), 150 * self.WEIGHTS).pvalue > 1e-3

    @pytest.mark.parametrize("draw", [kmeans_plus_plus, lambda *arguments: kmc2(*arguments, chain_length=100)])
    def test_pairs(self, draw, rng):
        pairs = np.zeros((5, 5))
        for _ in range(2000):
            first, second = draw(self.space(), 2, make_run(rng))
            pairs[first, second] += 1
        second = self.MATRIX * self.WEIGHTS
        expected = (self.WEIGHTS / 20)[:, None] * second / second.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(pairs / 2000, expected, atol=4 * np.sqrt(expected.max() / 2000))

    @pytest.mark.parametrize("include", [None, np.array([7, 2])])
    def test_a_sample_by_weight_is_unbiased(self, include, rng):
        weights, values = rng.exponential(size=60) ** 3, rng.rand(60)
        estimates, seen = [], np.zeros(60)
        for _ in range(4000):
            batch = sample_by_weight(weights, 12, rng, include)
            assert len(np.unique(batch.indices)) == 12
            assert batch.weights.mean() == pytest.approx(weights.mean())
            assert include is None or set(include) <= set(batch.indices)
            seen[batch.indices] += 1
            estimates.append(np.average(values[batch.indices], weights=batch.weights))
        # Rows that are always included count for more than they should, as in CLARA.
        tolerance = 0.02 if include is None else 0.1
        assert np.mean(estimates) == pytest.approx(np.average(values, weights=weights), rel=tolerance)
        order = np.argsort(weights)
        assert seen[order[:20]].sum() < seen[order[20:40]].sum() < seen[order[40:]].sum()

    def test_tiny_weights(self, rng):
        weights = np.array([1e-300, 1.0, 1e-310, 1e30])
        batch = sample_by_weight(weights, 3, rng)
        assert set(batch.indices) > {1, 3}
        assert np.isfinite(batch.weights).all()


class TestDrawOrder:
    def test_equal_weights(self, rng):
        order = DrawOrder(np.full(50, 7.0), rng)
        np.testing.assert_array_equal(np.sort(order.rows), np.arange(50))
        for size in (1, 20, 50):
            np.testing.assert_array_equal(order.weights(size), np.ones(size))
            assert order.variance(size) == pytest.approx((1 - size / 50) / size)

    def test_every_order_of_equal_weights_is_equally_likely(self, rng):
        firsts = [DrawOrder(np.ones(5), rng).rows[0] for _ in range(2000)]
        assert chisquare(np.bincount(firsts, minlength=5)).pvalue > 1e-3

    def test_means_over_a_sample_estimate_those_over_all_rows(self, rng):
        weights, values = rng.exponential(size=60) ** 2, rng.rand(60)
        estimates = []
        for _ in range(3000):
            order = DrawOrder(weights, rng)
            sample = order.weights(20)
            assert sample.mean() == pytest.approx(1)
            estimates.append(np.mean(sample * values[order.rows[:20]]))
        expected = np.average(values, weights=weights)
        assert np.mean(estimates) == pytest.approx(
            expected, abs=4 * np.std(estimates) / np.sqrt(3000) + 0.01 * expected
        )

    def test_all_rows_have_their_own_weights(self, rng):
        weights = rng.rand(30)
        order = DrawOrder(weights, rng)
        np.testing.assert_allclose(order.weights(30), weights[order.rows] / weights.mean())
        assert order.variance(30) == 0

    def test_a_light_row_that_may_be_missing_keeps_the_variance_high(self, rng):
        order = DrawOrder(np.r_[1e-9, np.ones(99)], rng)
        assert order.variance(90) == pytest.approx(1 / 90, rel=1e-6)
