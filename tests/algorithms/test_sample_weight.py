"""Sample weights: a weight of w has the effect of w copies of the row, a weight of zero that of leaving it out."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    BanditPAM,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    KMeansPlusPlus,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
)
from onebatchpam.batch.rounds import VARIANTS
from onebatchpam.search.start import INITS

WEIGHTED = [OneBatchPAM, FasterPAM, PAM, FasterCLARA, Alternate, BanditPAM]
MODELS = [
    *(OneBatchPAM(batch_size=60, variant=variant) for variant in VARIANTS),
    OneBatchPAM(batch_size=60, refine=0, n_init=2),
    OneBatchPAM(12, batch_size=30),  # with so few batch points, refinement compares with a sample
    *(FasterPAM(init=init) for init in INITS),
    PAM(),
    FasterMSC(batch_size=60),
    CLARANS(),
    FasterCLARA(sample_size=60),
    Alternate(init="random"),
    BanditPAM(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: "".join(str(model).split()))
with_a_matrix = pytest.mark.parametrize(
    ("model", "metric"),
    [
        (model, metric)
        for model in MODELS
        for metric in ("manhattan", "precomputed")
        if metric == "manhattan" or getattr(model, "variant", None) != "lwcs"  # lwcs needs the mean of the rows
    ],
    ids=lambda value: "".join(str(value).split()),
)
every_weighted_algorithm = pytest.mark.parametrize("algorithm", WEIGHTED)


def rows_with_weights(n=400, seed=0, largest=5):
    """Draw rows whose manhattan distances are whole numbers, and whole weights, some of them zero."""
    rng = np.random.RandomState(seed)
    return rng.randint(0, 60, (n, 3)).astype(np.float64), rng.randint(0, largest, n).astype(np.float64)


def fit(model, X, *arguments, **keywords):
    return clone(model).set_params(random_state=0).fit(X, *arguments, **keywords)


def assert_same_fit(model, other, factor=1.0):
    np.testing.assert_array_equal(model.medoid_indices_, other.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert (model.n_iter_, model.n_swaps_, model.n_distances_) == (other.n_iter_, other.n_swaps_, other.n_distances_)
    assert model.inertia_ == (other.inertia_ if factor == 1 else pytest.approx(factor * other.inertia_, rel=1e-12))


def test_who_takes_them():
    for algorithm in (*WEIGHTED, KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids):
        assert "sample_weight" in inspect.signature(algorithm.fit).parameters


@pytest.mark.parametrize("algorithm", [KMC2, KMeansPlusPlus, LSKMeansPlusPlus, RandomMedoids])
def test_rows_are_drawn_by_them(algorithm):
    X, weights = np.arange(40.0)[:, np.newaxis], np.repeat([1.0, 0.0, 9.0, 3.0], 10)
    counts = np.zeros(4)
    for seed in range(60):
        model = algorithm(2, random_state=seed).fit(X, sample_weight=weights)
        counts += np.bincount(model.medoid_indices_ // 10, minlength=4)
        distances = np.abs(X - X[model.medoid_indices_, 0]).min(axis=1)
        assert model.inertia_ == distances @ weights
    assert counts[1] == 0
    assert counts[2] > counts[3] > counts[0] * (algorithm is RandomMedoids)


@every_model
class TestScale:
    def test_ones_are_no_weights(self, model):
        X, _ = rows_with_weights()
        assert_same_fit(fit(model, X, None, np.ones(400)), fit(model, X))

    def test_equal_weights_change_only_the_objective(self, model):
        X, _ = rows_with_weights()
        assert_same_fit(fit(model, X, sample_weight=3), fit(model, X), factor=3)

    def test_a_common_factor_changes_only_the_objective(self, model):
        X, weights = rows_with_weights()
        assert_same_fit(fit(model, X, sample_weight=8 * weights), fit(model, X, sample_weight=weights), factor=8)


@with_a_matrix
def test_zero_is_absent(model, metric):
    rows, weights = rows_with_weights()
    kept = np.flatnonzero(weights)
    data = reference.distance_block(rows, rows, "manhattan") if metric == "precomputed" else rows
    part = data[np.ix_(kept, kept)] if metric == "precomputed" else data[kept]
    model = clone(model).set_params(metric=metric)
    whole, without = fit(model, data, sample_weight=weights), fit(model, part, sample_weight=weights[kept])
    np.testing.assert_array_equal(whole.medoid_indices_, kept[without.medoid_indices_])
    np.testing.assert_array_equal(whole.labels_[kept], without.labels_)
    np.testing.assert_array_equal(whole.labels_, whole.predict(data))
    assert whole.inertia_ == without.inertia_
    if isinstance(model, OneBatchPAM):
        np.testing.assert_array_equal(whole.batch_indices_, kept[without.batch_indices_])
        np.testing.assert_array_equal(whole.batch_weights_, without.batch_weights_)
    if metric == "precomputed":
        data[weights == 0] = np.nan  # rows of weight zero are not candidates, so these entries are not read
        assert_same_fit(fit(model, data, sample_weight=weights), whole)


@pytest.mark.filterwarnings("ignore:found")
@pytest.mark.parametrize("n_present", [3, 4])
@every_weighted_algorithm
def test_as_many_medoids_as_rows_with_a_weight(algorithm, n_present):
    weights, present = np.zeros(20), [3, 5, 11, 17][:n_present]
    weights[present] = 1
    model = algorithm(3, random_state=0).fit(np.arange(20.0)[:, None], sample_weight=weights)
    assert len(set(model.medoid_indices_)) == 3
    assert set(model.medoid_indices_) <= set(present)
    np.testing.assert_array_equal(model.labels_, model.predict(np.arange(20.0)[:, None]))


@every_weighted_algorithm
def test_duplicates_move_to_rows_with_a_weight(algorithm):
    X = np.array([[0.0]] * 10 + [[1.0], [50.0], [90.0]])
    weights = np.array([1.0] * 10 + [1, 1, 0])
    parameters = {"init": [0, 1, 2], "tol": 1e9} if algorithm in (OneBatchPAM, FasterPAM) else {}
    model = algorithm(3, random_state=0, **parameters).fit(X, sample_weight=weights)
    assert sorted(X[model.medoid_indices_, 0]) == [0, 1, 50]


class TestRepeatedRows:
    @pytest.mark.parametrize("metric", ["manhattan", "cosine", "seuclidean", "mahalanobis", "canberra", "gower"])
    @every_weighted_algorithm
    def test_objective_of_given_medoids(self, algorithm, metric):
        X, weights = rows_with_weights(60)
        repeated = np.repeat(X, weights.astype(int), axis=0)
        model = algorithm(4, metric=metric, random_state=1).fit(X + 1, sample_weight=weights)
        other = OneBatchPAM(4, metric=metric, init=first_copies(weights)[model.medoid_indices_], tol=1e9)
        assert model.inertia_ == pytest.approx(other.fit(repeated + 1).inertia_, rel=1e-6)
        assert model.score(X + 1, sample_weight=weights) == -model.inertia_

    @pytest.mark.parametrize("k", [1, 2, 5])
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM, Alternate])
    def test_same_path_from_the_same_start(self, algorithm, seed, k):
        X, weights = rows_with_weights(70, seed)
        firsts = first_copies(weights)
        start = np.random.RandomState(seed).permutation(np.flatnonzero(weights))[:k]
        model = algorithm(k, metric="manhattan", init=start).fit(X, sample_weight=weights)
        repeated = np.repeat(X, weights.astype(int), axis=0)
        other = algorithm(k, metric="manhattan", init=firsts[start]).fit(repeated)
        np.testing.assert_array_equal(firsts[model.medoid_indices_], other.medoid_indices_)
        assert (model.n_swaps_, model.inertia_) == (other.n_swaps_, other.inertia_)
        assert model.n_swaps_ > 0
        if algorithm is OneBatchPAM:
            assert model.batch_inertia_ == other.batch_inertia_ == model.inertia_

    @pytest.mark.parametrize("convert", [np.asarray, csr_array])
    @pytest.mark.parametrize("k", [1, 3, 8])
    @pytest.mark.parametrize("seed", range(8))
    @every_weighted_algorithm
    def test_same_clusters_in_any_order(self, algorithm, seed, k, convert):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(40, 5), rng.randint(0, 4, 40)
        order = rng.permutation(weights.sum())
        model = algorithm(k, random_state=1).fit(convert(X), sample_weight=weights)
        other = algorithm(k, random_state=2).fit(convert(np.repeat(X, weights, axis=0)[order]))
        np.testing.assert_allclose(model.transform(X), other.transform(X))
        np.testing.assert_array_equal(model.predict(X), other.predict(X))

    def test_ranges_of_gower_are_those_of_rows_with_a_weight(self):
        frame = pd.DataFrame({"x": [0.0, 1, 2, 100], "c": list("aabz")})
        model = OneBatchPAM(2, metric="gower").fit(frame, sample_weight=[1, 1, 1, 0])
        other = OneBatchPAM(2, metric="gower").fit(frame[:3])
        np.testing.assert_array_equal(model.transform(frame), other.transform(frame))


def first_copies(weights):
    """Return the index of the first copy of each row, when every row is repeated as often as its weight says."""
    return np.r_[0, np.cumsum(weights)[:-1]].astype(np.int64)


class TestSearch:
    @pytest.mark.parametrize("seed", range(3))
    def test_no_swap_improves_the_weighted_objective(self, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(300, 3), rng.exponential(size=300) ** 3
        block = reference.distance_block(X, X, "manhattan")
        model = FasterPAM(6, metric="manhattan", tol=0, random_state=seed).fit(X, sample_weight=weights)
        assert model.inertia_ == pytest.approx(reference.loss(block, model.medoid_indices_, weights))
        assert reference.swap_gains(block, model.medoid_indices_, weights).max() <= 1e-6 * model.inertia_
        unweighted = FasterPAM(6, metric="manhattan", tol=0, random_state=seed).fit(X)
        assert model.inertia_ < reference.loss(block, unweighted.medoid_indices_, weights)

    @pytest.mark.parametrize("refine", [0, "auto"])
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_a_batch_stands_for_the_weights(self, variant, refine):
        rng = np.random.RandomState(0)
        X, weights = rng.rand(3000, 3), rng.exponential(size=3000) ** 3  # a few rows weigh as much as all others
        full = np.mean([FasterPAM(10, random_state=s).fit(X, sample_weight=weights).inertia_ for s in range(5)])
        model = OneBatchPAM(10, variant=variant, refine=refine, batch_size=300)
        fits = [clone(model).set_params(random_state=s).fit(X, sample_weight=weights) for s in range(5)]
        most = {"progressive": 1.02, "nniw": 1.02, "lwcs": 1.07}.get(variant, 1.04) if refine == 0 else 1.02
        assert np.mean([each.inertia_ for each in fits]) < most * full
        for each in fits:
            assert each.batch_weights_.mean() == pytest.approx(weights.mean())
            assert each.batch_inertia_ * 3000 / len(each.batch_indices_) == pytest.approx(each.inertia_, rel=0.3)

    def test_weights_of_batch_points_are_those_of_the_rows_nearest_to_them(self):
        X, weights = rows_with_weights(500)
        model = OneBatchPAM(4, metric="manhattan", variant="nniw", batch_size=50, random_state=0)
        model.fit(X, sample_weight=weights)
        nearest, _ = reference.scan_block(reference.distance_block(X, X[model.batch_indices_], "manhattan"))
        sums = np.array([weights[nearest == j].sum() for j in range(50)])
        np.testing.assert_allclose(model.batch_weights_, sums * weights[weights > 0].mean() / sums.mean())

    @pytest.mark.parametrize("seed", range(3))
    def test_refinement_never_harms(self, seed):
        rng = np.random.RandomState(seed)
        X, weights = rng.rand(1500, 4), rng.exponential(size=1500) ** 2
        inertias = [
            OneBatchPAM(15, batch_size=150, refine=rounds, random_state=seed, effort="fast")
            .fit(X, sample_weight=weights)
            .inertia_
            for rounds in (0, 1, 3)
        ]
        assert inertias == sorted(inertias, reverse=True)
        assert inertias[-1] < inertias[0]

    def test_clara_judges_by_the_weighted_objective(self):
        X, weights = rows_with_weights(500)
        weights **= 4
        block = reference.distance_block(X, X, "manhattan")
        inertias = []
        for seed in range(5):
            model = FasterCLARA(5, sample_size=80, random_state=seed, metric="manhattan").fit(X, sample_weight=weights)
            assert model.inertia_ == reference.loss(block, model.medoid_indices_, weights)
            unweighted = FasterCLARA(5, sample_size=80, random_state=seed, metric="manhattan").fit(X)
            inertias.append((model.inertia_, reference.loss(block, unweighted.medoid_indices_, weights)))
        weighted, unweighted = np.mean(inertias, axis=0)
        assert weighted < 0.97 * unweighted

    def test_alternate_moves_to_weighted_middles(self):
        X = np.array([[0.0], [1.0], [5.0]])
        assert Alternate(1, init=[1]).fit(X, sample_weight=[1, 1, 5]).medoid_indices_ == [2]


class TestArgument:
    X = np.random.RandomState(0).rand(30, 3)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(29), r"sample_weight has shape \(29,\): expected \(30,\)"),
            (np.ones((30, 1)), r"sample_weight has shape \(30, 1\)"),
            ([1] * 29 + [-1], r"sample_weight\[29\]=-1.0"),
            ([np.nan] + [1] * 29, r"sample_weight\[0\]=nan"),
            ([np.inf] + [1] * 29, r"sample_weight\[0\]=inf"),
            (np.zeros(30), "sample_weight is zero for every row"),
            (0, "sample_weight=0: expected a positive weight"),
            (-2, "sample_weight=-2: expected a finite number that is not negative"),
            ("balanced", "sample_weight='balanced': expected one weight for each row"),
            (np.full(30, 1e300), "sample_weight sums to 3e\\+301"),
            (np.r_[np.ones(4), np.zeros(26)], "n_clusters=5 is larger than n_samples=30, of which 4 have a positive"),
        ],
    )
    @every_weighted_algorithm
    def test_errors(self, algorithm, weights, message):
        model = algorithm(5)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=message):
            model.fit(self.X, sample_weight=weights)
        assert vars(model) == before

    def test_start_without_weight(self):
        weights = np.r_[0, np.ones(29)]
        with pytest.raises(ValueError, match="init holds row 0, whose weight is zero"):
            OneBatchPAM(2, init=[5, 0]).fit(self.X, sample_weight=weights)
        model = OneBatchPAM(2, init=[5, 29], tol=1e9).fit(self.X, sample_weight=weights)
        np.testing.assert_array_equal(model.medoid_indices_, [5, 29])

    def test_a_row_of_an_error_has_the_number_that_the_user_knows(self):
        def difference(a, b):
            return np.nan if a[0] == 9 else abs(a[0] - b[0])

        with pytest.raises(ValueError, match=r"difference\(X\[9\], X\["):
            OneBatchPAM(2, metric=difference).fit(np.arange(12.0)[:, None], sample_weight=[0, 0] + [1] * 10)

    @pytest.mark.parametrize("convert", [list, tuple, pd.Series, np.float32, lambda w: w.astype(int)])
    @every_weighted_algorithm
    def test_kinds(self, algorithm, convert):
        weights = np.arange(30.0)
        expected = algorithm(4, random_state=0).fit(self.X, sample_weight=weights)
        assert_same_fit(algorithm(4, random_state=0).fit(self.X, sample_weight=convert(weights)), expected)
        labels = algorithm(4, random_state=0).fit_predict(self.X, sample_weight=convert(weights))
        np.testing.assert_array_equal(labels, expected.labels_)

    def test_too_little_weight_for_a_variance(self):
        with pytest.raises(ValueError, match=r"the weights of X sum to 1: .*metric='seuclidean'"):
            OneBatchPAM(2, metric="seuclidean").fit(self.X, sample_weight=1 / 32 * np.r_[np.full(29, 1.0), 3])

    def test_objects(self):
        words = ["tea", "teas", "team", "coffee", "toffee", "cocoa"]
        model = OneBatchPAM(2, metric="levenshtein").fit(words, sample_weight=[0, 5, 1, 1, 1, 0])
        assert sorted(model.cluster_centers_) in (["coffee", "teas"], ["teas", "toffee"])
        assert len(model.labels_) == 6

    @pytest.mark.parametrize("container", [csr_array, csr_matrix])
    def test_sparse(self, container):
        weights = np.arange(30.0)
        parameters = {"variant": "lwcs", "batch_size": 20, "random_state": 0}
        model = OneBatchPAM(3, **parameters).fit(container(self.X), sample_weight=weights)
        dense = OneBatchPAM(3, **parameters).fit(self.X, sample_weight=weights)
        np.testing.assert_array_equal(model.medoid_indices_, dense.medoid_indices_)

    def test_mean_with_missing_values(self):
        X = self.X.copy()
        X[3, 1] = np.nan
        parameters = {"metric": "nan_euclidean", "variant": "lwcs", "batch_size": 20, "random_state": 0}
        assert np.isfinite(OneBatchPAM(3, **parameters).fit(X, sample_weight=np.arange(30)).inertia_)


class TestRouting:
    @pytest.fixture(autouse=True)
    def routing(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    @pytest.mark.parametrize("algorithm", [OneBatchPAM, FasterPAM])
    def test_pipeline(self, algorithm, blobs):
        weights = np.arange(300.0)
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipeline = make_pipeline(scaler, algorithm(5, random_state=0).set_fit_request(sample_weight=True))
        pipeline.fit(blobs, sample_weight=weights)
        scaled = StandardScaler().fit_transform(blobs, sample_weight=weights)
        expected = algorithm(5, random_state=0).fit(scaled, sample_weight=weights)
        np.testing.assert_array_equal(pipeline.predict(blobs), expected.labels_)
        np.testing.assert_array_equal(pipeline.fit_predict(blobs, sample_weight=weights), expected.labels_)

    def test_grid_search(self, blobs):
        weights = np.random.RandomState(0).randint(0, 4, 300)
        model = OneBatchPAM(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"n_clusters": [2, 5]}, cv=3).fit(blobs, sample_weight=weights)
        expected = OneBatchPAM(5, random_state=0).fit(blobs, sample_weight=weights)
        assert_same_fit(search.best_estimator_, expected)
        folds = [slice(200, 300), slice(100, 200), slice(0, 100)]
        scores = []
        for fold in folds[::-1]:
            rest = np.delete(np.arange(300), fold)
            fitted = OneBatchPAM(5, random_state=0).fit(blobs[rest], sample_weight=weights[rest])
            scores.append(fitted.score(blobs[fold], sample_weight=weights[fold]))
        assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(scores))


def test_weights_of_kmeans_mean_the_same():
    """The medoid of weighted rows is the row nearest to the mean that scikit-learn computes with these weights."""
    X, weights = rows_with_weights(50)
    ours = OneBatchPAM(1, metric="sqeuclidean").fit(X, sample_weight=weights)
    mean = KMeans(1).fit(X, sample_weight=weights).cluster_centers_[0]
    candidates = np.flatnonzero(weights)
    assert ours.medoid_indices_ == candidates[np.argmin(((X[candidates] - mean) ** 2).sum(axis=1))]


def test_warning_counts_clusters_that_have_rows():
    with pytest.warns(ConvergenceWarning, match="found 1 distinct clusters"):
        OneBatchPAM(2).fit(np.array([[0.0], [0], [5]]), sample_weight=[1, 1, 0])


@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e308])
def test_weights_beyond_the_normal_numbers(weight):
    with pytest.raises(ValueError, match=r"sample_weight sums to .*; rescale them"):
        FasterMSC(3, random_state=0).fit(np.eye(9), sample_weight=np.full(9, weight))
    with pytest.raises(ValueError, match=r"sample_weight sums to .*; rescale them"):
        OneBatchPAM(3).fit(np.eye(9), sample_weight=weight)
