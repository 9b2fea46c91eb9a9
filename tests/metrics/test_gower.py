"""metric="gower": tables with columns of several kinds and missing values."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import reference
from contract import every_check
from onebatchpam import OneBatchPAM, _core, distance_block
from onebatchpam.batch.rounds import VARIANTS
from spaces import make_space

SIZES = ["S", "M", "L", "XL"]


def make_frame(n=300, seed=0):
    """Draw four groups of rows with a column of each kind; a tenth of the values are missing."""
    rng = np.random.RandomState(seed)
    group = rng.randint(0, 4, n)
    frame = pd.DataFrame(
        {
            "age": 20.0 * group + rng.randint(0, 15, n),
            "colour": np.array(["red", "green", "blue", "grey"], dtype=object)[(group + (rng.rand(n) < 0.1)) % 4],
            "size": pd.Categorical.from_codes(group, SIZES, ordered=True),
            "member": group % 2 == 0,
            "visits": rng.poisson(3, n),
            "town": pd.Categorical(rng.choice(["Paris", "Lyon"], n)),
        },
        index=np.arange(n) + 1000,
    )
    return frame.mask(rng.rand(*frame.shape) < 0.1)


def plain_rows(frame):
    """Return the rows as lists, with ranks for ordered categories and None for missing values."""
    frame = frame.assign(size=frame["size"].cat.codes.where(frame["size"].notna()))
    return [[None if pd.isna(value) else value for value in row] for row in frame.itertuples(index=False)]


NUMERIC = [True, False, True, False, True, False]


def expected_block(frame, new=None, weights=(1,) * 6):
    rows = plain_rows(frame)
    ranges = reference.gower_ranges(rows, NUMERIC)
    columns = rows if new is None else plain_rows(new)
    return np.array([[reference.gower(a, b, ranges, weights) for b in columns] for a in rows])


@pytest.fixture(scope="module", name="frame")
def frame_of_groups():
    return make_frame()


def test_worked_example():
    """The values are computed by hand, as daisy(metric = "gower") of R defines them.

    Ages are divided by their range of 40. The sizes have the ranks 1, 3, 3 and 2, with a range of 2.
    """
    frame = pd.DataFrame(
        {
            "age": [20, 30, 60, None],
            "colour": ["red", "red", "blue", "blue"],
            "size": pd.Categorical(["S", "L", "L", "M"], SIZES, ordered=True),
            "member": [True, False, True, None],
            "constant": [7, 7, 7, 7],
        }
    )
    expected = np.zeros((4, 4))
    expected[0, 1] = (10 / 40 + 0 + 2 / 2 + 1 + 0) / 5
    expected[0, 2] = (40 / 40 + 1 + 2 / 2 + 0 + 0) / 5
    expected[0, 3] = (1 + 1 / 2 + 0) / 3
    expected[1, 2] = (30 / 40 + 1 + 0 + 1 + 0) / 5
    expected[1, 3] = (1 + 1 / 2 + 0) / 3
    expected[2, 3] = (0 + 1 / 2 + 0) / 3
    np.testing.assert_allclose(distance_block(frame, frame, "gower"), expected + expected.T, rtol=1e-6)

    weights = {"age": 3, "size": 0}
    expected[0, 1] = (3 * 10 / 40 + 0 + 1 + 0) / 6
    expected[0, 3] = (1 + 0) / 2
    block = distance_block(frame, frame, "gower", metric_params={"weights": weights})
    np.testing.assert_allclose(block[0, [1, 3]], expected[0, [1, 3]], rtol=1e-6)


def test_equals_the_reference(frame, simd_level):
    np.testing.assert_allclose(distance_block(frame, frame, "gower"), expected_block(frame), atol=1e-6)


def test_weights(frame):
    weights = [2.0, 1.0, 0.0, 5.0, 0.5, 1.0]
    expected = expected_block(frame, weights=weights)
    for given_as in (weights, np.array(weights), dict(zip(frame.columns, weights, strict=True))):
        block = distance_block(frame, frame, "gower", metric_params={"weights": given_as})
        np.testing.assert_allclose(block, expected, atol=1e-6)


values = st.one_of(st.none(), st.integers(-5, 5), st.floats(-1e6, 1e6))
mixed_rows = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(values, min_size=n, max_size=n),
        st.lists(st.sampled_from(["a", "b", "", None]), min_size=n, max_size=n),
        st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n),
        st.lists(st.sampled_from([*range(4), None]), min_size=n, max_size=n),
    )
)


@settings(deadline=None, max_examples=100)
@given(mixed_rows, st.lists(st.floats(0.01, 100), min_size=4, max_size=4))
def test_any_table(columns, weights):
    rows = list(zip(*columns, strict=True))
    ranges = reference.gower_ranges(rows, [True, False, False, True])
    expected = np.array([[reference.gower(a, b, ranges, weights) for b in rows] for a in rows])
    numbers, letters, flags, ranks = columns
    sizes = pd.Categorical.from_codes([-1 if rank is None else rank for rank in ranks], SIZES, ordered=True)
    frame = pd.DataFrame(
        {
            "number": pd.Series(numbers, dtype="float64"),
            "letter": pd.Series(letters, dtype="string"),
            "flag": pd.Series(flags, dtype="boolean"),
            "size": sizes,
        }
    )
    objects = np.array([[row[0], row[1], row[2], None if row[3] is None else SIZES[row[3]]] for row in rows], object)
    for X, size in ((frame, "size"), (objects, 3)):
        params = {"weights": weights, "kinds": {size: SIZES}}
        if X is objects:
            params["kinds"][0] = "numeric"  # a column without any value does not show its kind
        block = distance_block(X, X, "gower", metric_params=params)
        np.testing.assert_allclose(block, expected, atol=2e-6)
        np.testing.assert_array_equal(block, block.T)


def test_rows_without_a_common_column_are_as_far_apart_as_can_be():
    X = pd.DataFrame({"a": [1, 2, None], "b": [None, None, 3.0]})
    np.testing.assert_array_equal(distance_block(X, X, "gower"), [[0, 1, 1], [1, 0, 1], [1, 1, 0]])


# The first example of the tests of daisy in R's package cluster; rows 0 to 10, columns a to e.
DAISY = {
    "a": [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, None],
    "b": [None, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0],
    "c": [0, 1, 1, 0, 1, None, 1, 0, 1, 0, None],
    "d": [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0],
    "e": [1, None, 0, 1, 0, 0, 0, 0, None, 1, 1],
}


@pytest.mark.parametrize("kind", ["categorical", "ordinal", [1, 2, 3]])
def test_numbers_of_another_kind_may_be_missing(kind):
    X = np.array([[1.0], [np.nan], [3.0], [np.nan]])
    block = distance_block(X, X, "gower", metric_params={"kinds": {0: kind}})
    np.testing.assert_array_equal(block, [[0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]])


class TestAsymmetricColumns:
    def block(self, X, columns, Y=None):
        kinds = {"kinds": dict.fromkeys(columns, "asymmetric")}
        return distance_block(X, X if Y is None else Y, "gower", metric_params=kinds)

    @pytest.mark.parametrize("values", [float, bool, "boolean", object])
    def test_values_that_r_publishes(self, values):
        """daisy(type = list(asymm = 1:5)), and with asymm = 3:5; it has no value for rows 8 and 10 of the first."""
        frame = pd.DataFrame(DAISY, dtype=None if values is bool else values)
        if values is bool:
            frame = frame.astype("float").map(lambda value: None if pd.isna(value) else bool(value))
        block = self.block(frame, "abcde")
        third, two, half = 1 / 3, 2 / 3, 1 / 2
        np.testing.assert_allclose(block[1:, 0], [half, 1, third, 1, 1, 1, 1, 1, 0, half], rtol=1e-6)
        np.testing.assert_allclose(block[3:, 2], [0.8, half, 0, half, half, two, 0.75, 1], rtol=1e-6)
        np.testing.assert_allclose(block[9:, 8], [1, 0], rtol=1e-6)
        if values is float:  # the others would make categories of columns a and b, which is the same for 0 and 1
            block = self.block(frame, "cde")
            np.testing.assert_allclose(block[1:, 0], [third, 0.75, third, 0.75, two, 0.75, two, 1, 0, half], rtol=1e-6)
            np.testing.assert_allclose(block[10, :10], [half, half, 1, two, half, 1, half, 1, 0, two], rtol=1e-6)

    def test_any_table(self, simd_level):
        rng = np.random.RandomState(0)
        for p, asymmetric in ((1, [0]), (3, [0, 1, 2]), (40, list(range(0, 40, 2)))):
            values = rng.choice([0.0, 0.0, 0.0, 1.0, np.nan], (70, p))
            rows = [[None if np.isnan(value) else value for value in row] for row in values]
            weights = [float(weight) for weight in rng.randint(0, 3, p - 1)] + [1.0]
            ranges = reference.gower_ranges(rows, [True] * p)
            expected = [[reference.gower(a, b, ranges, weights, asymmetric) for b in rows] for a in rows]
            params = {"kinds": dict.fromkeys(asymmetric, "asymmetric"), "weights": weights}
            block = distance_block(values, values, "gower", metric_params=params)
            np.testing.assert_allclose(block, expected, atol=1e-6)

    def test_rows_that_have_nothing_are_alike(self):
        frame = pd.DataFrame({"tea": [0, 0, 1], "milk": [0, 0, 0]})
        np.testing.assert_array_equal(self.block(frame, frame), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])

    def test_alone_they_are_jaccard(self, rng):
        values = rng.rand(60, 20) < 0.2
        expected = reference.distance_block(values, values, "jaccard")
        np.testing.assert_allclose(self.block(values, range(20)), expected, atol=1e-6)

    def test_storage_and_saved_models(self, tmp_path):
        rng = np.random.RandomState(1)
        frame = pd.DataFrame(rng.choice([0.0, 1.0, np.nan], (400, 6), p=[0.6, 0.3, 0.1]), columns=list("abcdef"))
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
        params = {"kinds": dict.fromkeys("abcd", "asymmetric")}
        model = OneBatchPAM(4, metric="gower", metric_params=params, random_state=0)
        expected = clone(model).fit(frame)
        for X in (tmp_path / "rows.parquet", frame.to_dict("list")):
            X = pd.DataFrame(X).convert_dtypes() if isinstance(X, dict) else X
            fitted = clone(model).fit(X)
            np.testing.assert_array_equal(fitted.labels_, expected.labels_)
            assert fitted.inertia_ == expected.inertia_
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(frame), expected.labels_)

    def test_other_values(self):
        frame = pd.DataFrame({"tea": ["yes", "no"]})
        with pytest.raises(ValueError, match=r"'tea' is asymmetric and holds 'yes': expected 0 and 1, .*X\['tea'\] =="):
            self.block(frame, ["tea"])
        fitted = pd.DataFrame({"tea": [0, 1]})
        with pytest.raises(ValueError, match=r"'tea' is asymmetric and holds 2\.0: expected 0 and 1"):
            self.block(fitted, ["tea"], pd.DataFrame({"tea": [2, 1]}))


class TestNewRows:
    def test_ranges_and_categories_are_those_of_the_fit(self, frame):
        model = OneBatchPAM(4, metric="gower", random_state=0).fit(frame)
        new = make_frame(50, seed=1)
        new.loc[1000, "age"] = 500.0
        new.loc[1001, "colour"] = "violet"
        expected = expected_block(frame, new)[model.medoid_indices_].T
        np.testing.assert_allclose(model.transform(new), expected, atol=1e-6)
        np.testing.assert_array_equal(model.predict(new[:3]), model.predict(new)[:3])

    def test_unseen_categories_are_a_mismatch(self):
        X = pd.DataFrame({"letter": list("ab"), "size": pd.Categorical(["S", "M"], ["S", "M"], ordered=True)})
        new = pd.DataFrame({"letter": ["z", None], "size": ["XXL", "S"]})
        np.testing.assert_array_equal(distance_block(X, new, "gower"), [[1, 0], [1, 1]])

    def test_levels_that_the_fit_did_not_see(self):
        X = pd.DataFrame({"size": pd.Categorical(["M", "L"], SIZES, ordered=True)})
        new = pd.DataFrame({"size": pd.Categorical(["S", "XL"], SIZES, ordered=True)})
        np.testing.assert_array_equal(distance_block(X, new, "gower"), np.ones((2, 2)))

    def test_a_constant_column_has_no_scale(self):
        X = pd.DataFrame({"constant": [3, 3], "other": [0, 1]})
        np.testing.assert_array_equal(distance_block(X, X.assign(constant=8), "gower"), [[0, 0.5], [0.5, 0]])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda frame: frame.drop(columns="age"), "now missing:\n- age"),
            (lambda frame: frame.rename(columns={"age": "years"}), "unseen at fit time:\n- years"),
            (lambda frame: frame[frame.columns[::-1]], "in the same order"),
            (lambda frame: frame.assign(age="old"), "column 'age' is numeric: .*'old'"),
            (lambda frame: frame.assign(age=np.inf), "column 'age' contains infinity"),
            (lambda frame: frame[:0], r"X has shape \(0, 6\)"),
        ],
        ids=["missing", "renamed", "reordered", "not numeric", "infinity", "no rows"],
    )
    def test_errors(self, frame, change, message):
        model = OneBatchPAM(4, metric="gower", random_state=0).fit(frame)
        with pytest.raises(ValueError, match=message):
            model.predict(change(frame))

    def test_a_path(self):
        with pytest.raises(ValueError, match=r"X is the path 'rows\.npy': metric='gower' reads Parquet files"):
            OneBatchPAM(4, metric="gower").fit("rows.npy")
        with pytest.raises(ValueError, match=r"reads Parquet files; load it with pandas\.read_csv\('rows\.csv'\)"):
            OneBatchPAM(4, metric="gower").fit("rows.csv")

    def test_distance_block_compares_names(self, frame):
        with pytest.raises(ValueError, match=r"Y has the columns .*'town'.*expected those of X"):
            distance_block(frame, frame[frame.columns[::-1]], "gower")


@pytest.mark.filterwarnings("ignore:found . distinct clusters")  # the checks draw few categories
@every_check([OneBatchPAM(metric="gower")])
def test_estimator_checks(estimator, check):
    check(estimator)


class TestEstimator:
    def fit(self, X, **parameters):
        return OneBatchPAM(**{"n_clusters": 4, "metric": "gower", "random_state": 0, **parameters}).fit(X)

    @pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "lwcs"])
    @pytest.mark.parametrize("init", ["random", "k-means++"])
    @pytest.mark.parametrize("batch_size", [60, 300])
    def test_fit(self, frame, variant, init, batch_size):
        model = self.fit(frame, variant=variant, init=init, batch_size=batch_size)
        block = expected_block(frame)[:, model.medoid_indices_]
        assert model.inertia_ == pytest.approx(block.min(axis=1).sum(), rel=1e-5)
        np.testing.assert_allclose(block[np.arange(300), model.labels_], block.min(axis=1), atol=1e-6)
        np.testing.assert_array_equal(model.predict(frame), model.labels_)
        np.testing.assert_allclose(model.transform(frame), block, atol=1e-6)
        assert model.score(frame) == -model.inertia_
        pd.testing.assert_frame_equal(model.cluster_centers_, frame.iloc[model.medoid_indices_])

    def test_swaps_end_in_an_optimum(self, frame):
        model = OneBatchPAM(4, metric="gower", tol=0, random_state=0).fit(frame[:60], candidates="all")
        gains = reference.swap_gains(expected_block(frame[:60]), model.medoid_indices_, np.ones(60))
        assert gains.max() <= 1e-5

    def test_no_mean(self, frame):
        with pytest.raises(ValueError, match=r"'lwcs' needs the mean.*'gower'"):
            self.fit(frame, variant="lwcs", batch_size=50)

    def test_arrays_and_lists(self, frame):
        objects = np.array(frame.assign(size=frame["size"].astype(object)), dtype=object)
        params = {"kinds": {2: SIZES}}
        expected = self.fit(frame)
        for X in (objects, objects.tolist()):
            model = self.fit(X, metric_params=params)
            np.testing.assert_array_equal(model.labels_, expected.labels_)
            assert model.inertia_ == expected.inertia_
            assert model.cluster_centers_.dtype == object
            assert model.cluster_centers_.shape == (4, 6)
            np.testing.assert_array_equal(model.predict(X), model.labels_)

    def test_numeric_arrays_are_manhattan_by_range(self, blobs):
        scaled = (blobs - blobs.min(axis=0)) / np.ptp(blobs, axis=0) / 4
        model, expected = self.fit(blobs), self.fit(scaled, metric="manhattan")
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert model.inertia_ == pytest.approx(expected.inertia_, rel=1e-6)
        np.testing.assert_array_equal(model.cluster_centers_, blobs[model.medoid_indices_])

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_threads_and_tiles(self, frame, n_jobs, request):
        big = pd.concat([frame, make_frame(900, seed=1)])
        expected = self.fit(big, batch_size=100)
        request.getfixturevalue("smallest_tiles")
        model = self.fit(big, batch_size=100, n_jobs=n_jobs)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert (model.inertia_, model.batch_inertia_) == (expected.inertia_, expected.batch_inertia_)

    def test_simd_levels(self, frame, restored_simd_level):
        wide = pd.concat([frame.add_suffix(str(copy)) for copy in range(30)], axis=1)
        blocks = []
        for level in _core.simd_levels():
            _core.force_simd_level(level)
            blocks.append(distance_block(wide, wide[:40], "gower", n_jobs=2))
        for block in blocks[1:]:
            np.testing.assert_array_equal(block, blocks[0])

    def test_a_range_of_columns_can_be_filled(self, frame):
        wide = np.full((300, 50), -1, dtype=np.float32)
        make_space(frame, "gower").distances_to(np.arange(30)).fill(slice(0, 300), wide[:, 10:40])
        np.testing.assert_array_equal(wide[:, 10:40], distance_block(frame, frame[:30], "gower"))
        np.testing.assert_array_equal(np.delete(wide, np.s_[10:40], axis=1), -1)

    def test_data_are_left_alone(self, frame):
        before = frame.copy()
        self.fit(frame).predict(frame)
        pd.testing.assert_frame_equal(frame, before)

    def test_duplicates(self, frame):
        complete = frame.dropna().drop_duplicates()[:5]
        model = self.fit(pd.concat([complete] * 20, ignore_index=True), n_clusters=5, batch_size=20)
        assert model.inertia_ == 0
        assert len(model.cluster_centers_.drop_duplicates()) == 5

    def test_set_output(self, frame):
        model = OneBatchPAM(4, metric="gower", random_state=0).set_output(transform="pandas").fit(frame)
        np.testing.assert_array_equal(model.transform(frame).index, frame.index)

    def test_copies(self, frame):
        model = self.fit(frame)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.labels_)
        np.testing.assert_array_equal(clone(model).fit(frame).labels_, model.labels_)

    def test_grid_search(self, frame):
        weights = [{"weights": {"town": 0}}, {"weights": {"town": 2}}]
        search = GridSearchCV(OneBatchPAM(metric="gower", random_state=0), {"metric_params": weights}, cv=3)
        assert np.isfinite(search.fit(frame).cv_results_["mean_test_score"]).all()


class TestErrors:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"kinds": {"years": "numeric"}}, "kinds names the column 'years', which X does not have"),
            ({"kinds": {"age": "number"}}, r"kinds\['age'\]='number': expected one of 'numeric'"),
            ({"kinds": ["numeric"] * 6}, "expected a dictionary as {column name: kind}"),
            ({"kinds": {"colour": "numeric"}}, "column 'colour' is numeric"),
            ({"weights": [1, 2]}, "expected 6 finite weights"),
            ({"weights": [1, 2, 3, 4, 5, -6]}, "expected 6 finite weights"),
            ({"weights": {"years": 2}}, "weights names the column 'years'"),
            ({"weights": dict.fromkeys(["age", "colour", "size", "member", "visits", "town"], 0)}, "not all zero"),
            ({"ranges": 2}, "metric='gower' has no parameter 'ranges': expected metric_params among"),
        ],
        ids=str,
    )
    def test_parameters(self, frame, params, message):
        with pytest.raises(ValueError, match=message):
            OneBatchPAM(3, metric="gower", metric_params=params).fit(frame)

    def test_a_range_that_is_no_number(self):
        with pytest.raises(ValueError, match="column 0 ranges from"):
            OneBatchPAM(2, metric="gower").fit([[1e308], [-1e308]])

    def test_values_that_cannot_be_compared(self):
        with pytest.raises(TypeError, match="column 0 has an unhashable type"):
            OneBatchPAM(1, metric="gower").fit(np.array([[{}], [{}]], dtype=object))

    def test_other_metrics_refuse_missing_values(self):
        with pytest.raises(ValueError, match="NaN"):
            OneBatchPAM(2).fit(pd.DataFrame({"a": [1, 2, None]}))


class TestPolars:
    def test_same_as_pandas(self, frame):
        polars = pytest.importorskip("polars")
        table = polars.DataFrame(
            {
                "age": polars.Series(frame["age"].to_list(), nan_to_null=True),
                "colour": plain(frame["colour"]),
                "size": polars.Series(plain(frame["size"]), dtype=polars.Enum(SIZES)),
                "member": polars.Series(plain(frame["member"]), dtype=polars.Boolean),
                "visits": polars.Series(plain(frame["visits"])),
                "town": polars.Series(plain(frame["town"]), dtype=polars.Categorical),
            },
            strict=False,
        )
        model = OneBatchPAM(4, metric="gower", metric_params={"kinds": {"size": "ordinal"}}, random_state=0).fit(table)
        expected = OneBatchPAM(4, metric="gower", random_state=0).fit(frame)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        assert model.inertia_ == expected.inertia_
        assert model.cluster_centers_.equals(table[model.medoid_indices_])
        np.testing.assert_array_equal(model.predict(table), model.labels_)
        assert model.n_features_in_ == 6


def plain(series):
    return [None if pd.isna(value) else value for value in series]


def test_strings_are_not_a_table():
    with pytest.raises(ValueError, match="X holds strings: expected a table, or a metric of text like 'levenshtein'"):
        OneBatchPAM(2, metric="gower").fit(["a", "b", "c"])
