"""The batch: its size, its points, its weights, and the first medoids."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam import OneBatchPAM, batch_size, distance_block, required_batch_size
from onebatchpam._draws import sample_by_weight
from onebatchpam.algorithms import InMemory
from onebatchpam.batch.rounds import debias
from onebatchpam.batch.sampling import MemoryScan, draw_coreset
from onebatchpam.blocks.block import WholeBlock
from onebatchpam.blocks.scan import BlockScan
from onebatchpam.space import Candidates
from spaces import make_matrix_space, make_run, make_space


def heavy_tailed(n=500, n_features=3, seed=0):
    return np.random.RandomState(seed).lognormal(0, 1.5, (n, n_features))


class TestSize:
    @pytest.mark.parametrize("n", [1, 2, 50, 700, 6000, 10_000, 16_384, 16_385, 10**7])
    @pytest.mark.parametrize("k", [1, 2, 10, 100, 1000])
    @pytest.mark.parametrize("refined", [False, True])
    def test_rule(self, n, k, refined):
        assert batch_size(n, k, refined=refined) == reference.batch_size(n, k, refined=refined)

    def test_many_medoids_have_ten_points_each(self):
        assert batch_size(10**6, 1000) == 10_000

    @pytest.mark.parametrize(("n", "k", "name"), [(0, 1, "n=0"), (1, 0, "k=0"), (1.5, 1, "n=1.5"), (5, "1", "k='1'")])
    def test_errors(self, n, k, name):
        with pytest.raises(ValueError, match=name):
            batch_size(n, k)


class TestRequiredSize:
    @pytest.fixture
    def valid(self):
        return {"n": 1000, "diameter": 2.0, "gap": 0.5, "n_swaps": 10, "delta": 0.1}

    def test_theorem(self, valid):
        m = required_batch_size(**valid)
        # m points suffice for a probability of failure of at most delta, m - 1 points do not.
        failure = [2 * 10 * 1000 * np.exp(-size * 0.5**2 / (4 * 2.0**2)) for size in (m - 1, m)]
        assert failure[1] <= 0.1 < failure[0]

    def test_only_the_ratio_of_diameter_and_gap_counts(self, valid):
        other_unit = {**valid, "diameter": 200.0, "gap": 50.0}
        assert required_batch_size(**other_unit) == required_batch_size(**valid)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("n", 0), ("diameter", -1), ("gap", 0), ("gap", np.nan), ("n_swaps", 0), ("delta", 0), ("delta", 2)],
    )
    def test_errors(self, valid, name, value):
        with pytest.raises(ValueError, match=f"{name}="):
            required_batch_size(**{**valid, name: value})


class TestUniform:
    def test_distinct_rows_in_order(self, rng):
        indices = sample_by_weight(np.ones(50), 20, rng).indices
        assert (np.diff(indices) > 0).all()
        assert indices[0] >= 0
        assert indices[-1] < 50

    def test_every_row_is_equally_likely(self, rng):
        counts = np.zeros(20)
        for _ in range(2000):
            counts[sample_by_weight(np.ones(20), 5, rng).indices] += 1
        # The counts are binomial with p = 1/4; their standard deviation is 19.4.
        np.testing.assert_allclose(counts, 500, atol=5 * 19.4)


class TestLightweightCoreset:
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
    @pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64"])
    def test_weights_are_counts_divided_by_probabilities(self, metric, dtype):
        X = heavy_tailed().astype(dtype)
        batch = draw_coreset(make_space(X, metric), 100, make_run(np.random.RandomState(0)))
        q = reference.lightweight_coreset_probabilities(X, metric)
        counts = batch.weights * q[batch.indices]
        counts *= 100 / counts.sum()
        np.testing.assert_allclose(counts, np.round(counts), rtol=1e-4)
        assert counts.min() > 0.9
        assert batch.weights.mean() == pytest.approx(1)

    def test_a_row_is_drawn_as_often_as_its_probability_says(self):
        X, rng, m, repeats = heavy_tailed(50), np.random.RandomState(0), 10, 2000
        drawn = np.zeros(50)
        for _ in range(repeats):
            drawn[draw_coreset(make_space(X), m, make_run(rng)).indices] += 1
        q = reference.lightweight_coreset_probabilities(X, "euclidean")
        expected = 1 - (1 - q) ** m
        deviation = np.sqrt(expected * (1 - expected) / repeats)
        np.testing.assert_array_less(np.abs(drawn / repeats - expected), 5 * deviation)

    def test_weighted_mean_is_unbiased(self):
        X, rng, m, repeats = heavy_tailed(), np.random.RandomState(0), 200, 300
        values = reference.distance_block(X, np.median(X, axis=0, keepdims=True), "euclidean")[:, 0]
        batches = [draw_coreset(make_space(X), m, make_run(rng)) for _ in range(repeats)]
        estimates = np.array([np.average(values[each.indices], weights=each.weights) for each in batches])
        error = estimates.std() / np.sqrt(repeats)
        # The weights are scaled to mean 1, so the estimate is a quotient of two, with a bias of about variance / m.
        assert abs(estimates.mean() - values.mean()) < 4 * error + 0.005 * values.mean()
        unweighted = np.mean([values[each.indices].mean() for each in batches])
        assert unweighted > 1.5 * values.mean()  # the mean without weights is far off

    def test_equal_rows_are_drawn_uniformly(self):
        batch = draw_coreset(make_space(np.ones((30, 2))), 10, make_run(np.random.RandomState(0)))
        counts = batch.weights * 10 / batch.weights.sum()
        np.testing.assert_allclose(counts, np.round(counts))

    def test_a_mean_with_missing_features(self, rng):
        X = rng.randn(30, 4)
        X[:4][np.eye(4, dtype=bool)] = np.nan
        model = OneBatchPAM(2, metric="nan_euclidean", variant="lwcs", batch_size=10, random_state=0).fit(X)
        assert np.isfinite(model.batch_weights_).all()

    def test_needs_rows_with_a_mean(self):
        with pytest.raises(ValueError, match=r"lwcs.*precomputed"):
            OneBatchPAM(2, metric="precomputed", variant="lwcs", batch_size=3).fit(np.ones((5, 5)))


class TestWeights:
    def test_nearest_neighbour_weights(self):
        X = np.random.RandomState(0).randint(0, 6, (200, 2)).astype(np.float32)
        points = np.arange(0, 120, 10)
        scan = MemoryScan(make_space(X, "manhattan"), 12, 3, 10**9, make_run(n_jobs=2))
        for columns in (slice(0, 5), slice(5, 12)):
            scan.add(points[columns])
        block = reference.distance_block(X, X[points], "manhattan")
        nearest, largest = reference.scan_block(block)
        np.testing.assert_array_equal(scan.block().entries, block)
        assert scan.largest == largest
        weights = scan.weights_of_nearest() * (12 / 200)
        np.testing.assert_allclose(weights, reference.nearest_neighbour_weights(nearest, 12))
        assert weights.mean() == pytest.approx(1)

    @pytest.mark.parametrize("metric", ["canberra", "manhattan"])  # a square block of canberra is half computed
    def test_batch_points_that_are_just_the_candidates_stand_for_all_rows(self, metric):
        X, points = heavy_tailed(400), np.arange(7, 400, 10)
        space = make_space(X, metric)
        space.candidates = Candidates(400, points)
        scan = MemoryScan(space, 50, 3, 10**9, make_run(0))
        scan.add(points)
        block = distance_block(X, X[points], metric)
        nearest, largest = reference.scan_block(block)
        assert scan.largest == pytest.approx(largest)
        np.testing.assert_allclose(
            scan.weights_of_nearest() * (40 / 400), reference.nearest_neighbour_weights(nearest, 40)
        )
        assert not np.isin(scan.draw_far(10), points).any()

    def test_a_fit_whose_batch_is_just_the_candidates(self):
        X, candidates, weights = heavy_tailed(400), np.arange(7, 400, 10), np.ones(400)
        weights[candidates] = 1e9  # so that the batch draws these rows
        model = OneBatchPAM(3, metric="canberra", batch_size=40, variant="nniw", refine=0, random_state=0)
        model.fit(X, sample_weight=weights, candidates=candidates)
        np.testing.assert_array_equal(model.batch_indices_, candidates)
        assert model.batch_weights_.min() > 0.9e8
        assert model.n_distances_ == 400 * (40 + 3)

    def test_debias(self):
        block = np.random.RandomState(0).rand(20, 4).astype(np.float32)
        indices = np.array([3, 7, 8, 19])
        expected = reference.debias(block, indices)
        population = InMemory(make_matrix_space(np.zeros((20, 20))), 2, 10**9, make_run())
        debias(population, WholeBlock(block), indices, float(block.max()))
        np.testing.assert_array_equal(block, expected)

    def test_bad_entry_is_named(self):
        block = np.ones((5, 3), dtype=np.float32)
        block[2, 1] = np.nan
        with pytest.raises(ValueError, match="row 12, column 1 of the block is nan"):
            BlockScan(15, n_jobs=1).see(block, slice(10, 15))


@pytest.mark.parametrize("k", [1, 5, 25, 200])
@pytest.mark.parametrize("symmetric", [False, True])
def test_a_costly_batch_is_all_rows_only_if_these_are_fewer_pairs(k, symmetric):
    for n in range(k, 20_000, 97):
        assert batch_size(n, k, costly=True, symmetric=symmetric) == reference.batch_size(n, k, True, symmetric)


def test_text_is_costly():
    words = ["".join("ab"[bit] for bit in np.random.RandomState(seed).randint(0, 2, 9)) for seed in range(2400)]
    costly = OneBatchPAM(2, metric="levenshtein", random_state=0, refine=1, max_iter=1)
    assert costly.estimate_cost(words).batch_size == batch_size(2400, 2, costly=True, symmetric=True) < 2400
    # A batch that is not refined has an objective that is higher by more than with all rows.
    assert costly.set_params(refine=0).estimate_cost(words).batch_size == 2400
