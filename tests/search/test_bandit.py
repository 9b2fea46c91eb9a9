"""The searches of BanditPAM: bounds of gains, elimination, and the medoids of PAM."""

from __future__ import annotations

import numpy as np
import pytest

import reference
from onebatchpam import _core
from onebatchpam.blocks.growing import FEW_ROWS, GrowingBlock, choose_sample_sizes
from onebatchpam.search.bandit import Bandit, BuildArms, SwapArms, build_and_swap
from spaces import make_run, make_space

PLENTY = 10**9  # bytes


def whole_numbers(n, seed, p=3):
    """Return rows whose manhattan distances are whole numbers, so that their sums are exact."""
    return np.random.RandomState(seed).randint(0, 100, (n, p)).astype(np.float64)


def make_bandit(X, *, weights=None, seed=0, memory_limit=PLENTY, n_jobs=1):
    space = make_space(X, "manhattan", n_jobs, weights)
    return Bandit(space, memory_limit, make_run(seed, n_jobs)), space


def square(X):
    return reference.distance_block(X, X, "manhattan").astype(np.float32)


def search_of(block, medoids, weights=None, n_fixed=0):
    weights = np.ones(len(block)) if weights is None else weights
    return _core.SwapSearch(len(block), np.asarray(medoids), block[medoids], weights, 0.0, n_fixed)


def pam(block, k, weights=None, fixed=(), max_iter=100):
    """Return the medoids of PAM by the definition of BUILD and SWAP: each step tries everything."""
    weights = np.ones(len(block)) if weights is None else weights
    medoids = list(fixed)
    while len(medoids) < k:
        losses = [np.inf if i in medoids else reference.loss(block, [*medoids, i], weights) for i in range(len(block))]
        medoids.append(int(np.argmin(losses)))
    for _ in range(max_iter):
        gains = reference.swap_gains(block, medoids, weights)
        gains[:, : len(fixed)] = -np.inf
        if gains.max() <= 0:
            break
        candidate, slot = np.unravel_index(gains.argmax(), gains.shape)
        medoids[slot] = int(candidate)
    return medoids


class TestBounds:
    """The bounds of each candidate are those of the naive reference."""

    N, SIZE, WIDTH = 500, 200, 0.3

    def bounds(self, arms_of, n_fixed=0, n_jobs=1):
        X = whole_numbers(self.N, seed=1)
        bandit, _ = make_bandit(X, n_jobs=n_jobs)
        candidates = np.random.RandomState(0).permutation(self.N)[:350]
        arms = arms_of(bandit.order.rows, square(X))
        moments = np.zeros((350, arms.n_slots + 1, 2))
        bandit.add_moments(arms, candidates, 0, 100, moments)
        bandit.add_moments(arms, candidates, 100, self.SIZE, moments)
        found = bandit.bound_gains(arms, moments, self.SIZE, self.WIDTH)
        return found, square(X)[:, bandit.order.rows[: self.SIZE]], candidates

    @pytest.mark.parametrize("n_medoids", [0, 1, 4])
    def test_build(self, simd_level, n_medoids):
        def arms_of(order, block):
            return BuildArms(order, block[:n_medoids].min(axis=0) if n_medoids else None)

        (highest, surest), block, candidates = self.bounds(arms_of)
        gains = reference.build_gains(block, np.arange(n_medoids))[candidates]
        means, deviations = gains.mean(axis=1), gains.std(axis=1)
        np.testing.assert_allclose(highest, means + self.WIDTH * deviations, rtol=1e-12)
        np.testing.assert_allclose(surest, means - self.WIDTH * deviations, rtol=1e-12)

    @pytest.mark.parametrize("n_jobs", [1, 3])
    @pytest.mark.parametrize(("k", "n_fixed"), [(2, 0), (7, 0), (7, 3), (20, 19)])
    def test_swap(self, simd_level, k, n_fixed, n_jobs):
        def arms_of(order, block):
            return SwapArms(order, search_of(block, np.arange(k)), n_fixed)

        (highest, surest), block, candidates = self.bounds(arms_of, n_jobs=n_jobs)
        gains = reference.swap_gains_by_point(block, np.arange(k))[candidates, n_fixed:]
        means, deviations = gains.mean(axis=2), gains.std(axis=2)
        np.testing.assert_allclose(highest, (means + self.WIDTH * deviations).max(axis=1), rtol=1e-9)
        np.testing.assert_allclose(surest, (means - self.WIDTH * deviations).max(axis=1), rtol=1e-9)


