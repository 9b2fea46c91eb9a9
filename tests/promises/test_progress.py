"""Long fits show how far they are, and can be interrupted."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tqdm.auto import tqdm

from onebatchpam import OneBatchPAM, _progress, _tiles
from onebatchpam.algorithms import base
from onebatchpam.metrics import native
from onebatchpam.search import refine

X = np.random.RandomState(0).rand(2000, 3)


@pytest.fixture
def bars(monkeypatch):
    """Make stages show bars at once, as if somebody sat in front of a terminal."""
    monkeypatch.setattr(_progress, "SECONDS_BEFORE_A_BAR", 0)
    monkeypatch.setattr(_progress, "are_bars_seen", lambda: True)


def test_a_bar_for_each_stage_on_request(capsys, bars):
    loud = OneBatchPAM(5, verbose=1, batch_size=100, random_state=0).fit(X)
    shown = capsys.readouterr().err
    for stage in ("distances: 100%", "200k/200k", "swap search", "refinement: 100%", "assignment: 100%"):
        assert stage in shown
    quiet = OneBatchPAM(5, batch_size=100, random_state=0).fit(X)
    np.testing.assert_array_equal(loud.medoid_indices_, quiet.medoid_indices_)


def test_no_bar_starts_again(capsys, bars, monkeypatch):
    """The batch is drawn in five rounds, but the distances to it have one bar, which only grows."""
    monkeypatch.setattr(_tiles, "TILE_ENTRIES", 2000)
    monkeypatch.setattr(_progress.Bar, "update", lambda bar, n=1: (tqdm.update(bar, n), bar.refresh()))
    OneBatchPAM(5, verbose=1, batch_size=100, random_state=0).fit(X)
    shares = [int(share) for share in re.findall(r"distances: +(\d+)%", capsys.readouterr().err)]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    assert len(set(shares)) > 5


@pytest.mark.parametrize("n_points", [None, 200])
def test_objectives_are_on_the_scale_of_the_inertia(n_points, capsys, monkeypatch):
    """Also if a sample of the rows confirms the swaps."""
    if n_points is not None:
        monkeypatch.setattr(refine, "MOST_ENTRIES", n_points * 5 * 11)
    model = OneBatchPAM(5, verbose=1, batch_size=100, random_state=0, effort="fast")
    model.fit(X, sample_weight=np.full(len(X), 2.5))
    (objective,) = re.findall(r"refinement: .*objective=([\d,.]+), swaps", capsys.readouterr().err)
    rel = 1e-4 if n_points is None else 0.1
    assert float(objective.replace(",", "")) == pytest.approx(model.inertia_, rel=rel)


def test_slow_rates_have_a_unit():
    assert "9.35s/round]" in _progress.Bar.format_meter(2, 10, 18.7, unit=" rounds")
    assert "2.00k rows/s]" in _progress.Bar.format_meter(2000, 10_000, 1, unit=" rows", unit_scale=True)


def test_lines_instead_of_bars_in_a_log_file(tmp_path):
    script = (
        "import numpy, onebatchpam\n"
        "X = numpy.random.RandomState(0).rand(2000, 3)\n"
        "onebatchpam.OneBatchPAM(5, batch_size=100, random_state=0, verbose=1, effort='fast').fit(X)"
    )
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-c", script], stderr=log, check=True)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["distances", "swap search", "refinement", "assignment"]
    assert all(re.fullmatch(r"onebatchpam: [a-z ]+: \d+\.\d\d s(, .*)?", line) for line in lines)
    assert "passes=" in lines[1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
def test_bars_in_a_terminal():
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    script = (
        "import numpy, onebatchpam\n"
        "from onebatchpam import _progress\n"
        "_progress.SECONDS_BEFORE_A_BAR = 0\n"
        "X = numpy.random.RandomState(0).rand(2000, 3)\n"
        "onebatchpam.OneBatchPAM(5, batch_size=100, random_state=0, verbose=1).fit(X)"
    )
    reader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (40, 120))
    subprocess.run([sys.executable, "-c", script], stderr=terminal, check=True)
    shown = os.read(reader, 2**16).decode()
    os.close(reader)
    os.close(terminal)
    assert "onebatchpam:" not in shown
    assert "swap search: " in shown


def test_silence_by_default(capsys):
    OneBatchPAM(5, batch_size=100).fit(X)
    assert capsys.readouterr() == ("", "")


def test_seconds_of_all_stages():
    model = OneBatchPAM(5, batch_size=100, init="k-means++").fit(X)
    stages = ["initial medoids", "distances", "swap search", "refinement", "pool search", "assignment"]
    assert list(model.fit_seconds_) == stages


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


@pytest.mark.parametrize("verbose", [0, 1])
def test_no_thread_outlives_a_fit(verbose):
    script = (
        "import threading, numpy, onebatchpam\n"
        f"onebatchpam.OneBatchPAM(3, verbose={verbose}).fit(numpy.eye(50))\n"
        "print(threading.active_count())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "1\n", run.stderr


def test_an_interrupt_while_attributes_are_set_leaves_all_or_none():
    """Ctrl-C may come before any line of the method that publishes the fit, and of the functions that it calls."""
    small = X[:100]
    fresh, fitted = set(vars(OneBatchPAM(3))), set(vars(OneBatchPAM(3, random_state=0).fit(small)))
    publish, found = base.MedoidEstimator._publish, []
    for number in itertools.count():
        lines = iter(range(number))

        def interrupt(frame, event, argument, lines=lines):
            if event == "line" and next(lines, None) is None:
                raise KeyboardInterrupt
            return interrupt

        def publish_traced(*arguments, interrupt=interrupt):
            sys.settrace(interrupt)
            try:
                publish(*arguments)
            finally:
                sys.settrace(None)

        model = OneBatchPAM(3, random_state=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(base.MedoidEstimator, "_publish", publish_traced)
            try:
                model.fit(small)
            except KeyboardInterrupt:
                found.append(set(vars(model)))
            else:
                break
    assert len(found) > 5
    assert all(names in (fresh, fitted) for names in found)
