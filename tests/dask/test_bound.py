"""The statistical bound of a Dask collection: it agrees with that of the rows in memory, and few rows are gathered."""

from __future__ import annotations

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import reference
from onebatchpam.bounds import certificate, sample
from onebatchpam.dask import OneBatchPAM, bound, bound_tasks, partition
from onebatchpam.dask.population import PartitionedData
from onebatchpam.dask.scheduler import Partitions
from spaces import make_run

N, K = 3000, 6
CHUNKS = (500, 0, 1300, 1200)  # the second partition has no rows


@pytest.fixture(autouse=True)
def with_threads():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(scope="module", name="X")
def make_rows():
    return make_blobs(N, 4, centers=9, cluster_std=2, random_state=0)[0]


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(sample, "FEWEST_DRAWS", 300)


def in_chunks(X):
    return da.from_array(X, chunks=(CHUNKS, *X.shape[1:]))


def fit(X, k=K, weights=None, **params):
    return OneBatchPAM(k, random_state=0, **params).fit(in_chunks(X), sample_weight=weights)


def assert_alike(found, expected):
    """Check a bound against that of another sample: their samples differ, the rows are the same."""
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    assert 0 < found.bound <= found.objective
    assert abs(found.bound - expected.bound) <= 0.02 * found.objective
    assert (found.confidence, found.is_exact) == (expected.confidence, False)


def draw_weights(kind):
    if kind is None:
        return None
    weights = np.random.RandomState(1).randint(0, 3, N).astype(float)
    weights[: CHUNKS[0]] = 0  # no row of the first partition counts
    return weights


@pytest.mark.parametrize("kind", [None, "weighted"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_the_bound_is_about_that_of_the_rows_in_memory(X, kind, metric):
    weights = draw_weights(kind)
    model = fit(X, weights=weights, metric=metric)
    found = model.certify(in_chunks(X), weights, confidence=0.95)
    assert_alike(found, model.certify(X, weights, confidence=0.95))
    assert str(found).startswith("With 95 % confidence, the objective")
    assert found.stopped_by is None
    assert 0 < found.n_points <= N
    assert found.bound <= model.certify(X, weights).objective


@pytest.mark.parametrize(("k", "n_fixed"), [(K, 2), (K, K - 1), (K, K), (1, 0), (1, 1), (2, 0)])
def test_fixed_medoids_and_at_most_one_free_medoid(X, k, n_fixed):
    model = fit(X, k)
    fixed = model.medoid_indices_[:n_fixed]
    found = model.certify(in_chunks(X), confidence=0.9, fixed_medoids=fixed)
    assert_alike(found, model.certify(X, confidence=0.9, fixed_medoids=fixed))
    if k - n_fixed <= 1:
        assert (found.n_rounds, found.n_iter) == (1, 0)


def test_a_table(X):
    colours = np.array(["red", "green", "blue"])
    frame = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1], "colour": colours[(X[:, 2] > 0) + (X[:, 3] > 3) * 1]})
    frame.loc[::7, "size"] = np.nan
    data = dd.from_pandas(frame, npartitions=3)
    model = OneBatchPAM(K, metric="gower", random_state=0).fit(data)
    assert_alike(model.certify(data, confidence=0.95), model.certify(frame, confidence=0.95))


@pytest.mark.usefixtures("few_draws")
def test_strings():
    rng = np.random.RandomState(0)
    words = np.array(["".join(rng.choice(list("abc"), size)) for size in rng.randint(1, 9, 400)], object)
    data = da.from_array(words, chunks=150)
    model = OneBatchPAM(3, metric="levenshtein", random_state=0).fit(data)
    found = model.certify(data, confidence=0.95)
    assert 0.5 * found.objective < found.bound <= model.certify(words).objective


def test_many_rows_have_a_statistical_bound(X, monkeypatch):
    monkeypatch.setattr(certificate, "MOST_EXACT_ROWS", N - 1)
    model = fit(X)
    found = model.certify(in_chunks(X))
    assert (found.is_exact, found.confidence) == (False, 0.95)