class TestPAM:
    """With few rows all sums are exact, so that every step is that of PAM."""

    @pytest.mark.parametrize("max_iter", [0, 1, 100])
    @pytest.mark.parametrize(("k", "fixed"), [(1, []), (2, []), (5, []), (4, [7, 3])])
    @pytest.mark.parametrize("seed", range(3))
    def test_same_medoids(self, seed, k, fixed, max_iter):
        X = np.random.RandomState(seed).rand(40, 3)
        weights = np.random.RandomState(seed).randint(1, 5, 40).astype(np.float64)
        space = make_space(X, "manhattan", 1, weights)
        space.fixed = np.array(fixed, np.int64)
        found = build_and_swap(space, k, max_iter, PLENTY, make_run(seed))
        expected = pam(square(X), k, weights, fixed, max_iter if k > 1 else 0)
        np.testing.assert_array_equal(found.medoids, expected)
        assert found.n_swaps <= found.n_iter <= max_iter

    def test_no_swap_is_left(self):
        X = whole_numbers(300, seed=0)
        space = make_space(X, "manhattan")
        found = build_and_swap(space, 6, 100, PLENTY, make_run(0))
        assert found.converged
        assert found.n_iter == found.n_swaps + 1
        assert reference.swap_gains(square(X), found.medoids, np.ones(300)).max() <= 0


class TestElimination:
    """With more rows, candidates are eliminated on samples, and the best is found nevertheless."""

    N = 1500

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("seed", range(5))
    def test_the_best_is_found(self, seed, weighted):
        X = np.random.RandomState(seed).standard_normal((self.N, 3))
        weights = np.random.RandomState(seed).exponential(size=self.N) ** 2 if weighted else np.ones(self.N)
        bandit, _ = make_bandit(X, weights=weights, seed=seed)
        block, medoids = square(X), np.arange(4)
        build = BuildArms(bandit.order.rows, block[medoids].min(axis=0))
        losses = np.minimum(block, block[medoids].min(axis=0)).astype(np.float64) @ weights
        assert losses[bandit.find_best(build, medoids)] == pytest.approx(losses.min(), rel=1e-6)
        search = search_of(block, medoids, weights)
        gains, slots = np.empty(self.N), np.empty(self.N, np.int32)
        _core.SwapEvaluator(search, gains, slots, 1).see(block)
        best = bandit.find_best(SwapArms(bandit.order.rows, search, 0), medoids)
        assert gains[best] == pytest.approx(gains.max(), rel=1e-6)

    def test_the_centre_of_a_star_needs_few_samples(self):
        """All other candidates are twice as far from everything, which the first sample shows."""
        matrix = np.full((self.N, self.N), 2.0)
        matrix[17] = 1
        np.fill_diagonal(matrix, 0)
        space = make_space(matrix, "precomputed")
        bandit = Bandit(space, PLENTY, make_run(0))
        assert bandit.find_best(BuildArms(bandit.order.rows, None), np.empty(0, np.int64)) == 17
        assert space.tally.n_distances == 100 * self.N

    def test_equal_candidates_are_compared_with_all_rows(self):
        """No sample tells them apart, so that larger samples would be in vain."""
        matrix = np.ones((self.N, self.N))
        space = make_space(matrix, "precomputed")
        bandit = Bandit(space, PLENTY, make_run(0))
        sizes = record_sizes(bandit)
        assert bandit.find_best(BuildArms(bandit.order.rows, None), np.arange(3)) == 3
        assert sizes == [100, self.N]
        assert space.tally.n_distances == (self.N - 3) * self.N

    def test_intervals_are_those_of_the_paper_without_replacement(self, monkeypatch):
        X = whole_numbers(self.N, seed=0)
        bandit, _ = make_bandit(X)
        widths = {}
        bound = bandit.bound_gains
        monkeypatch.setattr(
            bandit,
            "bound_gains",
            lambda arms, moments, size, width: widths.update({size: width}) or bound(arms, moments, size, width),
        )
        bandit.find_best(SwapArms(bandit.order.rows, search_of(square(X), np.arange(6)), 2), np.arange(6))
        n_arms = (self.N - 6) * (6 - 2)
        assert len(widths) > 2
        for size, width in widths.items():
            assert width == pytest.approx(np.sqrt(np.log(1000 * n_arms) / size * (1 - size / self.N)))

    def test_candidates_are_eliminated_only_by_their_bounds(self):
        """A candidate outlives a round if and only if its upper bound reaches the highest lower bound."""
        X = np.random.RandomState(0).standard_normal((self.N, 2))
        bandit, _ = make_bandit(X)
        seen, add = [], bandit.add_moments
        bandit.add_moments = lambda arms, candidates, *rest: seen.append(candidates) or add(arms, candidates, *rest)
        bandit.find_best(BuildArms(bandit.order.rows, None), np.empty(0, np.int64))
        block = square(X)[:, bandit.order.rows[:100]]
        width = np.sqrt(np.log(1000 * self.N) / 100 * (1 - 100 / self.N))
        means, deviations = -block.mean(axis=1, dtype=np.float64), block.std(axis=1, dtype=np.float64)
        are_left = means + width * deviations >= (means - width * deviations).max()
        np.testing.assert_array_equal(seen[1], np.flatnonzero(are_left))
        assert 1 < len(seen[1]) < self.N


