"""The swap search against brute force, against the reference, and against FasterPAM."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import reference
from onebatchpam import SwapResult, _core, swap_search


def random_block(n, m, seed=0):
    return np.random.RandomState(seed).rand(n, m).astype(np.float32)


def integer_block(n, m, largest=20, seed=0):
    """Return random whole numbers with many ties; every sum is exact, so that results can be compared bit by bit."""
    return np.random.RandomState(seed).randint(0, largest + 1, (n, m)).astype(np.float32)


def square_block(n, seed=0, n_features=2):
    """Return the distances between random points in groups."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, n_features) + 6 * rng.randint(0, 4, (n, n_features))
    return reference.distance_block(X, X, "euclidean").astype(np.float32)


def assert_same(result, expected):
    np.testing.assert_array_equal(result.medoids, expected.medoids)
    assert (result.n_swaps, result.n_iter, result.converged) == (expected.n_swaps, expected.n_iter, expected.converged)
    assert result.loss == pytest.approx(expected.loss, rel=1e-12)


class TestReference:
    """The specification agrees with itself: the formula of the gains is the difference of two losses."""

    @pytest.mark.parametrize("k", [2, 3, 7])
    def test_gains(self, k):
        block, weights = random_block(20, 15), np.random.RandomState(1).rand(15)
        medoids = np.arange(k) * 2
        near, second, d1, d2 = reference.nearest_and_second(block, medoids)
        assert (d1 <= d2).all()
        assert (near != second).all()
        expected = reference.swap_gains(block, medoids, weights)
        for i in range(len(block)):
            gains = reference.swap_gains_of_candidate(block[i].astype(float), near, d1, d2, weights, k)
            np.testing.assert_allclose(gains, expected[i], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "m", "k"), [(12, 9, 2), (30, 30, 4), (40, 17, 9), (25, 3, 5), (20, 1, 2)])
