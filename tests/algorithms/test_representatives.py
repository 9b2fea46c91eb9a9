"""Rows that stand for all rows: `select_representatives`, and the same as an estimator."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from onebatchpam import OneBatchPAM, RepresentativeSelector, select_representatives
from onebatchpam.algorithms import representatives

N = 5000


@pytest.fixture(name="X")
def rows(rng):
    """Return 5,000 rows in two groups: so many that a batch of rows is drawn."""
    return (rng.standard_normal((N, 3)) + 8 * rng.randint(0, 2, (N, 1))).astype(np.float32)


def select(X, k=6, **options):
    return select_representatives(X, k, **{"random_state": 0, **options})


def assert_equal(actual, expected):
    """Require the same representatives, to the last bit, and the same numbers about them."""
    for name in ("indices", "losses", "coverage", "counts", "labels"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


class TestTheResult:
    def test_the_representatives_are_the_medoids_of_a_fit(self, X):
        chosen, model = select(X, with_labels=True), OneBatchPAM(6, random_state=0).fit(X)
        assert sorted(chosen.indices) == sorted(model.medoid_indices_)
        np.testing.assert_allclose(chosen.losses[-1], model.inertia_, rtol=1e-6)
        np.testing.assert_array_equal(chosen.indices[chosen.labels], model.medoid_indices_[model.labels_])

    def test_the_order_is_greedy_and_the_numbers_are_exact(self, X):
        chosen = select(X, with_labels=True)
        block = reference.distance_block(X[chosen.indices], X, "euclidean")
        assert reference.greedy_order(block, np.ones(len(X))) == list(range(6))
        losses = reference.prefix_losses(block, range(6), np.ones(len(X)))
        np.testing.assert_allclose(chosen.losses, losses, rtol=1e-5)
        np.testing.assert_allclose(chosen.coverage, 1 - losses / block.sum(axis=1).min(), atol=1e-5)
        np.testing.assert_array_equal(chosen.labels, block.argmin(axis=0))
        np.testing.assert_array_equal(chosen.counts, np.bincount(chosen.labels))
        np.testing.assert_array_equal(chosen.rows, X[chosen.indices])
        assert chosen.coverage[0] == 0
        assert (np.diff(chosen.coverage) > 0).all()
        assert chosen.counts.dtype == np.int64

    def test_every_prefix_is_better_than_random_rows_and_nearly_as_good_as_a_fit(self, X):
        chosen = select(X, 20)
        for j in (1, 2, 5, 10, 20):
            drawn = np.random.RandomState(j).choice(len(X), (20, j))
            losses = [reference.distance_block(X[each], X, "euclidean").min(axis=0).sum() for each in drawn]
            assert chosen.losses[j - 1] < np.mean(losses)
            assert chosen.losses[j - 1] < 1.2 * OneBatchPAM(j, random_state=0).fit(X).inertia_

    def test_labels_only_on_request(self, X):
        chosen, labelled = select(X), select(X, with_labels=True)
        assert chosen.labels is None
        np.testing.assert_array_equal(chosen.counts, labelled.counts)
        np.testing.assert_array_equal(chosen.losses, labelled.losses)

    def test_it_counts_distances_and_seconds(self, X):
        chosen = select(X)
        assert chosen.n_distances == OneBatchPAM(6, random_state=0).fit(X).n_distances_ + 6 * N  # for the order
        assert list(chosen.seconds) == ["distances", "swap search", "order", "coverage"]  # all rows are in the batch

    @pytest.mark.parametrize("k", [1, 2, 30])
    def test_any_number(self, blobs, k):
        chosen = select(blobs[:30], k)
        assert len(chosen) == len(np.unique(chosen.indices)) == k
        assert chosen.counts.sum() == chosen.n_rows == 30
        assert k < 30 or chosen.losses[-1] == 0
        assert k < 30 or chosen.coverage[-1] == 1

    def test_equal_rows_leave_nothing_to_explain(self):
        with pytest.warns(ConvergenceWarning, match=r"^1 of the k=2 representatives stand for no row: X has") as warned:
            chosen = select_representatives(np.ones((10, 2)), 2)
        assert warned[0].filename == __file__
        assert chosen.coverage.tolist() == [1, 1]

    def test_duplicates_move_apart(self, rng):
        """A batch that lacks the only other row leads to representatives that are equal; one of them moves."""
        X = np.zeros((5000, 2))
        X[17] = 1
        chosen = select(X, 2)
        assert chosen.indices[1] == 17
        assert chosen.counts.tolist() == [4999, 1]
        assert chosen.losses[-1] == 0

    def test_a_sample_orders_if_there_are_many_rows(self, X, monkeypatch):
        exact = select(X, 12, fixed=[7])
        monkeypatch.setattr(representatives, "ENTRIES_OF_ORDER", 0)
        monkeypatch.setattr(representatives, "POINTS_PER_REPRESENTATIVE", 5)
        sampled = select(X, 12, fixed=[7])
        assert sampled.n_distances == exact.n_distances - (N - 60) * 12
        assert sorted(sampled.indices) == sorted(exact.indices)
        assert sampled.indices[0] == 7
        block = reference.distance_block(X[sampled.indices], X, "euclidean")
        np.testing.assert_allclose(sampled.losses, reference.prefix_losses(block, range(12), np.ones(N)), rtol=1e-5)
        assert sampled.losses.mean() < 1.05 * exact.losses.mean()

    def test_the_memory_limit_does_not_change_the_order(self, X):
        np.testing.assert_array_equal(select(X, memory_limit=0).indices, select(X).indices)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_threads_and_tiles_change_no_bit(self, X, rng, weighted, request):
        options = {"sample_weight": rng.rand(len(X)) if weighted else None, "with_labels": True}
        expected, threaded = select(X, **options), select(X, n_jobs=3, **options)
        request.getfixturevalue("smallest_tiles")
        assert_equal(threaded, expected)
        assert_equal(select(X, **options), expected)


class TestWhatIsKnownBefore:
    def test_fixed_rows_come_first_in_their_order(self, X):
        chosen = select(X, fixed=[1100, 3])
        assert chosen.indices[:2].tolist() == [1100, 3]
        assert chosen.n_fixed == 2
        block = reference.distance_block(X[chosen.indices], X, "euclidean")
        assert reference.greedy_order(block, np.ones(len(X)), n_fixed=2) == list(range(6))
        np.testing.assert_allclose(chosen.coverage, 1 - chosen.losses / block.sum(axis=1).min(), atol=1e-5)

    def test_only_fixed_rows(self, X):
        assert select(X, 3, fixed=[5, 2, 9]).indices.tolist() == [5, 2, 9]

    def test_a_selection_can_grow(self, X):
        """The representatives so far, passed as fixed rows, stay where they are."""
        first = select(X, 4)
        np.testing.assert_array_equal(select(X, 8, fixed=first.indices).indices[:4], first.indices)

    def test_candidates(self, X):
        chosen = select(X, candidates=np.arange(N) % 3 == 0)
        assert (chosen.indices % 3 == 0).all()
        assert chosen.counts.sum() == N

    def test_a_weight_stands_for_equal_rows(self, X):
        counts = np.random.RandomState(0).randint(1, 4, 60)
        weighted = select(X[:60], sample_weight=counts)
        repeated = select(np.repeat(X[:60], counts, axis=0))
        np.testing.assert_array_equal(weighted.rows, repeated.rows)
        np.testing.assert_allclose(weighted.counts, repeated.counts)
        np.testing.assert_allclose(weighted.losses, repeated.losses, rtol=1e-6)

    def test_weights_count_in_the_order(self, X):
        weights = np.random.RandomState(0).pareto(0.7, N)
        chosen = select(X, 12, sample_weight=weights)
        block = reference.distance_block(X[chosen.indices], X, "euclidean")
        assert reference.greedy_order(block, weights) == list(range(12))
        np.testing.assert_allclose(chosen.losses, reference.prefix_losses(block, range(12), weights), rtol=1e-5)
        np.testing.assert_allclose(chosen.counts, np.bincount(block.argmin(axis=0), weights), rtol=1e-9)

    def test_rows_of_weight_zero_only_get_labels(self, X):
        weights = np.r_[np.zeros(600), np.full(N - 600, 0.5)]
        chosen = select(X, sample_weight=weights, with_labels=True)
        assert (chosen.indices >= 600).all()
        assert chosen.counts.sum() == (N - 600) / 2
        assert chosen.n_rows == N - 600
        block = reference.distance_block(X[chosen.indices], X, "euclidean")
        np.testing.assert_array_equal(chosen.labels, block.argmin(axis=0))
        np.testing.assert_array_equal(chosen.rows, select(X[600:]).rows)


class TestKindsOfData:
    @pytest.mark.parametrize("kind", ["npy", "memmap", "parquet", "list", "float64"])
    def test_the_same_rows_in_other_forms(self, X, kind, tmp_path, small_windows):
        expected = select(X, with_labels=True)
        path = tmp_path / f"rows.{kind}"
        if kind in ("npy", "memmap"):
            path = tmp_path / "rows.npy"
            np.save(path, X)
        elif kind == "parquet":
            pd.DataFrame(X, columns=list("abc")).to_parquet(path)
        forms = {
            "npy": lambda: path,
            "memmap": lambda: np.load(path, mmap_mode="r"),
            "parquet": lambda: path,
            "list": X.tolist,
            "float64": lambda: X.astype(np.float64),
        }
        chosen = select(forms[kind](), with_labels=True)
        np.testing.assert_array_equal(chosen.indices, expected.indices)
        np.testing.assert_array_equal(chosen.labels, expected.labels)
        np.testing.assert_allclose(chosen.losses, expected.losses, rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(chosen.rows), expected.rows)

    def test_frames_return_frames(self, X):
        index = [f"customer {i}" for i in range(len(X))]
        frame = pd.DataFrame(X, columns=list("abc"), index=index)
        chosen = select(frame)
        pd.testing.assert_frame_equal(chosen.rows, frame.iloc[chosen.indices])
        assert isinstance(select(pl.from_pandas(frame)).rows, pl.DataFrame)

    def test_a_mixed_table_with_missing_values(self, rng):
        frame = pd.DataFrame({"age": rng.randint(18, 80, 200) * 1.0, "town": rng.choice(["A", "B", "C"], 200)})
        frame.loc[::5, "age"] = np.nan
        chosen = select(frame, metric="gower")
        assert chosen.rows["age"].notna().all()
        assert chosen.counts.sum() == 200

    def test_sparse_rows(self, X):
        chosen = select(scipy.sparse.csr_matrix(X), with_labels=True)
        assert scipy.sparse.issparse(chosen.rows)
        np.testing.assert_array_equal(chosen.indices, select(X.astype(np.float64)).indices)

    def test_a_matrix_of_dissimilarities_has_no_rows(self, X):
        matrix = reference.distance_block(X[:300], X[:300], "manhattan")
        chosen = select(matrix, metric="precomputed")
        assert chosen.rows is None
        np.testing.assert_array_equal(chosen.indices, select(X[:300], metric="manhattan").indices)

    def test_strings(self):
        pytest.importorskip("rapidfuzz")
        words = ["tree", "trees", "three", "house", "houses", "mouse"]
        assert set(select(words, 2, metric="levenshtein").rows) <= set(words)

    def test_objects_with_a_function(self):
        sets = [{1, 2}, {1, 2, 3}, {8, 9}, {7, 8, 9}, {8}]
        chosen = select(sets, 2, metric=lambda a, b: 1 - len(a & b) / len(a | b), with_labels=True)
        assert chosen.labels[0] == chosen.labels[1] != chosen.labels[2]


class TestErrors:
    """They speak of `k` and `fixed`, by which users know these parameters."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"k": 31}, r"^k=31 is larger than n_samples=30: expected"),
            ({"k": 3, "sample_weight": [1.0] * 2 + [0] * 28}, r"^k=3 is larger than n_samples=30, of which 2 have"),
            ({"k": 2, "fixed": [0, 1, 2]}, r"^fixed has shape \(3,\): expected at most k=2 row indices"),
            ({"k": 2, "fixed": [30]}, r"^fixed holds 30: expected row indices from 0 to 29"),
            ({"k": 2, "fixed": [29], "sample_weight": [1.0] * 29 + [0]}, r"^fixed holds row 29, whose weight is zero"),
            ({"k": 3, "candidates": [1, 2]}, r"^k=3 is larger than the number of candidates of positive weight, 2"),
            ({"k": 3, "candidates": [1], "fixed": [0]}, r"^k=3 is larger than the number of candidates and fixed of"),
        ],
    )
    def test_messages(self, blobs, options, message):
        with pytest.raises(ValueError, match=message):
            select_representatives(blobs[:30], **options)


