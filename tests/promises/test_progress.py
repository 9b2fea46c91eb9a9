"""Long fits show how far they are, and can be interrupted."""

from __future__ import annotations

import numpy as np
import pytest

from onebatchpam import OneBatchPAM, _progress, _tiles
from onebatchpam.metrics import native

X = np.random.RandomState(0).rand(2000, 3)


def test_a_bar_for_each_stage_on_request(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "SECONDS_BEFORE_A_BAR", 0)
    loud = OneBatchPAM(5, verbose=1, batch_size=100, random_state=0).fit(X)
    shown = capsys.readouterr().err
    for stage in ("distances: 100%", "2.00k/2.00k", "swap search", "refinement", "assignment: 100%"):
        assert stage in shown
    quiet = OneBatchPAM(5, batch_size=100, random_state=0).fit(X)
    np.testing.assert_array_equal(loud.medoid_indices_, quiet.medoid_indices_)


def test_silence_by_default(capsys):
    OneBatchPAM(5, batch_size=100).fit(X)
    assert capsys.readouterr() == ("", "")


def test_seconds_of_all_stages():
    model = OneBatchPAM(5, batch_size=100, init="k-means++").fit(X)
    assert list(model.fit_seconds_) == ["initial medoids", "distances", "swap search", "refinement", "assignment"]


def test_an_interrupt_between_tiles_leaves_nothing_behind(monkeypatch):
    filled = []

    def interrupted(self, rows, out, viewer):
        filled.append(rows)
        if len(filled) == 2:
            raise KeyboardInterrupt
        out[:] = 1

    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 1000)
    monkeypatch.setattr(native.NativePoints, "fill_viewed", interrupted)
    model = OneBatchPAM(5, batch_size=100)
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert len(filled) == 2
    assert vars(model) == before