def test_no_single_swap_improves(simd_level, n, m, k, seed):
    block, weights = random_block(n, m, seed), np.random.RandomState(seed).rand(m)
    result = swap_search(block, k, weights=weights, tol=0, random_state=seed)
    assert result.converged
    assert len(np.unique(result.medoids)) == k
    gains = reference.swap_gains(block, result.medoids, weights)
    gains[result.medoids] = 0  # a medoid is not a candidate
    # A gain is a difference of sums that are at most the sum of the second distances, so its rounding error is a
    # fraction of that sum.
    _, _, _, d2 = reference.nearest_and_second(block, result.medoids)
    assert gains.max() <= 1e-15 * (m + 2) * (d2 @ weights)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_loss_is_that_of_the_medoids(k, seed):
    block, weights = random_block(60, 33, seed), np.random.RandomState(seed).rand(33)
    result = swap_search(block, k, weights=weights, random_state=seed)
    assert result.loss == pytest.approx(reference.loss(block, result.medoids, weights), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_loss_is_not_below_the_optimum_and_often_equal(seed):
    block = square_block(9, seed)
    best = min(reference.loss(block, subset) for subset in combinations(range(9), 3))
    losses = [swap_search(block, 3, tol=0, random_state=start).loss for start in range(10)]
    assert min(losses) == pytest.approx(best, rel=1e-12)
    assert all(loss >= best * (1 - 1e-12) for loss in losses)


@pytest.mark.parametrize("largest", [1, 3, 20])
@pytest.mark.parametrize(("n", "m", "k"), [(9, 5, 2), (60, 33, 4), (80, 60, 19), (300, 16, 3), (530, 21, 7)])
def test_every_swap_is_that_of_the_reference(simd_level, n, m, k, largest):
    block = integer_block(n, m, largest)
    init = np.random.RandomState(1).permutation(n)[:k]
    weights = np.random.RandomState(2).randint(0, 5, m).astype(float)
    result = swap_search(block, k, init=init, weights=weights, tol=0, n_jobs=2)
    expected = reference.swap_search(block, init, weights, chunk=_core.SWEEP_CHUNK)
    assert_same(result, expected)


def sweep_by(block, medoids, weights, *, rows, n_threads=1):
    """Run the native search on tiles of this many rows."""
    search = _core.SwapSearch(len(block), medoids, block[medoids], weights, 0.0)
    while not search.converged:
        for start in range(0, len(block), rows):
            search.sweep(block[start : start + rows], start, n_threads)
    return search


@pytest.mark.parametrize("k", [2, 5, 11])
@pytest.mark.parametrize("seed", range(3))
def test_shown_row_by_row_it_is_the_textbook_fasterpam(simd_level, k, seed):
    block = integer_block(70, 70, largest=50, seed=seed)
    medoids, weights = np.arange(k), np.ones(70)
    expected = reference.swap_search(block, medoids, weights)
    search = sweep_by(block, medoids, weights, rows=1)
    np.testing.assert_array_equal(search.medoids, expected.medoids)
    assert (search.loss, search.n_swaps) == (expected.loss, expected.n_swaps)


@pytest.mark.parametrize("k", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(20))
def test_every_swap_lowers_the_loss(simd_level, k, seed):
    """The rows of a group are equal, so that the loss is tiny compared with the sums of which a gain is made."""
    rng = np.random.RandomState(seed)
    X = np.repeat(rng.randn(4, 2), 10, axis=0)
    block = reference.distance_block(X, X[rng.permutation(40)[:9]], "euclidean").astype(np.float32)
    search = _core.SwapSearch(40, np.arange(k), block[:k], rng.rand(9), 0.0)
    for row in 3 * list(range(40)):
        loss, n_swaps = search.loss, search.n_swaps
        search.sweep(block[row : row + 1], row, 1)
        if search.n_swaps > n_swaps:
            assert search.loss < loss
        else:
            assert search.loss == loss
    assert search.converged


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("chunks", [1, 2, 5])
def test_tiles_of_whole_chunks_and_threads_change_nothing(chunks, n_threads):
    block, weights = random_block(1000, 40), np.random.RandomState(1).rand(40)
    medoids = np.arange(6)
    expected = sweep_by(block, medoids, weights, rows=len(block))
    search = sweep_by(block, medoids, weights, rows=chunks * _core.SWEEP_CHUNK, n_threads=n_threads)
    assert (search.medoids, search.loss, search.n_swaps) == (expected.medoids, expected.loss, expected.n_swaps)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_bits_are_the_same_at_every_level(k, restored_simd_level):
    block, weights = random_block(600, 77), np.random.RandomState(1).rand(77)
    results = []
    for level in _core.simd_levels():
        _core.force_simd_level(level)
        results.append(swap_search(block, k, weights=weights, tol=0, random_state=0))
    for result in results[1:]:
        np.testing.assert_array_equal(result.medoids, results[0].medoids)
        assert (result.loss, result.n_swaps) == (results[0].loss, results[0].n_swaps)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_weight_is_a_number_of_copies(k):
    block = integer_block(50, 20)
    weights = np.random.RandomState(1).randint(0, 4, 20)
    init = np.arange(k)
    weighted = swap_search(block, k, init=init, weights=weights, tol=0)
    copied = swap_search(np.repeat(block, weights, axis=1), k, init=init, tol=0)
    assert_same(weighted, copied)


@pytest.mark.parametrize("k", [1, 3])
def test_order_of_columns_does_not_matter(k):
    block, order = integer_block(50, 20), np.random.RandomState(1).permutation(20)
    init = np.arange(k)
    assert_same(swap_search(block[:, order], k, init=init), swap_search(block, k, init=init))


@pytest.mark.parametrize("factor", [0.25, 8])
@pytest.mark.parametrize("k", [1, 4])
def test_scale_of_weights_and_of_distances_does_not_matter(k, factor):
    block, weights = random_block(50, 20), np.random.RandomState(1).rand(20)
    plain = swap_search(block, k, weights=weights, random_state=0)
    heavier = swap_search(block, k, weights=factor * weights, random_state=0)
    farther = swap_search(factor * block, k, weights=weights, random_state=0)
    for scaled in (heavier, farther):
        np.testing.assert_array_equal(scaled.medoids, plain.medoids)
        assert scaled.loss == factor * plain.loss


def test_as_good_as_the_textbook_fasterpam_on_average():
    block = square_block(150)
    starts = [np.random.RandomState(seed).permutation(150)[:8] for seed in range(20)]
    ours = [swap_search(block, 8, init=start, tol=0).loss for start in starts]
    textbook = [reference.swap_search(block, start).loss for start in starts]
    assert np.mean(ours) == pytest.approx(np.mean(textbook), rel=0.03)


def test_as_good_as_the_kmedoids_package_on_average():
    kmedoids = pytest.importorskip("kmedoids")
    block = square_block(400, n_features=3)
    starts = [np.random.RandomState(seed).permutation(400)[:10] for seed in range(20)]
    ours = [swap_search(block, 10, init=start, tol=0).loss for start in starts]
    theirs = [kmedoids.fasterpam(block, start.astype(np.uintp)).loss for start in starts]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


class TestOneMedoid:
    """A single medoid needs no search: it is the row with the smallest weighted sum."""

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 9), (50, 1), (70, 33)])
    def test_smallest_weighted_sum(self, simd_level, n, m, seed):
        block, weights = integer_block(n, m, largest=2, seed=seed), np.random.RandomState(seed).randint(1, 3, m)
        result = swap_search(block, 1, weights=weights, n_jobs=2)
        assert result.medoids.tolist() == [reference.best_single(block, weights)]
        assert result.loss == (block @ weights).min()
        assert result.converged

    def test_lowest_index_of_equal_rows(self):
        block = np.full((300, 5), 3.0)
        block[[17, 290]] = 1
        assert swap_search(block, 1, init=[290]).medoids.tolist() == [17]

    @pytest.mark.parametrize(("start", "n_swaps"), [(2, 0), (0, 1)])
    def test_counts_a_swap_if_there_was_one(self, start, n_swaps):
        assert swap_search([[3.0], [2.0], [1.0]], 1, init=[start]).n_swaps == n_swaps


