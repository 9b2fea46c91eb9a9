"""OneBatchPAM on Dask arrays and frames. The driver holds so few rows that even small data stay in partitions."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs

import onebatchpam
import reference
from contract import every_check
from onebatchpam import block_metric
from onebatchpam.dask import OneBatchPAM, population
from onebatchpam.search import groups, refine

N, P, K, M = 4000, 5, 6, 200


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 2500 * P)


@pytest.fixture(scope="module", name="X")
def make_rows():
    return make_blobs(N, P, centers=10, random_state=0)[0]


def make_model(**params):
    return OneBatchPAM(**{"n_clusters": K, "metric": "manhattan", "batch_size": M, "random_state": 0, **params})


def in_chunks(X, *sizes):
    """Return a Dask array with partitions of these sizes, and a last partition of the remaining rows."""
    return da.from_array(X, chunks=((*sizes, len(X) - sum(sizes)), X.shape[1:]))


def assert_contract(model, X, weights=None):
    medoids = model.medoid_indices_
    distances = reference.distance_block(X, X[medoids], model.metric)
    labels = model.labels_.compute()
    assert isinstance(model.labels_, da.Array)
    assert labels.shape == model.labels_.shape == (len(X),)
    assert len(np.unique(medoids)) == model.n_clusters
    np.testing.assert_array_equal(model.cluster_centers_, X[medoids])
    np.testing.assert_array_equal(labels[medoids], np.arange(model.n_clusters))
    np.testing.assert_allclose(distances[np.arange(len(X)), labels], distances.min(axis=1), rtol=1e-6)
    np.testing.assert_allclose(model.inertia_, np.sum(distances.min(axis=1) * (1 if weights is None else weights)))
    assert model.n_features_in_ == X.shape[1]


def test_bad_names_of_features_are_found_before_the_search(X, monkeypatch):
    monkeypatch.setattr(OneBatchPAM, "_fit_partitions", lambda *_: pytest.fail("the search began"))
    frame = dd.from_pandas(pd.DataFrame(X).rename(columns={0: "a"}), npartitions=2)
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        make_model().fit(frame)


@pytest.mark.parametrize("variant", ["progressive", "nniw", "debias"])
def test_a_batch_of_all_rows_that_have_a_weight(X, variant, rng):
    weights = np.zeros(N)
    weights[rng.permutation(N)[:M]] = rng.rand(M)
    model = make_model(variant=variant).fit(in_chunks(X, 1000, 1000), sample_weight=weights)
    assert len(model.batch_indices_) == M
    np.testing.assert_allclose(model.batch_inertia_, model.inertia_)  # a batch of all rows estimates nothing
    in_memory = onebatchpam.FasterPAM(K, metric="manhattan", random_state=0).fit(X, sample_weight=weights)
    assert model.inertia_ <= 1.05 * in_memory.inertia_


@pytest.mark.parametrize("variant", ["progressive", "nniw", "debias", "unif", "lwcs"])
def test_every_variant_is_about_as_good_as_in_memory(X, variant):
    def mean_inertia(kind, data):
        return np.mean(
            [
                kind(K, metric="manhattan", batch_size=M, variant=variant, random_state=seed).fit(data).inertia_
                for seed in range(5)
            ]
        )

    assert mean_inertia(OneBatchPAM, in_chunks(X, 1000, 1000)) <= 1.02 * mean_inertia(onebatchpam.OneBatchPAM, X)
    assert_contract(make_model(variant=variant).fit(in_chunks(X, 1000, 1000)), X)


def test_refined_fits_are_about_as_good_as_in_memory(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", P * 6000)  # the driver gathers half of the 12,000 rows
    X = make_blobs(12_000, P, centers=20, random_state=1)[0]

    def mean_inertia(kind, data):
        return np.mean([kind(10, batch_size=500, random_state=seed).fit(data).inertia_ for seed in range(5)])

    # With ten medoids for twenty groups, seeds lead to local optima that are half a percent apart.
    assert mean_inertia(OneBatchPAM, in_chunks(X, 5000, 5000)) <= 1.01 * mean_inertia(onebatchpam.OneBatchPAM, X)


@pytest.mark.parametrize("sizes", [(), (1,), (0, 1500, *[0] * 40, 7), (3999,), (1000, 1000, 1000)])
def test_uneven_and_empty_partitions(X, sizes):
    model = make_model().fit(in_chunks(X, *sizes))
    assert_contract(model, X)
    assert model.batch_indices_.shape == model.batch_weights_.shape == (M,)
    assert len(np.unique(model.batch_indices_)) == M
    np.testing.assert_allclose(model.batch_weights_.mean(), 1)


def test_unknown_chunk_sizes_change_nothing(X):
    known = in_chunks(X, 1500, 700)
    unknown = known[known[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    expected, found = make_model().fit(known), make_model().fit(unknown)
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_.compute())
    np.testing.assert_array_equal(found.predict(unknown).compute(), expected.labels_.compute())
    assert found.transform(unknown).compute().shape == (N, K)


@pytest.mark.parametrize("scheduler", ["synchronous", "processes"])
def test_the_scheduler_changes_nothing(X, scheduler):
    data = in_chunks(X, 1500, 700)
    expected = make_model().fit(data)
    context = multiprocessing.get_context("spawn")
    # The processes are in a pool, because Dask would start new ones for every pass.
    with ProcessPoolExecutor(2, mp_context=context) as pool, dask.config.set(scheduler=scheduler, pool=pool):
        found = make_model().fit(data)
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    assert found.inertia_ == expected.inertia_


def test_columns_in_chunks_are_joined(X):
    expected = make_model().fit(in_chunks(X, 1500))
    found = make_model().fit(in_chunks(X, 1500).rechunk({1: 2}))
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)


def test_persisted_partitions_are_used_in_place(X):
    loads = []

    def load(block):
        loads.append(len(block))
        return block

    data = in_chunks(X, 1500).map_blocks(load, dtype=X.dtype, meta=X[:0]).persist()
    n_loads = len(loads)
    make_model().fit(data)
    assert len(loads) == n_loads


def test_data_that_the_driver_holds_are_fitted_as_in_memory(X, monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 2**26)
    weights = np.random.RandomState(0).randint(4, size=N)
    for sample_weight in (None, weights):
        expected = onebatchpam.OneBatchPAM(K, batch_size=M, random_state=0).fit(X, sample_weight=sample_weight)
        found = OneBatchPAM(K, batch_size=M, random_state=0).fit(in_chunks(X, 0, 1500), sample_weight=sample_weight)
        np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
        np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
        assert found.inertia_ == expected.inertia_


@pytest.mark.parametrize("form", ["dask", "numpy"])
def test_weights(X, form):
    weights = np.random.RandomState(0).randint(3, size=N).astype(float)
    data = in_chunks(X, 1500, 700)
    given = da.from_array(weights, chunks=(data.chunks[0],)) if form == "dask" else weights
    model = make_model().fit(data, sample_weight=given)
    assert_contract(model, X, weights)
    assert (weights[model.medoid_indices_] > 0).all()
    assert (weights[model.batch_indices_] > 0).all()
    np.testing.assert_allclose(model.score(data, sample_weight=given), -model.inertia_)
    np.testing.assert_allclose(make_model().fit(data, sample_weight=2.0).inertia_, 2 * make_model().fit(data).inertia_)


def test_heavy_rows_are_in_the_batch(X):
    weights = np.ones(N)
    weights[[5, 3000]] = 1e6
    model = make_model(variant="unif").fit(in_chunks(X, 1500, 700), sample_weight=weights)
    assert {5, 3000} <= set(model.batch_indices_)
    assert {5, 3000} <= set(model.medoid_indices_)


def test_fixed_medoids_and_starts(X):
    data = in_chunks(X, 1500, 700)
    model = make_model(init=[3, 17, 3999, 5, 2000, 1]).fit(data, fixed_medoids=[3999, 17])
    assert model.medoid_indices_[:2].tolist() == [3999, 17]
    assert_contract(model, X)
    all_fixed = [9, 8, 7, 3000, 2000, 1000]
    assert make_model().fit(data, fixed_medoids=all_fixed).medoid_indices_.tolist() == all_fixed
    unmoved = make_model(init=[3, 17, 3999, 5, 2000, 1], max_iter=0).fit(data)
    np.testing.assert_array_equal(unmoved.medoid_indices_, [3, 17, 3999, 5, 2000, 1])
    again = make_model(warm_start=True).fit(data)
    assert again.fit(data).inertia_ <= again.inertia_ * 1.001
    assert make_model(n_init=3).fit(data).inertia_ <= make_model().fit(data).inertia_ * 1.01
    assert_contract(make_model(init="k-means++").fit(data), X)


@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_effort(X, effort):
    data = in_chunks(X, 1500, 1500)
    fast, model = make_model(n_clusters=20).fit(data), make_model(n_clusters=20, effort=effort).fit(data)
    assert_contract(model, X)
    assert model.inertia_ <= fast.inertia_
    assert "pool search" in model.fit_seconds_
    again = make_model(n_clusters=20, effort=effort, n_jobs=2).fit(data)
    np.testing.assert_array_equal(again.medoid_indices_, model.medoid_indices_)


def test_many_medoids_are_confirmed_in_groups(X, monkeypatch):
    monkeypatch.setattr(refine, "MOST_ENTRIES", 1)
    for module in (refine, groups):
        monkeypatch.setattr(module, "GROUP_SIZE", 8)
    data = in_chunks(X, 1500, 1500)
    plain, model = (make_model(n_clusters=40, refine=rounds).fit(data) for rounds in (0, "auto"))
    assert_contract(model, X)
    assert model.n_refine_rounds_ > 0
    assert model.inertia_ < plain.inertia_


def test_duplicates_of_medoids_are_spread():
    X = np.repeat(np.arange(5.0), 1000)[:, np.newaxis] * [1, 1]
    model = make_model(n_clusters=5).fit(in_chunks(X, 2300))
    assert model.inertia_ == 0
    assert_contract(model, X)


def test_a_medoid_moves_if_another_that_has_moved_empties_its_cluster():
    """The dissimilarities are not a metric; tests/search/test_assignment.py has the same ones in memory."""
    matrix = np.array([[0, 0, 0, 3, 1], [0, 0, 1, 2, 3], [0, 1, 0, 3, 3], [3, 2, 3, 0, 3], [1, 3, 3, 3, 0]], float)

    def look_up(A, B):
        return matrix[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

    rows = in_chunks(np.arange(5.0)[:, np.newaxis], 2, 3)
    model = OneBatchPAM(3, metric=block_metric(look_up), init=[0, 1, 2], max_iter=0).fit(rows)
    assert model.medoid_indices_.tolist() == [0, 4, 3]
    assert model.inertia_ == 0


def test_fewer_distinct_rows_than_medoids():
    X = np.repeat(np.arange(3.0), 1000)[:, np.newaxis] * [1, 1]
    with pytest.warns(UserWarning, match="found 3 distinct clusters"):
        model = make_model(n_clusters=5).fit(in_chunks(X, 2300))
    assert model.inertia_ == 0
    assert len(np.unique(model.medoid_indices_)) == 5


def test_lazy_results(X):
    data = in_chunks(X, 1500, 700)
    model = make_model().fit(data)
    distances = model.transform(data)
    assert isinstance(distances, da.Array)
    assert distances.chunks == (data.chunks[0], (K,))
    expected = reference.distance_block(X, X[model.medoid_indices_], "manhattan")
    np.testing.assert_allclose(distances.compute(), expected, rtol=1e-6)
    assert distances.dtype == distances.compute().dtype
    np.testing.assert_array_equal(model.predict(data).compute(), model.predict(X))
    np.testing.assert_allclose(model.score(data), -model.inertia_)
    assert make_model().fit_predict(data).dtype == np.int32


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_types_of_numbers(X, dtype):
    data = (X - X.min()).astype(dtype)
    model = make_model().fit(in_chunks(data, 1500))
    assert model.cluster_centers_.dtype == dtype
    assert model.transform(in_chunks(data, 1500)).compute().dtype == np.float32
    local = onebatchpam.OneBatchPAM(K, metric="manhattan", batch_size=M, random_state=0).fit(data)
    assert model.inertia_ <= 1.03 * local.inertia_


def test_sparse_partitions(X):
    dense = np.where(X > 0, X, 0)
    data = in_chunks(dense, 1500).map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, P)))
    expected, found = make_model().fit(in_chunks(dense, 1500)), make_model().fit(data)
    assert scipy.sparse.issparse(found.cluster_centers_)
    np.testing.assert_allclose(found.inertia_, expected.inertia_, rtol=0.02)


def test_functions_and_library_metrics(X):
    data = in_chunks(X, 1500, 700)
    expected = make_model().fit(data)

    def manhattan(A, B):
        return np.abs(A[:, np.newaxis] - B).sum(axis=2)

    found = make_model(metric=manhattan).fit(data)
    np.testing.assert_allclose(found.inertia_, expected.inertia_, rtol=0.01)
    cube = make_model(metric="minkowski", metric_params={"p": 3}).fit(data)
    local = onebatchpam.OneBatchPAM(K, metric="minkowski", metric_params={"p": 3}, batch_size=M, random_state=0).fit(X)
    assert cube.inertia_ <= 1.03 * local.inertia_


@every_check([OneBatchPAM()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def table(X):
    """Return a frame of numbers, categories, ordered categories, dates and missing values."""
    frame = pd.DataFrame({f"x{i}": X[:, i] for i in range(3)})
    frame["colour"] = np.array(["red", "green", "blue"], dtype=object)[(X[:, 3] > 0).astype(int) + (X[:, 3] > 5)]
    frame.loc[::7, "colour"] = None
    frame["grade"] = pd.Categorical.from_codes((X[:, 4] > 0).astype(int), ["low", "mid", "high"][:2], ordered=True)
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta((X[:, 4] * 10).astype(int), unit="D")
    frame.loc[::11, "x1"] = np.nan
    return frame


def test_a_mixed_table_is_encoded_as_a_whole(X):
    frame = table(X).sort_values("x0", ignore_index=True)  # sorting gives each partition a range of its own
    data = dd.from_pandas(frame, npartitions=7)
    model = make_model(metric="gower").fit(data)
    local = onebatchpam.OneBatchPAM(K, metric="gower", batch_size=M, random_state=0).fit(frame)
    codes, expected = model._metric.encoding, local._metric.encoding
    for found_encoder, encoder in zip(codes.encoders, expected.encoders, strict=True):
        assert found_encoder == encoder or set(found_encoder.codes) == set(encoder.codes)
    pd.testing.assert_frame_equal(model.cluster_centers_, data.compute().iloc[model.medoid_indices_])
    np.testing.assert_array_equal(model.labels_.compute(), model.predict(frame))
    np.testing.assert_allclose(-model.score(frame), model.inertia_, rtol=1e-5)
    assert model.inertia_ <= 1.05 * local.inertia_
    assert model.transform(data).compute().dtype == model.transform(data).dtype == np.float32
    assert list(model.feature_names_in_) == list(frame.columns)


def test_a_frame_of_numbers(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_model().fit(dd.from_pandas(frame, npartitions=3))
    assert_contract(model, X)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(dd.from_pandas(frame.rename(columns={"a": "z"}), npartitions=3))
    filtered = dd.from_pandas(frame, npartitions=5)
    filtered = filtered[filtered["a"] > frame["a"].median()]
    chosen = frame[frame["a"] > frame["a"].median()]
    assert_contract(make_model().fit(filtered), chosen.to_numpy())


@pytest.mark.parametrize(
    ("params", "change", "message"),
    [
        (
            {},
            {(2600, 1): np.nan},
            r"in partition 2, which begins with row 2200: X\[2600\], column 1, is missing",
        ),
        ({"metric": "precomputed"}, {}, "does not work with Dask"),
        ({"metric": "seuclidean"}, {}, "takes V from the data"),
        ({"metric": "nonsense"}, {}, "is not known"),
        ({"n_clusters": N + 1, "batch_size": "auto"}, {}, "larger than n_samples"),
        ({"variant": "best"}, {}, "variant='best'"),
        ({"init": [0, 1, 2, 3, 4, N]}, {}, f"init holds {N}"),
        ({}, {(0, 0): 3e38, (1, 0): -3e38}, "expected a finite number"),
        ({"metric": lambda a, b: -1.0}, {}, r"\(medoid 0, X\[.*is -1.0"),
    ],
)
def test_bad_input(X, params, change, message):
    X = X.copy()
    for place, value in change.items():
        X[place] = value
    model = make_model(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(in_chunks(X, 1500, 700))
    assert not [name for name in vars(model) if name.endswith("_")]


def test_bad_weights_and_shapes(X):
    data = in_chunks(X, 1500, 700)
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\)"):
        make_model().fit(data, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="sample_weight has 1 partitions"):
        make_model().fit(data, sample_weight=da.ones(N, chunks=N))
    with pytest.raises(ValueError, match="the partitions of X"):
        make_model().fit(data, sample_weight=da.ones(N, chunks=((1000, 1000, 2000),)))
    with pytest.raises(ValueError, match="not negative"):
        make_model().fit(data, sample_weight=da.full(N, -1.0, chunks=(data.chunks[0],)))
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        make_model().fit(data, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match="none of which has a weight"):
        make_model().fit(data, sample_weight=da.zeros(N, chunks=(data.chunks[0],)))
    with pytest.raises(ValueError, match="2 dimensions"):
        make_model().fit(data[:, 0])
    with pytest.raises(ValueError, match="its weight is zero"):
        make_model().fit(data, sample_weight=np.arange(N) != 7, fixed_medoids=[7])
    with pytest.raises(ValueError, match="expected a dask"):
        make_model().fit(dask.delayed(X))
    with pytest.raises(ValueError, match="features"):
        make_model().fit(data).predict(data[:, :3])


def test_blocks_that_are_shorter_than_their_chunks(X):
    shorter = in_chunks(X, 1000, 1000).map_blocks(lambda rows: rows[:-7], dtype=X.dtype)
    with pytest.raises(ValueError, match=r"in partition \d, .*: there are 1?993 rows, but the chunk says \d000"):
        make_model().fit(shorter)