class TestPrinting:
    def test_few(self):
        chosen = select([[0.0], [1.0], [2.0], [9.0]], 2)
        assert repr(chosen).splitlines() == [
            "rank   row  stands for  coverage",
            "   1  X[1]           3      0.0%",
            "   2  X[3]           1     80.0%",
            "2 representatives of 4 rows: all 2 explain 80.0% of the loss.",
        ]
        assert str(chosen) == repr(chosen)

    def test_large_counts(self):
        chosen = select([[0.0], [1.0]], 1, sample_weight=[2_000_000.5, 1])
        assert "2e+06" in repr(chosen)
        counts = np.array([1_234_567])
        assert " 1,234,567 " in repr(dataclasses.replace(chosen, counts=counts))

    def test_many_are_cut_short(self, X):
        text = repr(select(X, 100, fixed=[3, 4]))
        assert len(text.splitlines()) == 14
        assert text.splitlines()[-2].split()[0] == "100"
        assert "\n100 representatives of 5,000 rows, 2 of them fixed: the first 50 explain " in text

    def test_html(self, X):
        html = select(X, 20)._repr_html_()
        assert html.count("<tr>") == 13
        assert "20 representatives of 5,000 rows" in html

    def test_frame(self, X):
        chosen = select(X)
        frame = chosen.to_frame()
        assert frame.index.tolist() == [1, 2, 3, 4, 5, 6]
        np.testing.assert_array_equal(frame["row"], chosen.indices)
        np.testing.assert_array_equal(frame["coverage"], chosen.coverage)


