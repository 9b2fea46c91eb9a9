"""Rows on disk: the same results as from memory, and never much of them in memory."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import manhattan_distances

from onebatchpam import (
    Alternate,
    FasterCLARA,
    FasterPAM,
    KMeansPlusPlus,
    OneBatchPAM,
    _sources,
    _tiles,
    block_metric,
    distance_block,
    medoids_of,
    pair_metric,
)

h5py = pytest.importorskip("h5py")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")


def as_npy(X, folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def as_memmap(X, folder):
    return np.load(as_npy(X, folder), mmap_mode="r")


def as_zarr(X, folder):
    array = zarr.open(str(folder / "X.zarr"), mode="w", shape=X.shape, dtype=X.dtype, chunks=(70, 3))
    array[:] = X
    return array


def as_hdf5(X, folder, **options):
    with h5py.File(folder / "X.h5", "w") as file:
        file.create_dataset("X", data=X, **options)
    return h5py.File(folder / "X.h5")["X"]


def as_table(X):
    return pyarrow.table({f"x{i}": column for i, column in enumerate(X.T)})


def as_parquet(X, folder, rows=90):
    parquet.write_table(as_table(X), folder / "X.parquet", row_group_size=rows)
    return folder / "X.parquet"


def as_parquet_folder(X, folder):
    table, cuts = as_table(X), [0, 130, 130, 135, len(X)]
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        path = folder / "table" / f"day={i}" / "part.parquet"
        path.parent.mkdir(parents=True)
        parquet.write_table(table.slice(start, stop - start), path, row_group_size=60)
    (folder / "table" / "_metadata.parquet").write_text("not a table")
    return folder / "table"


SOURCES = {
    "npy": as_npy,
    "npy, name": lambda X, folder: str(as_npy(X, folder)),
    "npy, Fortran order": lambda X, folder: as_npy(np.asfortranarray(X), folder),
    "memmap": as_memmap,
    "memmap, every other": lambda X, folder: as_memmap(np.repeat(X, 2, axis=0), folder)[::2],
    "zarr": as_zarr,
    "hdf5": as_hdf5,
    "hdf5, chunks": lambda X, folder: as_hdf5(X, folder, chunks=(50, 2), compression="gzip"),
    "parquet": as_parquet,
    "parquet, folder": as_parquet_folder,
}


class Recorded:
    """An array on some disk, which remembers what was read and on which thread."""

    def __init__(self, X):
        self.X, self.reads, self.threads = X, [], set()
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        self.reads.append((rows.start, rows.stop))
        self.threads.add(threading.current_thread().name)
        return self.X[rows]


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    """Let windows be of some dozen rows; keep a few."""
    for name, value in {"READ_BYTES": 2000, "NEIGHBOUR_BYTES": 100, "KEPT_BYTES": 6000}.items():
        monkeypatch.setattr(_sources, name, value)


@pytest.fixture(name="X")
def two_groups(rng):
    return np.concatenate([rng.standard_normal((350, 6)) + centre for centre in (0, 5)])


def assert_same(model, other, X, stored):
    """Two models agree, one fitted from memory, the other from disk."""
    np.testing.assert_array_equal(model.medoid_indices_, other.medoid_indices_)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, other.cluster_centers_)
    assert isinstance(other.cluster_centers_, np.ndarray)
    assert model.inertia_ == other.inertia_
    assert model.n_distances_ == other.n_distances_
    np.testing.assert_array_equal(model.predict(X), other.predict(stored))
    np.testing.assert_array_equal(model.transform(X), other.transform(stored))
    assert model.score(X) == other.score(stored)


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64", ">f4"])
def test_the_same_as_from_memory(make, dtype, X, tmp_path):
    X = (10 * np.abs(X)).astype(dtype)
    if dtype == ">f4" and make in (as_parquet, as_parquet_folder):
        pytest.skip("Arrow has no such type")
    stored = make(X, tmp_path)
    model, other = (OneBatchPAM(4, metric="manhattan", batch_size=60, random_state=0).fit(x) for x in (X, stored))
    assert other.n_features_in_ == 6
    assert_same(model, other, X, stored)


PARAMETERS = [
    {"variant": "lwcs"},
    {"variant": "nniw", "refine": 0, "init": "k-means++"},
    {"n_jobs": 2, "n_init": 2},
    {"memory_limit": 0},
    {"memory_limit": 100_000, "n_jobs": 2},
    {"metric": "canberra"},
    {"metric": "seuclidean"},
    {"metric": "mahalanobis", "variant": "lwcs"},
    {"metric": "hamming"},
    {"metric": "nan_euclidean", "variant": "lwcs"},
    {"metric": "cosine"},
    {"metric": block_metric(manhattan_distances)},
    {"metric": manhattan_distances, "batch_size": 20},
    {"metric": pair_metric(lambda a, b: abs(a[0] - b[0])), "batch_size": 10, "refine": 0},
    {"metric": "gower"},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_every_stage_and_metric(parameters, X, tmp_path, monkeypatch):
    monkeypatch.setattr("onebatchpam._metrics.SUMMED_ROWS", 100)
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 5000)
    monkeypatch.setattr("onebatchpam._swap.MANY_CANDIDATES", 300)
    stored = as_memmap(X, tmp_path)
    models = [OneBatchPAM(4, **{"batch_size": 60, **parameters}, random_state=0).fit(x) for x in (X, stored)]
    assert_same(*models, X, stored)


@pytest.mark.parametrize("estimator", [FasterPAM, FasterCLARA, Alternate, KMeansPlusPlus])
def test_every_algorithm(estimator, X, tmp_path):
    stored = as_parquet(X, tmp_path)
    assert_same(*(estimator(4, random_state=0).fit(x) for x in (X, stored)), X, stored)


def test_weights(X, tmp_path):
    weights = np.arange(len(X)) % 3
    models = [
        OneBatchPAM(4, batch_size=60, random_state=0).fit(x, sample_weight=weights) for x in (X, as_npy(X, tmp_path))
    ]
    assert_same(*models, X, as_npy(X, tmp_path))


def test_functions_take_it_too(X, tmp_path):
    stored = as_parquet(X, tmp_path)
    np.testing.assert_array_equal(distance_block(stored, stored), distance_block(X, X))
    labels = np.arange(len(X)) % 3
    np.testing.assert_array_equal(medoids_of(stored, labels).indices, medoids_of(X, labels).indices)


def test_precomputed(X, tmp_path):
    block = distance_block(X, X)
    path = as_npy(block, tmp_path)
    models = [OneBatchPAM(4, metric="precomputed", batch_size=60, random_state=0).fit(x) for x in (block, path)]
    np.testing.assert_array_equal(*(model.labels_ for model in models))
    np.testing.assert_array_equal(*(model.predict(x) for model, x in zip(models, (block, path), strict=True)))
    with pytest.raises(ValueError, match=r"X\.parquet': expected a \.npy file"):
        models[0].fit(as_parquet(X, tmp_path))


class TestWhatIsRead:
    def test_never_much_at_once_and_the_next_on_a_thread(self, X):
        stored = Recorded(X)
        OneBatchPAM(4, batch_size=60, random_state=0).fit(stored)
        window = 2000 // X[0].nbytes + 2
        assert max(stop - start for start, stop in stored.reads) <= window
        assert len(stored.threads) == 2

    def test_one_pass_for_one_round(self, X):
        stored = Recorded(X)
        rows = _sources.open_rows(stored, "X")
        for start in range(0, len(X), 10):
            np.testing.assert_array_equal(rows[start : start + 10], X[start : start + 10])
        starts, stops = zip(*stored.reads, strict=True)
        assert starts == (0, *stops[:-1])
        assert stops[-1] == len(X)

    def test_a_fit_reads_as_often_as_it_has_rounds(self, X, monkeypatch):
        monkeypatch.setattr(_sources, "KEPT_BYTES", 0)
        stored = Recorded(X)
        OneBatchPAM(4, variant="nniw", refine=0, batch_size=20, random_state=0).fit(stored)
        n_read = sum(stop - start for start, stop in stored.reads)
        assert n_read < 3 * len(X)  # the block, the assignment, and some rows by index

    def test_what_had_to_be_decoded_is_kept_while_there_is_room(self, X, monkeypatch):
        monkeypatch.setattr(_sources, "KEPT_BYTES", 2 * X.nbytes)
        stored = Recorded(X)
        rows = _sources.open_rows(stored, "X")
        for _ in range(3):
            assert np.array_equal(rows[:], X)
        assert sum(stop - start for start, stop in stored.reads) == len(X)

    def test_a_few_rows_are_read_alone_and_in_order(self, X):
        stored = Recorded(X)
        rows, indices = _sources.open_rows(stored, "X"), np.array([600, 3, 300, 601, 3])
        np.testing.assert_array_equal(rows[indices], X[indices])
        assert stored.reads == [(3, 4), (300, 301), (600, 602)]

    def test_evenly_spaced_rows_are_read_in_one_pass(self, X, monkeypatch):
        monkeypatch.setattr(_sources, "KEPT_BYTES", 0)
        stored = Recorded(X)
        rows, indices = _sources.open_rows(stored, "X"), np.arange(0, len(X), 4)
        for some in np.split(indices, range(5, len(indices), 5)):
            np.testing.assert_array_equal(rows[some], X[some])
        assert sum(stop - start for start, stop in stored.reads) < 1.1 * len(X)

    def test_rows_that_had_to_be_decoded_are_kept(self, X):
        stored = Recorded(X)
        rows, indices = _sources.open_rows(stored, "X"), np.arange(0, len(X), 40)
        for chosen in (indices, indices[::-2], indices[3:8], np.append(indices, 5)):
            np.testing.assert_array_equal(rows[chosen], X[chosen])
        assert stored.reads == [*((row, row + 1) for row in indices), (5, 6)]

    def test_peak_memory(self, rng, tmp_path, monkeypatch):
        for name, value in {"READ_BYTES": 2**16, "NEIGHBOUR_BYTES": 2**12}.items():
            monkeypatch.setattr(_sources, name, value)
        monkeypatch.setattr(_tiles, "TILE_ENTRIES", 20_000)
        X = rng.standard_normal((20_000, 50)).astype(np.float32)
        stored = as_memmap(X, tmp_path)
        tracemalloc.start()
        try:
            OneBatchPAM(2, batch_size=10, refine=0, random_state=0).fit(stored).predict(stored)
            assert tracemalloc.get_traced_memory()[1] < X.nbytes / 2  # of which the block is a fifth
        finally:
            tracemalloc.stop()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_by_slice_and_by_index(data):
    n = data.draw(st.integers(1, 60))
    X = np.arange(3 * n, dtype=np.float64).reshape(n, 3)
    stored = Recorded(X)
    if data.draw(st.booleans()):
        stored.chunks = (data.draw(st.integers(1, 70)), 2)
    constants = {"READ_BYTES": 200, "NEIGHBOUR_BYTES": 60, "KEPT_BYTES": data.draw(st.sampled_from([0, 500, 9000]))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(_sources, name, value)
        rows = _sources.open_rows(stored, "X")
        for _ in range(data.draw(st.integers(1, 6))):
            if data.draw(st.booleans()):
                start = data.draw(st.integers(0, n - 1))
                chosen = slice(start, data.draw(st.integers(start + 1, n + 5)))
            else:
                chosen = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=40)), dtype=np.int64)
            np.testing.assert_array_equal(rows[chosen], X[chosen])


def test_chunks_too_large_for_memory_are_read_in_parts(X, monkeypatch):
    monkeypatch.setattr(_sources, "LARGEST_READ_BYTES", 3000)
    stored = Recorded(X)
    stored.chunks = (len(X), 1)
    np.testing.assert_array_equal(_sources.open_rows(stored, "X")[:], X)
    assert max(stop - start for start, stop in stored.reads) < 100


class TestNamesOfFeatures:
    def test_parquet_has_them(self, X, tmp_path):
        model = OneBatchPAM(3, random_state=0).fit(as_parquet(X, tmp_path))
        assert model.feature_names_in_.tolist() == [f"x{i}" for i in range(6)]
        other = as_table(X).rename_columns(list("abcdef"))
        parquet.write_table(other, tmp_path / "other.parquet")
        with pytest.raises(ValueError, match="feature names"):
            model.predict(tmp_path / "other.parquet")

    def test_arrays_do_not(self, X, tmp_path):
        model = OneBatchPAM(3, random_state=0).fit(as_hdf5(X, tmp_path))
        assert not hasattr(model, "feature_names_in_")
        with pytest.raises(ValueError, match="X has 5 features, but OneBatchPAM is expecting 6"):
            model.predict(as_npy(X[:, :5], tmp_path))


class TestErrors:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_what_is_not_finite_is_found(self, value, X, tmp_path):
        X[470, 2] = value
        model = OneBatchPAM(3, batch_size=60)
        with pytest.raises(ValueError, match=rf"X\[470, 2\] is {value}: expected finite numbers$"):
            model.fit(as_parquet(X, tmp_path))
        assert not hasattr(model, "labels_")

    def test_nan_where_it_is_allowed(self, X, tmp_path):
        X[470, 2] = np.nan
        model = OneBatchPAM(3, metric="nan_euclidean", batch_size=60, random_state=0)
        expected = model.fit(X).labels_
        np.testing.assert_array_equal(model.fit(as_npy(X, tmp_path)).labels_, expected)
        X[471, 2] = np.inf
        with pytest.raises(ValueError, match=r"X\[471, 2\] is inf: expected finite numbers or NaN"):
            model.fit(as_npy(X, tmp_path))

    def test_large_numbers_are_no_infinity(self, X, tmp_path):
        X = np.full((50, 6), 1e38, np.float32)
        np.testing.assert_array_equal(_sources.open_rows(as_memmap(X, tmp_path), "X")[:], X)

    def test_a_file_that_cannot_be_read_to_its_end(self, X):
        class Broken(Recorded):
            def __getitem__(self, rows):
                if rows.stop > 500:
                    raise OSError("the disk is gone")
                return super().__getitem__(rows)

        model = OneBatchPAM(3, batch_size=60, random_state=0)
        with pytest.raises(OSError, match="the disk is gone"):
            model.fit(Broken(X))
        assert not hasattr(model, "labels_")

    @pytest.mark.parametrize("name", ["table.csv", "nothing"])
    def test_other_files(self, name):
        with pytest.raises(ValueError, match=rf"X is the path '{name}': expected a \.npy file, a Parquet file"):
            OneBatchPAM().fit(name)

    @pytest.mark.parametrize("name", ["missing.npy", "missing.parquet"])
    def test_missing_files(self, name, tmp_path):
        with pytest.raises(FileNotFoundError, match=name):
            OneBatchPAM().fit(tmp_path / name)

    def test_a_folder_without_tables(self, tmp_path):
        with pytest.raises(ValueError, match="there is no Parquet file in the folder"):
            OneBatchPAM().fit(tmp_path)

    @pytest.mark.parametrize("array", [np.zeros(5), np.zeros((5, 2), complex)], ids=str)
    def test_not_rows_of_numbers(self, array, tmp_path):
        with pytest.raises(ValueError, match=r"X\.npy' of shape .*: expected rows of numbers"):
            OneBatchPAM().fit(as_npy(array, tmp_path))

    def test_no_rows(self, tmp_path):
        with pytest.raises(ValueError, match=r"X has shape \(0, 6\): a minimum of 1 row"):
            OneBatchPAM().fit(as_parquet(np.zeros((0, 6)), tmp_path))

    def test_columns_that_are_not_numeric(self, tmp_path):
        parquet.write_table(pyarrow.table({"a": [1.0], "city": ["Rome"]}), tmp_path / "X.parquet")
        with pytest.raises(ValueError, match="column 'city' of X is of type string: expected numbers"):
            OneBatchPAM().fit(tmp_path / "X.parquet")

    def test_missing_values(self, tmp_path):
        table = pyarrow.table({"a": [1, None, 3], "b": [1, 2, 3]})
        parquet.write_table(table, tmp_path / "integers.parquet")
        with pytest.raises(ValueError, match=r"column 'a' lacks 1 values in row group 0 of .*integers"):
            OneBatchPAM(1).fit(tmp_path / "integers.parquet")
        table = pyarrow.table({"a": [1.0, None, 3.0], "b": [1, 2, 3]})
        parquet.write_table(table, tmp_path / "floats.parquet")
        with pytest.raises(ValueError, match=r"X\[1, 0\] is nan"):
            OneBatchPAM(1).fit(tmp_path / "floats.parquet")
        assert OneBatchPAM(1, metric="nan_euclidean").fit(tmp_path / "floats.parquet").labels_.tolist() == [0, 0, 0]

    def test_files_of_one_folder_that_differ(self, tmp_path):
        parquet.write_table(pyarrow.table({"a": [1.0]}), tmp_path / "1.parquet")
        parquet.write_table(pyarrow.table({"b": [1.0]}), tmp_path / "2.parquet")
        with pytest.raises(ValueError, match=r"X has the columns b \(double\) in .*2\.parquet: expected those of"):
            OneBatchPAM().fit(tmp_path)

    def test_without_pyarrow(self, X, tmp_path, monkeypatch):
        path = as_parquet(X, tmp_path)
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
        with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'onebatchpam\[parquet\]'"):
            OneBatchPAM().fit(path)


WITHOUT_OPTIONAL_PACKAGES = """
import sys
sys.modules.update(dict.fromkeys(["pyarrow", "zarr", "h5py"]))
import numpy, onebatchpam
print(onebatchpam.OneBatchPAM(2).fit(sys.argv[1]).labels_.shape)
"""


def test_optional_packages_are_not_needed(X, tmp_path):
    command = [sys.executable, "-c", WITHOUT_OPTIONAL_PACKAGES, as_npy(X, tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "(700,)"
