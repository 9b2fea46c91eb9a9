"""Data that cannot be read any more in the middle of a call, and files that change meanwhile."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from faults import assert_same_fit, call_at_stages
from onebatchpam import (
    CLARANS,
    KMC2,
    PAM,
    Alternate,
    FasterCLARA,
    FasterMSC,
    FasterPAM,
    LSKMeansPlusPlus,
    OneBatchPAM,
    RandomMedoids,
    distance_block,
    medoids_of,
    select_k,
    select_representatives,
)
from onebatchpam.data import sources
from stored import as_npy, as_parquet, as_parquet_folder

pytestmark = pytest.mark.usefixtures("small_windows")

LABELS = np.arange(700) % 3
ESTIMATORS = {
    "OneBatchPAM": OneBatchPAM(5, batch_size=40, init="k-means++", random_state=0),
    "limited memory": OneBatchPAM(5, metric="minkowski", batch_size=40, memory_limit=20_000, random_state=0),
    "lwcs": OneBatchPAM(3, batch_size=40, variant="lwcs", refine=1, random_state=0),
    "learnt metric": RandomMedoids(3, metric="seuclidean", random_state=0),
    "FasterPAM": FasterPAM(3, random_state=0),
    "PAM": PAM(3, init="lab", random_state=0),
    "FasterMSC": FasterMSC(3, batch_size=40, random_state=0),
    "CLARANS": CLARANS(3, max_neighbors=3, random_state=0),
    "FasterCLARA": FasterCLARA(3, n_samplings=2, random_state=0),
    "Alternate": Alternate(3, random_state=0),
    "LSKMeansPlusPlus": LSKMeansPlusPlus(3, random_state=0),
    "KMC2": KMC2(3, random_state=0),
}
FITTED = RandomMedoids(3, random_state=0).fit(np.random.RandomState(0).standard_normal((60, 6)))
CALLS = {
    "predict": FITTED.predict,
    "transform": FITTED.transform,
    "score": FITTED.score,
    "select_k": lambda X: select_k(X, [2, 3], OneBatchPAM(batch_size=40, random_state=0)).inertia,
    "select_representatives": lambda X: select_representatives(X, 3, random_state=0).losses,
    "medoids_of": lambda X: medoids_of(X, LABELS, random_state=0).indices,
    "distance_block": lambda X: distance_block(X, FITTED.cluster_centers_),
}


class Failing:
    """An array that stands for one on disk; notes the stage of each read, and from one of the reads on it fails."""

    def __init__(self, X, fail_at=None):
        self.shape, self.dtype = X.shape, X.dtype
        self.error, self.stage, self.stages = OSError("the disk is gone"), "", []
        self._X, self._fail_at = X, fail_at

    def __getitem__(self, rows):
        self.stages.append(self.stage)
        if self._fail_at is not None and len(self.stages) > self._fail_at:
            raise self.error
        return self._X[rows]


def reads_of_stages(stages):
    """Return the numbers of the first read of each stage, and of one in its middle."""
    places = {}
    for place, stage in enumerate(stages):
        places.setdefault(stage, []).append(place)
    return sorted({place for each in places.values() for place in (each[0], each[len(each) // 2])})


@pytest.fixture
def failing(X, monkeypatch):
    """Return a function that makes data which fail at a read, and which know the stage of the fit."""
    made = []

    def begin(stage):
        made[-1].stage = stage

    def make(fail_at=None):
        made.append(Failing(X, fail_at))
        return made[-1]

    call_at_stages(monkeypatch, begin)
    return make


@pytest.mark.parametrize("reads_ahead", [False, True])
class TestAReadThatFails:
    @pytest.mark.parametrize("name", ESTIMATORS)
    def test_in_each_stage_of_a_fit(self, name, reads_ahead, failing, tmp_path, monkeypatch):
        monkeypatch.setattr(sources, "is_safe_in_threads", lambda _: reads_ahead)
        healthy, model, path = failing(), ESTIMATORS[name], tmp_path / "labels.npy"
        expected = model.fit(healthy)
        places = reads_of_stages(healthy.stages)
        assert len(places) >= 3
        for place in places:
            data = failing(place)
            before = dict(vars(model))
            with pytest.raises(OSError, match="the disk is gone") as caught:
                model.fit(data, labels_out=path)
            assert caught.value is data.error
            assert vars(model) == before
            assert not list(tmp_path.iterdir())
        assert_same_fit(model.fit(failing()), expected)

    @pytest.mark.parametrize("name", CALLS)
    def test_in_other_calls(self, name, reads_ahead, failing, monkeypatch):
        monkeypatch.setattr(sources, "is_safe_in_threads", lambda _: reads_ahead)
        healthy, call = failing(), CALLS[name]
        expected = call(healthy)
        for place in reads_of_stages(healthy.stages):
            data = failing(place)
            with pytest.raises(OSError, match="the disk is gone") as caught:
                call(data)
            assert caught.value is data.error
        np.testing.assert_array_equal(call(failing()), expected)


def test_a_prediction_that_fails_leaves_no_file(failing, tmp_path):
    with pytest.raises(OSError, match="the disk is gone"):
        FITTED.predict(failing(10), out=tmp_path / "labels.npy")
    assert not list(tmp_path.iterdir())


def as_npy_by_columns(X, folder):
    return as_npy(np.asfortranarray(X), folder)


def as_mixed_table(X, folder):
    frame = pd.DataFrame({"number": X[:, 0], "kind": np.where(X[:, 1] > 0, "high", "low")})
    frame.to_parquet(folder / "X.parquet", row_group_size=90)
    return folder / "X.parquet"


FILES = {
    as_npy: "euclidean",
    as_npy_by_columns: "euclidean",
    as_parquet: "euclidean",
    as_parquet_folder: "euclidean",
    as_mixed_table: "gower",
}


def one_file(path):
    return max(path.rglob("*.parquet"), key=lambda file: file.stat().st_size) if path.is_dir() else path


def shorten(path, other):
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def rewrite(path, other):
    shutil.copyfile(other, path)


def replace(path, other):
    other.replace(path)


def remove(path, other):
    path.unlink()


@pytest.mark.parametrize("change", [shorten, rewrite, replace, remove])
@pytest.mark.parametrize("stage", ["distances", "refinement", "assignment"])
@pytest.mark.parametrize("store", FILES, ids=lambda store: store.__name__)
def test_a_file_that_changes_during_a_fit(store, stage, change, X, tmp_path, monkeypatch):
    """The file of other rows has the same size, so that nothing but the time of writing tells them apart."""
    for folder in (tmp_path / "X", tmp_path / "other"):
        folder.mkdir()
    path, other = store(X, tmp_path / "X"), store(X[::-1], tmp_path / "other")
    model = OneBatchPAM(4, metric=FILES[store], batch_size=40, random_state=0)
    before, changed = dict(vars(model)), []

    def begin(name):
        if name == stage and not changed:
            changed.append(name)
            change(one_file(path), one_file(other))

    call_at_stages(monkeypatch, begin)
    if path.suffix == ".npy" and change in (replace, remove):  # the open file is still what it was
        assert_same_fit(model.fit(path), clone(model).fit(X))
    else:
        with pytest.raises(OSError, match=one_file(path).name if change is not remove else "No such file"):
            model.fit(path, labels_out=tmp_path / "labels.npy")
        assert vars(model) == before
        assert not (tmp_path / "labels.npy").exists()
    assert changed
