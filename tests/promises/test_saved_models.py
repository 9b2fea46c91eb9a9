"""Saved models: they hold the version that saved them, no private classes, and open in later versions."""

from __future__ import annotations

import pickle
import pickletools
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import onebatchpam
import onebatchpam.dask
from onebatchpam import FasterPAM, KMeansPlusPlus, OneBatchPAM, pair_metric

OLD_MODELS = Path(__file__).with_name("saved_by_0.1.0.pkl")
PUBLIC_CLASSES = [name for name in onebatchpam.__all__ if isinstance(getattr(onebatchpam, name), type)]
ESTIMATORS = [name for name in PUBLIC_CLASSES if hasattr(getattr(onebatchpam, name), "fit")]


def count_differences(a, b):
    return np.sum(a != b)


def blocks(a, b):
    return np.abs(a[:, np.newaxis, 0] - b[np.newaxis, :, 0])


def make_rows():
    return np.random.RandomState(0).rand(60, 3)


def make_table():
    rows = make_rows()
    return pd.DataFrame({"number": rows[:, 0], "letter": ["x", "y", None] * 20})


def make_words():
    return ["a" * (i % 7) + "b" * (i % 5) for i in range(60)]


FITS = {
    "native": lambda: (OneBatchPAM(3, random_state=0), make_rows()),
    "bytes": lambda: (OneBatchPAM(3, metric="manhattan", random_state=0), np.round(make_rows() * 200)),
    "library": lambda: (FasterPAM(3, metric="canberra", random_state=0), make_rows()),
    "learnt": lambda: (OneBatchPAM(3, metric="seuclidean", random_state=0), make_rows()),
    "gower": lambda: (OneBatchPAM(3, metric="gower", random_state=0), make_table()),
    "text": lambda: (OneBatchPAM(3, metric="levenshtein", random_state=0), make_words()),
    "hamming": lambda: (OneBatchPAM(3, metric="hamming", random_state=0), make_rows().round()),
    "sparse": lambda: (OneBatchPAM(3, metric="cosine", random_state=0), csr_array(make_rows())),
    "matrix": lambda: (
        OneBatchPAM(3, metric="precomputed", random_state=0),
        np.abs(make_rows()[:, :1] - make_rows()[:, 0]),
    ),
    "function": lambda: (KMeansPlusPlus(3, metric=count_differences, random_state=0), make_rows().round()),
    "pairs": lambda: (OneBatchPAM(3, metric=pair_metric(count_differences), random_state=0), make_rows().round()),
    "blocks": lambda: (OneBatchPAM(3, metric=onebatchpam.block_metric(blocks), random_state=0), make_rows()),
}


def names_in(saved):
    """Return the names of all classes and functions that a pickle refers to."""
    strings, names = [], set()
    for opcode, argument, _ in pickletools.genops(saved):
        if opcode.name == "GLOBAL":
            names.add(argument.replace(" ", "."))
        elif opcode.name == "STACK_GLOBAL":
            names.add(".".join(strings[-2:]))
        elif isinstance(argument, str):
            strings.append(argument)
    return names


@pytest.mark.parametrize("kind", FITS)
def test_a_saved_model_predicts_and_holds_no_private_class(kind):
    model, X = FITS[kind]()
    model.fit(X)
    saved = pickle.dumps(model, protocol=2)
    own = {name for name in names_in(saved) if name.startswith("onebatchpam")}
    assert f"onebatchpam.{type(model).__name__}" in own
    assert own <= {f"onebatchpam.{name}" for name in PUBLIC_CLASSES}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = pickle.loads(saved)
    assert opened._metric.__class__ is model._metric.__class__
    np.testing.assert_array_equal(opened.predict(X), model.predict(X))
    np.testing.assert_array_equal(opened.transform(X), model.transform(X))
    assert names_in(pickle.dumps(opened, protocol=2)) == names_in(saved)


@pytest.mark.parametrize("name", [*ESTIMATORS, "block_metric", "pair_metric"])
def test_classes_of_saved_models_are_found_in_their_public_place(name):
    public = getattr(onebatchpam, name)
    assert public.__module__ == "onebatchpam"
    assert pickle.loads(pickle.dumps(public)) is public


def test_the_estimator_for_dask_is_found_in_its_public_place():
    assert onebatchpam.dask.OneBatchPAM.__module__ == "onebatchpam.dask"


def test_another_version_warns(monkeypatch):
    model = OneBatchPAM(3, random_state=0).fit(make_rows())
    monkeypatch.setattr("onebatchpam.algorithms.base.__version__", "0.0.7")
    saved = pickle.dumps(model)
    monkeypatch.undo()
    version = re.escape(onebatchpam.__version__)
    with pytest.warns(UserWarning, match=rf"this OneBatchPAM was saved by onebatchpam 0\.0\.7 .* by {version}:"):
        opened = pickle.loads(saved)
    np.testing.assert_array_equal(opened.predict(make_rows()), model.labels_)


def test_models_of_the_first_version_predict():
    with pytest.warns(UserWarning, match=r"was saved by onebatchpam 0\.1\.0") as caught:
        old = pickle.loads(OLD_MODELS.read_bytes())
    assert len(caught) == len(old)
    for model, X, labels in old.values():
        assert repr(model)  # parameters that are new have their default values
        np.testing.assert_array_equal(model.predict(X), labels)
        again = pickle.loads(pickle.dumps(model))  # it can be saved again, and is then a model of this version
        np.testing.assert_array_equal(again.predict(X), labels)


def test_models_of_the_first_version_open_in_a_program_that_has_not_imported_the_package():
    program = f"import pickle; print(len(pickle.load(open({str(OLD_MODELS)!r}, 'rb'))))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 4


@pytest.mark.parametrize("kind", ["native", "learnt", "gower", "text", "sparse", "matrix"])
def test_skops_needs_only_public_names(kind, tmp_path):
    skops = pytest.importorskip("skops.io")
    model, X = FITS[kind]()
    if kind == "gower":
        X = X.assign(letter=np.arange(len(X)) % 3 / 2).to_numpy(
            float
        )  # skops cannot save the frame that holds the medoids
    skops.dump(model.fit(X), tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert [name for name in unknown if name.startswith("onebatchpam")] == ["onebatchpam.OneBatchPAM"]
    opened = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(opened.predict(X), model.predict(X))