def test_all_rows_are_medoids():
    result = swap_search(random_block(20, 7), 20, init=np.arange(20)[::-1])
    np.testing.assert_array_equal(result.medoids, np.arange(20)[::-1])
    assert (result.n_swaps, result.n_iter, result.converged) == (0, 1, True)


def test_one_column():
    block = random_block(40, 1)
    result = swap_search(block, 3, random_state=0)
    assert block.argmin() in result.medoids
    assert result.loss == block.min()


def test_equal_rows_are_not_swapped():
    result = swap_search(np.ones((50, 8)), 4, init=[9, 3, 30, 1])
    assert result.medoids.tolist() == [9, 3, 30, 1]
    assert result.n_swaps == 0


def test_a_medoid_keeps_its_slot():
    points = np.array([0.0, 0.1, 0.2, 50.0, 50.1, 50.2, 90.0])
    result = swap_search(abs(points[:, None] - points), 3, init=[6, 0, 3])
    assert result.medoids.tolist() == [6, 1, 4]


def test_of_equal_removals_the_lowest_slot_is_taken():
    # Both medoids are equally far from both points, so that replacing either gains the same.
    block = np.array([[5.0, 5.0], [5.0, 5.0], [1.0, 1.0]])
    assert swap_search(block, 2, init=[0, 1]).medoids.tolist() == [2, 1]


def test_random_start_is_drawn_by_random_state():
    block = square_block(60)
    first, again = (swap_search(block, 5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.medoids, again.medoids)
    starts = [swap_search(np.ones((60, 2)), 5, random_state=seed).medoids for seed in range(20)]
    assert len({tuple(start) for start in starts}) == 20


class TestEnd:
    def test_stopped_by_max_iter(self):
        block = random_block(300, 60)
        stopped = swap_search(block, 10, max_iter=1, random_state=0)
        assert (stopped.n_iter, stopped.converged) == (1, False)
        assert stopped.n_swaps > 0
        finished = swap_search(block, 10, init=stopped.medoids)
        assert finished.converged
        assert finished.loss <= stopped.loss

    def test_no_pass_at_all(self):
        block = random_block(300, 60)
        result = swap_search(block, 10, init=np.arange(10), max_iter=0)
        assert (result.n_iter, result.n_swaps) == (0, 0)
        assert result.loss == pytest.approx(block[:10].min(axis=0).sum())
        np.testing.assert_array_equal(result.medoids, np.arange(10))

    def test_passes_add_up(self):
        block = random_block(300, 60)
        whole = swap_search(block, 10, init=np.arange(10))
        assert whole.n_iter > 1
        assert not swap_search(block, 10, init=np.arange(10), max_iter=whole.n_iter - 1).converged
        assert swap_search(block, 10, init=np.arange(10), max_iter=whole.n_iter).converged

    def test_an_optimum_stays(self):
        block = random_block(300, 60)
        found = swap_search(block, 10, tol=0, random_state=0)
        again = swap_search(block, 10, init=found.medoids, tol=0)
        np.testing.assert_array_equal(again.medoids, found.medoids)
        assert (again.n_swaps, again.n_iter, again.converged, again.loss) == (0, 1, True, found.loss)

    def test_tol_is_a_fraction_of_the_loss(self):
        points = np.array([0.0, 1.0, 2.0, 100.0])
        block = abs(points[:, None] - points)
        start = [0, 3]  # the loss is 3, and 1 without its largest term; with row 1 instead of row 0 it is 2
        assert swap_search(block, 2, init=start, tol=1.01).n_swaps == 0
        assert swap_search(block, 2, init=start, tol=0.99).n_swaps == 1

    @pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
    def test_a_far_point_does_not_end_the_search(self, far):
        near = np.random.RandomState(0).rand(1000, 2)
        X = np.vstack([near, [[far, far]]])
        block = np.abs(X[:, None] - X).sum(axis=2)
        best = block[:-1, :-1].sum(axis=1).min()
        for seed in range(3):
            assert swap_search(block, 2, random_state=seed).loss <= 1.001 * best


@pytest.mark.parametrize("prepare", [np.asfortranarray, lambda b: b.astype(np.float64), lambda b: b.tolist()])
def test_block_of_any_kind(prepare):
    block = random_block(40, 12)
    assert_same(swap_search(prepare(block), 3, random_state=0), swap_search(block, 3, random_state=0))


def test_inputs_are_left_alone():
    block, weights, init = random_block(40, 12), np.ones(12), np.arange(3)
    copies = block.copy(), weights.copy(), init.copy()
    for array in (block, weights, init):
        array.flags.writeable = False
    assert isinstance(swap_search(block, 3, weights=weights, init=init), SwapResult)
    for array, copy in zip((block, weights, init), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