@pytest.mark.usefixtures("few_draws")
def test_few_rows_are_gathered(monkeypatch):
    n = 30_000
    rows = make_blobs(n, 2, centers=3, cluster_std=2, random_state=0)[0]
    data = da.from_array(rows, chunks=(n // 3, 2))
    model = OneBatchPAM(3, random_state=0).fit(data)
    taken = []

    def count(self, places):
        taken.append(len(places))
        return take(self, places)

    take = partition.Partition.take
    monkeypatch.setattr(partition.Partition, "take", count)
    found = model.certify(data, confidence=0.95, memory_limit=n)  # less than the bytes of the rows
    assert 0.7 * found.objective < found.bound <= found.objective
    assert found.n_points <= 300
    each_pass = 3 * 3 * (15 + 5)  # three partitions, three medoids
    assert sum(taken) <= 3 + 300 + found.n_rounds * each_pass


def open_data(rows, chunks, weights):
    partitions = Partitions(da.from_array(rows, chunks=(chunks, rows.shape[1])), weights)
    return PartitionedData(partitions, "manhattan", None, make_run())


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("n_fixed", [0, 1, 2])
def test_the_bound_of_any_multipliers_is_that_of_the_reference(n_fixed, rng):
    rows, weights = rng.rand(90, 3), rng.randint(0, 4, 90).astype(float)
    matrix = reference.distance_block(rows, rows, "manhattan")
    medoids = np.argsort(matrix.sum(axis=1))[[0, 1, 40, 80]]  # the first ones are in the middle, and cheap
    fixed = medoids[:n_fixed]
    weights[medoids] = 1
    data = PartitionedData(
        Partitions(da.from_array(rows, chunks=((30, 20, 0, 40), 3)), weights), "l1", None, make_run()
    )
    found = bound.PartitionedBound(data, data.take(medoids), n_fixed)
    assert found.objective == pytest.approx(weights @ matrix[medoids].min(axis=0), rel=1e-6)
    drawn_sample, drawn = found._draw()
    problem = bound.PartitionedProblem(found, drawn_sample, drawn)
    points = drawn.rows.indices
    np.testing.assert_allclose(problem.served.nearest, matrix[medoids][:, points].min(axis=0), rtol=1e-6)
    present = np.flatnonzero(weights)
    block, places = matrix[np.ix_(present, points)], np.searchsorted(present, fixed)
    for size in (0.3, 0.7, 0.95, 1):
        multipliers = np.full(len(points), size, np.float32)
        priced = problem.price(multipliers, make_run())
        costs, expected = reference.lagrangian_bound(block, multipliers, drawn_sample.weights, 4, places)
        # The bound is a difference of sums as large as the weighted multipliers, whose rounding errors it keeps.
        rounding = 1e-6 * (drawn_sample.weights @ multipliers)
        assert priced.bound == pytest.approx(max(0, expected), rel=1e-5, abs=rounding)
        wanted = problem._known.space.given_indices(priced.wanted)
        np.testing.assert_allclose(
            costs[np.searchsorted(present, wanted)][:20], np.sort(costs)[:20], rtol=1e-4, atol=1e-6 * abs(costs).max()
        )
        np.testing.assert_allclose(
            problem.block_of(priced.wanted[:5]).rows(np.arange(5)), matrix[np.ix_(wanted[:5], points)], rtol=1e-6
        )


def test_the_sample_is_drawn_by_weight_times_ceiling(monkeypatch, rng):
    rows, weights = rng.rand(40, 2), rng.randint(0, 4, 40).astype(float)
    medoids = np.array([0, 39])
    weights[medoids] = 2
    data = open_data(rows, (13, 27), weights)
    monkeypatch.setattr(sample, "FEWEST_DRAWS", 200_000)
    drawn_sample, drawn = bound.PartitionedBound(data, data.take(medoids), 0)._draw()
    assert drawn.counts.sum() == drawn_sample.n_draws == 200_000
    odds = weights[drawn.rows.indices] * drawn.ceilings
    assert drawn_sample.total == pytest.approx(odds.sum())  # so many draws miss no row
    np.testing.assert_allclose(drawn.counts / 200_000, odds / odds.sum(), atol=0.005)
    np.testing.assert_allclose(drawn_sample.weights, weights[drawn.rows.indices], rtol=0.2)


@pytest.mark.usefixtures("few_draws")
def test_the_result_does_not_depend_on_the_scheduler(X):
    model, results = fit(X), []
    for scheduler in ("sync", "threads"):
        with dask.config.set(scheduler=scheduler):
            results.append(model.certify(in_chunks(X), confidence=0.95).bound)
    assert results[0] == results[1]


def test_a_time_limit(X):
    model = fit(X)
    found = model.certify(in_chunks(X), confidence=0.95, time_limit=1e-9)
    assert (found.n_rounds, found.n_iter, found.stopped_by) == (1, 0, "time_limit")
    assert found.bound <= found.objective


def test_ctrl_c_returns_the_bound_so_far(X, monkeypatch):
    price, passes = bound.PartitionedProblem.price, []

    def interrupted(self, *arguments):
        passes.append(arguments)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return price(self, *arguments)

    monkeypatch.setattr(bound.PartitionedProblem, "price", interrupted)
    found = fit(X).certify(in_chunks(X), confidence=0.95)
    assert (found.n_rounds, found.stopped_by) == (2, "Ctrl-C")
    assert found.bound > 0


def test_all_distances_zero():
    rows = da.ones((60, 2), chunks=(20, 2))
    with pytest.warns(ConvergenceWarning, match="found 1 distinct clusters"):
        model = OneBatchPAM(2, random_state=0).fit(rows)
    found = model.certify(rows, confidence=0.95)
    assert (found.bound, found.gap, found.n_points) == (0, 0, 0)


def test_what_does_not_fit_the_model(X):
    model = fit(X)
    other = next(row for row in range(N) if row not in model.medoid_indices_)
    with pytest.raises(ValueError, match=f"fixed_medoids holds {other}, which is not one of the medoids"):
        model.certify(in_chunks(X), confidence=0.95, fixed_medoids=[other])
    with pytest.raises(ValueError, match=r"on X, and was .* in the fit: expected the X and the sample_weight"):
        model.certify(in_chunks(2 * X), confidence=0.95)
    weights = np.ones(N)
    weights[model.medoid_indices_[2]] = 0
    with pytest.raises(ValueError, match=f"medoids holds row {model.medoid_indices_[2]}, whose weight is zero"):
        model.certify(in_chunks(X), weights, confidence=0.95)


def test_an_error_names_the_partition(X, monkeypatch):
    def fail(*arguments):
        raise ValueError("no sums")

    model = fit(X)
    monkeypatch.setattr(bound_tasks, "find_wanted", fail)
    with pytest.raises(ValueError, match=r"in partition \d, which begins with row \d+: no sums"):
        model.certify(in_chunks(X), confidence=0.95)