class TestSelector:
    @pytest.mark.filterwarnings("ignore:.*representatives stand for no row")
    @parametrize_with_checks([RepresentativeSelector()])
    def test_estimator_checks(self, estimator, check):
        check(estimator)

    def test_it_selects_the_same_rows(self, X):
        options = {"sample_weight": np.arange(N) % 3, "fixed": [1], "candidates": np.arange(1000)}
        expected = select(X, **options)
        model = RepresentativeSelector(6, random_state=0).fit(X, **options)
        for name in ("indices", "rows", "losses", "coverage", "counts"):
            np.testing.assert_array_equal(getattr(model, f"{name}_"), getattr(expected, name))
        assert (model.n_rows_, model.n_fixed_, model.n_distances_) == (N * 2 // 3, 1, expected.n_distances)

    def test_rows_with_their_labels(self, X):
        frame, labels = pd.DataFrame(X, columns=list("abc")), pd.Series(np.arange(N) % 7)
        model = RepresentativeSelector(6, random_state=0)
        rows, chosen = model.fit_resample(frame, labels)
        pd.testing.assert_frame_equal(rows, frame.iloc[model.indices_])
        pd.testing.assert_series_equal(chosen, labels.iloc[model.indices_])
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        rows, nothing = model.fit_resample(X)
        assert nothing is None
        assert not hasattr(model, "feature_names_in_")

    def test_labels_of_another_length(self, X):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            RepresentativeSelector(2).fit_resample(X, np.ones(3))

    def test_a_matrix_has_no_rows_to_return(self):
        with pytest.raises(ValueError, match="metric='precomputed': X has no rows to return"):
            RepresentativeSelector(2, metric="precomputed").fit_resample(np.zeros((3, 3)))
        assert RepresentativeSelector(1, metric="precomputed").fit(1 - np.eye(3)).indices_.tolist() == [0]

    def test_a_pipeline_of_imbalanced_learn_trains_on_the_chosen_rows(self, X):
        imblearn = pytest.importorskip("imblearn.pipeline")
        y = (X[:, 0] > 4).astype(int)
        pipeline = imblearn.make_pipeline(
            StandardScaler(), RepresentativeSelector(6, random_state=0), DecisionTreeClassifier(random_state=0)
        ).fit(X, y)
        scaled = StandardScaler().fit_transform(X)
        expected = select(scaled).indices
        np.testing.assert_array_equal(pipeline[1].indices_, expected)
        tree = DecisionTreeClassifier(random_state=0).fit(scaled[expected], y[expected])
        np.testing.assert_array_equal(pipeline.predict(X), tree.predict(scaled))

    def test_a_pipeline_of_scikit_learn_takes_it_as_the_last_step_only(self, X):
        pipeline = make_pipeline(StandardScaler(), RepresentativeSelector(6, random_state=0)).fit(X)
        np.testing.assert_array_equal(pipeline[-1].indices_, select(StandardScaler().fit_transform(X)).indices)
        with pytest.raises(TypeError, match="intermediate steps should be transformers"):
            make_pipeline(RepresentativeSelector(6), DecisionTreeClassifier()).fit(X, X[:, 0] > 4)

    def test_copies(self, X):
        model = RepresentativeSelector(6, random_state=0).fit(X)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).indices_, model.indices_)
        np.testing.assert_array_equal(clone(model).fit(X).indices_, model.indices_)

    def test_a_fit_that_fails_changes_nothing(self, X):
        model = RepresentativeSelector(6, random_state=0).fit(X)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=r"^n_representatives=6 is larger than n_samples=3"):
            model.fit(X[:3])
        assert vars(model) == before
