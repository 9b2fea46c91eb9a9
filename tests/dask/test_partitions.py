"""Partitions that are not what their collection declares: one sentence names the partition, the row and the problem."""

from __future__ import annotations

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs

from onebatchpam.dask import OneBatchPAM, population
from onebatchpam.dask.partition import PartitionError

SIZES, P = (300, 0, 200, 250, 250), 4
FIRST = 500  # index of the first row of the bad partition
BAD = 3  # number of the bad partition


@pytest.fixture(autouse=True)
def small_driver(monkeypatch):
    monkeypatch.setattr(population, "DRIVER_NUMBERS", 1)
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture(scope="module")
def parts():
    rows = make_blobs(sum(SIZES), P, centers=5, random_state=0)[0]
    return np.split(rows, np.cumsum(SIZES)[:-1])


def make_model(**params):
    return OneBatchPAM(3, **{"metric": "manhattan", "batch_size": 50, "random_state": 0, **params})


def join_arrays(parts, dtype=float):
    """Return a Dask array that declares the sizes of good partitions and this type, whatever the parts are."""

    def choose(block, block_info):
        return parts[block_info[0]["chunk-location"][0]]

    width = ((P,),) if np.ndim(parts[0]) == 2 else ()
    return da.zeros((sum(SIZES), *(P for _ in width)), chunks=(SIZES, *width)).map_blocks(
        choose, dtype=dtype, meta=np.empty((0,) * (1 + len(width)), dtype)
    )


def join_frames(parts, meta):
    return dd.from_map(lambda number: parts[number], range(len(parts)), meta=meta, enforce_metadata=False)


def set_entry(part, value):
    part = part.astype(object if isinstance(value, str) else float)
    part[7, 2] = value
    return part


ARRAYS = {
    "fewer features": (lambda part: part[:, :3], r"there are 3 features: expected 4, as X declares"),
    "one dimension": (lambda part: part[:, 0], r"there are 1 dimensions: expected 2"),
    "frame": (pd.DataFrame, r"the rows are a frame: expected an array"),
    "nothing": (lambda part: None, r"the rows are of type NoneType: expected an array, a sparse matrix or a frame"),
    "lists": (lambda part: part.tolist(), r"the rows are of type list: expected an array"),
    "strings": (lambda part: part.astype(str), r"the rows hold values of type <U\d+: expected float64, as X declares"),
    "objects": (lambda part: part.astype(object), r"the rows hold values of type object: expected float64"),
    "booleans": (lambda part: part > 0, r"the rows hold values of type bool: expected float64"),
    "nan": (lambda part: set_entry(part, np.nan), r"X\[507\], column 2, is missing \(NaN\)"),
    "infinity": (lambda part: set_entry(part, -np.inf), r"X\[507\], column 2, is -inf"),
    "fewer rows": (lambda part: part[1:], r"there are 249 rows, but the chunk says 250: correct the chunks of X"),
    "no rows": (lambda part: part[:0], r"there are 0 rows, but the chunk says 250"),
}
WHERE = f"in partition {BAD}, which begins with row {FIRST}: "


def with_bad(parts, change):
    return [change(part) if number == BAD else part for number, part in enumerate(parts)]


def forbid_search(monkeypatch):
    monkeypatch.setattr(OneBatchPAM, "_gather_first", lambda *_: pytest.fail("the search began"))


def assert_refused(compute, message):
    with pytest.raises(ValueError, match=f"^{WHERE}{message}") as caught:
        compute()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("change", "message"), ARRAYS.values(), ids=ARRAYS)
def test_arrays(parts, change, message, monkeypatch):
    model, bad = make_model().fit(join_arrays(parts)), join_arrays(with_bad(parts, change))
    for lazy in (model.predict(bad), model.transform(bad)):
        assert_refused(lazy.compute, message)
    assert_refused(lambda: model.score(bad), message)
    forbid_search(monkeypatch)
    assert_refused(lambda: make_model().fit(bad), message)


def test_text_among_objects(parts):
    bad = join_arrays(
        [set_entry(part, "x") if number == BAD else part.astype(object) for number, part in enumerate(parts)], object
    )
    assert_refused(lambda: make_model().fit(bad), r"X\[507\], column 2, is 'x': expected numbers")


