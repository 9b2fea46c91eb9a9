"""The contract that all estimators share, whatever the algorithm."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import onebatchpam
import reference
from contract import assert_contract, every_check, every_check_but_equivalence
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    BanditPAM,
    DynMSC,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
)
from onebatchpam.algorithms.base import MedoidEstimator
from onebatchpam.search.start import INITS

ALGORITHMS = [
    OneBatchPAM,
    FasterPAM,
    PAM,
    FasterMSC,
    FasterCLARA,
    CLARANS,
    Alternate,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    KMC2,
    RandomMedoids,
    BanditPAM,
]
SEARCHES = [OneBatchPAM, FasterPAM, PAM, Alternate]


def dynmsc_of_one_number(n_clusters=8, **parameters):
    """Return DynMSC that may keep no fewer medoids than it begins with; the contract is about their number."""
    return DynMSC(n_clusters, min_clusters=max(n_clusters, 2), **parameters)


every_algorithm = pytest.mark.parametrize("algorithm", [*ALGORITHMS, dynmsc_of_one_number])


def test_none_is_missing_here():
    public = {value for value in (getattr(onebatchpam, name) for name in onebatchpam.__all__) if inspect.isclass(value)}
    assert {value for value in public if issubclass(value, MedoidEstimator)} == {*ALGORITHMS, DynMSC}


DRAWN = (KMeansPlusPlus, LSKMeansPlusPlus, KMC2, RandomMedoids, CLARANS)  # estimators that draw their medoids


def expected_failures(estimator):
    """Return the checks of scikit-learn that an estimator cannot pass, each with the reason."""
    if not isinstance(estimator, DRAWN):
        return {}
    reason = "a draw of weighted rows equals a draw of repeated rows only on average"
    failures = {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(estimator, RandomMedoids):
        failures["check_clustering"] = "the rows drawn with this seed are not all in different blobs"
    return failures


@every_check(
    [
        *(algorithm() for algorithm in ALGORITHMS if algorithm is not OneBatchPAM),
        FasterPAM(metric="manhattan", n_jobs=2),
        FasterCLARA(n_samplings=1),
        FasterMSC(batch_size=None, metric="manhattan"),
        DynMSC(),  # which has no place among those that find as many clusters as they are asked for
        KMeansPlusPlus(power=2),
        LSKMeansPlusPlus(n_swaps=50),
        KMC2(chain_length=1),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator, check):
    check(estimator)


@every_check_but_equivalence(
    [
        *(FasterPAM(init=init) for init in INITS),
        OneBatchPAM(init="ls-k-means++"),
        Alternate(init="kmc2"),
        PAM(init="random"),
        FasterPAM(n_init=3),
    ]
)
def test_estimator_checks_of_random_starts(estimator, check):
    check(estimator)


@every_algorithm
class TestContract:
    @pytest.mark.parametrize("k", [1, 2, 5, 300])
    def test_number_of_medoids(self, algorithm, k, blobs):
        model = algorithm(k, random_state=0).fit(blobs)
        assert_contract(model, blobs)
        if k == 300:
            assert model.inertia_ == 0

    @pytest.mark.parametrize("metric", ["manhattan", "euclidean", "chebyshev", "cosine"])
    def test_metric(self, algorithm, metric, blobs):
        assert_contract(algorithm(4, metric=metric, random_state=1).fit(blobs), blobs)

    @pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
    def test_type_of_the_rows(self, algorithm, dtype):
        X = np.random.RandomState(0).randint(0, 100, (200, 6)).astype(dtype)
        X.flags.writeable = False
        model = algorithm(4, metric="manhattan", random_state=0).fit(X)
        np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
        assert model.cluster_centers_.dtype == dtype
        wide = algorithm(4, metric="manhattan", random_state=0).fit(X.astype(np.float64))
        np.testing.assert_array_equal(model.medoid_indices_, wide.medoid_indices_)  # sums of whole numbers are exact
        assert model.inertia_ == wide.inertia_

    @pytest.mark.parametrize("seed", range(3))
    def test_duplicates(self, algorithm, seed):
        X = np.repeat(np.random.RandomState(seed).randn(12, 3), [40, 1, 1, 30, 1, 20, 1, 1, 25, 1, 10, 5], axis=0)
        assert_contract(algorithm(6, random_state=seed).fit(X), X)

    def test_as_many_distinct_rows_as_medoids(self, algorithm):
        X = np.repeat(np.eye(5), 12, axis=0)
        model = algorithm(5, random_state=0).fit(X)
        assert_contract(model, X)
        assert model.inertia_ == 0

    @pytest.mark.parametrize("k", [2, 7])
    def test_constant_rows(self, algorithm, k):
        X = np.ones((20, 3))
        with pytest.warns(ConvergenceWarning, match=f"found 1 distinct clusters instead of n_clusters={k}"):
            model = algorithm(k, random_state=0).fit(X)
        assert len(np.unique(model.medoid_indices_)) == k
        assert model.inertia_ == 0

    def test_a_single_row(self, algorithm):
        model = algorithm(1).fit([[1.0, 2.0]])
        assert (model.medoid_indices_, model.labels_, model.inertia_) == ([0], [0], 0.0)

    def test_number_of_threads(self, algorithm, smallest_tiles):
        X = np.random.RandomState(0).randn(700, 5).astype(np.float32)
        fits = [algorithm(6, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (None, 2, 5)]
        for model in fits[1:]:
            np.testing.assert_array_equal(model.medoid_indices_, fits[0].medoid_indices_)
            np.testing.assert_array_equal(model.labels_, fits[0].labels_)
            assert model.inertia_ == fits[0].inertia_
            assert model.n_distances_ == fits[0].n_distances_

    def test_tiles(self, algorithm, blobs, monkeypatch):
        expected = algorithm(5, random_state=3).fit(blobs)
        monkeypatch.setattr("onebatchpam._tiles.TILE_ENTRIES", 1)
        model = algorithm(5, random_state=3).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert model.inertia_ == expected.inertia_

    def test_seed(self, algorithm, blobs):
        np.random.seed(1)  # the global generator must not matter  # noqa: NPY002
        first = algorithm(5, random_state=7).fit(blobs)
        np.random.seed(2)  # noqa: NPY002
        again = clone(first).fit(blobs)
        np.testing.assert_array_equal(again.medoid_indices_, first.medoid_indices_)
        assert again.n_distances_ == first.n_distances_
        shared = algorithm(5, random_state=np.random.RandomState(7)).fit(blobs)
        np.testing.assert_array_equal(shared.medoid_indices_, first.medoid_indices_)

    def test_counts_are_plain_numbers(self, algorithm, blobs):
        model = algorithm(5, random_state=0).fit(blobs)
        assert {type(value) for value in (model.n_iter_, model.n_swaps_, model.n_distances_)} == {int}
        assert type(model.inertia_) is float
        assert "assignment" in model.fit_seconds_

    def test_pickle(self, algorithm, blobs):
        model = pickle.loads(pickle.dumps(algorithm(5, random_state=0).fit(blobs)))
        np.testing.assert_array_equal(model.predict(blobs), model.labels_)

    @pytest.mark.parametrize("parameters", [{"n_clusters": 0}, {"n_clusters": 51}, {"metric": "none"}, {"n_jobs": 0}])
    def test_errors(self, algorithm, parameters, rng):
        model = algorithm(**parameters)
        before = dict(vars(model))
        (name,) = parameters
        with pytest.raises(ValueError, match=f"{name}={parameters[name]!r}"):
            model.fit(rng.rand(50, 2))
        assert vars(model) == before

    def test_rows_beyond_float32(self, algorithm):
        X = 1e300 * np.random.RandomState(0).randn(50, 3)
        with pytest.raises(ValueError, match="rescale"):
            algorithm(3, random_state=0).fit(X)


@every_algorithm
class TestPrecomputed:
    def test_same_as_the_rows(self, algorithm, blobs):
        matrix = reference.distance_block(blobs, blobs, "manhattan")
        model = algorithm(5, metric="precomputed", random_state=0).fit(matrix)
        from_rows = algorithm(5, metric="manhattan", random_state=0).fit(blobs)
        np.testing.assert_array_equal(model.medoid_indices_, from_rows.medoid_indices_)
        np.testing.assert_array_equal(model.labels_, from_rows.labels_)
        assert model.inertia_ == pytest.approx(from_rows.inertia_, rel=1e-12)
        assert model.n_distances_ == from_rows.n_distances_
        assert model.cluster_centers_ is None

    @pytest.mark.parametrize("seed", range(3))
    def test_entry_i_j_is_from_candidate_i_to_point_j(self, algorithm, seed):
        matrix = np.random.RandomState(seed).rand(60, 60) * np.arange(1, 61)[:, None]
        np.fill_diagonal(matrix, 0)
        model = algorithm(4, metric="precomputed", random_state=seed).fit(matrix)
        rows = matrix[model.medoid_indices_]
        np.testing.assert_array_equal(model.labels_, rows.argmin(axis=0))
        assert model.inertia_ == pytest.approx(rows.min(axis=0).sum(), rel=1e-12)

    @pytest.mark.filterwarnings("ignore:found:sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("k", [1, 2, 6, 30])
    @pytest.mark.parametrize("seed", range(3))
    def test_rows_that_are_not_nearest_to_themselves(self, algorithm, seed, k):
        matrix = np.random.RandomState(seed).rand(30, 30)
        model = algorithm(k, metric="precomputed", random_state=seed).fit(matrix)
        assert len(np.unique(model.medoid_indices_)) == k

    @pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
    def test_matrix_of_any_type_and_order(self, algorithm, dtype):
        whole = np.random.RandomState(0).randint(1, 40, (80, 80)).astype(dtype)
        np.fill_diagonal(whole, 0)
        expected = algorithm(4, metric="precomputed", random_state=0).fit(whole.astype(np.float64))
        for each in (whole, np.asfortranarray(whole)):
            model = algorithm(4, metric="precomputed", random_state=0).fit(each)
            np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
            assert model.inertia_ == expected.inertia_
            assert model.n_distances_ == expected.n_distances_

    def test_negative_dissimilarities(self, algorithm):
        with pytest.raises(ValueError, match="not negative"):
            algorithm(3, metric="precomputed", random_state=0).fit(-np.ones((50, 50)))


@every_algorithm
def test_metric_with_parameters(algorithm, blobs):
    model = algorithm(4, metric="minkowski", metric_params={"p": 3}, random_state=0).fit(blobs)
    expected = np.linalg.norm(blobs[:, None] - blobs[model.medoid_indices_], ord=3, axis=2)
    np.testing.assert_array_equal(model.labels_, expected.argmin(axis=1))
    assert model.inertia_ == pytest.approx(expected.min(axis=1).sum())


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a not in (RandomMedoids, KMC2, KMeansPlusPlus)])
def test_searches_find_clear_groups(algorithm):
    centres = 100 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    group = np.arange(200) % 4
    X = centres[group] + np.random.RandomState(0).randn(200, 2)
    best = min((algorithm(4, random_state=seed).fit(X) for seed in range(5)), key=lambda model: model.inertia_)
    assert adjusted_rand_score(best.labels_, group) == 1


@pytest.mark.parametrize("init", ["k-means++", "ls-k-means++", "kmc2"])
@pytest.mark.parametrize("algorithm", SEARCHES)
def test_names_of_starts(algorithm, init, blobs):
    drawn = {"k-means++": KMeansPlusPlus, "ls-k-means++": LSKMeansPlusPlus, "kmc2": KMC2}
    start = drawn[init](5, random_state=4).fit(blobs)
    model = algorithm(5, init=init, random_state=4).fit(blobs)
    given = algorithm(5, init=start.medoid_indices_, random_state=4).fit(blobs)
    assert model.inertia_ <= start.inertia_ * (1 + 1e-12) or algorithm is OneBatchPAM
    if algorithm is not OneBatchPAM:  # OneBatchPAM draws its batch after the start
        np.testing.assert_array_equal(model.medoid_indices_, given.medoid_indices_)
    # The start computes as many dissimilarities as the estimator of its name, except those of the assignment.
    assert model.n_distances_ - given.n_distances_ == start.n_distances_ - 5 * 300 or algorithm is OneBatchPAM


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            FasterPAM(init="none"),
            "init='none': expected one of 'auto', 'build', 'random', 'k-means\\+\\+', 'ls",
        ),
        (FasterPAM(init=[0, 1]), "init has shape"),
        (FasterPAM(max_iter=-1), "max_iter=-1"),
        (FasterPAM(tol=-1), "tol=-1"),
        (FasterCLARA(n_samplings=0), "n_samplings=0"),
        (FasterCLARA(sample_size=7), "sample_size=7 is smaller than n_clusters=8"),
        (FasterCLARA(sample_size="all"), "sample_size='all': expected 'auto' or an integer"),
        (FasterCLARA(max_iter=-1), "max_iter=-1"),
        (FasterCLARA(tol=np.nan), "tol=nan"),
        (Alternate(max_iter=-1), "max_iter=-1"),
        (KMeansPlusPlus(power=-1), "power=-1"),
        (CLARANS(max_neighbors=0), "max_neighbors=0: expected 'auto' or an integer"),
        (LSKMeansPlusPlus(n_swaps=-1), "n_swaps=-1"),
        (LSKMeansPlusPlus(power="1"), "power='1'"),
        (KMC2(chain_length=0), "chain_length=0"),
        (KMC2(power=np.inf), "power=inf"),
    ],
    ids=str,
)
def test_errors_of_parameters(model, message, rng):
    with pytest.raises(ValueError, match=message):
        model.fit(rng.rand(50, 2))


@pytest.mark.parametrize(
    "model",
    [FasterPAM(9, max_iter=1), PAM(9, max_iter=1, init="random"), FasterCLARA(9, max_iter=1), Alternate(9, max_iter=1)],
)
def test_a_search_that_was_stopped_says_so(model, rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=1 passes.*increase max_iter"):
        model.set_params(random_state=0).fit(rng.rand(600, 4))
