"""Blocks that do not fit in memory: the storage of a block changes the time of a fit, but not its result."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import reference
from onebatchpam import OneBatchPAM, _core, _memory, select_k
from onebatchpam._memory import resolve_memory_limit
from onebatchpam.batch import sample
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.blocks import ReducedRows, limited
from onebatchpam.metrics import native

X, _ = make_blobs(1500, 4, centers=40, random_state=1)
MODEL = OneBatchPAM(20, metric="manhattan", batch_size=200, random_state=0)
BLOCK = 4 * len(X) * 200
STORAGES = ("whole", "reduced", "recomputed")


@pytest.fixture(autouse=True)
def _nothing_is_cheap(monkeypatch):
    """Let blocks be kept even if they have so few features that computing an entry again is as fast as reading it."""
    monkeypatch.setattr(native, "CHEAP_FEATURES", 0)


@pytest.mark.parametrize(("n_features", "storage"), [(16, "recomputed"), (17, "reduced")])
def test_what_is_cheap_is_not_kept(n_features, storage, monkeypatch):
    monkeypatch.undo()
    rows = np.random.RandomState(0).rand(1500, n_features)
    model = clone(MODEL).set_params(memory_limit=BLOCK // 3)
    assert model.fit(rows).block_storage_ == storage
    assert clone(model).set_params(metric="canberra").fit(rows).block_storage_ == "reduced"


@pytest.mark.parametrize("n_features", [16, 17])
def test_little_is_kept_of_what_is_cheap_though_memory_allows_more(n_features, monkeypatch):
    monkeypatch.undo()
    rows = np.random.RandomState(0).rand(1500, n_features)
    whole = clone(MODEL).fit(rows)
    assert whole.block_storage_ == "whole"
    monkeypatch.setattr(limited, "MOST_OF_CHEAP", BLOCK - 1)
    found = clone(MODEL).fit(rows)
    assert found.block_storage_ == MODEL.estimate_cost(rows).block_storage
    assert found.block_storage_ == ("recomputed" if n_features == 16 else "whole")
    assert_same_fit(found, whole)
    all_pairs = clone(MODEL).set_params(batch_size=len(rows))
    assert all_pairs.fit(rows).block_storage_ == "whole"


def assert_same_fit(found, expected):
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.batch_weights_, expected.batch_weights_)
    for name in ("inertia_", "batch_inertia_", "n_iter_", "n_swaps_", "n_refine_rounds_"):
        assert getattr(found, name) == getattr(expected, name), name


def assert_storage_does_not_matter(data=X, fit_options=None, storages=STORAGES, **parameters):
    model = clone(MODEL).set_params(**parameters)
    n = data.shape[0]
    block = 4 * n * (n if model.batch_size == "auto" else model.batch_size)
    limits = {"whole": "1GB", "reduced": block // 3, "recomputed": 0}
    fits = [clone(model).set_params(memory_limit=limits[each]).fit(data, **(fit_options or {})) for each in storages]
    assert tuple(fit.block_storage_ for fit in fits) == storages
    for fit in fits[1:]:
        assert_same_fit(fit, fits[0])
        assert fits[0].n_distances_ < fit.n_distances_ <= fits[-1].n_distances_


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_variants(variant, seed):
    assert_storage_does_not_matter(variant=variant, random_state=seed)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra", lambda a, b: abs(a - b).max()])
def test_metrics(metric):
    n = 400 if callable(metric) else len(X)
    assert_storage_does_not_matter(X[:n], metric=metric, refine=2, batch_size=100)


def test_bytes():
    assert_storage_does_not_matter((X * 5 + 100).astype(np.uint8))


def test_sparse():
    assert_storage_does_not_matter(scipy.sparse.csr_array(np.where(X > 0, X, 0)))


def test_gower():
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=np.where(X[:, 2] > 0, "left", "right"))
    assert_storage_does_not_matter(frame, metric="gower")


def test_precomputed():
    assert_storage_does_not_matter(reference.distance_block(X, X, "manhattan"), metric="precomputed")


@pytest.mark.parametrize("weights", [np.arange(len(X)) % 4, np.linspace(1, 9, len(X))], ids=["some zero", "positive"])
def test_weights(weights):
    assert_storage_does_not_matter(fit_options={"sample_weight": weights})


@pytest.mark.parametrize("fixed", [[7], [900, 3, 44]])
def test_fixed_medoids(fixed):
    assert_storage_does_not_matter(fit_options={"fixed_medoids": fixed})


@pytest.mark.parametrize("parameters", [{"n_init": 3}, {"n_jobs": 2}, {"refine": 0}, {"max_iter": 2}], ids=str)
@pytest.mark.filterwarnings("ignore:the swap search was stopped")
def test_parameters(parameters):
    assert_storage_does_not_matter(**parameters)


def test_batch_of_all_rows():
    assert_storage_does_not_matter(X[:600], batch_size=600)


def test_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(sample, "MANY_ROWS", 400)
    assert_storage_does_not_matter()


def test_smallest_tiles(smallest_tiles):
    assert_storage_does_not_matter()


@pytest.mark.parametrize("most_outgrown", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_columns_that_outgrow_their_thresholds(rank, most_outgrown, n_jobs, smallest_tiles, monkeypatch):
    monkeypatch.setattr(limited, "LARGEST_RANK", rank)
    monkeypatch.setattr(limited, "MOST_OUTGROWN", most_outgrown)
    assert_storage_does_not_matter(n_jobs=n_jobs, refine=2, n_init=2)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_tiles_for_which_there_is_no_room_are_recomputed(share, smallest_tiles, monkeypatch):
    monkeypatch.setattr(limited, "affordable_rank", lambda *args: 6)
    model = clone(MODEL).set_params(memory_limit=int(share * BLOCK)).fit(X)
    assert model.block_storage_ == "reduced"
    assert_same_fit(model, clone(MODEL).fit(X))


@pytest.mark.parametrize("m", [7, 64, 200, 70_000])
def test_reduced_rows(simd_level, rng, m):
    tile = rng.rand(70, m).astype(np.float32)
    thresholds = np.where(rng.rand(m) < 0.5, rng.rand(m), tile[3]).astype(np.float32)
    kept = ReducedRows.of(tile, thresholds, 10**9, 3)
    np.testing.assert_array_equal(kept.expand(np.empty_like(tile), 3), np.where(tile < thresholds, tile, np.inf))
    assert ReducedRows.of(tile, thresholds, kept.n_bytes, 1) is not None
    assert ReducedRows.of(tile, thresholds, kept.n_bytes - 1, 1) is None


class TestReducedRowsThatDoNotFit:
    """Arrays that contradict each other are refused; nothing is written beyond them."""

    block, thresholds = np.arange(6, dtype=np.float32).reshape(2, 3), np.full(3, 4.5, np.float32)

    @pytest.mark.parametrize(
        ("starts", "message"),
        [
            ([0, 2, 5], "does not count"),
            ([0, 5, 5], "does not count"),
            ([0, 9, 5], "expected at least 9"),
            ([0, -9, 5], "expected at least 0"),
            ([0, 3, 4], "the number of values"),
            ([1, 3, 5], "expected 0"),
        ],
    )
    def test_starts(self, starts, message):
        columns, values = np.zeros(5, np.uint16), np.zeros(5, np.float32)
        with pytest.raises(ValueError, match=message):
            _core.reduce_rows(self.block, self.thresholds, np.array(starts), columns, values, 1)
        if "count" not in message:
            with pytest.raises(ValueError, match=message):
                _core.expand_rows(np.array(starts), columns, values, np.zeros((2, 3), np.float32), 1)

    @pytest.mark.parametrize("dtype", ["uint16", "uint32"])
    def test_columns(self, dtype):
        columns = np.array([0, 1, 2, 0, np.iinfo(dtype).max], dtype)
        with pytest.raises(ValueError, match="expected 0 <= index < 3"):
            _core.expand_rows(np.array([0, 3, 5]), columns, np.ones(5, np.float32), np.zeros((2, 3), np.float32), 1)


@pytest.mark.parametrize("limit", [BLOCK // 3, BLOCK // 6])
def test_the_limit_is_kept(limit, monkeypatch):
    seen, init = [], limited.ReducedBlock.__init__
    monkeypatch.setattr(
        limited.ReducedBlock, "__init__", lambda self, *source: seen.append(self) or init(self, *source)
    )
    clone(MODEL).set_params(memory_limit=limit).fit(X)
    assert seen
    for block in seen:
        kept = sum(tile.n_bytes for tile in block._kept.values())
        assert 0 < kept == block.n_bytes <= limit


@pytest.mark.parametrize("k", [1, 2])
def test_few_medoids(k):
    assert_storage_does_not_matter(n_clusters=k, storages=("whole", "recomputed"))


def test_start_by_build():
    assert_storage_does_not_matter(X[:150], batch_size="auto")


def test_a_row_that_is_no_dissimilarity_is_found():
    def compare(a, b):
        return np.nan if a[0] == X[77, 0] and b[0] == X[300, 0] else abs(a - b).sum()

    with pytest.raises(ValueError, match=r"X\[77\], X\[300\]"):
        OneBatchPAM(3, metric=compare, batch_size=400, memory_limit=0).fit(X[:400])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_float32_rounds_by_what_is_compared_together(metric):
    rows = np.random.RandomState(0).rand(1500, 64).astype(np.float32)
    rows[:, 5:] *= np.random.RandomState(1).rand(1500, 59) < 0.2
    model = clone(MODEL).set_params(metric=metric, effort="fast")
    whole, *others = (clone(model).set_params(memory_limit=limit).fit(rows) for limit in ("1GB", BLOCK // 3, 0))
    for other in others:
        np.testing.assert_array_equal(other.medoid_indices_, whole.medoid_indices_)
        np.testing.assert_allclose(other.batch_inertia_, whole.batch_inertia_, rtol=1e-6)


def test_select_k():
    whole, recomputed = (select_k(X, [2, 5, 9], clone(MODEL).set_params(memory_limit=limit)) for limit in ("1GB", 0))
    for ours, theirs in zip(recomputed.medoids, whole.medoids, strict=True):
        np.testing.assert_array_equal(ours, theirs)


class TestLimit:
    @pytest.mark.parametrize(
        ("limit", "expected"),
        [
            (0, 0),
            (12, 12),
            (np.int64(5), 5),
            ("12", 12),
            ("3 kb", 3000),
            ("2G", 2_000_000_000),
            ("1.5GB", 1_500_000_000),
            ("2GiB", 2**31),
            ("1TiB", 2**40),
        ],
    )
    def test_values(self, limit, expected):
        assert resolve_memory_limit(limit) == expected

    @pytest.mark.parametrize("limit", ["", "much", "-1", "1e9", "3 bananas", -1, 1.5, True, [5]])
    def test_wrong_values(self, limit):
        with pytest.raises(ValueError, match="memory_limit="):
            clone(MODEL).set_params(memory_limit=limit).fit(X)

    def test_none_is_half_of_what_is_free(self, monkeypatch):
        monkeypatch.setattr(_memory, "available_bytes", lambda: 10**9)
        assert resolve_memory_limit(None) == 5 * 10**8

    def test_the_whole_block_if_it_fits(self):
        assert clone(MODEL).set_params(memory_limit=BLOCK).fit(X).block_storage_ == "whole"
        assert clone(MODEL).set_params(memory_limit=BLOCK - 1).fit(X).block_storage_ != "whole"
        assert clone(MODEL).fit(X).block_storage_ == "whole"