def test_an_object_among_strings():
    words = [np.array(["a", "bb"] * (size // 2), dtype=object) for size in SIZES]
    words[BAD][7] = 5
    assert_refused(
        lambda: make_model(metric="levenshtein").fit(join_arrays(words, object)), r"X\[507\]\[0\]=5 is of type int"
    )


def test_sparse_and_dense(parts, monkeypatch):
    forbid_search(monkeypatch)
    message = "partition 3 is csr_array, but partition 0 is ndarray: expected sparse matrices in all partitions"
    with pytest.raises(ValueError, match=message):
        make_model().fit(join_arrays(with_bad(parts, scipy.sparse.csr_array)))


def frame_of(part):
    frame = pd.DataFrame(part, columns=list("abcd"))
    return frame.assign(d=pd.Categorical(np.where(frame["d"] > 0, "high", "low")))


FRAMES = {
    "another name": (lambda frame: frame.rename(columns={"b": "z"}), r"column 1 is 'z': expected 'b', as X declares"),
    "another order": (lambda frame: frame[list("bacd")], r"column 0 is 'b': expected 'a', as X declares"),
    "one column less": (lambda frame: frame[list("abc")], r"there are 3 features: expected 4"),
    "text": (lambda frame: frame.assign(b="x"), r"column 'b' holds values of type (object|str\w*): expected float64"),
    "dates": (lambda frame: frame.assign(b=pd.Timestamp("2026-01-01")), r"column 'b' holds values of type datetime64"),
    "array": (lambda frame: frame[list("abc")].to_numpy(), r"the rows are an array: expected a frame"),
    "infinity": (
        lambda frame: frame.assign(b=np.where(frame.index == 7, np.inf, 0)),
        r"ROW: column 'b' contains inf",
    ),
}


@pytest.mark.parametrize(("change", "message"), FRAMES.values(), ids=FRAMES)
def test_frames(parts, change, message, monkeypatch):
    frames = [frame_of(part) for part in parts]
    good, bad = (join_frames(each, frames[0].iloc[:0]) for each in (frames, with_bad(frames, change)))
    model = make_model(metric="gower").fit(good)
    for lazy in (model.predict(bad), model.transform(bad)):
        with pytest.raises(
            ValueError, match=f"^in partition {BAD}: {message.replace('ROW', 'row 7 of the partition')}"
        ):
            lazy.compute()
    in_all = message.replace("ROW", r"X\[507\]")
    assert_refused(lambda: model.score(bad), in_all)
    forbid_search(monkeypatch)
    assert_refused(lambda: make_model(metric="gower").fit(bad), in_all)


def test_wrong_meta(parts):
    frames = [frame_of(part) for part in parts]
    wrong = join_frames(frames, frames[0].iloc[:0].rename(columns={"a": "A"}))
    with pytest.raises(ValueError, match=r"in partition \d, which begins with row \d+: column 0 is 'a': expected 'A'"):
        make_model(metric="gower").fit(wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_numbers_of_another_type_are_the_same_numbers(parts, dtype):
    whole = [np.clip(part * 10, 0, 255).round() for part in parts]
    expected = make_model().fit(join_arrays(whole))
    data = join_arrays(with_bad(whole, lambda part: part.astype(dtype)))
    found = make_model().fit(data)
    np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_allclose(found.inertia_, expected.inertia_)
    distances = found.transform(data)
    assert [block.compute().dtype for block in distances.blocks] == [distances.dtype] * distances.numblocks[0]
    np.testing.assert_allclose(distances.compute(), expected.transform(join_arrays(whole)).compute())


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
@pytest.mark.parametrize("known", [True, False], ids=["known sizes", "unknown sizes"])
def test_a_partition_that_cannot_be_computed(parts, scheduler, known):
    def load(block, block_info):
        if block_info[0]["chunk-location"][0] == BAD:
            raise FileNotFoundError("part-3.parquet")
        return block

    data = join_arrays(parts).map_blocks(load, dtype=float, meta=np.empty((0, 0)))
    data = data if known else data[data[:, 0] > -np.inf]
    model = make_model()
    with (
        dask.config.set(scheduler=scheduler),
        pytest.raises(
            RuntimeError, match=r"^partition 3 could not be computed: FileNotFoundError: part-3.parquet"
        ) as held,
    ):
        model.fit(data)
    assert isinstance(held.value.__cause__, FileNotFoundError)
    assert not hasattr(model, "medoid_indices_")


def test_an_error_travels():
    error = pickle.loads(pickle.dumps(PartitionError("in partition 3: no")))
    assert isinstance(error, ValueError)
    assert str(error) == "in partition 3: no"
