"""Blocks that compare rows with each other: the lower half of a symmetric one is copied, which changes no entry."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.spatial.distance
from numba import types

import reference
from onebatchpam import Alternate, FasterCLARA, FasterPAM, OneBatchPAM, block_metric, native_metric, pair_metric
from onebatchpam._progress import Stages
from onebatchpam.blocks import compute_block, count_mirrored, is_mirrored, square_block
from onebatchpam.blocks.square import sum_mirrored
from onebatchpam.metrics.ordered import ROWS_TO_TRY
from onebatchpam.space import open_space
from spaces import make_space

WORDS = ["".join("abc"[i] for i in np.random.RandomState(seed).randint(0, 3, 1 + seed % 9)) for seed in range(300)]


@numba.cfunc(types.float64(types.CPointer(types.float64), types.CPointer(types.float64), types.intp))
def compiled(a, b, n):
    total = 0.0
    for i in range(n):
        total += abs(a[i] - b[i])
    return total


def manhattan(a, b):
    return np.abs(a - b).sum()


def manhattan_block(A, B):
    return np.abs(A[:, None] - B[None]).sum(axis=-1)


SYMMETRIC = [
    pair_metric(manhattan, symmetric=True),
    block_metric(manhattan_block, symmetric=True),
    native_metric(compiled, symmetric=True),
]


@pytest.mark.parametrize("n", [1, 2, 16, 17, 100, 1100])
@pytest.mark.parametrize("metric", [*SYMMETRIC[1:], "canberra"], ids=["block", "compiled", "canberra"])
def test_a_mirrored_block_has_the_entries_of_a_whole_one(n, metric):
    X = np.random.RandomState(n).standard_normal((n, 3))
    space = make_space(X, metric)
    block = square_block(space, 1, Stages())
    expected = space.distances_to(np.arange(n)).compute(np.empty((n, n), np.float32))
    np.testing.assert_array_equal(block, expected)
    np.testing.assert_array_equal(block, block.T)


@pytest.mark.parametrize("name", ["levenshtein", "jaro_winkler", "hamming", "lcsseq"])
def test_text_is_compared_in_one_order(name):
    space = make_space(WORDS, name) if name != "hamming" else open_space(WORDS, name, {"pad": True}, 1)
    block = square_block(space, 1, Stages())
    assert space.tally.n_distances == count_mirrored(len(WORDS)) < 0.55 * len(WORDS) ** 2
    np.testing.assert_array_equal(block, space.distances_to(np.arange(len(WORDS))).compute())


def test_unequal_weights_of_insertions_and_deletions_are_not_symmetric():
    space = open_space(WORDS[:80], "levenshtein", {"weights": (1, 3, 1)}, 1)
    assert not is_mirrored(space, np.arange(80), None)
    block = square_block(space, 1, Stages())
    assert (block != block.T).any()
    assert is_mirrored(open_space(WORDS[:80], "levenshtein", {"weights": (2, 2, 1)}, 1), np.arange(80), None)


@pytest.mark.parametrize("metric", SYMMETRIC, ids=["pair", "block", "compiled"])
def test_threads_do_not_change_a_mirrored_block(metric):
    X = np.random.RandomState(0).standard_normal((150, 3))
    blocks = [square_block(make_space(X, metric, n_jobs), n_jobs, Stages()) for n_jobs in (1, 3)]
    np.testing.assert_array_equal(*blocks)


@pytest.mark.parametrize("estimator", [FasterPAM, OneBatchPAM, Alternate, FasterCLARA])
def test_symmetry_saves_calls_and_changes_no_result(estimator):
    X = np.random.RandomState(0).standard_normal((250, 3))
    calls = []

    def counted(a, b):
        calls.append(1)
        return manhattan(a, b)

    both, one = (
        estimator(4, metric=pair_metric(counted, symmetric=symmetric), random_state=0) for symmetric in (False, True)
    )
    both.fit(X)
    n_calls = len(calls)
    one.fit(X)
    assert both.n_distances_ == n_calls
    assert one.n_distances_ == len(calls) - n_calls - ROWS_TO_TRY**2
    assert one.n_distances_ < 0.7 * both.n_distances_
    np.testing.assert_array_equal(one.medoid_indices_, both.medoid_indices_)
    assert one.inertia_ == both.inertia_


def test_the_estimate_of_the_cost_counts_half_of_the_pairs():
    cost = OneBatchPAM(5, metric="levenshtein").estimate_cost(WORDS)
    fitted = OneBatchPAM(5, metric="levenshtein", random_state=0).fit(WORDS)
    assert cost.n_distances == fitted.n_distances_ == count_mirrored(300) + 5 * 300


def test_weighted_sums_of_a_mirrored_block():
    rng = np.random.RandomState(0)
    X, weights = rng.standard_normal((200, 3)), rng.random_sample(200)
    rows = np.sort(rng.permutation(200)[:90])
    found = sum_mirrored(make_space(X, "canberra"), rows, weights[rows], 2)
    expected = scipy.spatial.distance.cdist(X[rows], X[rows], "canberra") @ weights[rows]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_block_of_other_candidates_is_computed_whole():
    X = np.random.RandomState(0).standard_normal((60, 3))
    space, points = make_space(X, "canberra"), np.arange(20, 60)
    candidates = np.arange(40)
    block = compute_block(space, points, candidates, Stages())
    np.testing.assert_allclose(block, scipy.spatial.distance.cdist(X[:40], X[20:], "canberra"), rtol=1e-6)
    assert space.tally.n_distances == 40 * 40


@pytest.mark.parametrize("wrap", [pair_metric, block_metric])
def test_a_function_that_is_not_symmetric_is_refused(wrap):
    def pair(a, b):
        return float(np.maximum(b - a, 0).sum())

    def block(A, B):
        return np.maximum(B[None] - A[:, None], 0).sum(axis=-1)

    X = np.arange(10.0)[:, None]
    metric = wrap(pair if wrap is pair_metric else block, symmetric=True)
    with pytest.raises(ValueError, match=r"\(X\[0\], X\[3\]\) is 3 and .*\(X\[3\], X\[0\]\) is 0: expected equal"):
        FasterPAM(2, metric=metric).fit(X)
    with pytest.raises(ValueError, match="symmetric='yes': expected True or False"):
        wrap(pair, symmetric="yes")


def test_a_failing_function_is_named_with_its_pair():
    def fails(a, b):
        raise RuntimeError("no")

    with pytest.raises(ValueError, match=r"fails\(X\[0\], X\[0\]\) raised RuntimeError\('no'\)"):
        FasterPAM(2, metric=pair_metric(fails, symmetric=True)).fit(np.arange(10.0)[:, None])


def test_a_bad_entry_is_named_by_its_rows():
    def bad(a, b):
        return -1.0 if {a[0], b[0]} == {70.0, 90.0} else abs(a[0] - b[0])

    with pytest.raises(ValueError, match=r"bad\(X\[70\], X\[90\]\) is -1.0"):
        FasterPAM(2, metric=pair_metric(bad, symmetric=True)).fit(np.arange(100.0)[:, None])


def test_the_mirrored_search_agrees_with_the_reference():
    X = np.random.RandomState(1).standard_normal((120, 2))
    model = FasterPAM(3, metric=pair_metric(manhattan, symmetric=True), random_state=0).fit(X)
    block = reference.distance_block(X, X, "manhattan")
    assert model.inertia_ == pytest.approx(reference.loss(block, model.medoid_indices_))
