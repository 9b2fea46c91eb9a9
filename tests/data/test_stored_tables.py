"""Mixed tables, strings and sparse rows in files give the same clusters as in memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from onebatchpam import FasterPAM, OneBatchPAM, distance_block, medoids_of, select_k

pyarrow = pytest.importorskip("pyarrow")


def make_frame(n=600, seed=0):
    """Return a table with a column of every kind, three of them with missing values."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "age": rng.randint(18, 90, n),
            "income": rng.lognormal(10, 1, n),
            "town": rng.choice(["Lyon", "Oslo", "Bari", "Graz"], n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "middle", "high"], ordered=True),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 2000, n), "D"),
            "member": rng.rand(n) < 0.3,
        }
    )
    for column in ("income", "town", "since"):
        frame.loc[rng.rand(n) < 0.1, column] = None
    return frame


@pytest.fixture(name="frame")
def frame_fixture():
    return make_frame()


def store(frame, folder, parts=1, **options):
    """Write the frame to this many Parquet files of several row groups; return the path of the file or the folder."""
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"part{number}.parquet", row_group_size=97, index=False, **options)
    return folder / "part0.parquet" if parts == 1 else folder


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("parameters", [{}, {"batch_size": 60}, {"batch_size": 60, "memory_limit": 0}], ids=str)
def test_a_mixed_table(frame, tmp_path, small_windows, parts, parameters):
    path = store(frame, tmp_path, parts)
    model, stored = (OneBatchPAM(5, metric="gower", random_state=0, **parameters).fit(data) for data in (frame, path))
    np.testing.assert_array_equal(stored.medoid_indices_, model.medoid_indices_)
    np.testing.assert_array_equal(stored.labels_, model.labels_)
    assert stored.inertia_ == model.inertia_
    assert stored.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(stored.predict(path), model.labels_)
    np.testing.assert_array_equal(stored.predict(frame), model.labels_)
    np.testing.assert_array_equal(model.predict(path), model.labels_)
    for column in frame:
        given, expected = stored.cluster_centers_[column], frame[column].iloc[model.medoid_indices_]
        assert given.astype(object).where(given.notna(), None).tolist() == (
            expected.astype(object).where(expected.notna(), None).tolist()
        )


def test_weights_kinds_and_other_functions(frame, tmp_path, small_windows):
    path, weights = store(frame, tmp_path), np.random.RandomState(0).randint(0, 3, len(frame))
    parameters = {"metric": "gower", "metric_params": {"kinds": {"age": "ordinal"}, "weights": {"town": 3}}}
    model, stored = (
        FasterPAM(4, random_state=0, **parameters).fit(data, sample_weight=weights) for data in (frame, path)
    )
    np.testing.assert_array_equal(stored.labels_, model.labels_)
    block = distance_block(path, frame[:20], **parameters)
    np.testing.assert_array_equal(block, distance_block(frame, frame[:20], **parameters))
    labels = np.arange(len(frame)) % 3
    found = medoids_of(path, labels, "gower", random_state=0)
    np.testing.assert_array_equal(found.indices, medoids_of(frame, labels, "gower", random_state=0).indices)
    estimator = OneBatchPAM(metric="gower", random_state=0)
    np.testing.assert_array_equal(select_k(path, [2, 4], estimator).inertia, select_k(frame, [2, 4], estimator).inertia)


def test_a_table_larger_than_memory(tmp_path, small_windows, smallest_tiles):
    frame = pd.concat([make_frame(6_000).add_suffix(str(copy)) for copy in range(10)], axis=1)
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=300, index=False)
    size = frame.memory_usage(deep=True).sum()
    del frame
    tracemalloc.start()
    try:
        OneBatchPAM(3, metric="gower", batch_size=6, refine=0, random_state=0).fit(tmp_path / "large.parquet")
        assert tracemalloc.get_traced_memory()[1] < size / 3
    finally:
        tracemalloc.stop()


def test_an_arrow_table(frame):
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    model, other = (OneBatchPAM(4, metric="gower", random_state=0).fit(data) for data in (frame, table))
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert isinstance(other.cluster_centers_, pyarrow.Table)
    np.testing.assert_array_equal(other.predict(table), model.labels_)


def test_files_with_other_columns(frame, tmp_path):
    store(frame, tmp_path, 2)
    frame.rename(columns={"age": "years"}).to_parquet(tmp_path / "z.parquet", index=False)
    with pytest.raises(ValueError, match=r"X has the columns years \(int64\).*z\.parquet: expected those of"):
        OneBatchPAM(4, metric="gower").fit(tmp_path)


class TestStrings:
    WORDS = ("tea", "tee", "sea", "coffee", "coffees", "toffee", "cocoa")

    def test_parquet(self, tmp_path):
        pd.DataFrame({"word": self.WORDS}).to_parquet(tmp_path / "words.parquet", index=False)
        self.check(tmp_path / "words.parquet")

    def test_npy(self, tmp_path):
        np.save(tmp_path / "words.npy", np.array(self.WORDS))
        self.check(tmp_path / "words.npy")

    def check(self, path):
        pytest.importorskip("rapidfuzz")
        for metric in ("levenshtein", "hamming"):
            model = OneBatchPAM(3, metric=metric, random_state=0).fit(list(self.WORDS))
            stored = OneBatchPAM(3, metric=metric, random_state=0).fit(path)
            np.testing.assert_array_equal(stored.labels_, model.labels_)
            np.testing.assert_array_equal(model.predict(path), model.labels_)
            assert stored.cluster_centers_.tolist() == model.cluster_centers_.tolist()

    def test_several_columns(self, tmp_path):
        pytest.importorskip("rapidfuzz")
        pd.DataFrame({"word": self.WORDS, "n": range(7)}).to_parquet(tmp_path / "words.parquet", index=False)
        with pytest.raises(ValueError, match=r"columns word .*, n \(int64\): expected one column of strings"):
            OneBatchPAM(3, metric="levenshtein").fit(tmp_path / "words.parquet")


def test_sparse_rows(tmp_path):
    values, present = np.random.default_rng(0).random((2, 200, 30))
    rows = scipy.sparse.csr_array(np.where(present < 0.2, values, 0))
    scipy.sparse.save_npz(tmp_path / "rows.npz", rows)
    model, stored = (
        OneBatchPAM(4, metric="cosine", random_state=0).fit(data) for data in (rows, tmp_path / "rows.npz")
    )
    np.testing.assert_array_equal(stored.labels_, model.labels_)
    np.testing.assert_array_equal(model.predict(tmp_path / "rows.npz"), model.labels_)
