"""Helpers that let something fail in the middle of a fit, and look at what a failed fit leaves behind."""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager
from unittest import mock

import numpy as np

from onebatchpam import OneBatchPAM
from onebatchpam._progress import Stages
from onebatchpam.cli import main


def call_at_stages(patch, begin):
    """Call begin(name) whenever a stage of a fit begins, as long as pytest's monkeypatch lasts."""
    patch.setattr(Stages, "stage", watch_stages(begin))


def watch_stages(begin):
    """Return a `Stages.stage` that calls begin(name) first."""
    stage = Stages.stage

    @contextmanager
    def watched(self, name, *rest, **options):
        begin(name)
        with stage(self, name, *rest, **options) as bar:
            yield bar

    return watched


def list_fitted(model):
    """Return the fitted attributes of a model that are the same in every fit of the same data."""
    # The medoids are the rows of `medoid_indices_`, in objects of various types.
    left_out = {"fit_seconds_", "cluster_centers_", "medoids_"}
    return {name: value for name, value in vars(model).items() if name.endswith("_") and name not in left_out}


def assert_same_fit(model, expected):
    """Check that two models have the same fitted attributes, to the last bit."""
    np.testing.assert_equal(list_fitted(model), list_fitted(expected))


def make_rows(n, p, dtype=np.float32):
    """Return rows in five groups, always the same; of many numbers, the first four million are repeated."""
    rng = np.random.default_rng(0)
    n_distinct = min(n, max(1, 4_000_000 // p))
    rows = rng.random((n_distinct, p), dtype=np.float32) + 2 * rng.integers(5, size=(n_distinct, 1), dtype=np.int8)
    return np.resize((9 * rows).astype(dtype), (n, p))


def fit_telling_stages(tell, model, shape, path):
    """Fit a model to rows of this shape, and write the labels to a file."""
    with mock.patch.object(Stages, "stage", watch_stages(tell)):
        model.fit(make_rows(*shape), labels_out=path)


def write_prediction(tell, folder):
    """Write the labels of many rows to a file."""
    X = make_rows(300_000, 8)
    model = OneBatchPAM(8, random_state=0).fit(X[:1000])
    tell("ready")
    model.predict(X, out=folder / "new.npy")


def write_page(tell, folder):
    """Write a report."""
    X = make_rows(3000, 8)
    model = OneBatchPAM(8, random_state=0).fit(X)
    tell("ready")
    model.report(X, folder / "new.html")


def write_folder(tell, folder):
    """Write the folder of a command, in place of one that it has written before."""
    np.save(folder.parent / "X.npy", make_rows(3000, 8))
    typed = ["cluster", str(folder.parent / "X.npy"), "-k", "8", "-q", "-o", str(folder / "new")]
    assert main(typed) == 0
    tell("ready")
    assert main([*typed, "--force"]) == 0


def fit_and_send(pipe, model, path):
    pipe.send(list_fitted(model.fit(path)))


def fit_again_in_a_process(tell, model, path, method):
    """Fit here, and then in a new process that is forked or spawned from this one; return the fitted attributes."""
    here = list_fitted(model.fit(path))
    context = multiprocessing.get_context(method)
    receiver, sender = context.Pipe()
    process = context.Process(target=fit_and_send, args=(sender, model, path))
    process.start()
    assert receiver.poll(600), "the new process hangs"
    there = receiver.recv()
    process.join()
    return there, here