def record_sizes(bandit):
    sizes, add = [], bandit.add_moments

    def recorded(arms, candidates, size, next_size, moments):
        sizes.append(next_size)
        add(arms, candidates, size, next_size, moments)

    bandit.add_moments = recorded
    return sizes


class TestGrowingBlock:
    @pytest.mark.parametrize(
        ("n", "sizes"), [(1, [1]), (400, [400]), (401, [100, 200, 400, 401]), (800, [100, 200, 400, 800])]
    )
    def test_sample_sizes(self, n, sizes):
        assert choose_sample_sizes(n) == sizes

    @pytest.mark.parametrize("memory_limit", [0, 4 * 900 * 250, PLENTY])
    def test_entries(self, memory_limit, monkeypatch):
        monkeypatch.setattr("onebatchpam.blocks.growing.WIDEST_PART", 150)
        X = whole_numbers(900, seed=0)
        space, expected = make_space(X, "manhattan"), square(X)
        references = np.random.RandomState(0).permutation(900)
        block = GrowingBlock(space, references, memory_limit)
        computed = set()
        for seed in range(4):
            candidates = np.random.RandomState(seed).permutation(900)[:300]
            for first, last in [(0, 100), (100, 400), (0, 400), (400, 900)]:
                seen = []
                for columns, entries, rows in block.parts(first, last, candidates):
                    assert columns.stop - columns.start <= min(150, block.widest_part(first, last))
                    np.testing.assert_array_equal(entries[rows], expected[np.ix_(candidates, references[columns])])
                    seen.extend(range(columns.start, columns.stop))
                assert seen == list(range(first, last))
            computed.update(candidates)
        assert block.largest == expected[sorted(computed)].max()
        n_kept = min(900, memory_limit // 3600) // 100 * 100  # whole parts of 100 columns, or of all
        n_kept = {0: 0, 200: 200, 900: 900}[n_kept]
        passes = {0: 2, 100: 2, 400: 1}  # how often each reference is used for each set of candidates
        n_used = [passes[max(edge for edge in passes if edge <= column)] for column in range(900)]
        expected_count = sum(len(computed) if column < n_kept else 4 * 300 * n_used[column] for column in range(900))
        assert space.tally.n_distances == expected_count


@pytest.mark.parametrize("n", [FEW_ROWS, 900])
@pytest.mark.parametrize("weighted", [False, True])
def test_memory_changes_only_the_number_of_dissimilarities(n, weighted):
    X = np.random.RandomState(0).standard_normal((n, 3))
    weights = np.random.RandomState(1).exponential(size=n) if weighted else None
    fits, counts = [], []
    for memory_limit in (0, 4 * n * 250, PLENTY):
        space = make_space(X, "manhattan", 1, weights)
        fits.append(build_and_swap(space, 5, 100, memory_limit, make_run(0)))
        counts.append(space.tally.n_distances)
    for other in fits[1:]:
        np.testing.assert_array_equal(other.medoids, fits[0].medoids)
        assert (other.loss, other.n_swaps, other.converged) == (fits[0].loss, fits[0].n_swaps, True)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] <= n * n + n * (5 + fits[0].n_iter) < counts[0]


@pytest.mark.parametrize(("p", "is_cheap"), [(16, True), (17, False)])
def test_little_is_kept_of_dissimilarities_that_are_quickly_computed(p, is_cheap, monkeypatch):
    monkeypatch.setattr("onebatchpam.blocks.growing.KEPT_OF_CHEAP", 4 * 500 * 200)
    space = make_space(np.random.RandomState(0).rand(500, p).astype(np.float32), "manhattan")
    block = GrowingBlock(space, np.arange(500), PLENTY)
    for _ in range(2):
        list(block.parts(0, 500, np.arange(500)))
    assert space.tally.n_distances == 500 * (2 * 500 - 200 if is_cheap else 500)
