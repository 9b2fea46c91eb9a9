"""Candidates of a Dask collection: only these rows may become medoids. The driver holds few rows."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

import onebatchpam
import reference
from onebatchpam.dask import OneBatchPAM, population
from onebatchpam.search.start import INITS

N, K = 3000, 6
CHUNKS = ((500, 0, 1300, 1200), (5,))


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 2000 * 5)


@pytest.fixture(scope="module", name="X")
def make_rows():
    return make_blobs(N, 5, centers=10, random_state=0)[0]


def fit(X, candidates, fixed=None, weights=None, **params):
    params = {"metric": "manhattan", "batch_size": 120, "random_state": 0, **params}
    model = OneBatchPAM(K, **params)
    data = da.from_array(X, chunks=CHUNKS)
    return model.fit(data, sample_weight=weights, candidates=candidates, fixed_medoids=fixed)


def in_chunks(mask):
    return da.from_array(mask, chunks=(CHUNKS[0],))


@pytest.mark.parametrize("n_candidates", [K, 40, 1000, 2900])
@pytest.mark.parametrize("params", [{}, {"variant": "nniw", "n_init": 3}, {"init": "k-means++"}], ids=str)
def test_only_they_become_medoids(X, n_candidates, params):
    candidates = np.random.RandomState(0).permutation(N)[:n_candidates]
    model = fit(X, candidates, **params)
    medoids = model.medoid_indices_
    assert np.isin(medoids, candidates).all()
    assert len(np.unique(medoids)) == K
    assert model.n_candidates_ == n_candidates
    distances = reference.distance_block(X, X[medoids], "manhattan").min(axis=1)
    assert model.inertia_ == pytest.approx(distances.sum())
    in_memory = onebatchpam.OneBatchPAM(K, metric="manhattan", n_init=3, random_state=0)
    assert model.inertia_ <= 1.05 * in_memory.fit(X, candidates=candidates).inertia_


@pytest.mark.parametrize("init", INITS)
def test_few_candidates_are_found_by_every_start(X, init):
    candidates = np.array([7, 600, 601, 1500, 2000, 2100, 2999])
    assert np.isin(fit(X, candidates, init=init, refine=0).medoid_indices_, candidates).all()


def test_all_ways_to_name_them(X):
    mask = np.arange(N) % 3 == 0
    expected = fit(X, mask).medoid_indices_
    for same in (np.flatnonzero(mask)[::-1], in_chunks(mask), mask.tolist()):
        np.testing.assert_array_equal(fit(X, same).medoid_indices_, expected)
    everything = fit(X, None).medoid_indices_
    for same in ("all", np.ones(N, dtype=bool), in_chunks(np.ones(N, dtype=bool))):
        np.testing.assert_array_equal(fit(X, same).medoid_indices_, everything)


def test_weights_and_fixed_medoids(X):
    candidates, weights = np.arange(400, 700), np.ones(N)
    weights[::2] = 0
    model = fit(X, candidates, fixed=[2001, 501], weights=weights)
    np.testing.assert_array_equal(model.medoid_indices_[:2], [2001, 501])
    assert np.isin(model.medoid_indices_[2:], np.arange(401, 700, 2)).all()
    assert model.n_candidates_ == 151


def test_duplicates_are_moved_to_other_candidates():
    X = np.repeat(np.arange(8.0)[:, None] ** 2, 500, axis=0)
    candidates = np.r_[0:1200, 1500:1501, 2000:2001, 2500:2501, 3000:3001]
    model = OneBatchPAM(7, batch_size=50, random_state=0).fit(da.from_array(X, chunks=(700, 1)), candidates=candidates)
    assert np.isin(model.medoid_indices_, candidates).all()
    np.testing.assert_array_equal(np.sort(X[model.medoid_indices_, 0]), np.arange(7.0) ** 2)


def test_rows_that_are_gathered_on_the_driver(X, monkeypatch):
    monkeypatch.undo()
    candidates = np.arange(N) % 5 == 1
    expected = onebatchpam.OneBatchPAM(K, metric="manhattan", batch_size=120, random_state=0)
    expected.fit(X, candidates=candidates)
    for same in (candidates, in_chunks(candidates), np.flatnonzero(candidates)):
        np.testing.assert_array_equal(fit(X, same).medoid_indices_, expected.medoid_indices_)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (np.ones(N - 1, dtype=bool), r"candidates has shape \(2999,\): expected \(3000,\)"),
        ([1, 2, 3, 4, 5, N], "candidates holds 3000: expected row indices from 0 to 2999"),
        ([1, 2, 3], "n_clusters=6 is larger than the number of candidates of positive weight, 3"),
        (da.ones(N, chunks=1000, dtype=bool), "candidates has 3 partitions: expected 4, like X"),
        (
            da.ones(N, chunks=((600, 0, 1200, 1200),), dtype=bool),
            r"candidates has shape .* and dtype bool here",
        ),
        (da.ones(N, chunks=(CHUNKS[0],), dtype=float), r"candidates has shape .* and dtype float64 here"),
        (da.zeros(N, chunks=(CHUNKS[0],), dtype=bool), "number of candidates of positive weight, 0"),
    ],
    ids=range(7),
)
def test_errors_come_before_the_search(X, candidates, message, monkeypatch):
    monkeypatch.setattr(OneBatchPAM, "_fit_partitions", lambda *_: pytest.fail("the search began"))
    with pytest.raises(ValueError, match=message):
        fit(X, candidates)


def test_init_must_hold_candidates(X):
    init = np.arange(K)
    with pytest.raises(ValueError, match="init holds row 5, which is not one of the candidates"):
        fit(X, np.r_[0:5, 100:200], init=init)
    assert fit(X, np.r_[0:5, 100:200], init=init, fixed=[5]).medoid_indices_[0] == 5


def test_a_series_of_a_frame(X):
    frame = pd.DataFrame(X).rename(columns=str)
    frame["may"] = np.arange(N) % 4 == 0
    data = dd.from_pandas(frame, npartitions=3)
    model = OneBatchPAM(K, batch_size=120, random_state=0).fit(data.drop(columns="may"), candidates=data["may"])
    assert (model.medoid_indices_ % 4 == 0).all()


class TestTables:
    @pytest.fixture(name="table")
    def make_table(self):
        rng = np.random.RandomState(0)
        group = rng.randint(0, 4, N)
        table = pd.DataFrame(
            {
                "age": 20.0 * group + rng.randint(0, 15, N),
                "town": np.array(["Paris", "Lyon", "Nice", "Lille"], dtype=object)[(group + (rng.rand(N) < 0.1)) % 4],
                "spent": rng.lognormal(group, 0.3),
            }
        )
        table.loc[rng.rand(N) < 0.2, "town"] = None
        table.loc[rng.rand(N) < 0.1, "spent"] = np.nan
        return table

    def fit(self, table, **arguments):
        model = OneBatchPAM(4, metric="gower", batch_size=120, random_state=0)
        return model.fit(dd.from_pandas(table, npartitions=4), **arguments)

    def test_medoids_are_complete_rows(self, table):
        model, is_complete = self.fit(table), table.notna().all(axis=1).to_numpy()
        assert model.cluster_centers_.notna().all(axis=None)
        assert model.n_candidates_ == is_complete.sum()
        np.testing.assert_array_equal(self.fit(table, candidates=is_complete).medoid_indices_, model.medoid_indices_)
        every = self.fit(table, candidates="all")
        assert every.n_candidates_ == N
        assert every.cluster_centers_.isna().any(axis=None)

    def test_too_few_are_complete(self, table):
        table["spent"] = np.where(np.arange(N) % 7 > 2, table["age"] ** 2, np.nan)
        table["age"] = np.where(np.arange(N) % 7 < 4, table["age"], np.nan)
        table.loc[np.arange(N) % 70 > 0, "town"] = table["town"].mask(np.arange(N) % 7 == 3)
        with pytest.warns(UserWarning, match=r"only \d+ of 3,000 rows lack no value"):
            assert self.fit(table).n_candidates_ == N

    def test_odd_columns(self, table):
        with pytest.warns(UserWarning, match="like ids: 'id'; constant: 'currency'") as caught:
            self.fit(table.assign(id=np.arange(N), currency="EUR"))
        assert len(caught) == 1

    def test_gathered_tables(self, table, monkeypatch):
        monkeypatch.undo()
        with pytest.warns(UserWarning, match="like ids: 'id'") as caught:
            model = self.fit(table.assign(id=np.arange(N)))
        assert len(caught) == 1
        assert model.cluster_centers_.notna().all(axis=None)
